//! DiskSim's parameter files: read, written as TOML and read back, damaged.

use block::{At, Direction, Lbn};
use disk::disksim::{self, Import};
use disk::{FreesAt, Mechanics, Turn, Whole, parse, write};
use std::path::{Path, PathBuf};

/// The given drives, if they are there.
fn drives() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/drives");
    let is_drive = |path: &PathBuf| disksim::is_ours(path) && !path.to_string_lossy().contains("-layout");
    let mut files: Vec<PathBuf> = ["disksim", "disksim-g4"]
        .into_iter()
        .flat_map(|inner| std::fs::read_dir(folder.join(inner)))
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(is_drive)
        .collect();
    files.sort();
    if files.is_empty() {
        println!("SKIPPED: {} is not there; the given drives were NOT imported", folder.display());
    }
    files
}

/// Everything a small drive can say, with an HP seek curve, a scheme of sparing and a dual write segment.
const SMALL: &str = include_str!("fixtures/small.diskspecs");

fn small() -> Import {
    disksim::read("small.diskspecs", SMALL.as_bytes(), Path::new("."), None).unwrap()
}

/// Whether two drives put every block at the same place and take the same times.
fn same(a: &Import, text: &str) {
    let (a, b) = (&a.drive.sheet, parse("x", "x.toml", text).unwrap_or_else(|error| panic!("{error}\n{text}")).sheet);
    let (old, new): (&Mechanics, &Mechanics) = (&a.mechanics, &b.mechanics);
    assert_eq!(old.layout.blocks(), new.layout.blocks());
    for k in 0..5000 {
        let lbn = Lbn(old.layout.blocks() * k / 5000);
        let (old, new) = (old.layout.locate(lbn), new.layout.locate(lbn));
        assert_eq!((old.track, old.sector, old.left, old.remapped), (new.track, new.sector, new.left, new.remapped));
        assert!(old.angle.abs_diff(new.angle).min(new.angle.abs_diff(old.angle)) < 1 << 20, "{lbn:?}");
    }
    assert_eq!(old.seek.ns(), new.seek.ns());
    assert_eq!(old.seek_write.as_ref().map(|table| table.ns()), new.seek_write.as_ref().map(|table| table.ns()));
    assert_eq!((old.rotation, old.switches, old.access), (new.rotation, new.switches, new.access));
    assert_eq!((a.overheads, a.cache, a.queue), (b.overheads, b.cache, b.queue));
    assert_eq!(a.bus, b.bus);
}

#[test]
fn an_imported_drive_is_the_same_when_written_and_read_back() {
    let imports = drives().into_iter().map(|path| disksim::load(&path, None).unwrap());
    for import in imports.chain([small()]) {
        same(&import, &write(&import.plan));
        same(&import, &import.text());
    }
}

#[test]
fn a_name_of_any_characters_is_written_and_read_back() {
    let text = SMALL.replace("BASE SMALL", "BASE S\"M\\ä\u{1}\u{85}L");
    let import = disksim::read("ü.diskspecs", text.as_bytes(), Path::new("."), Some("S\"M\\ä\u{1}\u{85}L")).unwrap();
    let back = parse("x", "x.toml", &write(&import.plan)).unwrap();
    assert_eq!((back.sheet.title, back.sheet.sources), (import.plan.title, import.plan.sources));
}

#[test]
fn what_is_not_modelled_is_listed_with_its_place() {
    let import = small();
    let told = |neutral| -> Vec<String> {
        let told = import.ignored.iter().filter(|it| it.neutral == neutral);
        told.map(|it| format!("{}:{} {} = {}", it.file, it.line, it.parameter, it.value)).collect()
    };
    assert_eq!(told(false), ["small.diskspecs:7 Extradisc 2nd disconnect overhead = 0.25"]);
    assert_eq!(told(true), [""; 0]);
    assert_eq!(import.warnings, ["the file says 999 blocks, its layout holds 1104: the layout counts"]);
}

