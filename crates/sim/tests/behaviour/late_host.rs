//! A host that is late: what bulk reads in short commands keep of whole requests', and what a reader beside them waits of what it waits
//! alone on the same host. `cargo test -p halfturn-sim --test behaviour late_host -- --ignored --nocapture` prints the table.

use crate::files::once;

/// A reader of ten a second and bulk reads of 2 MiB, either or both, on a host that is so late: the mean response of the reader, and the
/// MB/s of the bulk.
fn play(model: &str, scheduler: &str, late: &str, bulk: Option<&str>, duration: u32) -> (f64, f64) {
    let bulk = bulk.map(|at| {
        format!("[[workload]]\nname = \"bulk\"\nkind = \"closed\"\ndepth = 1\nsize = \"2MiB\"\n{at}\nregion = \"40%..60%\"\n")
    });
    let reader = "[[workload]]\nname = \"reader\"\nkind = \"open\"\nrate = \"10/s\"\nsize = \"4KiB\"\npriority = 1\n\
                  region = \"0%..30%\"\n";
    let run = once(&format!(
        "[drive]\nmodel = \"{model}\"\n[scheduler]\npolicy = \"fcfs\"\n{scheduler}\n{reader}{}[run]\nduration = \"{duration}s\"\n\
         warmup = \"10s\"\nseed = 7\n{late}\n",
        bulk.unwrap_or_default()
    ));
    let of = |name: &str| run.meter.classes().find(|(known, _)| *known == name).map(|(_, class)| class);
    (of("reader").map_or(0.0, |it| it.response_ms.mean), of("bulk").map_or(0.0, |it| it.throughput_mb_s))
}

const SHORT: &str = "io = \"semi-preemptible\"\npreemption = \"priority\"";

/// Where bulk reads are.
const BULKS: [(&str, &str); 2] = [("sequential", "at = \"sequential\""), ("random", "align = \"2MiB\"")];

fn late(by: &str, share: &str) -> String {
    format!("host_late_by = \"{by}\"\nhost_late_share = {share}")
}

/// Of the bulk what it keeps of whole requests', and of the reader how many times as long as alone it waits.
fn ratios(model: &str, bulk: &str, late: &str, duration: u32) -> (f64, f64) {
    let (alone, _) = play(model, SHORT, late, None, duration);
    let (_, whole) = play(model, "", late, Some(bulk), duration);
    let (reader, kept) = play(model, SHORT, late, Some(bulk), duration);
    (kept / whole, reader / alone)
}

/// Where the host is late each time it wakes up, and where it is now and then, but much.
const LATE: [(&str, &str); 6] =
    [("0.2ms", "1"), ("1ms", "0.2"), ("4ms", "0.1"), ("1ms", "1"), ("2ms", "1"), ("5ms", "1")];

#[test]
fn on_a_late_host_short_commands_keep_four_fifths_of_the_bulk_and_the_reader_waits_half_as_long_again_at_most() {
    for (by, share) in LATE {
        let (kept, slower) = ratios("nl20", BULKS[0].1, &late(by, share), 60);
        assert!(
            kept >= 0.8 && slower <= 1.5,
            "late by {by} at {share}: bulk {kept:.3} of whole, reader {slower:.2} of alone"
        );
    }
    for (by, share) in [LATE[1], LATE[3]] {
        let (kept, _) = ratios("nl20", BULKS[1].1, &late(by, share), 60);
        assert!(kept >= 0.8, "random, late by {by} at {share}: bulk {kept:.3} of whole");
    }
}

#[test]
fn a_chunk_that_is_given_is_kept_however_late_the_host_is() {
    let given = format!("{SHORT}\nplan.chunk = \"72KiB\"");
    let (_, short) = play("nl20", &given, &late("2ms", "1"), Some(BULKS[0].1), 30);
    let (_, longer) = play("nl20", SHORT, &late("2ms", "1"), Some(BULKS[0].1), 30);
    assert!(
        4.0 * short < longer,
        "{short:.1} MB/s where 72 KiB follow each other 2 ms late, {longer:.1} where more do"
    );
}

#[test]
#[ignore = "a table, some seconds of it"]
fn late_host_table() {
    for model in ["nl20", "exos-x20", "st318437lw", "wd400bb"] {
        for (what, bulk) in BULKS {
            for (by, share) in [("0ms", "1")].into_iter().chain(LATE) {
                let (kept, slower) = ratios(model, bulk, &late(by, share), 200);
                let missed = if kept < 0.8 || slower > 1.5 { "  MISSED" } else { "" };
                println!("{model}, {what}, late by {by}, {share} of times: bulk {kept:.3}, reader {slower:.2}{missed}");
            }
        }
    }
}
