//! Bulk writes that can be preempted, beside a reader: what the reader waits of what it waits alone, and what is left of the bulk of whole
//! requests. `cargo test -p halfturn-sim --test behaviour bulk_writes -- --ignored --nocapture` prints the table.

use crate::files::once;

/// A reader of ten a second and bulk writes of 2 MiB, either or both: the mean response of the reader and the MB/s of the bulk.
fn play(model: &str, scheduler: &str, bulk: Option<&str>, reads: bool) -> (f64, f64) {
    let reader = "[[workload]]\nname = \"reader\"\nkind = \"open\"\nrate = \"10/s\"\nsize = \"4KiB\"\npriority = 1\n";
    let bulk = bulk.map(|at| {
        format!("[[workload]]\nname = \"bulk\"\nkind = \"closed\"\ndepth = 1\nsize = \"2MiB\"\nread = 0\n{at}\nregion = \"40%..60%\"\n")
    });
    let run = once(&format!(
        "[drive]\nmodel = \"{model}\"\n[scheduler]\n{scheduler}\n{}{}[run]\nduration = \"300s\"\nwarmup = \"10s\"\nseed = 7\n",
        if reads { reader } else { "" },
        bulk.unwrap_or_default()
    ));
    let of = |name: &str| run.meter.classes().find(|(known, _)| *known == name).map(|(_, class)| class);
    (of("reader").map_or(0.0, |it| it.response_ms.mean), of("bulk").map_or(0.0, |it| it.throughput_mb_s))
}

const SHORT: &str = "policy = \"fcfs\"\nio = \"semi-preemptible\"\npreemption = \"priority\"";

/// Ways to write, of which the first is the usual one and has to hold.
const WAYS: [(&str, &str); 6] = [
    ("auto", ""),
    ("never forced", "plan.last_chunk_fua = false"),
    ("always forced", "plan.last_chunk_fua = true"),
    ("commands of 256 KiB", "plan.write_chunk = \"256KiB\""),
    ("commands of 1 MiB", "plan.write_chunk = \"1MiB\""),
    ("whole commands", "plan.write_chunk = \"2MiB\""),
];

#[test]
#[ignore = "a table, a minute of it"]
fn bulk_writes_that_can_be_preempted_beside_a_reader() {
    let mut missed = Vec::new();
    for (model, what, at) in ["nl20", "st318437lw"]
        .into_iter()
        .flat_map(|model| [(model, "sequential", "at = \"sequential\""), (model, "random", "align = \"2MiB\"")])
    {
        let (reader_alone, _) = play(model, "policy = \"fcfs\"", None, true);
        let (reader_whole, bulk_whole) = play(model, "policy = \"fcfs\"", Some(at), true);
        println!(
            "{model}, {what}: reader alone {reader_alone:.2} ms; whole requests: {reader_whole:.2} ms, bulk {bulk_whole:.1} MB/s"
        );
        let (most, least) = if what == "sequential" { (1.3, 0.9) } else { (1.5, 0.8) };
        for (way, scheduler) in WAYS {
            let (reader, bulk) = play(model, &format!("{SHORT}\n{scheduler}"), Some(at), true);
            let (slower, kept) = (reader / reader_alone, bulk / bulk_whole);
            let meets = slower <= most && kept >= least;
            if way == "auto" && !meets {
                missed.push(format!("{model}, {what}"));
            }
            println!(
                "  {way}: reader {slower:.2} of alone, bulk {kept:.3} of whole{}",
                if meets { "" } else { "  MISSED" }
            );
        }
    }
    assert!(missed.is_empty(), "the usual way misses its line: {missed:?}");
}
