//! Drives written for DiskSim and read back.

mod common;

use block::{Lbn, Span};
use common::{check, plans};
use disk::disksim::{self, Import};
use disk::{Drive, Layout, LayoutPlan, Sheet, catalogue};
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// What comes back of a drive that is written for DiskSim.
fn there_and_back(drive: &Drive, plan: &LayoutPlan) -> Result<Import, String> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let seeks = format!("halfturn-{}-{count}.seek", std::process::id());
    let files = disksim::export(drive, plan, &seeks)?;
    let folder = std::env::temp_dir();
    std::fs::write(folder.join(&seeks), &files.seeks).unwrap();
    let import = disksim::read("written.parv", files.parameters.as_bytes(), &folder, None);
    std::fs::remove_file(folder.join(&seeks)).unwrap();
    Ok(import.unwrap_or_else(|error| panic!("{error}\n{}", files.parameters)))
}

/// Whether both put blocks at the same places; a zone's kind has another number where zones became parts of a tree.
fn lies_alike(old: &Layout, new: &Layout, tries: u64) {
    assert!(new.blocks() >= old.blocks(), "{} of {} blocks", new.blocks(), old.blocks());
    for k in 0..tries {
        // Blocks inside a larger sector lie where it begins.
        let lbn = Lbn((old.blocks() * k / tries) >> old.sector_shift() << old.sector_shift());
        let (old, new) = (old.locate(lbn), new.locate(lbn));
        assert_eq!((old.track.cylinder, old.track.head), (new.track.cylinder, new.track.head), "{lbn:?}");
        let apart = plans::apart(new.angle, old.angle as f64 / u64::MAX as f64);
        assert!(apart < 1e-6, "{lbn:?} is off by {apart} revolutions");
    }
}

/// Whether a time is what it was, to the rounding of a file and what the points of a seek file may be off.
fn takes_alike(old: Span, new: Span, what: &str) {
    assert!(old.0.abs_diff(new.0) <= 600, "{what}: {old:?} became {new:?}");
}

/// A drive that came from DiskSim has nothing that DiskSim cannot say.
fn comes_back_whole(import: &Import) {
    let back = there_and_back(&import.drive, &import.plan.layout).unwrap();
    let (old, new) = (&import.drive.sheet, &back.drive.sheet);
    lies_alike(&old.mechanics.layout, &new.mechanics.layout, 5000);
    assert_eq!(old.mechanics.rotation, new.mechanics.rotation);
    assert_eq!(old.mechanics.access, new.mechanics.access);
    for distance in 1..old.mechanics.layout.cylinders() {
        let what = format!("a seek over {distance} cylinders");
        // Where no time follows from another the file has the move to the next cylinder.
        if distance > 1 {
            takes_alike(old.mechanics.seek.time(distance), new.mechanics.seek.time(distance), &what);
        }
    }
    let (was, is) = (old.mechanics.switches, new.mechanics.switches);
    takes_alike(was.head, is.head, "head");
    takes_alike(was.cylinder, is.cylinder, "cylinder");
    takes_alike(was.cylinder_write, is.cylinder_write, "cylinder, written");
    takes_alike(was.write_settle, is.write_settle, "settling");
    assert_eq!((old.overheads, old.cache), (new.overheads, new.cache));
    assert_eq!(old.queue, new.queue);
    for rate in [old.bus.mb_s.zip(new.bus.mb_s), old.bus.write_mb_s.zip(new.bus.write_mb_s)].into_iter().flatten() {
        assert!((rate.0 / rate.1 - 1.0).abs() < 1e-3, "{rate:?}");
    }
    assert_eq!(
        (old.bus.mb_s.is_some(), old.bus.write_mb_s.is_some()),
        (new.bus.mb_s.is_some(), new.bus.write_mb_s.is_some())
    );
    assert_eq!((old.bus.watermark, old.bus.write_watermark), (new.bus.watermark, new.bus.write_watermark));
    assert_eq!((old.bus.watermark_of, old.bus.holds_reading), (new.bus.watermark_of, new.bus.holds_reading));
}

#[test]
fn what_disksim_says_comes_back_whole() {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/drives");
    let mut given: Vec<PathBuf> = ["disksim", "disksim-g4"]
        .into_iter()
        .flat_map(|inner| std::fs::read_dir(shared.join(inner)))
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|end| end == "parv"))
        .collect();
    let runs = (1..=60).map(|run| shared.join(format!("disksim-runs/{run:03}/drive.parv")));
    given.extend(runs.filter(|path| path.exists()));
    if given.is_empty() {
        println!("SKIPPED: {} is not there; no given drive was written", shared.display());
    }
    for path in given {
        println!("{}", path.display());
        comes_back_whole(&disksim::load(&path, None).unwrap());
    }
    comes_back_whole(
        &disksim::read("small.diskspecs", include_bytes!("fixtures/small.diskspecs"), Path::new("."), None).unwrap(),
    );
}

