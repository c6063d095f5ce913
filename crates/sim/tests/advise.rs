//! Whether advice is as good as looking everywhere.
//!
//! `HALFTURN_GRID=500 cargo test -p halfturn-sim --test advise -- --nocapture` compares with as many settings drawn at random, on whole
//! loads; else it is few of them, on short loads.

use block::At;
use config::Document;
use load::goal::SettingGoal;
use load::tuning::{SearchSpace, Stack};
use sim::{Advice, AdviceFound, SearchWatch, advise, draw_candidates, score_all};
use std::path::Path;

struct Silent;

/// Notes what is planned, and how many trials have ended.
#[derive(Default)]
struct Noting {
    planned: std::sync::Mutex<Vec<usize>>,
    ended: std::sync::atomic::AtomicUsize,
}

impl SearchWatch for Noting {
    fn plan(&self, trials: usize) {
        self.planned.lock().expect("nobody panicked").push(trials);
    }

    fn end_trial(&self) {
        self.ended.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }
}

impl SearchWatch for Silent {
    fn plan(&self, _: usize) {}
    fn end_trial(&self) {}
}

/// How many settings are drawn to compare with, and whether loads are whole.
fn grid() -> (usize, bool) {
    let given = std::env::var("HALFTURN_GRID").ok().and_then(|count| count.parse().ok());
    (given.unwrap_or(24), given.is_some())
}

