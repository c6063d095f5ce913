//! Commands that ask a drive to be served before others: what that comes to, that it is nothing where none asks, and that what is given
//! up comes back as an error and is counted.

use crate::files::results;
use load::results::{Class, Results};

/// One urgent reader beside 32 in the drive's queue.
fn experiment(drive: &str, class: &str, run: &str) -> Results {
    results(&format!(
        "[drive]\nmodel = \"ultrastar-hc310\"\nqueue = 31\n{drive}\n[scheduler]\npolicy = \"mq-deadline\"\n\
         [scheduler.class.urgent]\n{class}\n\
         [[workload]]\nname = \"urgent\"\nkind = \"closed\"\ndepth = 1\nsize = \"4KiB\"\n\
         [[workload]]\nname = \"others\"\nkind = \"closed\"\ndepth = 32\nsize = \"4KiB\"\n\
         [run]\nwarmup = \"5s\"\n{run}\n"
    ))
}

fn class<'a>(results: &'a Results, name: &str) -> &'a Class {
    &results.runs[0].classes[name]
}

/// What 9,999 of 10,000 responses do not exceed, ms.
fn p9999(class: &Class) -> f64 {
    let all: u64 = class.response_histogram_ms.iter().map(|bucket| bucket.1).sum();
    let mut so_far = 0;
    let reaches = |bucket: &&load::results::Bucket| {
        so_far += bucket.1;
        so_far as f64 >= 0.9999 * all as f64
    };
    class.response_histogram_ms.iter().find(reaches).map_or(0.0, |bucket| bucket.0)
}

#[test]
fn a_reader_of_high_priority_waits_as_on_the_drive_that_was_measured() {
    // A. Manzanares, "Enabling ATA Command Priorities" (2016): an Ultrastar He8, p99.99 of 2 s without and 72 ms with NCQ priority.
    let long = "duration = \"500s\"\nreplications = 2";
    let plain = experiment("", "", long);
    let high = experiment("high_priority = true", "high_priority = true", long);
    let limit = experiment("limits = [\"inactive 50ms\"]", "duration_limit = 1", long);
    for (results, what) in [(&plain, "neither"), (&high, "high priority"), (&limit, "a limit of 50 ms")] {
        let (urgent, others) = (class(results, "urgent"), class(results, "others"));
        println!(
            "{what}: p99.99 {:.0} ms, mean {:.1} ms; others {:.3} MB/s, all {:.3} MB/s",
            p9999(urgent),
            urgent.response_ms.mean,
            others.throughput_mb_s,
            urgent.throughput_mb_s + others.throughput_mb_s
        );
        assert_eq!(urgent.failed + others.failed, 0);
    }
    let within = |found: f64, measured: f64| (found / measured - 1.0).abs() <= 0.3;
    assert!(within(p9999(class(&plain, "urgent")), 2000.0));
    assert!(within(p9999(class(&high, "urgent")), 72.0));
    // A limit leaves the arm more choice than priority does: the others get more, and the tail is the limit's.
    let rate = |results| class(results, "others").throughput_mb_s;
    assert!(rate(&high) < rate(&limit) && rate(&limit) < rate(&plain));
    assert!(p9999(class(&limit, "urgent")) < 150.0, "{}", p9999(class(&limit, "urgent")));
}

#[test]
fn what_a_drive_heeds_changes_nothing_where_no_command_asks_for_it() {
    let short = "requests = 3000\nreplications = 1";
    let bytes = |results: Results| serde_json::to_string(&results.runs[0].classes).unwrap();
    let plain = bytes(experiment("", "", short));
    let heeds = "high_priority = true\nlimits = [\"inactive 20ms abort\", \"inactive 0ms duration 0ms abort\"]";
    assert_eq!(bytes(experiment(heeds, "", short)), plain);
    assert_eq!(bytes(experiment(heeds, "duration_limit = 2", short)), plain);
    assert_ne!(bytes(experiment(heeds, "high_priority = true", short)), plain);
}

#[test]
fn what_a_drive_gives_up_fails_is_counted_and_keeps_its_limit() {
    let short = "requests = 3000\nreplications = 1";
    for policy in ["unavailable", "abort"] {
        let results = experiment(&format!("limits = [\"inactive 4ms {policy}\"]"), "duration_limit = 1", short);
        let (urgent, others) = (class(&results, "urgent"), class(&results, "others"));
        println!("{policy}: {} of {} failed", urgent.failed, urgent.requests);
        assert!(urgent.failed > urgent.requests / 20 && urgent.failed < urgent.requests);
        assert_eq!((others.failed, urgent.dropped, others.dropped), (0, 0, 0));
    }
    // Given again as often as it takes, each is done.
    let drive = "limits = [\"inactive 4ms abort\"]";
    let retried = experiment(drive, "duration_limit = 1\nretries = 100", short);
    assert_eq!(class(&retried, "urgent").failed, 0);
}
