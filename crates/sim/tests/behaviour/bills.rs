//! Bills: what of the arm's time each class caused. Laws over random experiments, and cases whose sums are known.
//!
//! `HALFTURN_SEED=N` runs the experiment of one seed, `HALFTURN_SEEDS=N` so many.

use crate::files::once;
use crate::requests::experiment;
use load::PART_NAMES;
use sim::Replication;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|number| number.parse().ok())
}

/// What classes are billed, and what the accounts of the arms say.
fn sums(replication: &Replication) -> (u64, u64) {
    let all = replication.accounts.iter().map(|account| account.busy.0 + account.writing.0).sum();
    (replication.meter.bills().expect("bills are asked for").total().0, all)
}

/// The ms of a class by part.
fn ms(replication: &Replication, class: usize) -> [f64; PART_NAMES.len()] {
    replication.meter.bills().expect("bills are asked for").of(class).map(block::Span::as_ms)
}

#[test]
fn bills_add_up_to_what_the_arms_did_for_requests_and_change_nothing_else() {
    let seeds = number("HALFTURN_SEED").map_or(0..number("HALFTURN_SEEDS").unwrap_or(120), |seed| seed..seed + 1);
    let (mut detours, mut slack, mut wrote) = (0, 0, 0);
    for seed in seeds {
        let text = format!("{}seed = {seed}\n", experiment(seed));
        let told = text.replacen("[scheduler]\n", "[scheduler]\nbills = true\n", 1);
        let (Ok(cases), Ok(billed)) = (
            load::experiment::parse("test.toml", &text, &[], None),
            load::experiment::parse("test.toml", &told, &[], None),
        ) else {
            continue;
        };
        let play = |cases: &[load::experiment::Case]| sim::replicate(&cases[0].experiment, 0, &|_| ());
        let (Ok(without), Ok(with)) = (play(&cases), play(&billed)) else { continue };
        let (bills, all) = sums(&with);
        assert_eq!(bills, all, "HALFTURN_SEED={seed}: bills and arms differ\n{told}");
        assert_eq!(without.accounts, with.accounts, "HALFTURN_SEED={seed}: to bill changes the run\n{told}");
        let part = |part: usize| (0..2).map(|class| with.meter.bills().expect("bills").of(class)[part].0).sum::<u64>();
        (wrote, detours, slack) = (wrote + part(3), detours + part(4), slack + part(5));
    }
    if number("HALFTURN_SEED").is_none() {
        assert!(wrote > 0 && detours > 0 && slack > 0, "{wrote} {detours} {slack}: not all parts are tried");
    }
}

#[test]
fn what_an_arm_did_while_the_load_settled_is_billed_to_nobody() {
    // On so slow a drive one command takes longer than the measured time.
    let text = "drive = { model = \"ibm-9lzx\", rpm = 1 }\nscheduler = { policy = \"c-look\", bills = true }\n\
                [[workload]]\nname = \"a\"\nkind = \"closed\"\ndepth = 4\nsize = \"20KiB\"\n\
                [[workload]]\nname = \"b\"\nkind = \"closed\"\ndepth = 4\nsize = \"1MiB\"\n[run]\nduration = \"5s\"\n";
    for seed in 0..6 {
        let cases =
            load::experiment::parse("it.toml", &format!("{text}seed = {seed}\n"), &[], None).expect("it is in order");
        let run = sim::replicate(&cases[0].experiment, 0, &|_| ()).expect("it ends");
        let (bills, all) = sums(&run);
        let longest = 3_000_000_000_000;
        assert!(bills <= all && all < longest, "seed {seed}: {bills} of {all} ns");
    }
}