/// What is drawn with, `HALFTURN_SEED` or 1.
fn seed() -> u64 {
    std::env::var("HALFTURN_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1)
}

fn space(name: &str, text: &str, goal: &str) -> (SearchSpace, SettingGoal) {
    let document = Document::parse(name, text).expect("TOML");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    let space = SearchSpace::of(document, &folder, &[], None).expect("an experiment");
    let goal = SettingGoal::parse(goal, &space.experiment.classes()).expect("a goal");
    (space.with_knobs(&goal), goal)
}

/// Holds advice against the grid: as near to the goal on what was seen, in a tenth of the runs of 500, and on most parts of what was not
/// seen nearer than today, or as near.
#[track_caller]
fn hold(name: &str, text: &str, goal: &str) -> Advice {
    let (mut space, goal) = space(name, text, goal);
    let advice = advise(&mut space, &goal, seed(), &Silent).expect("advice");
    let (count, _) = grid();
    let drawn = draw_candidates(&space, 99, count);
    let mut scores: Vec<_> = score_all(&space, &goal, &drawn).into_iter().zip(&drawn).collect();
    scores.sort_by(|one, other| one.0.compare(&other.0));
    let (scores, found): (Vec<_>, Vec<_>) = scores.into_iter().unzip();
    println!("{name}: the best of the grid is {:?}", space.tell(found[0]));
    let values = |which: usize| -> Vec<f64> {
        let mean = |measure: &load::goal::GoalMeasure| {
            advice.unseen.iter().map(|runs| measure.of(&runs[which])).sum::<f64>() / advice.unseen.len() as f64
        };
        goal.measures().map(mean).collect()
    };
    println!(
        "{name}: {} tried for {:.1} runs; {:?}\n  seen {:?}, today {:?}, best of {} {:?}\n  unseen today {:?}, advised {:?}",
        advice.tried,
        advice.cost,
        space.tell(&advice.best),
        advice.scores[0],
        advice.scores[1],
        drawn.len(),
        scores[0],
        values(0),
        values(1)
    );
    let nearer =
        advice.unseen.iter().filter(|[today, advised]| goal.score(advised).compare(&goal.score(today)).is_le());
    let (nearer, parts) = (nearer.count(), advice.unseen.len());
    println!("  nearer to the goal than today on {nearer} of {parts} unseen parts");
    assert!(2 * nearer > parts, "on {nearer} of {parts} unseen parts");
    assert!(advice.cost <= 50.0, "{}", advice.cost);
    assert!(advice.scores[0].compare(&scores[0]).is_le(), "{:?} of {:?}", advice.scores[0], scores[0]);
    assert!(advice.scores[0].compare(&advice.scores[1]).is_le());
    advice
}

#[test]
fn advice_for_a_trace_is_as_good_as_a_search_everywhere() {
    let text = "[drive]\nmodel = \"nl20\"\nqueue = 1\n[scheduler]\npolicy = \"fcfs\"\n[[workload]]\nname = \"recorded\"\n\
         kind = \"trace\"\nfile = \"examples/traces/fio-mixed.blkparse.txt.gz\"\nreplay = \"closed\"\ndepth = 16\n";
    let advice = hold("fio", text, "mean");
    let mean =
        |which: usize| advice.unseen.iter().map(|runs| runs[which].classes["recorded"].response_ms.mean).sum::<f64>();
    assert!(mean(1) < 0.9 * mean(0), "it holds on what was not seen: {} of {}", mean(1), mean(0));
}

#[test]
fn advice_for_two_classes_keeps_the_bound_and_then_gives_throughput() {
    let duration = if grid().1 { "120s" } else { "24s" };
    let text = format!(
        "[drive]\nmodel = \"st318437lw\"\nqueue = 1\n[scheduler]\npolicy = \"satf\"\n[[workload]]\nname = \"interactive\"\nkind = \"open\"\n\
         rate = \"10/s\"\nsize = \"4KiB\"\n[[workload]]\nname = \"stream\"\nkind = \"closed\"\ndepth = 1\nsize = \"2000KiB\"\n\
         [run]\nduration = \"{duration}\"\nwarmup = \"2s\"\n"
    );
    let advice = hold("stream", &text, "mean(interactive) <= 25ms, then throughput(stream)");
    assert_eq!(advice.scores[0].missed, 0.0, "the bound can be kept");
    assert!(advice.scores[1].missed > 0.5, "and is not today");
}

/// A trace that is not in the repository, replayed on a drive so that it keeps this many requests outstanding.
fn shared(model: &str, file: &str, depth: u32, goal: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces/public").join(file);
    if !file.exists() {
        println!("SKIPPED: {} is not there", file.display());
        return;
    }
    let take = if grid().1 { 8_000 } else { 800 };
    let name = file.file_stem().expect("a name").to_string_lossy();
    let text = format!(
        "[drive]\nmodel = \"{model}\"\nqueue = 1\n[scheduler]\npolicy = \"fcfs\"\n[[workload]]\nname = \"{name}\"\nkind = \"trace\"\n\
         file = {}\nfit = \"scale\"\ndevice = \"all\"\nreplay = \"closed\"\ndepth = {depth}\ntake = {take}\n",
        config::quote(&file.display().to_string())
    );
    hold(&name, &text, goal);
}

#[test]
fn advice_for_a_shared_trace_is_as_good_as_a_search_everywhere() {
    shared("nl20", "msr-cambridge1-sample.csv", 32, "p99 <= 400ms, then throughput");
}

#[test]
fn advice_for_a_search_engine_is_as_good_as_a_search_everywhere() {
    shared("nl20", "wsrch-small.trace", 16, "p99 <= 300ms, then mean");
}

#[test]
fn advice_for_transactions_is_as_good_as_a_search_everywhere() {
    shared("st2000dm006", "tpcc-small.trace", 8, "p95 <= 120ms, then mean");
}

#[test]
fn advice_for_many_devices_in_one_trace_is_as_good_as_a_search_everywhere() {
    shared("exos-x16", "disksim-ascii.trace", 32, "p99 <= 500ms, then throughput");
}

#[test]
fn advice_for_a_virtual_machine_is_as_good_as_a_search_everywhere() {
    shared("nl20", "cloudPhysicsIO.vscsi", 16, "p99, mean");
}

#[test]
fn the_same_seed_gives_the_same_advice_on_any_number_of_threads() {
    let text = "[drive]\nmodel = \"st318437lw\"\nqueue = 1\n[scheduler]\npolicy = \"fcfs\"\n[[workload]]\nname = \"a\"\nkind = \"closed\"\n\
                depth = 8\nsize = \"4KiB\"\n[run]\nduration = \"6s\"\nwarmup = \"1s\"\n";
    let of = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let (mut space, goal) = space("same", text, "p99, mean");
        let advice = pool.install(|| advise(&mut space, &goal, 7, &Silent)).expect("advice");
        (space.tell(&advice.best), advice.scores, advice.tried)
    };
    assert_eq!(of(1), of(3));
}

#[test]
fn a_trace_of_one_request_has_no_halves() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("advise-short");
    std::fs::create_dir_all(&folder).expect("a folder for tests");
    for (requests, parts) in [(1, None), (2, Some(1)), (6, Some(3))] {
        let rows: String = (1..=requests).map(|at| format!("{at},r,{},4096\n", 40_960 * at)).collect();
        let file = folder.join("short.csv");
        std::fs::write(&file, format!("time,op,offset,size\n{rows}")).expect("a trace");
        let text = format!(
            "[drive]\nmodel = \"nl20\"\n[scheduler]\npolicy = \"fcfs\"\n[[workload]]\nname = \"t\"\nkind = \"trace\"\nfile = {:?}\n",
            file.display().to_string()
        );
        let (mut space, goal) = space("short", &text, "mean");
        match advise(&mut space, &goal, 1, &Silent) {
            Ok(advice) => assert_eq!(Some(advice.unseen.len()), parts, "{requests} requests"),
            Err(error) => {
                assert_eq!(parts, None, "{requests} requests: {error}");
                assert!(error.file.ends_with("short.csv") && error.what.contains("no two halves"), "{error}");
            }
        }
    }
}