#[test]
fn a_small_drive_is_what_its_parameters_say() {
    let import = small();
    let sheet = &import.drive.sheet;
    let mechanics = &sheet.mechanics;
    let ms = |distance| mechanics.seek.time(distance).as_ms();
    assert_eq!((ms(1), ms(10)), (1.1, 2.0));
    assert!((ms(11) - (1.0 + 0.1 * 11f64.sqrt())).abs() < 1e-6 && (ms(20) - (1.2 + 0.02 * 20.0)).abs() < 1e-6);
    // The second cylinder of the zone: its heads descend.
    let track = mechanics.layout.locate(Lbn(46)).track;
    assert_eq!((track.cylinder, track.head), (1, 1));
    assert_eq!((sheet.cache.segments, sheet.cache.write_buffer, sheet.cache.shared), (3, 64, false));
    assert_eq!(sheet.overheads.read.write.as_ms(), 0.4);
    assert_eq!(sheet.bus.mb_s.map(|rate| (rate * 1000.0).round()), Some(5120.0));
}

/// The small drive with some of its text replaced.
fn with(replace: &[(&str, &str)]) -> Import {
    let text = replace.iter().fold(SMALL.to_owned(), |text, (old, new)| {
        assert!(text.contains(old), "{old}");
        text.replacen(old, new, 1)
    });
    disksim::read("small.diskspecs", text.as_bytes(), Path::new("."), None).unwrap()
}

#[test]
fn what_is_overridden_is_told_once_as_it_is_in_the_end() {
    let import = with(&[
        ("Print stats = 1", "Disconnect write if seek = 1, Max queue length = 4"),
        ("Immediate buffer write = 1", "Disconnect write if seek = 2"),
        (
            "disksim_ioqueue { Scheduling policy = 1",
            "disksim_ioqueue { Maximum concat size = 3, Scheduling policy = 14",
        ),
    ]);
    let told: Vec<String> =
        import.ignored.iter().filter(|it| !it.neutral).map(|it| format!("{} = {}", it.parameter, it.value)).collect();
    let all = [
        "Scheduling policy = 14",
        "Maximum concat size = 3",
        "Extradisc 2nd disconnect overhead = 0.25",
        "Disconnect write if seek = 2",
    ];
    assert_eq!(told, all);
}

#[test]
fn the_queue_in_the_drive_is_that_of_its_parameters() {
    let queue = |more: &str, policy: u32| {
        let policy = format!("disksim_ioqueue {{ Scheduling policy = {policy}");
        let import = with(&[("Print stats = 1", more), ("disksim_ioqueue { Scheduling policy = 1", &policy)]);
        same(&import, &import.text());
        let queue = import.drive.sheet.queue;
        (queue.depth, queue.order, queue.frees_at)
    };
    let orders = [(1, Turn::Fcfs), (2, Turn::Ascending), (3, Turn::CLook), (4, Turn::Sstf), (8, Turn::Soonest)];
    for (policy, order) in orders {
        assert_eq!(queue("Max queue length = 8", policy), (8, order, FreesAt::Completion));
    }
    assert_eq!(queue("Preseeking level = 1", 1), (1, Turn::Fcfs, FreesAt::Message));
    assert_eq!(queue("Preseeking level = 2", 1), (1, Turn::Fcfs, FreesAt::Medium));
    // Of two segments one is for writes: the next read has none before the data of the last one have gone.
    let one = with(&[
        ("Print stats = 1", "Preseeking level = 2"),
        ("Number of buffer segments = 4", "Number of buffer segments = 2"),
    ]);
    assert_eq!((one.drive.sheet.cache.segments, one.drive.sheet.queue.frees_at), (1, FreesAt::Completion));
    let text = SMALL.replacen("Print stats = 1", "Preseeking level = 3", 1);
    let error = disksim::read("small.diskspecs", text.as_bytes(), Path::new("."), None).unwrap_err();
    assert!(error.what.contains("no level 3"), "{error}");
}

