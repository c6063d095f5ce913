//! `halfturn scan`: what it hands on is what is there, once, and it writes over nothing that it reads.

use crate::run_in;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

/// SHA-256 of 1 MiB of zeros.
const ZEROS: &str = "30e14955ebf1352266dc2ff8067e68104607e750abb9d3b36582b8af909fcb58";

/// A folder that goes with the test, and in it a file of so many bytes, no two pieces of which are alike but the second MiB: zeros.
struct Scene(PathBuf, Vec<u8>);

impl Scene {
    fn new(name: &str, bytes: usize) -> Scene {
        let folder = std::env::temp_dir().join(format!("halfturn-scan-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let mut state = 7u64;
        let mut content: Vec<u8> = (0..bytes)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 56) as u8
            })
            .collect();
        let zeros = (1 << 20)..(2 << 20).min(bytes);
        content[zeros].fill(0);
        fs::write(folder.join("disk"), &content).expect("a file");
        Scene(folder, content)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn run(&self, arguments: &[&str]) -> Output {
        run_in(&self.0, &[&["scan"], arguments].concat())
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn stderr_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn an_image_is_the_file_whose_end_is_not_whole_and_its_hashes_are_those_of_each_mib() {
    let scene = Scene::new("image", (3 << 20) + 777);
    let done = scene.run(&["disk", "--out", "image", "--hashes", "list"]);
    assert!(done.status.success(), "{}", stderr_of(&done));
    assert!(fs::read(scene.at("image")).expect("an image") == scene.1, "the image is another");
    let list = fs::read_to_string(scene.at("list")).expect("a list");
    let mut lines: Vec<Vec<&str>> = list.lines().map(|line| line.split(' ').collect()).collect();
    lines.sort_by_key(|line| line[0].parse::<u64>().expect("an offset"));
    assert_eq!(lines.len(), 4);
    assert_eq!(lines[1], ["1048576", "1048576", ZEROS]);
    assert_eq!(lines[3][..2], ["3145728", "777"]);
    // The same blocks have the same hashes, wherever they were found.
    assert!(scene.run(&["image", "--hashes", "again"]).status.success());
    assert_eq!(fs::read_to_string(scene.at("again")).expect("a list"), list);
    assert!(!fs::read_dir(&scene.0).expect("a folder").any(|it| it.unwrap().path().to_string_lossy().contains("part")));
}

#[test]
fn records_on_standard_output_make_up_the_device() {
    let scene = Scene::new("stream", (2 << 20) + 5 * 4096);
    let done = scene.run(&["disk", "--out", "-"]);
    assert!(done.status.success(), "{}", stderr_of(&done));
    let (magic, mut rest) = done.stdout.split_at(8);
    assert_eq!(magic, b"HTSCAN1\n");
    let mut number = || {
        let (bytes, after) = rest.split_at(8);
        rest = after;
        u64::from_le_bytes(bytes.try_into().expect("eight"))
    };
    let size = number();
    assert_eq!(size, scene.1.len() as u64);
    let mut content = vec![0xAA; size as usize];
    let mut found = 0;
    let (mut from, mut length) = (number(), number());
    while (from, length) != (size, 0) {
        let (bytes, after) = rest.split_at(length as usize);
        content[from as usize..(from + length) as usize].copy_from_slice(bytes);
        rest = after;
        found += length;
        let mut number = || {
            let (bytes, after) = rest.split_at(8);
            rest = after;
            u64::from_le_bytes(bytes.try_into().expect("eight"))
        };
        (from, length) = (number(), number());
    }
    assert!(rest.is_empty() && found == size && content == scene.1);
}

#[test]
fn it_does_not_write_over_what_it_reads_nor_goes_on_without_an_output() {
    let scene = Scene::new("input", 1 << 20);
    std::os::unix::fs::symlink("disk", scene.at("link")).expect("a link");
    for (arguments, told) in [
        (&["disk", "--out", "disk"][..], "is read by this very command"),
        (&["disk", "--hashes", "link"], "is read by this very command"),
        (&["link", "--out", "disk"], "is read by this very command"),
        (&["disk", "--out", "x", "--hashes", "x"], "is to be written twice"),
        (&["disk", "--out", "/dev/null"], "no ordinary file"),
        (&["disk"], "--out <FILE|->"),
        (&["disk", "--out", "-", "--resume", "c"], "are gone when it is stopped"),
        (&["disk", "--out", "x", "--resume", "x"], "is to be written twice"),
        (&["nothing", "--out", "x"], "nothing: cannot be opened"),
        (&["nbd+unix:///a?socket=nothing", "--out", "x"], "export 'a' is not to be had"),
    ] {
        let done = scene.run(arguments);
        assert_eq!(done.status.code(), Some(2), "{arguments:?}: {}", stderr_of(&done));
        assert!(stderr_of(&done).contains(told), "{arguments:?}: {}", stderr_of(&done));
    }
    assert!(fs::read(scene.at("disk")).expect("it is there") == scene.1 && !scene.at("x").exists());
}

#[test]
fn an_export_is_read_like_a_file() {
    let scene = Scene::new("export", 2 << 20);
    let service = "drive = { path = \"disk\" }\nscheduler = { policy = \"fcfs\" }\n";
    let any = "[[volume]]\nname = \"data\"\npriority = 1\n[[volume]]\nname = \"a\"\nof = \"data\"\norder = \"any\"\n";
    for volumes in ["volume = [{ name = \"a\", read_only = true }]\n", any, &format!("{any}floor = 0.1\n")] {
        fs::write(scene.at("service.toml"), format!("{service}{volumes}")).expect("a file");
        let bin = env!("CARGO_BIN_EXE_halfturn");
        let inside = format!("{bin} scan \"nbd+unix:///a?socket=$socket\" --out image");
        let done = run_in(&scene.0, &["serve", "service.toml", "--run", &inside]);
        assert!(done.status.success(), "{volumes}: {}", stderr_of(&done));
        assert!(fs::read(scene.at("image")).expect("an image") == scene.1, "{volumes}: the image is another");
        fs::remove_file(scene.at("image")).expect("it was there");
    }
}

/// The offset and length of each piece in a list, in order.
fn pieces(list: &str) -> Vec<(u64, u64)> {
    let numbers = |line: &str| {
        let mut words = line.split(' ').map(|word| word.parse::<u64>().expect("a number"));
        Some((words.next()?, words.next()?))
    };
    let starts_a_piece = |line: &&str| line.starts_with(|first: char| first.is_ascii_digit());
    let two = |line: &str| line.rsplit_once(' ').map(|(two, _)| two.to_owned());
    let mut pieces: Vec<(u64, u64)> =
        list.lines().filter(starts_a_piece).filter_map(two).filter_map(|line| numbers(&line)).collect();
    pieces.sort_unstable();
    pieces
}

#[test]
fn one_that_is_killed_goes_on_where_it_was() {
    let scene = Scene::new("killed", 1 << 20);
    let arguments = ["emulated:lxt-535sy", "--out", "image", "--hashes", "list", "--resume", "state"];
    let mut first = Command::new(env!("CARGO_BIN_EXE_halfturn"));
    first.arg("scan").args(arguments).args(["--time-scale", "4"]).current_dir(&scene.0);
    let mut first = first.spawn().expect("it runs");
    let state = || fs::read_to_string(scene.at("state")).unwrap_or_default();
    while pieces(&state()).len() < 8 {
        assert!(first.try_wait().expect("its state").is_none(), "it ended");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    first.kill().expect("it is killed");
    first.wait().expect("it ends");
    let before = pieces(&state());
    // What was being written is not whole.
    fs::write(scene.at("state"), state() + "1048").expect("it is written");
    assert!(!scene.at("image").exists() && scene.at("image.part").exists());
    let other = scene.run(&["emulated:lxt-535sy", "--out", "other", "--resume", "state"]);
    assert!(stderr_of(&other).contains("state:4: it is of another scan: `image "), "{}", stderr_of(&other));
    let done = scene.run(&[&arguments[..], &["--time-scale", "1000"]].concat());
    assert!(done.status.success(), "{}", stderr_of(&done));
    let list = fs::read_to_string(scene.at("list")).expect("a list");
    let all = pieces(&list);
    assert!(before.iter().all(|piece| all.contains(piece)));
    let size = fs::metadata(scene.at("image")).expect("an image").len();
    let mut next = 0;
    for (from, length) in &all {
        assert_eq!(*from, next, "missed, or read twice");
        next += length;
    }
    assert_eq!(next, size);
    assert!(!scene.at("state").exists() && !scene.at("image.part").exists());
}

#[test]
fn what_a_checkpoint_has_is_not_read_again_unless_the_machine_was_started_since() {
    let scene = Scene::new("checkpoint", (3 << 20) + 512);
    let folder = scene.0.canonicalize().expect("a folder");
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("Linux");
    for (start, kept) in [(boot.trim(), 2), ("another", 1)] {
        // A mark stands in the image where nothing is to be read any more.
        let mut marked = vec![0; scene.1.len()];
        marked[..2 << 20].fill(0xee);
        fs::write(scene.at("image.part"), &marked).expect("an image");
        let state = format!(
            "halfturn scan, version 1\ndevice disk\nbytes {}\nimage {}\nhashes -\nboot {start}\n\
             0 1048576 read\nsynced\n1048576 1048576 read\n",
            scene.1.len(),
            folder.join("image").display()
        );
        fs::write(scene.at("state"), state).expect("a checkpoint");
        let done = scene.run(&["disk", "--out", "image", "--resume", "state"]);
        assert!(done.status.success(), "{}", stderr_of(&done));
        let image = fs::read(scene.at("image")).expect("an image");
        assert!(image[..kept << 20].iter().all(|byte| *byte == 0xee), "{start}");
        assert!(image[kept << 20..] == scene.1[kept << 20..], "{start}");
    }
    for (state, told) in [
        ("nonsense\n", "state:1: this is no checkpoint of a scan"),
        ("halfturn scan, version 1\ndevice disk\nbytes 7\n", "state:3: it is of another scan: `bytes 7`"),
    ] {
        fs::write(scene.at("state"), state).expect("a checkpoint");
        let done = scene.run(&["disk", "--out", "image", "--resume", "state"]);
        assert_eq!(done.status.code(), Some(2));
        assert!(stderr_of(&done).contains(told), "{}", stderr_of(&done));
        assert_eq!(fs::read_to_string(scene.at("state")).expect("it stays"), state);
    }
}
