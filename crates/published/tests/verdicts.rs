//! Verdicts over seeds, how near a number is, and the counts of both.

use load::results::Results;
use proptest::prelude::*;
use published::{
    MeasuredValue, Near, PublishedValue, Seeds, Summary, TargetFile, TargetOutcome, TargetPlan, Tolerance, Verdict,
};

/// A file with one target.
fn file(published: &str, tolerance: &str, more: &str) -> TargetFile {
    let text = format!(
        "title = \"t\"\nsource = \"s\"\n[[target]]\nid = \"a.b\"\nclaim = \"c\"\npublished = \"{published}\"\n\
         measure = \"1\"\ntolerance = \"{tolerance}\"\n{more}"
    );
    TargetFile::parse("a", &text, published::RunLength::Quick).expect("a file")
}

fn outcome<'a>(file: &'a TargetFile, figures: &[f64]) -> TargetOutcome<'a> {
    TargetOutcome::new(file, &file.targets[0], figures.iter().map(|figure| MeasuredValue::Number(*figure)).collect())
}

const PRINTED: &str = "basis = \"published\"\n";

#[test]
fn a_verdict_that_changes_with_the_seed_is_undecided() {
    let file = file("10", "10 %", PRINTED);
    for (figures, verdict) in [
        (&[9.0, 10.0, 11.0][..], Verdict::Held),
        (&[9.0, 10.0, 11.1], Verdict::Undecided),
        (&[8.9, 11.1, 10.0], Verdict::Undecided),
        (&[8.9, 8.0, 11.1], Verdict::Missed),
        (&[11.0], Verdict::Held),
        (&[12.0], Verdict::Missed),
        (&[], Verdict::Unmeasured),
    ] {
        assert_eq!(outcome(&file, figures).verdict, verdict, "{figures:?}");
    }
}

#[test]
fn the_interval_of_the_mean_is_students() {
    let file = file("10", "10 %", PRINTED);
    let told = outcome(&file, &[9.0, 10.0, 11.0]);
    assert_eq!((told.mean(), told.deviation()), (Some(10.0), Some(1.0)));
    assert!((told.margin().expect("three") - 4.303 / 3f64.sqrt()).abs() < 1e-9);
    let same = outcome(&file, &[9.0, 9.0, 9.0]);
    assert_eq!((same.measured.len(), same.margin(), same.off()), (1, None, Some(-0.1)));
}

#[test]
fn how_near_it_is_goes_by_the_printed_digits_first() {
    for (published, figure, near) in [
        ("1.1", 1.149, Near::Printed),
        ("1.1", 1.16, Near::Tenth),
        ("1.10", 1.149, Near::Tenth),
        ("100", 100.5, Near::Printed),
        ("100", 110.0, Near::Tenth),
        ("100", 111.0, Near::Third),
        ("100", 130.0, Near::Third),
        ("100", 131.0, Near::Words),
        ("4", 4.4, Near::Printed),
    ] {
        let file = file(published, ">= 0", &format!("{PRINTED}quote = \"q\"\n"));
        assert_eq!(outcome(&file, &[figure]).near(), near, "{published} {figure}");
    }
}

#[test]
fn counts_tell_repeats_and_constructions_apart() {
    let more = ["published", "fitted", "construction", "repeat", "derived"];
    let how = |basis: &str| if basis == "published" { String::new() } else { "how = \"h\"\n".into() };
    let files: Vec<TargetFile> =
        more.iter().map(|basis| file("10", "20 %", &format!("basis = \"{basis}\"\n{}", how(basis)))).collect();
    let figures: [&[f64]; 5] = [&[10.2], &[11.0], &[10.0], &[15.0], &[11.0, 13.0]];
    let outcomes: Vec<TargetOutcome> =
        files.iter().zip(figures).map(|(file, figures)| outcome(file, figures)).collect();
    let summary = Summary::of(&outcomes);
    let numbers = summary.published_numbers;
    assert_eq!((numbers.targets, numbers.within_precision, numbers.within_10_percent), (2, 1, 1));
    let of = |basis: &str| summary.by_basis.iter().find(|(word, _)| *word == basis).expect("counted").1;
    assert_eq!((of("repeat").missed, of("derived").undecided, of("construction").within_precision), (1, 1, 1));
    assert_eq!((of("own").targets, summary.published_claims.targets), (0, 0));
}