#[test]
fn disks_of_the_catalogue_are_written_and_lie_as_they_did() {
    for name in catalogue::names() {
        let seeks = format!("halfturn-{}-{name}.seek", std::process::id());
        let files = catalogue::for_disksim(name, &seeks).unwrap_or_else(|error| panic!("{name}: {error}"));
        std::fs::write(std::env::temp_dir().join(&seeks), &files.seeks).unwrap();
        let back = disksim::read("x.parv", files.parameters.as_bytes(), &std::env::temp_dir(), None).unwrap();
        std::fs::remove_file(std::env::temp_dir().join(&seeks)).unwrap();
        let (old, new) = (catalogue::find(name).unwrap().sheet, back.drive.sheet);
        lies_alike(&old.mechanics.layout, &new.mechanics.layout, 1000);
        let (was, is) = (old.mechanics.switches, new.mechanics.switches);
        takes_alike(was.cylinder.max(was.head), is.cylinder, name);
        takes_alike(was.head, is.head, name);
        takes_alike(was.head_write, is.head_write, name);
        takes_alike(was.cylinder_write.max(was.head_write), is.cylinder_write, name);
        for distance in (2..old.mechanics.layout.cylinders()).step_by(97) {
            takes_alike(old.mechanics.seek.time(distance), new.mechanics.seek.time(distance), name);
            let before_write = |sheet: &Sheet| {
                let table = sheet.mechanics.seek_write.as_ref().unwrap_or(&sheet.mechanics.seek);
                table.time(distance) + sheet.mechanics.switches.write_settle
            };
            takes_alike(before_write(&old), before_write(&new), name);
        }
        let unsaid = files.parameters.lines().filter(|line| line.starts_with("# not said")).count();
        assert!(unsaid <= 12, "{name}: {unsaid}");
    }
}

/// What the head of a written file says that DiskSim cannot be told.
fn unsaid_of(drive: &Drive, plan: &LayoutPlan) -> Vec<String> {
    let files = disksim::export(drive, plan, "x.seek").unwrap();
    files.parameters.lines().filter_map(|line| Some(line.strip_prefix("# not said: ")?.to_owned())).collect()
}

#[test]
fn what_disksim_cannot_be_told_is_said_where_it_matters_and_nowhere_else() {
    let queue = |limit: &str| format!("no command in the queue waits more than {limit} ms");
    let sectors = "sectors of 4096 bytes: each is 8 of 512";
    let files = catalogue::for_disksim("nl20", "x.seek").unwrap();
    assert_eq!(catalogue::find("nl20").unwrap().sheet.queue.age_limit, Span::from_ms(500.0));
    for told in [queue("500.000000"), sectors.to_owned()] {
        assert!(files.parameters.contains(&format!("# not said: {told}\n")), "{told}\n{}", files.parameters);
    }
    let plain = disksim::read("small.diskspecs", include_bytes!("fixtures/small.diskspecs"), Path::new("."), None);
    let Import { mut drive, plan, .. } = plain.unwrap();
    let of = |drive: &Drive| unsaid_of(drive, &plan.layout);
    let before = of(&drive);
    assert!(!before.iter().any(|note| note.starts_with("sectors of") || note.starts_with("no command")), "{before:?}");
    drive.sheet.queue.depth = 4;
    drive.sheet.queue.age_limit = Span::from_ms(250.0);
    assert!(of(&drive).contains(&queue("250.000000")), "{:?}", of(&drive));
    drive.sheet.queue.depth = 1;
    assert!(!of(&drive).contains(&queue("250.000000")), "a queue of one is none");
}

#[test]
fn every_layout_is_written_or_refused() {
    let drive = catalogue::find("st318437lw").unwrap();
    check(600, prop_oneof![plans::plans(), plans::defective()], |plan| {
        let Ok(layout) = Layout::new(&plan) else { return Ok(()) };
        let mut drive = drive.clone();
        let mechanics = disk::Mechanics { layout, ..(*drive.sheet.mechanics).clone() };
        drive.sheet.mechanics = std::sync::Arc::new(mechanics);
        match there_and_back(&drive, &plan) {
            Ok(back) => lies_alike(&drive.sheet.mechanics.layout, &back.drive.sheet.mechanics.layout, 300),
            Err(_) => {
                let whole = plan.zones.iter().all(|zone| zone.remaps.is_empty());
                prop_assert!(!whole || !matches!(plan.sparing, disk::Sparing::Zone | disk::Sparing::None));
            }
        }
        Ok(())
    });
}

#[test]
fn a_name_that_disksim_cannot_read_is_refused() {
    let error = catalogue::for_disksim("nl20", "my seeks.seek").unwrap_err();
    assert!(error.to_string().contains("'my seeks.seek' is no name"), "{error}");
}