#[test]
fn the_habits_of_a_controller_are_those_of_its_parameters() {
    let plain = small().drive.sheet;
    let changed = |more: &str| {
        let import = with(&[("Print stats = 1", more)]);
        same(&import, &import.text());
        import.drive.sheet
    };
    let span = |ms: f64| block::Span((ms * 1e6) as u64);
    let sheet =
        changed("Data preparation overhead = 0.5, First reselect overhead = 0.25, Write disconnect overhead = 0.125");
    assert_eq!((sheet.overheads.prepare, sheet.overheads.reselect), (span(0.5), span(0.75)));
    assert_eq!((sheet.overheads.release_write, plain.overheads.release_write), (span(0.125), span(0.0)));
    let sheet = changed("Read disconnect afterread = 0.1, Read disconnect afterwrite = 0.2");
    assert_eq!((sheet.overheads.release_read.read, sheet.overheads.release_read.write), (span(0.1), span(0.2)));
    assert!(!changed("Combine seq writes = 0").cache.joins_writes && plain.cache.joins_writes);
    assert!(changed("Allow write prebuffering = 1").cache.accepts_busy && !plain.cache.accepts_busy);
    assert!(changed("Hold bus entire read xfer = 1").bus.holds_reading && !plain.bus.holds_reading);
    for told in ["Write hit stop prefetch = 0", "Immed transfer partial hit = 0", "Hold bus entire write xfer = 1"] {
        let import = with(&[("Print stats = 1", told)]);
        let name = told.split(" = ").next().unwrap();
        assert!(import.ignored.iter().any(|it| it.parameter == name && !it.neutral), "{told} is not modelled");
    }
    let import = with(&[("Set watermark by reqsize = 1", "Set watermark by reqsize = 0")]);
    assert_eq!((import.drive.sheet.bus.watermark_of, plain.bus.watermark_of), (Whole::Segment, Whole::Request));
    let import = with(&[("Percent error in rpms = 0.5", "Percent error in rpms = 0.25")]);
    assert!((import.drive.truth.rpm_offset - 0.0025).abs() < 1e-12);
}

#[test]
fn a_write_may_settle_sooner_than_a_read() {
    let import = with(&[("write settling delay = 0.5", "write settling delay = -0.15")]);
    let mechanics = &import.drive.sheet.mechanics;
    let at = |cylinder, head| disk::Track { zone: 0, cylinder, head };
    let ms = |to, write| mechanics.stroke(at(0, 0), to, write).total().as_ms();
    // Head switch, seek, a seek with a head switch: before reads and before writes.
    for (to, read, write) in
        [(at(0, 1), 0.2, 0.05), (at(1, 0), 1.1, 0.95), (at(10, 1), 2.0, 1.85), (at(0, 0), 0.0, 0.0)]
    {
        assert!(
            (ms(to, Direction::Read) - read).abs() < 1e-5 && (ms(to, Direction::Write) - write).abs() < 1e-5,
            "{to:?}"
        );
    }
    let crossings = [at(0, 1), at(1, 0)].map(|to| mechanics.crossing(at(0, 0), to, Direction::Write).as_ms());
    assert!((crossings[0] - 0.05).abs() < 1e-5 && (crossings[1] - 0.95).abs() < 1e-5, "{crossings:?}");
    assert_eq!(import.warnings.len(), 1, "{:?}", import.warnings);
    same(&import, &import.text());
    // No move takes less than no time.
    let import = with(&[("write settling delay = 0.5", "write settling delay = -0.5")]);
    let mechanics = &import.drive.sheet.mechanics;
    assert!(mechanics.stroke(at(0, 0), at(0, 1), Direction::Write).total().as_ms() < 1e-5);
    assert!((mechanics.stroke(at(0, 0), at(1, 0), Direction::Write).total().as_ms() - 0.9).abs() < 1e-5);
    assert!(import.warnings.iter().any(|warning| warning.contains("the shortest move")), "{:?}", import.warnings);
    same(&import, &import.text());
}