#[test]
fn a_class_that_is_alone_is_billed_without_being_asked_for_as_if_it_were() {
    for (drive, load, cache) in [
        ("nl20", "kind = \"closed\"\ndepth = 4\nsize = \"64KiB\"", ""),
        ("st318437lw", "kind = \"open\"\nrate = \"60/s\"\nsize = \"8KiB\"\nread = 0.3", "write"),
    ] {
        let text = |more: &str| {
            format!(
                "drive = {{ model = \"{drive}\" }}\n[scheduler]\npolicy = \"satf\"\n{more}[[workload]]\nname = \"a\"\n{load}\n\
                 [run]\nduration = \"30s\"\nwarmup = \"2s\"\nseed = 8\n"
            )
        };
        let (usual, told) = (once(&text("")), once(&text("bills = true\n")));
        let ((bills, all), asked) = (sums(&usual), ms(&told, 0));
        assert_eq!(bills, all, "{drive}");
        let mut got = ms(&usual, 0);
        let mut asked = asked;
        assert_eq!(got[3] > 0.0, cache == "write", "{drive}: {got:?}");
        if cache == "write" {
            // Of one who writes, what waits for the drive's own work counts for write-back, be that reading ahead.
            for it in [&mut got, &mut asked] {
                it[1] += std::mem::take(&mut it[3]);
            }
        }
        for (part, name) in PART_NAMES.iter().enumerate() {
            assert!((got[part] - asked[part]).abs() < 1e-3, "{drive}: {name} {} for {}", got[part], asked[part]);
        }
    }
}

/// A long read beside short ones that interrupt it.
const INTERRUPTED: &str = r#"
drive = { model = "nl20" }
[scheduler]
policy = "fcfs"
io = "semi-preemptible"
preemption = "priority"
bills = true
[[workload]]
name = "long"
kind = "closed"
depth = 1
size = "4MiB"
region = "0%..1%"
[[workload]]
name = "short"
kind = "open"
rate = "10/s"
size = "4KiB"
priority = 1
region = "99%..100%"
[run]
duration = "20s"
seed = 5
"#;

#[test]
fn the_way_back_to_an_interrupted_request_is_billed_to_who_interrupted_it() {
    let run = once(INTERRUPTED);
    let preemptions = run.meter.service().expect("short commands").preemptions as f64;
    let ([.., long_detour, _], [.., detour, _]) = (ms(&run, 0), ms(&run, 1));
    assert!(long_detour == 0.0 && preemptions > 50.0, "{long_detour} {preemptions}");
    // A whole stroke back; nothing of those that end in the slack before the other's seek.
    let each = detour / preemptions;
    assert!((7.0..20.0).contains(&each), "{each} ms a preemption");
}

#[test]
fn a_drives_write_back_is_billed_to_who_wrote_not_to_who_waits_for_it() {
    let run = |readers: &str, writers: &str| {
        once(&format!(
            "drive = {{ model = \"st318437lw\" }}\n[scheduler]\npolicy = \"fcfs\"\nbills = true\n\
             [[workload]]\nname = \"reader\"\nkind = \"open\"\nrate = \"{readers}\"\nsize = \"4KiB\"\n\
             [[workload]]\nname = \"writer\"\nkind = \"open\"\nrate = \"{writers}\"\nsize = \"4KiB\"\nread = 0.0\n\
             [run]\nduration = \"60s\"\nseed = 3\n"
        ))
    };
    let run = run("20/s", "30/s");
    let (reader, writer) = (ms(&run, 0), ms(&run, 1));
    assert!(reader[3] == 0.0 && writer[3] / 60e3 / 0.03 > 5.0, "{reader:?} {writer:?}");
}

/// Seconds by which an arm's account falls short of the measured time.
fn unaccounted(text: &str) -> f64 {
    let run = once(text);
    let account = run.accounts[0];
    assert!(account.span() <= run.meter.time_measured(), "{text}: {account:?}");
    assert_eq!(account.busy + account.background + account.idle(), account.span(), "{text}");
    (run.meter.time_measured() - account.span()).as_secs()
}

#[test]
fn an_arm_that_is_idle_when_the_measured_time_begins_is_accounted_from_there_on() {
    for (drive, warmup, end) in [
        ("atlas10k-validation", "0s", "requests = 1"),
        ("nl20", "0s", "duration = \"10s\""),
        ("nl20", "3s", "requests = 3"),
        ("tape-lto5", "0s", "requests = 2"),
    ] {
        for queue in [1, 4].into_iter().filter(|queue| *queue == 1 || drive == "nl20") {
            let text = format!(
                "drive = {{ model = \"{drive}\", queue = {queue} }}\nscheduler = {{ policy = \"fcfs\" }}\n[[workload]]\nname = \"a\"\n\
                 kind = \"open\"\nrate = \"0.1/s\"\nsize = \"4KiB\"\n[run]\n{end}\nwarmup = \"{warmup}\"\nseed = 25\n"
            );
            let short = unaccounted(&text);
            assert!(short.abs() < 1e-9, "{short} s are lost\n{text}");
        }
    }
}
