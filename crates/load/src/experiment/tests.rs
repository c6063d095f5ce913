//! What experiment files mean. What is wrong with bad ones is held by `tests/bad/experiment`.

use super::*;
use block::{At, Direction, Span};
use disk::Model;
use sched::plan::{ClassRule, Plan, PreemptAt, Preemption, Rules, Short, Split};

/// The example of the design.
const EXAMPLE: &str = r#"
title = "interactive reads beside a 2 MB stream"
[drive]
model = "st318437lw"
[scheduler]
policy = "fcfs"
preemption = "always"
preempt_at = "jit"
io = "semi-preemptible"
predictor = "profile"
[[workload]]
name = "interactive"
class = "readers"
kind = "open"
rate = "10/s"
arrivals = "poisson"
size = "4KiB"
read = 1.0
[[workload]]
name = "stream"
kind = "closed"
depth = 1
size = "2000KiB"
at = "random"
[run]
duration = "600s"
warmup = "10s"
replications = 5
seed = 1
"#;

fn with(sets: &[&str]) -> Result<Vec<Case>, String> {
    let sets: Vec<String> = sets.iter().map(|set| (*set).into()).collect();
    parse("dir/f.toml", EXAMPLE, &sets, None).map_err(|error| error.to_string())
}

fn one(sets: &[&str]) -> Experiment {
    with(sets).expect("is valid").remove(0).experiment
}

fn run_of_the_example() -> RunPlan {
    RunPlan {
        duration: Some(Span(600_000_000_000)),
        requests: None,
        warmup: Span(10_000_000_000),
        settles: false,
        replications: 5,
        seed: 1,
        host: None,
    }
}

#[test]
fn the_example_of_the_design_reads_as_written() {
    let random = |blocks| Pattern {
        blocks,
        sizes: Sizes::Fixed,
        read: 1.0,
        at: AddressPattern::Random,
        region: Region::WHOLE,
        align: 8,
    };
    let expected = Experiment {
        file: "dir/f.toml".into(),
        array: None,
        device: None,
        title: "interactive reads beside a 2 MB stream".into(),
        drive: DriveChoice::plain("st318437lw", 1),
        volumes: Vec::new(),
        serve: ServePlan::default(),
        faults: Vec::new(),
        clients: Vec::new(),
        scheduler: Scheduler {
            policy: sched::policy::usual("fcfs"),
            predictor: Some(Predictor::Profile),
            profile: Believed::Sheet,
            mimic: Default::default(),
            probe_after: None,
            queue: 65_536,
            limits: None,
            rules: Rules {
                plan: Some(Plan::of_chunk(0)),
                preemption: Preemption::Always,
                preempt_at: PreemptAt::Jit,
                hysteresis: 1.0,
                budget: None,
                keeps_writes: false,
                tells: false,
                shares: None,
                bills: false,
                divides: false,
                classes: [true, false].map(|preempts| ClassRule { preempts, ..ClassRule::USUAL }).into(),
            },
            fair: None,
            free: true,
            wish: None,
        },
        workloads: vec![
            Workload {
                volume: None,
                name: "interactive".into(),
                class: "readers".into(),
                priority: 0,
                deadline: None,
                kind: Kind::Open(OpenPlan { rate: 10.0, arrivals: Arrivals::Poisson, pattern: random(8), cascade: 1 }),
                at: At::Line(11),
            },
            Workload {
                volume: None,
                name: "stream".into(),
                class: "stream".into(),
                priority: 0,
                deadline: None,
                kind: Kind::Closed(ClosedPlan { depth: 1, think: Span::ZERO, pattern: random(4000), cascade: 1 }),
                at: At::Line(19),
            },
        ],
        system: SystemPlan::PLAIN,
        run: run_of_the_example(),
    };
    assert_eq!(with(&[]).unwrap(), [Case { labels: BTreeMap::new(), experiment: expected }]);
}

