//! A drive of which some values are other than its file says: what an experiment may put into `[drive]` beside the model.
//!
//! A table stands there under its name, as `[drive.cache]`. A key that one table alone has may stand in `[drive]` itself.

use crate::catalogue;
use crate::other::FORMS;
use crate::read::{self, Model};
use block::BadInput;
use config::{About, Document, Table};

/// Tables of a drive file that describe no part of the drive.
const REMARKS: [&str; 3] = ["", "[published]", "[confidence]"];

/// The forms that the curve of seeks may have, each with its keys.
const CURVES: [&[&str]; 3] =
    [&["table"], &["lee_ms"], &["a_ms", "b_ms", "knee", "c_ms", "e_ms", "single_ms", "first_ms"]];

/// The tables of a disk's file that may be changed.
#[must_use]
pub fn tables() -> Vec<Table> {
    read::tables().into_iter().filter(|table| !REMARKS.contains(&table.heading)).collect()
}

/// The path of a table: `["overhead", "large"]`.
fn path(table: &Table) -> Vec<&'static str> {
    table.heading.trim_matches(['[', ']']).split('.').collect()
}

/// Every name that may stand in `[drive]`: of the tables, and of keys that one table of a disk, or a kind of device, alone has.
#[must_use]
pub fn names() -> Vec<&'static str> {
    let mut names: Vec<&str> = tables().iter().map(|table| path(table)[0]).collect();
    names.extend(alone().into_iter().map(|(key, _)| key.name));
    names.extend(FORMS.iter().flat_map(|form| form.keys).map(|about| about.name));
    names.push("depth");
    names.sort_unstable();
    names.dedup();
    names
}

/// The keys of a disk's file that one table alone has, and the path of that.
#[must_use]
pub fn alone() -> Vec<(About, Vec<&'static str>)> {
    // The keys of `[seek.write]` are those of `[seek]`.
    let tables: Vec<Table> = tables().into_iter().filter(|table| table.heading != "[seek.write]").collect();
    let all: Vec<_> = tables.iter().flat_map(|table| table.keys.iter().map(|about| (*about, path(table)))).collect();
    let is_alone = |(about, _): &&(About, _)| all.iter().filter(|(other, _)| other.name == about.name).count() == 1;
    all.iter().filter(is_alone).cloned().collect()
}

/// The device of this name with these values in place of those of its file.
///
/// # Errors
/// When there is no such drive or file, or a value is none that its key takes: by the line of whoever gave it.
pub fn read_changed(name: &str, changes: &Document) -> Result<Model, BadInput> {
    let (known, mut document, folder) = catalogue::document(name)?;
    let mut changes = changes.clone();
    if read::is_of_a_disk(&document)? {
        for (key, path) in alone() {
            // `[drive.queue]` is a table, and no key of one.
            if !matches!(changes.root().section(key.name), Ok(Some(_))) {
                changes.put_into(key.name, &path)?;
            }
        }
    }
    // A curve that is given takes the place of one of another form.
    let given = |form: &&[&str]| matches!(changes.root().section("seek"), Ok(Some(seek)) if seek.keys().any(|key| form.contains(&key)));
    if let Some(form) = CURVES.into_iter().find(given) {
        CURVES.into_iter().filter(|other| *other != form).for_each(|other| document.take_out("seek", other));
    }
    document.overlay(&changes);
    read::model(&known, &document, &folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(model: &str, text: &str) -> Result<Model, String> {
        let changes = Document::parse("f.toml", text).expect("TOML");
        read_changed(model, &changes).map_err(|error| error.to_string())
    }

    fn rpm(model: &Model) -> f64 {
        let Model::Disk(drive) = model else { panic!("not a disk") };
        (60e9 / drive.sheet.mechanics.rotation.period_ns()).round()
    }

    #[test]
    fn a_value_in_its_table_or_by_itself_changes_the_drive() {
        assert_eq!(rpm(&change("nl20", "rpm = 5400").expect("a drive")), 5400.0);
        assert_eq!(rpm(&change("nl20", "[rotation]\nrpm = 5400").expect("a drive")), 5400.0);
        let Ok(Model::Disk(drive)) = change("nl20", "above = \"64KiB\"\n[cache]\nsegments = 3\nsegment = \"1MiB\"")
        else {
            panic!("no disk")
        };
        assert_eq!((drive.sheet.cache.segments, drive.sheet.cache.segment), (3, 2048));
        assert_eq!(drive.sheet.overheads.large.map(|large| large.above), Some(128));
        let Ok(Model::Disk(drive)) = change("nl20", "lee_ms = [0.4, 0.0, 2.0]") else { panic!("no disk") };
        assert!((drive.sheet.mechanics.seek.time(101).as_ms() - 6.0).abs() < 0.01);
        let Ok(Model::Other(tape)) = change("tape-lto5", "wraps = 7\ndepth = 2") else { panic!("no tape") };
        assert_eq!(tape.depth, 2);
        assert!(format!("{:?}", tape.kind).contains("wraps: 7"), "{tape:?}");
    }

    #[test]
    fn nothing_changed_is_the_drive_itself() {
        for name in catalogue::names().chain(catalogue::others()) {
            let (own, same) = (catalogue::model(name).expect("a drive"), change(name, "").expect("a drive"));
            assert_eq!(format!("{own:?}"), format!("{same:?}"));
        }
    }

    #[test]
    fn what_is_wrong_is_told_by_the_line_that_says_it() {
        for (text, told) in [
            ("\nrpm = 0", "f.toml:2: `rpm` is 0\n  mend: give a number from 1 to 1000000"),
            ("[cache]\nsegmnets = 3", "f.toml:2: unknown key `segmnets` in [cache]\n  mend: did you mean 'segments'?"),
            ("rpm = 1\nrotation.rpm = 2", "f.toml:1: `rpm`, and `rotation.rpm` too\n  mend: keep one of them"),
            ("capacity = \"1GB\"", "f.toml:1: unknown key `capacity`"),
        ] {
            let error = change("nl20", text).expect_err("a bad value");
            assert!(error.starts_with(told), "{error}");
        }
    }

    #[test]
    fn every_name_alone_finds_its_table() {
        let alone = alone();
        let of = |key: &str| alone.iter().find(|(about, _)| about.name == key).map(|(_, path)| path.join("."));
        assert_eq!(of("rpm").as_deref(), Some("rotation"));
        assert_eq!(of("knee").as_deref(), Some("seek"));
        // Both the geometry and the queue have an order.
        assert_eq!(of("order"), None);
        assert!(alone.len() > 50, "{}", alone.len());
    }
}
