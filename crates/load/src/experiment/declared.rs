//! What is declared of keys is so: what is read is declared and the other way round, a usual value is one that the key takes and
//! that stands for it, an example reads. The tables of the scheduler are held by tests beside them.

use super::*;
use crate::workload::{Manual, manuals};
use block::units;
use config::{About, Missing, Table, Takes};
use std::collections::BTreeSet;

/// A file with each table in which keys of no other are needed for all to be of use.
const PLAIN: &str = r#"
client = [{ user = "root", priority = 1 }]
fault = [{ disk = 1, kind = "stall", at = "1s" }]
[drive]
path = "emulated:nl20"
drift = { at = "1s", seek = 0.2 }
[array]
level = "0/1"
disks = 4
buffer = "1MiB"
fails = [{ disk = 1 }]
[scheduler]
policy = "fcfs"
[[volume]]
name = "v"
size = "1GiB"
[serve]
[run]
duration = "1s"
"#;

/// A workload for those who are not about any.
const SOME: &str = "\nname = \"it\"\nkind = \"closed\"\ndepth = 1\nsize = \"4KiB\"";

/// The file that a table is tried in, and the path to it.
fn place(table: &Table) -> (String, String) {
    let path = table.heading.trim_matches(['[', ']']);
    let (plain, path) = match path {
        "disk" => (PLAIN.replace("[drive]\n", "[[disk]]\ncount = 1\n"), "disk.0".into()),
        "device" => (PLAIN.replace("[drive]\n", "[[device]]\nname = \"d\"\n"), "device.d".into()),
        "volume" => (PLAIN.into(), "volume.v".into()),
        "client" => (PLAIN.into(), "client.0".into()),
        "fault" => (PLAIN.into(), "fault.0".into()),
        "fleet" => (format!("{PLAIN}[fleet]\ndisks = 2\n"), "fleet".into()),
        "array.fails" => (PLAIN.into(), "array.fails.0".into()),
        "workload" => (PLAIN.into(), "workload.it".into()),
        "system" => {
            let example = manuals().find(|manual| manual.name == "processes").map(|manual| manual.example);
            return (format!("{PLAIN}[system]\n{}", asked(example.unwrap_or_default())), "system".into());
        }
        path => (PLAIN.into(), path.to_owned()),
    };
    (format!("{plain}[[workload]]{SOME}"), path)
}

/// A workload of these lines.
fn asked(lines: &str) -> String {
    format!("[[workload]]\nname = \"it\"\n{lines}\n")
}

/// The file that a kind of workload is tried in: with an array, but for those that are of one disk, or of an array that is whole.
fn asking(manual: &Manual) -> String {
    let (before, rest) = PLAIN.split_once("[array]").expect("an array");
    let (_, after) = rest.split_once("[scheduler]").expect("a scheduler");
    let texts = [
        PLAIN.to_owned(),
        format!("{before}[scheduler]{after}").replace("disk = 1, kind", "volume = \"v\", kind"),
        format!("{before}[array]\nlevel = \"5\"\ndisks = 4\n[scheduler]{after}"),
    ];
    let texts = texts.map(|plain| plain + &asked(manual.example));
    texts.iter().find(|text| read(text, &[]).is_ok()).unwrap_or(&texts[0]).clone()
}

/// The tables that are not the scheduler's.
fn own() -> impl Iterator<Item = Table> {
    tables().into_iter().filter(|table| !table.heading.starts_with("[scheduler"))
}

/// What is read of a text with these sets.
fn read(text: &str, sets: &[String]) -> Result<Experiment, String> {
    parse("f.toml", text, sets, None).map(|mut cases| cases.remove(0).experiment).map_err(|error| error.to_string())
}

/// The keys that are known where `path` leads, as the error about a strange one lists them.
fn known(text: &str, path: &str, strange: &str) -> String {
    let set = if path.is_empty() { format!("{strange}=1") } else { format!("{path}.{strange}=1") };
    let error = read(text, &[set]).expect_err("a strange key");
    assert!(error.contains(&format!("unknown key `{strange}`")), "{path}: {error}");
    error
}

fn names(list: &str) -> BTreeSet<String> {
    let list = list.split("known here: ").nth(1).unwrap_or_default();
    list.trim().split(", ").map(Into::into).collect()
}

/// Whether a value as files have it is one that is declared.
fn is_taken(about: &About, value: &str) -> bool {
    match about.takes {
        Takes::Text | Takes::Name | Takes::Texts | Takes::Numbers | Takes::Rows | Takes::Form(_) => true,
        Takes::BoolOr(word) => value == word || value.parse::<bool>().is_ok(),
        Takes::Bool => value.parse::<bool>().is_ok(),
        Takes::Whole(least, most) => value.parse().is_ok_and(|number: u64| (least..=most).contains(&number)),
        Takes::Number(least, most) => value.parse().is_ok_and(|number: f64| (least..=most).contains(&number)),
        Takes::Share => value.parse().is_ok_and(|number: f64| (0.0..=1.0).contains(&number)),
        Takes::Size => units::blocks(value).is_ok(),
        Takes::Time | Takes::Times => units::span(value).is_ok(),
        Takes::SizeOr(word) => value == word || units::blocks(value).is_ok(),
        Takes::TimeOr(word) | Takes::TimesOr(word) => value == word || units::span(value).is_ok(),
        Takes::Rate => units::rate(value).is_ok(),
        Takes::Word(words) => words().iter().any(|(word, _)| *word == value),
    }
}

