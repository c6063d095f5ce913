//! DiskSim's parameter files: read, written as TOML and read back, damaged.

use block::{At, Lbn};
use disk::disksim::{self, Import};
use disk::{Mechanics, parse, write};
use std::path::{Path, PathBuf};

/// The given drives, if they are there.
fn drives() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/drives/disksim");
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| disksim::is_ours(path))
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
    }
}

#[test]
fn what_is_not_modelled_is_listed_with_its_place() {
    let import = small();
    let told: Vec<String> =
        import.ignored.iter().map(|it| format!("{}:{} {} = {}", it.file, it.line, it.parameter, it.value)).collect();
    assert_eq!(
        told,
        [
            "small.diskspecs:45 Percent error in rpms = 0.5",
            "small.diskspecs:7 Extradisc 2nd disconnect overhead = 0.25"
        ]
    );
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