#[test]
fn only_what_lies_between_host_and_drive_slows_its_bus() {
    let buses = "disksim_bus SLOW { Read block transfer time = 0.5, Arbitration time = 0.1 }\n\
                 disksim_bus FAST { Write block transfer time = 0.2, Arbitration time = 0.3 }\n\
                 instantiate [ b0 .. b1 ] as FAST\ninstantiate [ s ] as SLOW\n";
    let topology = "topology disksim_bus b1 [ disksim_disk disk0 [], disksim_bus s [] ]\n";
    let rate = |more: &str| {
        let text = format!("{SMALL}\n{buses}{more}");
        let import = disksim::read("small.parv", text.as_bytes(), Path::new("."), Some("disk0")).unwrap();
        let arbitration = import.ignored.iter().filter(|it| it.parameter == "Arbitration time");
        let told: Vec<String> = arbitration.map(|it| it.value.clone()).collect();
        let rate = |write| import.drive.sheet.bus.rate(write).map(|rate| (rate * 1000.0).round());
        same(&import, &import.text());
        ([rate(Direction::Read), rate(Direction::Write)], told)
    };
    assert_eq!(rate(topology), ([Some(5120.0), Some(2560.0)], vec!["0.3".to_owned()]));
    // Without a topology, all count.
    assert_eq!(rate(""), ([Some(1024.0), Some(2560.0)], vec!["0.1".to_owned(), "0.3".to_owned()]));
}

#[test]
fn a_name_is_the_same_when_written_and_read_back_whatever_is_in_it() {
    let import =
        with(&[("BASE SMALL", "BASE O'Häusser\\\"x\u{7f}\u{1}"), ("as SMALL", "as O'Häusser\\\"x\u{7f}\u{1}")]);
    assert_eq!(import.plan.title, "O'Häusser\\\"x\u{7f}\u{1}");
    assert_eq!(parse("x", "x.toml", &import.text()).unwrap().sheet.title, import.plan.title);
}

#[test]
fn a_seek_file_lies_beside_the_file_that_names_it_or_beside_the_first() {
    let folder = std::env::temp_dir().join(format!("halfturn-beside-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("inner")).unwrap();
    let start = SMALL.find("dm_disk SMALL_model").unwrap();
    let end = SMALL.find("} # the base").unwrap();
    let model = SMALL[start..end].replace("Seek type = hplplus10", "Seek type = extracted, Full seek curve = a.seek");
    std::fs::write(folder.join("inner/a.model"), model).unwrap();
    let text = format!("{}source inner/a.model\n{}", &SMALL[..start], &SMALL[end..]);
    let top = folder.join("a.diskspecs");
    std::fs::write(&top, text).unwrap();
    let single = || disksim::load(&top, None).map(|import| import.drive.sheet.mechanics.seek.time(1).as_ms());
    assert!(single().unwrap_err().what.contains("a.seek"));
    std::fs::write(folder.join("a.seek"), "1, 3.0\n").unwrap();
    assert_eq!(single(), Ok(3.0));
    std::fs::write(folder.join("inner/a.seek"), "1, 2.0\n").unwrap();
    assert_eq!(single(), Ok(2.0));
    std::fs::remove_dir_all(&folder).unwrap();
}

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % limit.max(1) as u64) as usize
    }
}

