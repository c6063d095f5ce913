//! The files under `reproduce/`: all shipped, all readable, and the quick targets as they say.

use load::results::Results;
use published::{Basis, Expected, RunLength, Seeds, TargetPlan, Verdict};
use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn every_file_is_shipped_and_read_with_its_longer_runs_too() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reproduce");
    let there: BTreeSet<String> = std::fs::read_dir(folder)
        .expect("the folder")
        .map(|entry| entry.expect("a readable entry").file_name().to_string_lossy().into_owned())
        .filter(|name| name != "search")
        .collect();
    let shipped: BTreeSet<String> = published::names().map(|id| format!("{id}.toml")).collect();
    assert_eq!(there, shipped, "name each file of reproduce/ in crates/published/src/shipped.rs");
    for length in [RunLength::Quick, RunLength::Full] {
        if let Err(error) = published::all(length) {
            panic!("{error}");
        }
    }
}

#[test]
fn ids_are_unique_and_claims_say_something() {
    let files = published::all(RunLength::Quick).expect("they are read");
    let targets: Vec<_> = files.iter().flat_map(|file| &file.targets).collect();
    let ids: BTreeSet<&str> = targets.iter().map(|target| target.id.as_str()).collect();
    assert_eq!(ids.len(), targets.len());
    assert!(
        targets
            .iter()
            .all(|target| target.claim.len() > 5 && target.known_miss.as_ref().is_none_or(|why| why.len() > 20))
    );
}

