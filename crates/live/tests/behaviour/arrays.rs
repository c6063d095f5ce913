//! Arrays that are served: what clients write they read again, whatever becomes of as many disks as may be lost.

use crate::clients::{ask_at_random, request};
use crate::service::Running;
use live::make::{self, Existing};
use live::{EngineMessage, FaultSetting, Use};
use nbd::{Errno, RequestType};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Bytes of a disk, and of what each of two clients has of the volume.
pub const DISK: u64 = 1 << 20;
pub const PART: u64 = 600_000;

/// A folder with files for disks, which goes with them.
pub struct Disks {
    pub folder: PathBuf,
    count: u64,
}

impl Disks {
    pub fn new(count: u64) -> Disks {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("halfturn-disks-{}-{number}", std::process::id()));
        std::fs::create_dir(&folder).expect("a folder");
        for disk in 0..count {
            std::fs::File::create(folder.join(format!("{disk}"))).and_then(|file| file.set_len(DISK)).expect("a file");
        }
        Disks { folder, count }
    }

    /// One more file, of so many bytes of rubbish.
    pub fn more(&self, name: &str, bytes: u64) -> PathBuf {
        let path = self.folder.join(name);
        std::fs::write(&path, vec![0xA5; bytes as usize]).expect("a file");
        path
    }

    /// A service file of them; the first lines of its array, and more lines.
    pub fn text(&self, array: &str, more: &str) -> String {
        let disks = (0..self.count).map(|disk| format!("[[disk]]\npath = \"{}/{disk}\"\n", self.folder.display()));
        let disks: String = disks.collect();
        format!(
            "{disks}[array]\n{array}\n[serve]\nfaults = true\ntimeout = \"2s\"\n[scheduler]\npolicy = \"look\"\n{more}\n\
             [[volume]]\nname = \"a\"\n"
        )
    }
}