#[test]
fn each_key_has_a_text_and_a_usual_value_that_it_takes() {
    let kinds = manuals().map(|manual| (manual.name, manual.keys.to_vec()));
    for (place, keys) in tables().into_iter().map(|table| (table.heading, table.keys)).chain(kinds) {
        let names: BTreeSet<_> = keys.iter().map(|about| about.name).collect();
        assert_eq!(names.len(), keys.len(), "a key twice in {place}");
        for about in keys {
            assert!(about.text.ends_with('.') && about.text.len() > 12, "{place} {}: '{}'", about.name, about.text);
            if let Missing::Value(value) = about.missing {
                assert!(is_taken(&about, value), "{place} {}: {value}", about.name);
            }
            if let Takes::Word(words) = about.takes {
                assert!(words().iter().all(|(_, text)| !text.is_empty()), "{place} {}", about.name);
            }
        }
    }
    assert!(tables().iter().all(|table| table.text.ends_with('.')) && manuals().all(|it| it.text.ends_with('.')));
}

#[test]
fn a_usual_value_in_its_place_changes_nothing() {
    let mut tried = 0;
    let mut try_one = |text: &str, path: &str, about: &About, others: &[String]| {
        let Missing::Value(value) = about.missing else { return };
        let mut sets = others.to_vec();
        let without = read(text, &sets).unwrap_or_else(|error| panic!("{text}: {error}"));
        sets.push(format!("{path}.{}={value}", about.name));
        assert_eq!(read(text, &sets).as_ref(), Ok(&without), "{sets:?}");
        tried += 1;
    };
    for table in own() {
        let (text, path) = place(&table);
        table.keys.iter().for_each(|about| try_one(&text, &path, about, &[]));
    }
    for manual in manuals() {
        for about in manual.keys {
            let only = manual.only.iter().find(|only| only.key == about.name);
            let others = only.map(|only| format!("workload.it.{}={}", only.with, only.values[0]));
            let given = format!("{} = ", about.name);
            let text: Vec<String> =
                asking(manual).lines().filter(|line| !line.starts_with(&given)).map(Into::into).collect();
            try_one(&text.join("\n"), "workload.it", about, &others.into_iter().collect::<Vec<_>>());
        }
    }
    assert!(tried > 50, "{tried}");
}

#[test]
fn what_is_told_of_the_plain_machine_is_so() {
    let (text, path) = place(&system::system());
    let plain = read(&text, &[]).expect("the plain machine");
    for about in system::system().keys.iter().filter(|about| about.name != "preset") {
        let Missing::Told(told) = about.missing else { panic!("{} has a value of its own", about.name) };
        let value = told.split(';').next().unwrap_or(told);
        assert!(is_taken(about, value), "{}: {value}", about.name);
        let changed = read(&text, &[format!("{path}.{}={value}", about.name)]).expect("the value told");
        // One processor is also what is meant where none is given.
        let system = SystemPlan { cpus: plain.system.cpus, ..changed.system };
        assert_eq!(system, plain.system, "{}", about.name);
    }
}

#[test]
fn what_is_read_is_declared_and_what_is_declared_is_read() {
    let inside = |heading: &str, other: &Table| {
        let path = other.heading.trim_matches(['[', ']']);
        let (parent, name) = path.rsplit_once('.').unwrap_or(("", path));
        (!name.is_empty() && parent == heading.trim_matches(['[', ']'])).then(|| name.to_owned())
    };
    for table in own().filter(|table| table.heading != "[[workload]]") {
        let (text, path) = place(&table);
        let here = || tables().into_iter().filter(|other| other.heading == table.heading);
        let mut declared: BTreeSet<String> = here().flat_map(|it| it.keys).map(|about| about.name.into()).collect();
        declared.extend(tables().iter().filter_map(|other| inside(table.heading, other)));
        if ["[[disk]]", "[[device]]"].contains(&table.heading) {
            declared.insert(drive::drift().name().into());
        }
        assert_eq!(names(&known(&text, &path, "qqqqqqqqqq")), declared, "{}", table.heading);
    }
    for manual in manuals() {
        let common = workload::workload().keys;
        let keys = common.iter().chain(manual.keys).chain([&crate::workload::pattern::VOLUME.about]);
        let declared: BTreeSet<String> = keys.map(|about| about.name.into()).collect();
        assert_eq!(names(&known(&asking(manual), "workload.it", "qqqqqqqqqq")), declared, "{}", manual.name);
    }
}

#[test]
fn a_slip_of_any_key_is_told_the_key() {
    let slip = |text: &str, path: &str, name: &str| {
        let error = known(text, path, &format!("{name}x"));
        assert!(error.contains(&format!("did you mean '{name}'")), "{error}");
    };
    for table in own() {
        let (text, path) = place(&table);
        table.keys.iter().for_each(|about| slip(&text, &path, about.name));
    }
    manuals().for_each(|manual| manual.keys.iter().for_each(|about| slip(&asking(manual), "workload.it", about.name)));
}

#[test]
fn each_example_asks_for_the_kind_it_is_of() {
    for manual in manuals() {
        assert!(manual.example.contains(&format!("kind = \"{}\"", manual.name)), "{}", manual.example);
        let experiment = read(&asking(manual), &[]).unwrap_or_else(|error| panic!("{}: {error}", manual.name));
        assert_eq!(experiment.workloads[0].kind.has_processes(), manual.processes, "{}", manual.name);
        for only in manual.only {
            let about = |name: &str| manual.keys.iter().find(|about| about.name == name).expect("a key of the kind");
            assert!(only.values.iter().all(|value| is_taken(about(only.with), value)), "{only:?}");
            assert_eq!(about(only.key).name, only.key);
        }
    }
}
