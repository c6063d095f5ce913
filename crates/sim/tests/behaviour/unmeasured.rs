//! A belief made by reading alone: what nobody measured of writes is learned from how they come back, and going by it never costs
//! more than distance does.
//!
//! `HALFTURN_UNMEASURED=1 cargo test --release -p halfturn-sim --test behaviour unmeasured -- --nocapture` has the whole table: all disks of
//! the catalogue, and more depths.

use crate::files::{Folder, once, per_second};

/// The keys of a drive file that only writing shows, in their tables.
const OF_WRITES: [(&str, &str); 4] =
    [("cache", "write_buffer"), ("switch", "write_settle"), ("overhead", "write"), ("overhead", "buffered")];

/// The file of a drive of the catalogue as one has it who never wrote to it: those of these keys stand for what nobody measured.
fn without_writes(name: &str, stand: impl Fn(&str) -> Option<&'static str>) -> String {
    let path = format!("{}/../disk/catalogue/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let sheet = std::fs::read_to_string(path).expect("it is there");
    let mut text = String::new();
    let (mut table, mut found) = (String::new(), Vec::new());
    for line in sheet.lines() {
        if let Some(heading) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            table = heading.to_owned();
        }
        let key = line.split('=').next().unwrap_or_default().trim();
        if !OF_WRITES.contains(&(table.as_str(), key)) && !table.starts_with("seek.write") {
            text += line;
            text += "\n";
        }
        if line.starts_with('[') {
            found.push(table.clone());
            for (_, key) in OF_WRITES.iter().filter(|(of, _)| *of == table) {
                text += &stand(key).map_or(String::new(), |value| format!("{key} = \"{value}\"\n"));
            }
        }
    }
    assert!(OF_WRITES.iter().all(|(table, _)| found.iter().any(|it| it == table)), "{name}: {found:?}");
    text
}

/// Half writes at random, so many waiting: requests a second.
fn half_writes(drive: &str, buffers: bool, scheduler: &str, depth: u32, (requests, seed): (u32, u32)) -> f64 {
    per_second(&once(&format!(
        "[drive]\nmodel = \"{drive}\"\nqueue = 1\nwrite_buffer = {buffers}\n[scheduler]\n{scheduler}\n[[workload]]\nkind = \"closed\"\n\
         depth = {depth}\nsize = \"4KiB\"\nread = 0.5\n[run]\nrequests = {requests}\nseed = {seed}\n"
    )))
}

#[test]
fn a_belief_made_by_reading_alone_is_no_worse_than_distance_with_writes() {
    let whole = std::env::var("HALFTURN_UNMEASURED").is_ok();
    let folder = Folder::new("unmeasured");
    let drives: Vec<&str> = match whole {
        true => disk::catalogue::names().collect(),
        false => vec!["atlas10k", "st318437lw", "nl20", "wd400bb"],
    };
    let depths: &[u32] = if whole { &[4, 16, 64] } else { &[16] };
    let requests = if whole { 20_000 } else { 6_000 };
    for name in drives {
        let unknown = without_writes(name, |key| (key != "buffered").then_some("unknown"));
        let none = without_writes(name, |_| None);
        let (unknown, none) = (folder.file("unknown.toml", &unknown), folder.file("none.toml", &none));
        for &depth in depths {
            for buffers in [true, false] {
                let run = |scheduler: &str| half_writes(name, buffers, scheduler, depth, (requests, 1));
                let by = |profile: &str| run(&format!("policy = \"satf\"\nprofile = \"{profile}\""));
                let (sstf, sheet, learned) = (run("policy = \"sstf\""), by("sheet"), by(&unknown));
                if whole {
                    let old = by(&none);
                    println!(
                        "| {name} | {depth} | {} | {sstf:.1} | {:.3} | {:.3} | {:.3} |",
                        if buffers { "on" } else { "off" },
                        sheet / sstf,
                        learned / sstf,
                        old / sstf
                    );
                }
                assert!(
                    whole || learned >= sstf,
                    "{name}, depth {depth}, buffer {buffers}: {learned:.1}, {sstf:.1} by distance"
                );
            }
        }
    }
}