#[test]
fn a_trace_ends_by_itself_and_lies_beside_the_experiment() {
    let text = "[[disk]]\nmodel = \"nl20\"\n[scheduler]\npolicy = \"look\"\n[[workload]]\nname = \"t\"\nkind = \"trace\"\nfile = \"a.gz\"";
    let experiment = parse("dir/f.toml", text, &[], None).unwrap().remove(0).experiment;
    let Kind::Trace(trace) = &experiment.workloads[0].kind else { panic!("not a trace") };
    assert_eq!(trace.file, Path::new("dir/a.gz"));
    assert_eq!((trace.pace.replay, trace.pace.time_scale, trace.fit), (ReplayTiming::Open, 1.0, Fit::Error));
    assert_eq!((experiment.title.as_str(), experiment.run.seed, experiment.run.replications), ("f", 1, 1));
}

#[test]
fn a_knob_of_one_swept_policy_is_fine_beside_the_others() {
    let cases = with(&["scheduler.policy=[satf, asatf, batch-look]", "scheduler.age_weight=0.006"]).unwrap();
    let policies: Vec<_> = cases.iter().map(|case| case.experiment.scheduler.policy).collect();
    let weighted = sched::policy::with("asatf", &[("age_weight", "0.006".into())]);
    assert_eq!(policies, [sched::policy::usual("satf"), weighted, sched::policy::usual("batch-look")]);
    assert!(with(&["scheduler.age_weight=0.006"]).unwrap_err().contains("is of use only with policy = \"asatf\""));
}

#[test]
fn a_knob_of_one_swept_replay_or_kind_is_fine_beside_the_others() {
    let trace = [
        "workload.stream={name=\"t\", kind=\"trace\", file=\"a\", replay=[\"hold\", \"closed\"], depth=4, time_scale=20}",
    ];
    let replays = with(&trace).unwrap().into_iter().map(|case| match &case.experiment.workloads[1].kind {
        Kind::Trace(trace) => (trace.pace.replay, trace.pace.depth, trace.pace.time_scale),
        _ => panic!("not a trace"),
    });
    assert_eq!(replays.collect::<Vec<_>>(), [(ReplayTiming::Hold, 1, 20.0), (ReplayTiming::Closed, 4, 1.0)]);
    assert_eq!(with(&["workload.stream.kind=[open, closed]", "workload.stream.rate=5/s"]).unwrap().len(), 2);
}

#[test]
fn sweeps_are_labelled_by_what_varies() {
    let cases =
        with(&["scheduler.policy=[fcfs, satf]", "workload.stream.depth=[1, 10]", "drive.noise=[true]"]).unwrap();
    let show = |case: &Case| case.labels.iter().map(|(k, v)| format!("{k}={v} ")).collect::<String>();
    assert_eq!(cases.len(), 4);
    assert_eq!(show(&cases[1]), "depth=10 noise=true policy=fcfs ");
    assert_eq!(cases[2].experiment.scheduler.policy.manual().name, "satf");
}

#[test]
fn two_times_of_a_drive_are_a_list_inside_a_sweep() {
    let reads = |set: &str| -> Vec<[Span; 2]> {
        let both = |case: &Case| match case.experiment.drive.make_model() {
            Ok(Model::Disk(drive)) => {
                [Direction::Read, Direction::Write].map(|last| drive.sheet.overheads.read.a(last))
            }
            other => panic!("{other:?}"),
        };
        with(&[set]).unwrap().iter().map(both).collect()
    };
    let ms = |read, write| [Span::from_ms(read), Span::from_ms(write)];
    assert_eq!(reads("drive.overhead.read=[[\"1ms\", \"2ms\"]]"), [ms(1.0, 2.0)]);
    assert_eq!(reads("drive.overhead.read=[[\"1ms\", \"2ms\"], \"3ms\"]"), [ms(1.0, 2.0), ms(3.0, 3.0)]);
    let three = with(&["drive.overhead.read=[[\"1ms\", \"2ms\", \"3ms\"]]"]).unwrap_err().to_string();
    assert!(three.contains("`read` has 3 times"), "{three}");
}