/// What was planned is what was tried, nothing is planned for nothing, and where no change is for the better there is no further
/// round of them, whatever is there already is kept.
#[test]
fn a_search_does_what_it_plans_and_leaves_off_where_nothing_is_better() {
    // A request at a time: in whatever order it is served, it is the first.
    let of = |more: &str| {
        let text = format!(
            "[drive]\nmodel = \"st318437lw\"\nqueue = 1\n[scheduler]\npolicy = \"fcfs\"\n[[workload]]\nname = \"a\"\nkind = \"closed\"\n\
             {more}\nsize = \"4KiB\"\n[run]\nduration = \"3s\"\nwarmup = \"0s\"\n"
        );
        let (mut space, goal) = space("noted", &text, "mean");
        let watch = Noting::default();
        let advice = advise(&mut space, &goal, 3, &watch).expect("advice");
        let planned = watch.planned.into_inner().expect("nobody panicked");
        assert_eq!(planned.iter().sum::<usize>(), watch.ended.into_inner());
        assert!(planned.iter().all(|trials| *trials > 0), "{planned:?}");
        let kept = advice.scores[0].compare(&advice.scores[1]).is_eq();
        assert_eq!(kept, advice.best == space.today(), "of equals what is there already");
        assert_eq!(advice.unseen.len(), 8);
        kept
    };
    assert!(of("depth = 1"));
    assert!(!of("depth = 12"));
}

#[test]
fn an_experiment_that_cannot_be_run_is_an_error() {
    let text = "[drive]\nmodel = \"nl20\"\n[scheduler]\npolicy = \"fcfs\"\n[[workload]]\nname = \"t\"\nkind = \"trace\"\n\
                file = \"examples/first-look.toml\"\n";
    let (mut space, goal) = space("no-trace", text, "mean");
    let error = advise(&mut space, &goal, 1, &Silent).expect_err("it is no trace");
    assert!(error.file.ends_with("first-look.toml"), "{} {:?}", error.file, matches!(error.at, At::File));
}

/// Reads, soon simulated, which other settings serve otherwise.
const SMALL: &str = "title = \"Small\"\n[drive]\nmodel = \"st318437lw\"\nqueue = 1\n[scheduler]\npolicy = \"fcfs\"\n\
    [[workload]]\nname = \"reads\"\nkind = \"closed\"\ndepth = 8\nsize = \"4KiB\"\n\
    [run]\nduration = \"3s\"\nwarmup = \"1s\"\nseed = 3\n";

#[test]
fn what_is_told_of_a_search_is_what_it_found() {
    for stack in [None, Some(Stack::Linux)] {
        let document = Document::parse("small.toml", SMALL).expect("TOML");
        let space = SearchSpace::of(document, Path::new("small.toml"), &[], None).expect("an experiment");
        let goal = SettingGoal::parse("mean(reads)", &space.experiment.classes()).expect("a goal");
        let found = AdviceFound::of(space, &goal, stack, &Silent).expect("advice");
        let figures = &found.figures;
        assert_eq!(figures.halfturn.is_some(), stack.is_some(), "Halfturn stands beside a stack");
        for measure in &figures.unseen {
            assert!((measure.advised - measure.today - measure.difference).abs() < 1e-9, "{measure:?}");
        }
        // Eight reads at a time are better served than in the order they came, or as Linux does.
        let best = figures.halfturn.as_deref().unwrap_or(figures);
        assert!(!best.set.is_empty() && best.unseen[0].advised < best.unseen[0].today, "{:?}", best.unseen);
        // The settings that a page compares are these, on the same half of the load.
        let cases = found.comparison().expect("cases");
        let names: Vec<String> = cases.iter().map(|case| case.labels["setting"].to_string()).collect();
        let [first, last] = if stack.is_some() { ["linux", "Halfturn"] } else { ["today", "advised"] };
        assert_eq!([names.first(), names.last()].map(|name| name.map(String::as_str)), [Some(first), Some(last)]);
    }
}