#[test]
fn damage_never_panics_and_is_told_with_a_mend() {
    let given = std::env::var("HALFTURN_SEED").ok().and_then(|seed| seed.parse().ok());
    for seed in given.map_or(1..3000u64, |seed: u64| seed..seed + 1) {
        let mut dice = Dice(seed);
        let mut bytes = SMALL.as_bytes().to_vec();
        for _ in 0..=dice.below(4) {
            let at = dice.below(bytes.len());
            let until = at + dice.below(40).min(bytes.len() - at);
            match dice.below(6) {
                0 if dice.below(4) == 0 => bytes.truncate(at),
                0 | 1 => bytes[at] = b"{}[],=9-.\0\xff"[dice.below(11)],
                2 => drop(bytes.splice(at..at, bytes[at..until].to_vec()).collect::<Vec<_>>()),
                3 => drop(bytes.splice(at..at, *b"99999999999").collect::<Vec<_>>()),
                _ => drop(bytes.drain(at..until)),
            }
            if bytes.is_empty() {
                break;
            }
        }
        let result = std::panic::catch_unwind(|| disksim::read("a.parv", &bytes, Path::new("nowhere"), None));
        match result {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => assert!(!error.what.is_empty() && !error.mend.is_empty(), "{error:?}: {seed}"),
            Err(_) => panic!("HALFTURN_SEED={seed} panics:\n{}", String::from_utf8_lossy(&bytes)),
        }
    }
}

#[test]
fn files_that_source_themselves_or_without_end_are_told() {
    let folder = std::env::temp_dir().join(format!("halfturn-source-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    file("b.model", "source a.parv");
    let told = |path: &Path| disksim::load(path, None).unwrap_err();
    let error = told(&file("a.parv", "# one\nsource b.model\n"));
    assert!(error.what.contains("sources itself") && error.at == At::Line(1), "{error}");
    // Each file includes the next one twice.
    for i in 0..40 {
        let next = format!("f{}.parv", i + 1);
        file(&format!("f{i}.parv"), &format!("source {next}\nsource {next}\n"));
    }
    let error = told(&folder.join("f0.parv"));
    assert!(error.what.contains("deep"), "{error}");
    for i in 0..20 {
        let next = format!("g{}.parv", i + 1);
        let text = if i == 19 { String::new() } else { format!("source {next}\nsource {next}\n") };
        file(&format!("g{i}.parv"), &text);
    }
    let error = told(&folder.join("g0.parv"));
    assert!(error.what.contains("in all"), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_file_that_grows_by_inheritance_is_told() {
    let list = "1, ".repeat(100_000);
    let many: String = (0..200).map(|i| format!("A B{i} {{ }}\n")).collect();
    let text = format!("disksim_disk A {{ a = [{list}] }}\n{many}");
    let error = disksim::read("a.parv", text.as_bytes(), Path::new("."), None).unwrap_err();
    assert!(error.what.contains("inherited counted again"), "{error}");
}

#[test]
fn a_drive_of_as_many_cylinders_as_may_be_is_imported_and_one_more_is_told() {
    let drive = |last: u32| {
        let text = format!(
            "dm_disk A {{ Number of data surfaces = 1, Layout Model = dm_layout_g1 {{ LBN-to-PBN mapping scheme = 0,
             Sparing scheme used = 0, Zones = [ dm_layout_g1_zone {{ First cylinder number = 0,
             Last cylinder number = {last}, Blocks per track = 16777215 }} ] }}, Mechanical Model = dm_mech_g1 {{
             Seek type = linear, Single cylinder seek time = 1.0, Average seek time = 5.0,
             Full strobe seek time = 9.0, Rotation speed (in rpms) = 7200 }} }}"
        );
        disksim::read("a.model", text.as_bytes(), Path::new("."), None)
    };
    let import = drive((1 << 24) - 1).unwrap();
    let mechanics = &import.drive.sheet.mechanics;
    let last = mechanics.layout.locate(Lbn(mechanics.layout.blocks() - 1));
    assert_eq!((last.track.cylinder, last.sector, last.left), ((1 << 24) - 1, 16_777_214, 1));
    // Four bytes for each distance is all a cylinder costs.
    assert_eq!(mechanics.seek.ns().len(), 1 << 24);
    assert!(drive(1 << 24).unwrap_err().what.contains("is 16777216"));
}
