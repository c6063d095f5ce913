use super::*;
use crate::Meter;
use std::fs;
use std::io::Cursor;
use std::path::PathBuf;

const EXPERIMENT: &str = "
title = 'any'
[drive]
model = 'st318437lw'
[scheduler]
policy = ['fcfs', 'satf']
[[workload]]
name = 'w'
kind = 'trace'
file = 'trace.csv'
time_scale = [1.0, 2.0]
[run]
seed = 3
";

fn folder(test: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("halfturn-points-{test}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("a.toml"), EXPERIMENT).unwrap();
    fs::write(folder.join("trace.csv"), "time_ms,op,lbn,blocks\n0,r,1000,8\n").unwrap();
    folder
}

fn of_file(path: &Path, sets: &[String], seed: Option<u64>) -> Result<Points, BadInput> {
    Points::of(Document::load(path)?, path, sets, seed)
}

fn run(seconds: f64) -> Run {
    let meter = Meter::new(std::iter::empty(), block::Time::ZERO);
    Run { simulated_seconds: seconds, ..Run::of(BTreeMap::new(), &meter, Vec::new(), vec!["a \"note\"".into()]) }
}

#[test]
fn a_point_goes_by_what_decides_it_and_by_nothing_else() {
    let (here, there) = (folder("here"), folder("there"));
    let hashes = |folder: &Path, sets: &[&str]| -> Vec<String> {
        let sets: Vec<String> = sets.iter().map(|set| (*set).into()).collect();
        let points = of_file(&folder.join("a.toml"), &sets, None).unwrap();
        points.points.into_iter().map(|point| point.hash).collect()
    };
    let first = hashes(&here, &[]);
    assert_eq!(first.len(), 4);
    assert!((1..4).all(|i| !first[..i].contains(&first[i])), "{first:?}");
    assert_eq!(hashes(&there, &[]), first, "the folder decides nothing");
    assert_eq!(hashes(&here, &["title=other"]), first, "nor what it is called");
    let fewer = hashes(&here, &["scheduler.policy=satf"]);
    assert_eq!(fewer, first[2..], "nor what stands beside it in the sweep");
    assert!(hashes(&here, &["run.seed=4"]).iter().all(|hash| !first.contains(hash)));
    fs::write(there.join("trace.csv"), "time_ms,op,lbn,blocks\n0,r,1001,8\n").unwrap();
    assert!(hashes(&there, &[]).iter().all(|hash| !first.contains(hash)), "another trace of the same name");
    [here, there].iter().for_each(|folder| fs::remove_dir_all(folder).unwrap());
}

#[test]
fn a_point_rests_on_each_disk_of_its_array() {
    let folder = folder("disks");
    let experiment = "[[disk]]\nmodel = 'one.toml'\n[[disk]]\nmodel = 'other.toml'\n[[disk]]\nmodel = 'atlas10k'\n\
        [array]\nlevel = '0'\n[scheduler]\npolicy = 'fcfs'\n[[workload]]\nname = 'w'\nkind = 'closed'\ndepth = 1\n\
        size = '4KiB'\n[run]\nrequests = 10\n";
    fs::write(folder.join("a.toml"), experiment).unwrap();
    let (_, drive) = disk::catalogue::find_shipped("atlas10k").unwrap();
    ["one.toml", "other.toml"].iter().for_each(|name| fs::write(folder.join(name), drive).unwrap());
    let point = || of_file(&folder.join("a.toml"), &[], None).unwrap().points.remove(0);
    let first = point();
    assert!(first.case.experiment.files() == ["one.toml", "other.toml"].map(|name| folder.join(name)));
    assert!(first.origin.contains("\"inputs\":[{\"name\":\"atlas10k\""), "{}", first.origin);
    fs::write(folder.join("other.toml"), format!("{drive}\n# another\n")).unwrap();
    assert!(point().hash != first.hash, "a disk that is not the first has changed");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_journal_keeps_what_was_written_whole_and_says_what_is_none() {
    let folder = folder("journal");
    let name = folder.join("points.jsonl");
    let [one, other] = ["one", "other"].map(fingerprint);
    let journal = PointJournal::open(&name).unwrap();
    journal.keep(&one, &run(1.5)).unwrap();
    journal.keep(&other, &run(0.1 + 0.2)).unwrap();
    let (whole, kept) = (fs::read(&name).unwrap(), journal.read(&other).unwrap());
    assert_eq!(format!("{UNLABELLED}{kept}"), to_string(&run(0.1 + 0.2)).unwrap());
    // Wherever the writing of the second line stops, the first is kept.
    let first = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for end in [first, first + 1, (first + whole.len()) / 2, whole.len() - 1] {
        fs::write(&name, &whole[..end]).unwrap();
        let journal = PointJournal::open(&name).unwrap();
        assert_eq!((journal.has(&one), journal.has(&other)), (true, false), "cut at {end}");
        journal.keep(&other, &run(0.1 + 0.2)).unwrap();
        assert_eq!(fs::read(&name).unwrap(), whole, "cut at {end}");
        assert_eq!(journal.read(&other).unwrap(), kept);
    }
    fs::write(&name, [&whole[..first], b"{\"point\":\"0\"}\n"].concat()).unwrap();
    let error = PointJournal::open(&name).err().expect("it is none").to_string();
    assert!(error.contains("points.jsonl:2: is not the run of a point\n  mend: "), "{error}");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn rows_of_shards_are_those_of_the_whole() {
    let folder = folder("shards");
    let read = || of_file(&folder.join("a.toml"), &[], None).unwrap();
    let rows = |points: &Points, name: &str| -> Vec<u8> {
        let journal = PointJournal::open(&folder.join(name)).unwrap();
        for point in points.points.iter().rev() {
            journal.keep(&point.hash, &run(point.number as f64 / 7.0)).unwrap();
        }
        let mut rows = Vec::new();
        points.write_rows(&journal, &mut rows).unwrap();
        rows
    };
    let whole = rows(&read(), "whole");
    let names: Vec<PathBuf> = (1..=3).map(|i| folder.join(format!("rows-{i}"))).collect();
    for (i, name) in names.iter().enumerate() {
        let shard = read().shard(format!("{}/3", i + 1).parse().unwrap());
        assert_eq!(shard.points.len(), [2, 1, 1][i]);
        fs::write(name, rows(&shard, &format!("shard-{i}"))).unwrap();
    }
    let mut merged = Vec::new();
    let opened = MergedRows::open(&[names[2].clone(), names[0].clone(), names[1].clone()]).unwrap();
    opened.write(&mut merged).unwrap();
    assert!(merged == whole && opened.count() == 4);
    let fewer = MergedRows::open(&names[..2]).err().expect("one is absent").to_string();
    assert!(fewer.starts_with("merge: 1 of 4 points are in none of the folders, the first number 2\n"), "{fewer}");
    let other = of_file(&folder.join("a.toml"), &["run.seed=9".into()], None).unwrap();
    fs::write(&names[1], rows(&other, "other")).unwrap();
    let mixed = MergedRows::open(&names).err().expect("another sweep").to_string();
    assert!(mixed.contains("rows-2:1: is of another sweep than "), "{mixed}");
    // A row is JSON, and its run that of the results.
    let first = whole.split(|byte| *byte == b'\n').nth(1).unwrap();
    let row: serde_json::Value = serde_json::from_slice(first).unwrap();
    assert_eq!((&row["number"], &row["run"]["labels"]["time_scale"]), (&1.into(), &2.0.into()));
    assert_eq!(row["experiment"]["workload"][0]["file"], "trace.csv");
    assert_eq!(
        (&row["experiment"]["scheduler"]["policy"], &row["inputs"][1]["name"]),
        (&"fcfs".into(), &"trace.csv".into())
    );
    assert_eq!(row["run"]["simulated_seconds"], 1.0 / 7.0);
    let mut table = Vec::new();
    write_csv(&mut Cursor::new(&whole), &mut table).unwrap();
    assert_eq!(table.split(|byte| *byte == b'\n').count(), 1 + 4 + 1);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_shard_is_one_of_so_many() {
    for bad in ["", "1", "0/2", "3/2", "1/0", "a/b", "1/2/3", "-1/2"] {
        assert!(bad.parse::<Shard>().is_err(), "{bad}");
    }
    let shards: Vec<Shard> = ["1/3", "2/3", "3/3"].map(|text| text.parse().unwrap()).into();
    assert!((0..30).all(|point| shards.iter().filter(|shard| shard.has(point)).count() == 1));
    assert_eq!(shards[1].to_string(), "2/3");
}

#[test]
fn a_shard_that_is_read_alone_has_the_points_that_it_has_of_the_whole() {
    let folder = folder("alone");
    let file = folder.join("a.toml");
    let shard: Shard = "2/3".parse().unwrap();
    let alone = Points::of_shard(Document::load(&file).unwrap(), &file, shard).unwrap();
    let whole = of_file(&file, &[], None).unwrap().shard(shard);
    assert_eq!(alone.points.len(), 1);
    for (one, other) in alone.points.iter().zip(&whole.points) {
        assert_eq!((one.number, &one.hash, &one.case), (other.number, &other.hash, &other.case));
    }
    assert_eq!(alone.points.len(), whole.points.len());
    fs::remove_dir_all(folder).unwrap();
}