impl Drop for Disks {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The array of a service file is made.
pub fn create(text: &str) {
    make::create_array(&parse(text), Existing::Kept).expect("an array");
}

pub fn parse(text: &str) -> load::experiment::Experiment {
    load::experiment::parse_service("test.toml", text, &[]).expect("a service file")
}

/// What each disk of an array is to it, and why it is not served.
pub fn status(text: &str) -> (Vec<&'static str>, Option<String>) {
    let (status, admitted) = make::array_status(&parse(text)).expect("a status");
    (status.disks.iter().map(live::array::MemberState::word).collect(), admitted.err().map(|error| error.to_string()))
}

/// Something is wrong with a disk from now on.
pub fn fault(service: &Running, disk: u64, fault: &str) {
    let told = json!({ "disk": disk, "fault": fault });
    let setting = FaultSetting::parse(&told).expect("a fault");
    let answer = service.caller().ask(|asker| EngineMessage::Fault(setting, asker), Duration::from_secs(20));
    assert_eq!(answer, Some(Ok(())));
}

/// Reads what a part of the volume holds.
pub fn holds(service: &Running, from: u64) -> Vec<u8> {
    let mut remote = service.connect("a");
    remote.patience(Some(Duration::from_secs(60))).expect("a limit");
    remote.send(request(RequestType::Read, 1, from, PART as u32), &[]).expect("sent");
    remote.answer().expect("an answer").1.expect("it is read")
}

/// Two clients ask at random while disks fail in these ways at random instants; then all is read again, and once more with what
/// may still be lost gone.
fn keeps_all(text: &str, scale: f64, fails: &[(u64, &str)], then: &[u64], seed: u64) {
    println!("seed {seed}: {fails:?}, then {then:?}");
    if text.contains("path = \"/") {
        create(text);
    }
    let service = Running::new(text, scale);
    let kept = std::thread::scope(|scope| {
        let (service, mut draw) = (&service, Pcg64Mcg::seed_from_u64(seed));
        let clients: Vec<_> = [0, PART + 1]
            .into_iter()
            .map(|from| scope.spawn(move || ask_at_random(service, "a", (from, PART), seed + from, 60)))
            .collect();
        for (disk, how) in fails {
            std::thread::sleep(Duration::from_millis(draw.next_u64() % 60));
            fault(service, *disk, how);
        }
        clients.into_iter().map(|client| client.join().expect("it did not panic")).collect::<Vec<_>>()
    });
    let all_there = |when: &str| {
        for (from, kept) in [0, PART + 1].into_iter().zip(&kept) {
            assert!(holds(&service, from) == *kept, "seed {seed}: {when}, from {from} on something else is read");
        }
    };
    all_there("with what failed");
    for disk in then {
        fault(&service, *disk, "error");
    }
    all_there("with as many lost as may be");
    let ended = service.stop();
    assert_eq!(ended.reports[0].counts.failed, 0, "seed {seed}");
}

/// Copies of which each is asked for what is read, and that take over from one another.
pub const SPECULATIVE: &str = "level = \"0/1\"\nstripe = \"16KiB\"\nspeculation = \"copies\"\nmigration = \"jit\"";

/// The same where what lies side by side is asked for at once.
const JOINED: [&str; 3] = [
    "level = \"0\"\nstripe = \"4KiB\"\ncoalescing = \"units\"",
    "level = \"0/1\"\nstripe = \"4KiB\"\ncoalescing = \"units\"",
    "level = \"5\"\nstripe = \"4KiB\"\ncoalescing = \"units\"",
];

pub const SHORT: &str = "io = \"semi-preemptible\"\npreemption = \"priority\"\nplan = { chunk = \"16KiB\" }";

#[test]
fn of_every_level_each_reads_what_it_wrote() {
    for (array, disks) in [
        ("level = \"0\"\nstripe = \"16KiB\"", 3),
        ("level = \"0/1\"\nstripe = \"16KiB\"", 4),
        (SPECULATIVE, 4),
        (JOINED[0], 3),
        ("level = \"5\"\nstripe = \"16KiB\"", 4),
        ("level = \"5\"\nstripe = \"16KiB\"\nread_cache = \"1MiB\"", 4),
        ("level = \"6\"\nstripe = \"4KiB\"", 5),
    ] {
        for more in ["", SHORT] {
            let files = Disks::new(disks);
            keeps_all(&files.text(array, more), 1.0, &[], &[], 1);
        }
    }
}

/// An array and its disks, how which of them fail while it is asked, and which then.
type FailingScene = ((&'static str, u64), &'static [(u64, &'static str)], &'static [u64]);

/// Disks that fail, that tear what they write, and that hang: the array goes on without them.
#[test]
fn with_as_many_disks_lost_as_may_be_nothing_is() {
    let mirrored = ("level = \"0/1\"\nstripe = \"16KiB\"", 4);
    let parity = ("level = \"5\"\nstripe = \"16KiB\"", 4);
    let double = ("level = \"6\"\nstripe = \"4KiB\"", 5);
    let speculative = (SPECULATIVE, 4);
    let joined = [JOINED[1], JOINED[2]].map(|array| (array, 4));
    let scenes: [FailingScene; 12] = [
        (mirrored, &[(1, "error")], &[0]),
        (mirrored, &[(2, "torn"), (1, "stall")], &[]),
        (parity, &[], &[2]),
        (parity, &[(3, "error")], &[]),
        (parity, &[(0, "stall")], &[]),
        (double, &[(4, "torn"), (1, "error")], &[]),
        (double, &[(2, "stall")], &[0]),
        (speculative, &[(1, "error")], &[0]),
        (speculative, &[(2, "torn"), (1, "stall")], &[]),
        (speculative, &[], &[3]),
        (joined[0], &[(1, "error")], &[2]),
        (joined[1], &[(3, "torn")], &[]),
    ];
    for (seed, ((array, disks), fails, then)) in (1..).zip(scenes) {
        for more in ["", SHORT] {
            let files = Disks::new(disks);
            keeps_all(&files.text(array, more), 1.0, fails, then, seed);
        }
    }
}

/// Emulated drives, which forget all: they know of no array, and are made one anew each time.
#[test]
fn emulated_drives_are_an_array_too() {
    let text = "[[disk]]\npath = \"emulated:st318437lw\"\ncount = 4\n[array]\nlevel = \"5\"\n\
                [scheduler]\npolicy = \"satf\"\n[serve]\nfaults = true\n[[volume]]\nname = \"a\"\nsize = \"4MiB\"\n";
    keeps_all(text, 200.0, &[(1, "error")], &[], 9);
}

/// Writes all of the volume, 64 KiB at a time, and twice; what was taken by place, and how often there was no room.
fn write_all(remote: &mut live::Remote, bytes: u64) -> (BTreeMap<u64, u8>, u64) {
    let (mut taken, mut refused) = (BTreeMap::new(), 0);
    for (pass, from) in (1..3).flat_map(|pass| (0..bytes / PIECE).map(move |piece| (pass, piece * PIECE))) {
        let byte = (from / PIECE) as u8 ^ (pass << 6);
        remote.send(request(RequestType::Write, from, from, PIECE as u32), &[byte; PIECE as usize]).expect("sent");
        match remote.answer().expect("an answer").1 {
            Ok(_) => drop(taken.insert(from, byte)),
            Err(errno) => {
                assert_eq!(errno, Errno::NoSpc, "at {from}");
                refused += 1;
            }
        }
    }
    (taken, refused)
}

const PIECE: u64 = 64 << 10;

/// Of a disk without room for more nothing is wrong: the write fails, and all that was written can be had without any disk.
#[test]
fn a_disk_without_room_is_not_given_up() {
    for (level, disks, lost) in [("0/1", 2, vec![0]), ("5", 3, vec![2]), ("6", 4, vec![0, 3])] {
        let disk = |disk: u64| {
            let memory = if disk == 1 { 3 } else { 64 };
            format!("[[disk]]\npath = \"emulated:st318437lw\"\nmemory = \"{memory}MiB\"\n")
        };
        let text = format!(
            "{}[array]\nlevel = \"{level}\"\nstripe = \"16KiB\"\n[scheduler]\npolicy = \"look\"\n[serve]\nfaults = true\n\
             [[volume]]\nname = \"a\"\nsize = \"8MiB\"\n",
            (0..disks).map(disk).collect::<String>()
        );
        let service = Running::new(&text, 200.0);
        let mut remote = service.connect("a");
        remote.patience(Some(Duration::from_secs(60))).expect("a limit");
        let (taken, refused) = write_all(&mut remote, 8 << 20);
        println!("{level}: {} pieces written, {refused} writes refused", taken.len());
        assert!(taken.len() > 40 && refused > 20);
        lost.into_iter().for_each(|disk| fault(&service, disk, "error"));
        for (from, byte) in taken {
            remote.send(request(RequestType::Read, from, from, PIECE as u32), &[]).expect("sent");
            let read = remote.answer().expect("an answer").1.expect("it is read");
            assert!(read == [byte; PIECE as usize], "{level}: at {from}");
        }
        service.stop();
    }
}

/// A thin file of a disk that a write does not go to takes no more room for it.
#[test]
fn a_write_takes_room_on_the_disks_that_have_copies_of_it_alone() {
    use std::os::unix::fs::MetadataExt;
    let files = Disks::new(4);
    let text = files.text(MIRRORED, "");
    create(&text);
    let service = Running::new(&text, 1.0);
    let mut remote = service.connect("a");
    remote.send(request(RequestType::Write, 1, 0, 4096), &[7; 4096]).expect("sent");
    remote.answer().expect("an answer").1.expect("it is written");
    service.stop();
    let has = |disk| std::fs::metadata(files.folder.join(disk)).expect("a disk").blocks() * 512;
    let mut taken = ["0", "1", "2", "3"].map(has);
    taken.sort_unstable();
    assert!(taken[2] >= taken[1] + (128 << 10), "{taken:?}");
}

const MIRRORED: &str = "level = \"0/1\"\nstripe = \"16KiB\"";

#[test]
fn disks_without_superblocks_in_another_order_or_of_the_past_are_refused() {
    let files = Disks::new(4);
    let text = files.text(MIRRORED, "");
    let refused = live::NbdService::new(&parse(&text), Vec::new(), 1.0).err().expect("it was not made");
    assert!(refused.to_string().contains("mend: make the array first: halfturn array create FILE"), "{refused}");
    create(&text);
    assert_eq!(status(&text), (vec!["sound"; 4], None));
    let again = make::create_array(&parse(&text), Existing::Kept).expect_err("it is there");
    assert!(again.what.contains("there are disks of an array"), "{again}");
    let (one, other) = (files.folder.join("1"), files.folder.join("3"));
    let name = |disk: &str| format!("{}/{disk}\"", files.folder.display());
    let swapped = text.replace(&name("1"), "kept").replace(&name("3"), &name("1")).replace("kept", &name("3"));
    let (states, why) = status(&swapped);
    assert_eq!(states, ["sound", "misplaced", "sound", "misplaced"]);
    assert!(why.is_some_and(|why| why.contains("what stands as disk 1 is disk 3 of the array")));
    // A disk and its copy.
    std::fs::rename(&other, files.folder.join("kept")).expect("moved");
    std::fs::copy(&one, &other).expect("copied");
    assert_eq!(status(&text).0, ["sound", "sound", "sound", "misplaced"]);
    std::fs::rename(files.folder.join("kept"), &other).expect("moved");
    let (unlike, _) = status(&text.replace("16KiB", "32KiB"));
    assert_eq!(unlike, ["unlike layout"; 4]);
    let past = std::fs::read(&one).expect("a disk");
    let service = Running::new(&text, 1.0);
    ask_at_random(&service, "a", (0, PART), 3, 20);
    service.stop();
    // What it held before is of the past: two events have been since, the beginning of a service and that it went on without it.
    let service = Running::new(&text, 1.0);
    fault(&service, 1, "error");
    let kept = ask_at_random(&service, "a", (PART + 1, PART), 4, 20);
    service.stop();
    let (states, why) = status(&text);
    assert_eq!(states, ["sound", "given up", "sound", "sound"]);
    assert!(why.is_some_and(|why| why.contains("disk 1 was given up")));
    std::fs::write(&one, past).expect("a disk");
    assert_eq!(status(&text).0, ["sound", "given up", "sound", "sound"]);
    let degraded = text.replace(MIRRORED, &format!("{MIRRORED}\ndegraded = true"));
    assert_eq!(status(&degraded).1, None);
    for gone in [false, true] {
        if gone {
            std::fs::remove_file(&one).expect("a disk");
        }
        let service = Running::new(&degraded, 1.0);
        assert!(holds(&service, PART + 1) == kept, "what was written without it, gone: {gone}");
        service.stop();
    }
    std::fs::remove_file(&other).expect("a disk");
    assert!(status(&degraded).1.is_some_and(|why| why.contains("2 of 4 disks are lacking")), "both of a pair are gone");
}

/// A file that has another level than the disks were made with would have blocks lie elsewhere, and parity in place of data.
#[test]
fn a_file_with_another_level_than_the_superblocks_have_is_refused_and_nothing_is_touched() {
    let levels = ["0", "0/1", "5", "6"].map(|level| format!("level = \"{level}\"\nstripe = \"16KiB\""));
    for made in &levels {
        let files = Disks::new(4);
        let text = files.text(made, "");
        create(&text);
        let service = Running::new(&text, 1.0);
        let kept = ask_at_random(&service, "a", (0, PART), 7, 20);
        service.stop();
        let read = || (0..4).map(|disk| std::fs::read(files.folder.join(format!("{disk}"))).expect("a disk"));
        let before: Vec<_> = read().collect();
        for named in levels.iter().filter(|named| *named != made) {
            for more in ["", "\ndegraded = true"] {
                let wrong = text.replace(made, &format!("{named}{more}"));
                let (states, why) = status(&wrong);
                assert_eq!(states, ["unlike layout"; 4], "{made}, {wrong}");
                assert!(why.is_some_and(|why| why.contains("is of an array of another layout")), "{made}, {named}");
                let refused = live::NbdService::new(&parse(&wrong), Vec::new(), 1.0).err().expect("it is not served");
                assert!(refused.to_string().contains("mend: give [array] as it was made"), "{made}: {refused}");
            }
        }
        assert!(read().eq(before), "{made}: the disks are as they were");
        assert_eq!(status(&text), (vec!["sound"; 4], None));
        let service = Running::new(&text, 1.0);
        assert!(holds(&service, 0) == kept, "{made}");
        service.stop();
    }
}

#[test]
fn disks_of_an_array_and_of_a_copy_that_was_served_by_itself_are_not_mixed() {
    let (files, image) = (Disks::new(4), Disks::new(4));
    let path = |of: &Disks, disk: u64| of.folder.join(format!("{disk}"));
    let texts = [&files, &image].map(|disks| disks.text(&format!("{MIRRORED}\ndegraded = true"), ""));
    create(&texts[0]);
    Running::new(&texts[0], 1.0).stop();
    (0..4).for_each(|disk| assert!(std::fs::copy(path(&files, disk), path(&image, disk)).is_ok()));
    assert_eq!(status(&texts[1]), (vec!["sound"; 4], None), "a copy alone is as good");
    let mix = |wanted: &str| {
        let ours = std::fs::read(path(&files, 1)).expect("a disk");
        std::fs::copy(path(&image, 1), path(&files, 1)).expect("copied");
        let (states, why) = status(&texts[0]);
        std::fs::write(path(&files, 1), ours).expect("a disk");
        assert!(states.contains(&"of a copy"), "{wanted}: {states:?}");
        assert!(why.is_some_and(|why| why.contains("is of a copy of the array that was served by itself")), "{wanted}");
    };
    Running::new(&texts[0], 1.0).stop();
    mix("the copy is as it was");
    Running::new(&texts[1], 1.0).stop();
    mix("both were served");
    assert_eq!(status(&texts[0]), (vec!["sound"; 4], None));
}

/// What disks held at some instant while they were served, as after a kill: regions that were written are made to agree.
#[test]
fn what_was_not_ended_well_is_had_again_and_any_disk_may_then_fail() {
    for (seed, (array, disks)) in
        (1..).zip([(MIRRORED, 4), ("level = \"5\"\nstripe = \"16KiB\"", 4), ("level = \"6\"\nstripe = \"4KiB\"", 5)])
    {
        let (files, image) = (Disks::new(disks), Disks::new(disks));
        let text = files.text(array, "");
        create(&text);
        let service = Running::new(&text, 1.0);
        let taken = make::array_status(&parse(&text)).expect_err("the service has the disks");
        assert!(taken.file.ends_with("/0") && taken.what.contains("in use"), "{taken}");
        let kept = ask_at_random(&service, "a", (0, PART), seed, 40);
        for disk in 0..disks {
            std::fs::copy(files.folder.join(format!("{disk}")), image.folder.join(format!("{disk}"))).expect("copied");
        }
        service.stop();
        let (clean, _) = make::array_status(&parse(&text)).expect("a status");
        let text = image.text(array, "");
        let (dirty, admitted) = make::array_status(&parse(&text)).expect("a status");
        assert!(clean.dirty == 0 && dirty.dirty > 0 && admitted.is_ok(), "{array}: {dirty:?}");
        let service = Running::new(&text, 1.0);
        assert!(holds(&service, 0) == kept, "{array}: seed {seed}");
        fault(&service, seed % disks, "error");
        assert!(holds(&service, 0) == kept, "{array}: seed {seed}, without disk {}", seed % disks);
        service.stop();
    }
}

/// Once, when the array is had again; and where parity had to stand in for a disk, what may be wrong.
#[test]
fn of_an_array_that_was_cut_off_it_is_said_what_was_mended_and_what_may_be_wrong() {
    for (array, disks, parity) in [(MIRRORED, 4, false), ("level = \"5\"\nstripe = \"16KiB\"", 3, true)] {
        let array = format!("{array}\ndegraded = true");
        let files = Disks::new(disks);
        create(&files.text(&array, ""));
        let service = Running::new(&files.text(&array, ""), 1.0);
        ask_at_random(&service, "a", (0, PART), 5, 10);
        let images = [false, true].map(|lacking| {
            let image = Disks::new(disks);
            for disk in 0..disks {
                std::fs::copy(files.folder.join(format!("{disk}")), image.folder.join(format!("{disk}")))
                    .expect("copied");
            }
            if lacking {
                std::fs::remove_file(image.folder.join("1")).expect("a disk");
            }
            (lacking, image)
        });
        service.stop();
        for (lacking, image) in images {
            let experiment = parse(&image.text(&array, ""));
            let notes = || make::devices(&experiment, Use::Writes, 0).expect("it is served").notes;
            let (told, again) = (notes(), notes());
            let says = |what: &str| told.iter().filter(|note| note.contains(what)).count();
            assert_eq!(says("the array was not ended well"), 1, "{array}: {told:?}");
            assert_eq!(says("may be told wrong"), usize::from(parity && lacking), "{array}: {told:?}");
            assert!(!again.iter().any(|note| note.contains("not ended well")), "{array}: {again:?}");
        }
    }
}
