//! What a reader waits beside bulk writes that it may interrupt, and what it costs them.

use crate::files::once;

/// A reader of 4 KiB at 10/s, and one outstanding write of 2 MiB beside it; or the reader alone.
fn scene(drive: &str, at: Option<&str>, scheduler: &str) -> String {
    let bulk = at.map(|at| {
        format!(
            "[[workload]]\nname = \"bulk\"\nkind = \"closed\"\ndepth = 1\nsize = \"2MiB\"\nread = 0\nat = \"{at}\"\n"
        )
    });
    format!(
        "drive = {{ model = \"{drive}\" }}\n[scheduler]\npolicy = \"fcfs\"\n{scheduler}\n\
         [[workload]]\nname = \"reader\"\nkind = \"open\"\nrate = \"10/s\"\narrivals = \"poisson\"\nsize = \"4KiB\"\npriority = 1\n\
         {}[run]\nduration = \"200s\"\nwarmup = \"10s\"\nseed = 1\n",
        bulk.unwrap_or_default()
    )
}

/// Mean response of the reader in ms, and MB/s of the bulk.
fn play(drive: &str, at: Option<&str>, scheduler: &str) -> (f64, f64) {
    let run = once(&scene(drive, at, scheduler));
    let reader = run.meter.classes().find(|(name, _)| *name == "reader").map(|(_, class)| class.response_ms.mean);
    let bulk = run.meter.classes().find(|(name, _)| *name == "bulk").map(|(_, class)| class.throughput_mb_s);
    (reader.expect("a reader"), bulk.unwrap_or(0.0))
}

const STEPPING_IN: &str = "io = \"semi-preemptible\"\npreemption = \"priority\"\n";

/// How many times as long the reader waits as alone, and what share the bulk gets of what whole requests would.
struct Point {
    reader: f64,
    bulk: f64,
}

fn points(drive: &str, at: &str, plans: &[&str]) -> Vec<Point> {
    let (alone, _) = play(drive, None, "");
    let (beside, whole) = play(drive, Some(at), "");
    println!(
        "{drive}, {at}: {alone:.2} ms alone; beside whole requests {:.2} times that, {whole:.1} MB/s",
        beside / alone
    );
    let point = |plan: &&str| {
        let (reader, bulk) = play(drive, Some(at), &format!("{STEPPING_IN}{plan}"));
        let point = Point { reader: reader / alone, bulk: bulk / whole };
        println!("  {:.2} times alone, {:.2} of the bulk: {}", point.reader, point.bulk, plan.replace('\n', ", "));
        point
    };
    plans.iter().map(point).collect()
}

#[test]
fn beside_sequential_writes_a_reader_waits_little_longer_and_nine_tenths_are_left_of_them() {
    for drive in ["nl20", "st318437lw"] {
        let point = &points(drive, "sequential", &[""])[0];
        assert!(point.reader <= 1.3 && point.bulk >= 0.9, "{drive}: {:.2}, {:.2}", point.reader, point.bulk);
    }
}

#[test]
fn beside_random_writes_a_reader_waits_half_as_long_again_and_eight_tenths_are_left_of_them() {
    for drive in ["nl20", "st318437lw"] {
        let point = &points(drive, "random", &[""])[0];
        assert!(point.reader <= 1.5 && point.bulk >= 0.8, "{drive}: {:.2}, {:.2}", point.reader, point.bulk);
    }
}

/// No fixed length of a command that writes, forced to the medium or not, is better for both than what is chosen by default.
#[test]
fn no_fixed_length_of_commands_that_write_is_better_for_both() {
    let plans: Vec<String> = ["32KiB", "64KiB", "128KiB", "256KiB", "512KiB", "1MiB", "2MiB"]
        .iter()
        .flat_map(|size| {
            ["true", "false"].map(|fua| format!("plan.write_chunk = \"{size}\"\nplan.last_chunk_fua = {fua}"))
        })
        .collect();
    let plans: Vec<&str> = std::iter::once("").chain(plans.iter().map(String::as_str)).collect();
    for (drive, at) in
        [("nl20", "sequential"), ("nl20", "random"), ("st318437lw", "sequential"), ("st318437lw", "random")]
    {
        let points = points(drive, at, &plans);
        let better = points[1..]
            .iter()
            .filter(|other| other.reader < points[0].reader - 0.02 && other.bulk > points[0].bulk + 0.02);
        assert_eq!(better.count(), 0, "{drive}, {at}");
    }
}