#[test]
fn seeks_vary_as_the_drives_file_says_or_as_the_experiment_does() {
    let noise = |sets: &[&str]| match with(sets).unwrap()[0].experiment.drive.make_model() {
        Ok(Model::Disk(drive)) => drive.truth.seek_noise,
        other => panic!("{other:?}"),
    };
    let own = noise(&["drive.model=nl20"]);
    assert!(own > Span::ZERO && noise(&["drive.model=nl20", "drive.noise=false"]) == Span::ZERO);
    assert_eq!(noise(&["drive.model=nl20", "drive.seek_noise=0.2ms"]), Span(200_000));
    assert_eq!(noise(&["drive.noise=false", "drive.seek_noise=0.2ms"]), Span(200_000));
    let store = with(&["drive.model=store-block", "drive.seek_noise=0.2ms"]).unwrap()[0].experiment.drive.make_model();
    assert!(store.unwrap_err().to_string().contains("only the seeks of a disk drift or vary"));
}

#[test]
fn the_seed_of_the_command_line_wins() {
    let cases = parse("f.toml", EXAMPLE, &["run.seed=[2, 3]".into()], Some(u64::MAX)).unwrap();
    assert_eq!(cases.len(), 1);
    assert_eq!(cases[0].experiment.run.seed, u64::MAX);
}