#[test]
fn what_the_second_seed_leaves_as_it_was_is_not_run_again() {
    let text = "title = \"t\"\nsource = \"s\"\n[experiment.e]\ndrive = { model = \"nl20\" }\nscheduler = { policy = \"fcfs\" }\n\
        workload = { name = \"low\", kind = \"closed\", depth = [1, 2], size = \"4KiB\" }\nrun = { requests = 50, seed = 7 }\n\
        [[target]]\nid = \"a.b\"\nclaim = \"c\"\npublished = \"p\"\nmeasure = \"rising(e.throughput_mb_s)\"\ntolerance = \
        \"order\"\nbasis = \"own\"\n";
    let files = [TargetFile::parse("a", text, published::RunLength::Quick).expect("a file")];
    let plan = TargetPlan::new(&files, vec![(0, 0)], false);
    let run = |seed| sim::simulate(&Seeds::reseed_cases(plan.cases(), seed), &sim::Unwatched).expect("they run");
    let (first, second, third) = (run(0), run(1), run(2));
    assert_eq!(plan.cases()[0].experiment.run.seed, 7);
    assert_eq!(Seeds::reseed_cases(plan.cases(), 3)[1].experiment.run.seed, 10);
    // Under the second seed the first run is another, the second as it was.
    let half = Results::new(vec![second.runs[0].clone(), first.runs[1].clone()]);
    let mut seeds = Seeds::default();
    seeds.add(&first);
    assert_eq!(seeds.random(), Vec::<usize>::new());
    seeds.add(&half);
    assert_eq!(seeds.random(), [0]);
    seeds.add_random(&[0], 1, &Results::new(vec![third.runs[0].clone()]));
    let outcome = &plan.judge(&seeds).expect("the measure fits")[0];
    let MeasuredValue::Order { figures, .. } = &outcome.measured[2] else { panic!("an order") };
    assert_eq!(*figures, [third.runs[0].throughput_mb_s, first.runs[1].throughput_mb_s]);
}

/// Tolerances of one to three bounds.
fn tolerance() -> impl Strategy<Value = String> {
    let bound = (0..7, -200i32..200, 0i32..200).prop_map(|(kind, a, b)| match kind {
        0 => format!("{b} %"),
        1 => format!("{b}"),
        2 => format!(">= {a}"),
        3 => format!("<= {a}"),
        4 => format!("> {a}"),
        5 => format!("< {a}"),
        _ => format!("{a}..{}", a + b),
    });
    proptest::collection::vec(bound, 1..4).prop_map(|bounds| bounds.join(", "))
}

proptest! {
    #[test]
    fn what_is_narrow_lets_nothing_pass_that_is_more_than_30_per_cent_off(
        text in tolerance(), number in -150i32..150, figure in -400f64..400.0,
    ) {
        let tolerance = Tolerance::parse(&text).expect("a tolerance");
        let published = PublishedValue::from(f64::from(number));
        let held = tolerance.holds(&published, &MeasuredValue::Number(figure));
        let (least, most) = tolerance.interval(Some(f64::from(number)));
        prop_assert!(!held || (figure >= least - 1e-6 && figure <= most + 1e-6));
        if tolerance.is_narrow(f64::from(number)) && number != 0 {
            prop_assert!(!held || (figure - f64::from(number)).abs() <= 0.3 * f64::from(number.abs()) + 1e-6);
        }
    }

    #[test]
    fn one_more_bound_lets_nothing_more_pass(
        one in tolerance(), other in tolerance(), number in -150i32..150, figure in -400f64..400.0,
    ) {
        let holds = |text: &str| {
            let tolerance = Tolerance::parse(text).expect("a tolerance");
            tolerance.holds(&PublishedValue::from(f64::from(number)), &MeasuredValue::Number(figure))
        };
        prop_assert_eq!(holds(&format!("{one}, {other}")), holds(&one) && holds(&other));
    }

    #[test]
    fn a_verdict_is_held_only_if_all_seeds_hold_in_any_order(
        mut figures in proptest::collection::vec(5f64..15.0, 1..12), turn in 0usize..12,
    ) {
        let file = file("10", "20 %", PRINTED);
        let holds = figures.iter().filter(|figure| (**figure - 10.0).abs() <= 2.0).count();
        let told = outcome(&file, &figures);
        let expected = match holds {
            0 => Verdict::Missed,
            all if all == figures.len() => Verdict::Held,
            _ => Verdict::Undecided,
        };
        prop_assert_eq!(told.verdict, expected);
        prop_assert!(told.verdict != Verdict::Held || told.near() != Near::Words);
        let turn = turn % figures.len();
        figures.rotate_left(turn);
        prop_assert_eq!(outcome(&file, &figures).verdict, expected);
    }

    #[test]
    fn each_target_is_counted_once(figures in proptest::collection::vec(5f64..15.0, 1..20)) {
        let file = file("10", "20 %", PRINTED);
        let outcomes: Vec<TargetOutcome> = figures.iter().map(|figure| outcome(&file, &[*figure])).collect();
        let counts = Summary::of(&outcomes).published_numbers;
        let parts = counts.within_precision + counts.within_10_percent + counts.within_30_percent + counts.held_by_words;
        prop_assert_eq!(parts + counts.missed + counts.undecided + counts.unmeasured, figures.len());
        prop_assert_eq!(counts.missed, figures.iter().filter(|figure| (**figure - 10.0).abs() > 2.0).count());
    }
}