#[test]
fn what_repeats_another_target_names_one_that_does_not() {
    let files = published::all(RunLength::Quick).expect("they are read");
    let targets: Vec<_> = files.iter().flat_map(|file| &file.targets).collect();
    for target in &targets {
        let Basis::Repeat(of) = &target.basis else { continue };
        let first = |other: &&&published::PublishedTarget| {
            let begins =
                other.id.strip_prefix(of.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
            begins && !matches!(other.basis, Basis::Repeat(_))
        };
        assert!(targets.iter().any(|other| first(&other)), "{} repeats {of}, which is not there", target.id);
    }
}

#[test]
fn words_choose_targets_up_to_a_dot() {
    let files = published::all(RunLength::Quick).expect("they are read");
    let chosen = |word: &str| published::choose(&files, &[word.into()]).map(|chosen| chosen.len());
    assert_eq!(chosen("vio.eq1.seek"), Ok(1));
    assert!(chosen("vio").expect("many") > chosen("vio.table2").expect("some"));
    let error = chosen("vio.tabel2").expect_err("a slip");
    assert_eq!(error.mend, "did you mean 'vio.table2'? `halfturn reproduce --list` shows all");
    assert!(chosen("vio.eq").is_err() && chosen("").is_err());
    let all: usize = files.iter().map(|file| file.targets.len()).sum();
    assert_eq!(published::choose(&files, &[]).expect("all").len(), all);
}

/// Runs the quick targets of one file.
#[track_caller]
fn quick_targets_hold(id: &str) {
    let mut files = published::all(RunLength::Quick).expect("they are read");
    for file in &mut files {
        file.targets.retain(|target| target.fast);
    }
    let mut chosen = published::choose(&files, &[]).expect("all");
    chosen.retain(|(file, target)| files[*file].targets[*target].id.starts_with(&format!("{id}.")));
    let plan = TargetPlan::new(&files, chosen, false);
    let results = sim::simulate(plan.cases(), &sim::Unwatched).expect("they run");
    let mut wrong = Vec::new();
    for outcome in plan.judge(&once(&results)).expect("the measures fit the results") {
        let target = outcome.target;
        match (outcome.verdict, target.expected) {
            (Verdict::Missed, Expected::Held) => wrong.push(format!("{}: {:?}", target.id, outcome.measured)),
            (Verdict::Held, Expected::Missed) => {
                wrong.push(format!("{} is no longer missed: take its `known_miss` or `expect` out", target.id));
            }
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Results under one seed.
fn once(results: &Results) -> Seeds {
    let mut seeds = Seeds::default();
    seeds.add(results);
    seeds
}

macro_rules! quick {
    ($($name:ident: $id:expr,)*) => {
        /// Each by itself, so that those that are soon done can be run alone.
        mod the_quick_targets_hold_but_for_known_misses {
            $(#[test]
            fn $name() {
                super::quick_targets_hold($id);
            })*
        }

        #[test]
        fn every_file_is_tried() {
            let there: BTreeSet<&str> = published::names().collect();
            assert_eq!(there, [$($id),*].into_iter().collect());
        }
    };
}

quick! {
    freeblock: "freeblock",
    mimic_9lzx: "mimic.9lzx",
    mimic_fig1: "mimic.fig1",
    mimic_fig2: "mimic.fig2",
    mimic_fig3: "mimic.fig3",
    mimic_fig4: "mimic.fig4",
    mimic_fig5: "mimic.fig5",
    mimic_fig6: "mimic.fig6",
    mimic_fig7: "mimic.fig7",
    mimic_fig8: "mimic.fig8",
    mimic_hplajw: "mimic.hplajw",
    mimic_table2: "mimic.table2",
    pfm_beyond: "pfm.beyond",
    pfm_claims: "pfm.claims",
    pfm_fig1: "pfm.fig1",
    pfm_table3: "pfm.table3",
    pfm_table4: "pfm.table4",
    praid_fig13: "praid.fig13",
    praid_fig15: "praid.fig15",
    praid_fig16: "praid.fig16",
    praid_fig17: "praid.fig17",
    praid_fig18: "praid.fig18",
    praid_fig20: "praid.fig20",
    praid_fig21: "praid.fig21",
    praid_rebuild: "praid.rebuild",
    praid_rest: "praid.rest",
    praid_scenes: "praid.scenes",
    spio_fig10: "spio.fig10",
    spio_fig11: "spio.fig11",
    spio_fig12: "spio.fig12",
    spio_fig13: "spio.fig13",
    spio_fig9: "spio.fig9",
    spio_traces: "spio.traces",
    tradeoff: "tradeoff",
    vio_claims: "vio.claims",
    vio_crossover: "vio.crossover",
    vio_disk: "vio.disk",
    vio_eq1: "vio.eq1",
    vio_eq2: "vio.eq2",
    vio_example: "vio.example",
    vio_fig10: "vio.fig10",
    vio_fig11: "vio.fig11",
    vio_fig12: "vio.fig12",
    vio_fig13: "vio.fig13",
    vio_fig14: "vio.fig14",
    vio_fig15: "vio.fig15",
    vio_fig1: "vio.fig1",
    vio_fig2: "vio.fig2",
    vio_fig4: "vio.fig4",
    vio_fig5: "vio.fig5",
    vio_fig7: "vio.fig7",
    vio_fig8: "vio.fig8",
    vio_fig9: "vio.fig9",
    vio_offset: "vio.offset",
    vio_table1: "vio.table1",
    vio_table2: "vio.table2",
    vio_table3: "vio.table3",
}

#[test]
fn an_id_that_stands_twice_is_refused_at_the_second() {
    let target = "[[target]]\nid = \"a.c\"\nclaim = \"c\"\npublished = \"p\"\nmeasure = \"1\"\ntolerance = \"> 0\"\nquote = \"p\"\nbasis = \"published\"\n";
    let text = format!("title = \"t\"\nsource = \"s\"\n{target}{target}");
    let error = published::TargetFile::parse("a", &text, RunLength::Quick).expect_err("twice").to_string();
    assert!(error.starts_with("reproduce/a.toml:12: ") && error.contains("a second target 'a.c'"), "{error}");
    assert!(published::TargetFile::parse("a", &text.replacen("a.c", "a.d", 1), RunLength::Quick).is_ok());
}

#[test]
fn words_match_no_number_and_no_distance_from_one() {
    for tolerance in ["0.5", "5 %"].map(|text| published::Tolerance::parse(text).unwrap()) {
        assert!(
            !tolerance.holds(&published::PublishedValue::Words("some".into()), &published::MeasuredValue::Number(0.0)),
            "{tolerance}"
        );
    }
}

/// A file with one target, and its verdict.
fn verdict(published: &str, tolerance: &str, more: &str) -> Verdict {
    let basis = if more.contains("basis") { "" } else { "basis = \"published\"\n" };
    let text = format!(
        "title = \"t\"\nsource = \"s\"\n[[target]]\nid = \"a.b\"\nclaim = \"c\"\npublished = {published}\n\
         measure = \"expected_wait(0, 122, 1)\"\ntolerance = \"{tolerance}\"\n{basis}{more}"
    );
    let files = [published::TargetFile::parse("a", &text, RunLength::Quick).expect("a file")];
    let plan = TargetPlan::new(&files, vec![(0, 0)], true);
    let results = Results::new(Vec::new());
    plan.judge(&once(&results)).expect("arithmetic")[0].verdict
}

#[test]
fn a_wrong_published_value_fails_and_a_known_miss_is_told_apart() {
    assert_eq!(verdict("61", "0", ""), Verdict::Held);
    assert_eq!(verdict("62", "0", ""), Verdict::Missed);
    assert_eq!(verdict("64.3", "5 %", ""), Verdict::Missed);
    assert_eq!(verdict("64.2", "5 %", ""), Verdict::Held);
    assert_eq!(verdict("62", "0", "known_miss = \"why\""), Verdict::Missed);
    assert_eq!(verdict("\"some\"", ">= 61", "quote = \"some\""), Verdict::Held);
    assert_eq!(verdict("\"some\"", ">= 61", "basis = \"own\""), Verdict::Held);
}

#[test]
fn what_is_wrong_in_a_file_is_told_with_its_line() {
    let told = |target: &str| {
        let text = format!(
            "title = \"t\"\nsource = \"s\"\n[experiment.np]\ndrive = {{ model = \"nl20\" }}\nscheduler = {{ policy = \"fcfs\" }}\n\
             workload = {{ name = \"low\", kind = \"closed\", depth = [1, 2], size = \"4KiB\" }}\nrun = {{ requests = 10 }}\n\
             [[target]]\n{target}"
        );
        published::TargetFile::parse("a", &text, RunLength::Quick).expect_err(target).to_string()
    };
    let target = |id: &str, measure: &str, tolerance: &str| {
        told(&format!(
            "id = \"{id}\"\nclaim = \"c\"\npublished = \"p\"\nmeasure = \"{measure}\"\ntolerance = \"{tolerance}\"\n\
             basis = \"own\"\n"
        ))
    };
    let timeline = |experiment: &str| {
        told(
            "id = \"a.c\"\n[[timeline]]\ntitle = \"t\"\nrow = { name = \"r\", experiment = \"EXPERIMENT\" }"
                .replace("EXPERIMENT", experiment)
                .as_str(),
        )
    };
    for (told, expected) in [
        (target("b.c", "1", "> 0"), "reproduce/a.toml:9: the id 'b.c' does not begin with that of its file"),
        (target("a.c", "nq.x", "> 0"), "reproduce/a.toml:12: there is no experiment `nq`"),
        (target("a.c", "np{depth=3}.x", "> 0"), "reproduce/a.toml:12: no run of `np` has the labels {depth=3}"),
        (target("a.c", "rising(np.x", "order"), "reproduce/a.toml:12: `measure`: `)` is missing before the end"),
        (target("a.c", "rising(np.x)", "> 0"), "reproduce/a.toml:13: the tolerance does not suit the measure"),
        (target("a.c", "1", "5 %"), "reproduce/a.toml:13: there is no number for the tolerance to be around"),
        (target("a.c", "1", "roughly"), "reproduce/a.toml:13: `tolerance`: 'roughly' is not a tolerance"),
        (timeline("nq"), "reproduce/a.toml:12: there is no experiment `nq`\n  mend: its experiments are np"),
        (timeline("np"), "reproduce/a.toml:12: `np` has 2 runs\n  mend: name an experiment in which nothing is swept"),
    ] {
        assert!(told.starts_with(expected), "{told}");
    }
}