#[test]
fn a_drive_file_beside_the_experiment_is_found() {
    let folder = std::env::temp_dir().join(format!("load-experiment-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("mine.toml"), "").unwrap();
    std::fs::write(folder.join("f.toml"), EXAMPLE).unwrap();
    let model = |set: &str| load(&folder.join("f.toml"), &[set.into()], None).unwrap().remove(0).experiment.drive.model;
    assert_eq!(Path::new(&model("drive.model=mine.toml")), folder.join("mine.toml"));
    assert_eq!(model("drive.model=NL-20"), "NL-20");
    let missing = load(&folder.join("f.toml"), &["drive.model=other.toml".into()], None).unwrap_err();
    assert!(missing.what.contains("no drive 'other.toml'"), "{missing}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn regions_are_from_one_bound_up_to_the_other() {
    let region = |text: &str| match &one(&[&format!("workload.stream.region={text}")]).workloads[1].kind {
        Kind::Closed(ClosedPlan { pattern, .. }) => pattern.region,
        _ => panic!("not closed"),
    };
    assert_eq!(region("0%..10%"), Region { from: Bound::Percent(0.0), to: Bound::Percent(10.0) });
    assert_eq!(region("12.5%..").on(800), (100, 800));
    assert_eq!(region("..1MiB").on(1 << 20), (0, 2048));
    assert_eq!(region("64kB .. 2 TiB"), Region { from: Bound::Blocks(125), to: Bound::Blocks(1 << 32) });
    assert_eq!(region("1KiB..2KiB").on(1), (2, 4));
    assert_eq!(region("..").on(100), (0, 100));
}

#[test]
fn requests_of_whole_pages_are_aligned_to_pages() {
    let align = |sets: &[&str]| match &one(sets).workloads[1].kind {
        Kind::Closed(ClosedPlan { pattern, .. }) => pattern.align,
        _ => panic!("not closed"),
    };
    assert_eq!(align(&["workload.stream.size=1MiB"]), 8);
    assert_eq!(align(&["workload.stream.size=6KiB"]), 1);
    assert_eq!(align(&["workload.stream.align=1 blocks"]), 1);
}

#[test]
fn a_plan_begins_with_its_preset_and_changes_what_is_given() {
    let plan = |sets: &[&str]| one(sets).scheduler.rules.plan.expect("there is a plan");
    assert_eq!(plan(&["scheduler.plan.preset=virtual-io-2002"]), Plan::VIRTUAL_IO_2002);
    let changed =
        plan(&["scheduler.plan.preset=virtual-io-2002", "scheduler.plan.chunk=64KiB", "scheduler.plan.split=masked"]);
    assert_eq!(changed, Plan { chunk: 128, split: Split::Masked, ..Plan::VIRTUAL_IO_2002 });
    assert_eq!(
        plan(&["scheduler.plan.short_slack=next-revolution"]),
        Plan { short: Short::NextRevolution, ..Plan::of_chunk(0) }
    );
    assert_eq!(one(&["scheduler.io=non-preemptible"]).scheduler.rules.plan, None);
}

#[test]
fn with_always_the_urgent_or_the_short_preempt_unless_the_file_says_otherwise() {
    let preempts =
        |sets: &[&str]| one(sets).scheduler.rules.classes.iter().map(|class| class.preempts).collect::<Vec<_>>();
    assert_eq!(preempts(&[]), [true, false]);
    assert_eq!(preempts(&["workload.stream.priority=1"]), [false, true]);
    assert_eq!(preempts(&["workload.stream.size=4KiB"]), [false, false]);
    assert_eq!(preempts(&["scheduler.class.stream.preempts=true"]), [true, true]);
    assert_eq!(preempts(&["scheduler.preemption=priority"]), [true, true]);
    assert!(!one(&["scheduler.class.stream.preemptible=false"]).scheduler.rules.classes[1].preemptible);
}

#[test]
fn every_value_of_a_later_feature_is_refused_by_name() {
    let error = with(&["workload.stream.chunk=64KiB"]).unwrap_err();
    assert!(error.contains(" comes with "), "{error}");
    let error = with(&["scheduler.policy=scan-edf"]).unwrap_err();
    assert!(error.contains("policy 'scan-edf' comes with "), "{error}");
    assert!(with(&["scheduler.policy=edf", "scheduler.near=5ms"]).is_ok());
}

#[test]
fn mutated_experiments_never_panic() {
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut below = |bound: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % bound as u64) as usize
    };
    let words: Vec<&str> = EXAMPLE.split_whitespace().collect();
    for _ in 0..3_000 {
        let mut lines: Vec<String> = EXAMPLE.lines().map(Into::into).collect();
        for _ in 0..=below(3) {
            let at = below(lines.len());
            match below(4) {
                0 => drop(lines.remove(at)),
                1 => lines[at] = lines[at].replace("= ", ["= -", "= [", "= 0", "= \"", "= 1e99 #"][below(5)]),
                2 => {
                    let (from, to) = (words[below(words.len())], words[below(words.len())]);
                    lines[at] = lines[at].replacen(from, to, 1);
                }
                _ => lines.insert(at, ["[[workload]]", "[run]", "size = \"0B\"", "depth = 9", "x"][below(5)].into()),
            }
        }
        let _ = parse("f.toml", &lines.join("\n"), &[], None);
    }
}

#[test]
fn what_the_file_of_a_drive_says_is_changed_and_swept_as_any_key() {
    let rpm = |case: &Case| match case.experiment.drive.make_model() {
        Ok(disk::Model::Disk(drive)) => (60e9 / drive.sheet.mechanics.rotation.period_ns()).round(),
        other => panic!("no disk: {other:?}"),
    };
    let cases = with(&["drive.rpm=[5400,7200]", "drive.cache.segments=3"]).expect("is valid");
    assert_eq!(cases.iter().map(rpm).collect::<Vec<_>>(), [5400.0, 7200.0]);
    assert_eq!(cases[0].labels["rpm"], Label::Number(5400.0));
    assert_ne!(cases[0].experiment.drive, cases[1].experiment.drive);
    // A list of numbers that a key takes as it is makes one run.
    assert_eq!(with(&["drive.lee_ms=[0.4,0.1,2.0]"]).expect("is valid").len(), 1);
    // What is a key of `[drive]` and a table of the drive's file is either.
    let queue = |set: &str| one(&[set]).drive;
    assert_eq!((queue("drive.queue=1").queue, queue("drive.queue=1").changes), (Some(1), None));
    assert!(queue("drive.queue.depth=8").changes.is_some());
    for (set, told) in [
        ("drive.rpm=none", "--set drive.rpm=none: `rpm` is the text \"none\", not a number"),
        ("drive.cache.segmnets=3", "--set drive.cache.segmnets=3: unknown key `segmnets` in [cache]"),
        ("drive.capacity=1GB", "--set drive.capacity=1GB: unknown key `capacity`"),
    ] {
        let error = with(&[set]).expect_err("a bad value");
        assert!(error.starts_with(told) && error.contains("mend: "), "{error}");
    }
}

/// Whether the arm's time is shared out in a service of two volumes with these lines.
fn shares(scheduler: &str, drive: &str, volumes: [&str; 2]) -> bool {
    let [one, other] = volumes;
    let text = format!(
        "[drive]\n{drive}\n[scheduler]\n{scheduler}\n[[volume]]\nname = \"a\"\nsize = \"1GiB\"\n{one}\n[[volume]]\nname = \"b\"\n{other}\n"
    );
    let experiment = parse_service("f.toml", &text, &[]).expect(&text);
    experiment.scheduler.rules.shares.is_some()
}

#[test]
fn volumes_of_one_priority_share_out_the_arm_of_a_disk_unless_something_else_decides() {
    let (satf, disk) = ("policy = \"satf\"", "path = \"emulated:st318437lw\"");
    assert!(shares(satf, disk, ["", ""]));
    assert!(shares("policy = \"fcfs\"", disk, ["priority = 3", "priority = 3"]));
    for (scheduler, drive, volumes) in [
        (satf, disk, ["priority = 1", ""]),
        (satf, disk, ["class = \"both\"", "class = \"both\""]),
        (satf, "path = \"ram:4GiB\"", ["", ""]),
        (satf, "path = \"emulated:nl20\"\nqueue = 4", ["", ""]),
        ("policy = \"satf\"\nfair = false", disk, ["", ""]),
        ("policy = \"yield\"", disk, ["", ""]),
        ("policy = \"satf\"\npredictor = \"mimic\"", disk, ["", ""]),
    ] {
        let scheduler = if drive.contains("ram") { "policy = \"fcfs\"" } else { scheduler };
        assert!(!shares(scheduler, drive, volumes), "{scheduler} {drive} {volumes:?}");
    }
    assert!(shares("policy = \"satf\"\nfair = true", disk, ["priority = 1", ""]));
}

#[test]
fn disks_that_copies_do_not_divide_are_told_at_the_key_that_was_written() {
    let told = |array: &str| {
        let text = format!(
            "[drive]\nmodel = \"atlas10k\"\n[scheduler]\npolicy = \"fcfs\"\n[array]\n{array}\n\
             [[workload]]\nname = \"a\"\nkind = \"closed\"\ndepth = 1\nsize = \"4KiB\"\n[run]\nduration = \"5s\"\n"
        );
        parse("f.toml", &text, &[], None).map(drop).map_err(|error| error.at)
    };
    assert_eq!(told("level = \"10\"\ndisks = 4"), Ok(()));
    assert_eq!(told("level = \"10\"\ndisks = 6\ncopies = 3"), Ok(()));
    assert_eq!(told("level = \"10\"\ndisks = 5"), Err(block::At::Line(7)));
    assert_eq!(told("level = \"10\"\ndisks = 5\ncopies = 3"), Err(block::At::Line(8)));
    assert_eq!(told("copies = 3\nlevel = \"10\"\ndisks = 5"), Err(block::At::Line(6)));
}
