//! Runs on a device made up: what belongs to the sample, when the measured time ends, and runs that are not whole.

use super::*;
use crate::made::Made;
use block::Span;
use load::experiment::parse;
use load::results;

fn experiment(text: &str) -> Experiment {
    let text = format!("[drive]\nmodel = \"st318437lw\"\n{text}");
    parse("made.toml", &text, &[], None).unwrap_or_else(|error| panic!("{error}\n{text}")).remove(0).experiment
}

/// Plays an experiment on devices in place of its drive.
fn play(text: &str, drives: Vec<Made>) -> Replication {
    play_told(text, drives, UNTOLD).unwrap_or_else(|error| panic!("{error}"))
}

/// The same; `tell` may stop it.
fn play_told(text: &str, drives: Vec<Made>, tell: Tell) -> Result<Replication, BadInput> {
    let experiment = experiment(text);
    let known =
        Knowledge { device: Device::Unknown, believed: sched::predict::Knowledge::default(), members: Vec::new() };
    let (before, seed) = (Before::default(), experiment.run.seed);
    let scene = Scene { experiment: &experiment, before: &before, sheet: None, drives, seed, tell, camera: None };
    scene.play(&known)
}

fn loops(depth: u32, run: &str) -> String {
    let load = format!("[[workload]]\nname = \"a\"\nkind = \"closed\"\ndepth = {depth}\nsize = \"5KiB\"\n");
    format!("[scheduler]\npolicy = \"fcfs\"\n{load}[run]\n{run}\n")
}

/// Of the only class.
fn class(replication: &Replication) -> results::Class {
    replication.meter.classes().next().expect("there is a class").1
}

#[test]
fn in_a_closed_loop_all_of_the_sample_take_as_long_as_the_loop_is_deep() {
    // Ten blocks take 10 ms, so each request waits for the four before it and itself.
    for run in ["requests = 7", "requests = 1000", "duration = \"70ms\"", "duration = \"2s\"\nwarmup = \"55ms\""] {
        let it = play(&loops(5, run), vec![Made::new(1)]);
        let class = class(&it);
        assert_eq!((class.response_ms.mean, class.response_ms.max, it.unfinished), (50.0, 50.0, 0), "{run}");
        assert_eq!(class.still_waiting, 0);
    }
}

#[test]
fn the_sample_is_as_many_as_were_asked_for_or_all_that_arrive_in_the_time() {
    let counted = |run: &str| play(&loops(5, run), vec![Made::new(1)]).meter;
    assert_eq!(counted("requests = 7").requests(), 7);
    // One arrives at each completion: at 60, 70, …, 160 ms; what ended at 50 ms came before.
    let timed = counted("duration = \"105ms\"\nwarmup = \"55ms\"");
    assert_eq!((timed.requests(), timed.time_measured()), (11, Span(105_000_000)));
    // Completions are counted in the measured time, whenever what completes came.
    assert!((timed.throughput_mb_s() - 11.0 * 5120.0 / 1e6 / 0.105).abs() < 1e-9);
    assert_eq!(timed.commands().count, 10, "issued in it and back before its end");
}

#[test]
fn measured_time_is_what_was_asked_for_even_if_nothing_happens_at_its_end() {
    let rare = "[scheduler]\npolicy = \"fcfs\"\n[[workload]]\nname = \"a\"\nkind = \"open\"\narrivals = \"constant\"\n\
                rate = \"1/s\"\nsize = \"5KiB\"\n[run]\nduration = \"9500ms\"\n";
    let it = play(rare, vec![Made::new(1)]);
    assert_eq!(it.meter.time_measured(), Span(9_500_000_000));
    assert!((9..=10).contains(&it.meter.requests()));
    let until = it.accounts[0].until;
    assert_eq!(until, Time(9_500_000_000), "an arm's time ends with it");
}

#[test]
fn a_closed_loop_settles_where_no_warm_up_is_asked_for() {
    // Ten times its depth of 5: the 50th ends at 500 ms, four of before end, then the next 100.
    let it = play(&loops(5, "requests = 100"), vec![Made::new(1)]);
    assert_eq!((it.meter.from(), it.end), (Time(500_000_000), Time(1_540_000_000)));
    let it = play(&loops(5, "requests = 100\nwarmup = \"0s\""), vec![Made::new(1)]);
    assert_eq!((it.meter.from(), it.end), (Time::ZERO, Time(1_000_000_000)));
    // The first five came at once.
    assert!((class(&it).response_ms.mean - (95.0 * 50.0 + 150.0) / 100.0).abs() < 1e-9);
}

#[test]
fn a_run_that_is_stopped_while_it_settles_asks_for_nothing_more() {
    let told = std::sync::atomic::AtomicU32::new(0);
    let stop = |_| {
        told.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        ControlFlow::Break(())
    };
    let stopped = play_told(&loops(10_000, "requests = 200000"), vec![Made::new(1)], &stop).err();
    assert!(stopped.is_some_and(|error| error.to_string().contains("stopped before its end")));
    assert_eq!(told.into_inner(), 1);
}

#[test]
fn a_run_whose_drive_keeps_a_command_is_not_whole() {
    let strands = |depth| vec![Made { strands: Some(3), ..Made::new(depth) }];
    // Nothing happens any more.
    let dry = play(&loops(5, "requests = 100\nwarmup = \"0s\""), strands(1));
    assert_eq!(dry.unfinished, 5);
    assert!(dry.notes.iter().any(|note| note.starts_with("not whole")), "{:?}", dry.notes);
    // The others go on, beside the one that is stuck.
    for run in ["requests = 100\nwarmup = \"0s\"", "duration = \"1s\"\nwarmup = \"0s\""] {
        let beside = play(&loops(5, run), strands(4));
        assert_eq!((beside.unfinished, class(&beside).still_waiting), (1, 1), "{run}");
    }
    let whole = play(&loops(5, "requests = 100"), vec![Made::new(4)]);
    assert_eq!((whole.unfinished, whole.notes.len()), (0, 0), "{:?}", whole.notes);
}

#[test]
fn a_clock_that_ends_is_told() {
    let drives = vec![Made { block: Span(1 << 60), ..Made::new(1) }];
    let it = play(&loops(1, "requests = 100\nwarmup = \"0s\""), drives);
    assert!(it.unfinished > 0 && it.notes.iter().any(|note| note.contains("the clock ended")), "{:?}", it.notes);
}

#[test]
fn who_is_never_served_is_given_up_and_said_to_wait() {
    // The nearest first: one loop goes on where the arm is, the other waits elsewhere.
    let loads = "[scheduler]\npolicy = \"sstf\"\n[[workload]]\nname = \"a\"\nkind = \"closed\"\ndepth = 2\nsize = \"5KiB\"\n\
                 region = \"0%..1%\"\n[[workload]]\nname = \"b\"\nkind = \"closed\"\ndepth = 1\nsize = \"5KiB\"\n\
                 region = \"90%..91%\"\n[run]\nduration = \"10s\"\nwarmup = \"0s\"\n";
    let it = play(loads, vec![Made::new(1)]);
    let classes: Vec<_> = it.meter.classes().collect();
    let (first, second) = (&classes[0].1, &classes[1].1);
    assert_eq!((first.still_waiting, second.still_waiting, second.requests_finished(), it.unfinished), (0, 1, 0, 0));
    assert!(second.response_ms.mean >= 69_990.0, "it waited for 10 s and then for 60 more");
    assert!(it.notes.iter().any(|note| note.starts_with("b: some requests still waited")), "{:?}", it.notes);
}

impl Staged for Made {}

#[test]
fn what_only_a_service_heeds_is_said_not_to_be_simulated() {
    let notes = |tables: &str| {
        let text = format!("[[volume]]\nname = \"data\"\n{tables}\n{}", loops(1, "requests = 10"));
        let told = crate::replicate(&experiment(&text), 0, &|_| ()).unwrap_or_else(|error| panic!("{error}"));
        told.notes.join("\n")
    };
    let fault = "[[fault]]\nvolume = \"data\"\nkind = \"slow\"\nat = \"1s\"";
    let client = "[[client]]\nuser = \"1000\"\npriority = 1";
    for (tables, faults, clients) in [("", false, false), (fault, true, false), (client, false, true)] {
        let told = notes(tables);
        assert_eq!((told.contains("[[fault]]"), told.contains("[[client]]")), (faults, clients), "{tables}: {told}");
    }
}

/// The same run by the loop made for its core, and by the one for all, which asks the core after each input.
fn by_both_loops(text: &str) -> [String; 2] {
    let experiment = parse("both.toml", text, &[], None).unwrap_or_else(|error| panic!("{error}\n{text}")).remove(0);
    let experiment = experiment.experiment;
    let before = Before::default();
    let play = Play { experiment: &experiment, before: &before, seed: experiment.run.seed, tell: UNTOLD };
    let Ok(Unit::Disk(sheet, drive)) = unit(&experiment.drive, play.seed) else { panic!("it is a disk") };
    let sheet = Arc::new(*sheet);
    let device = || Device::Disk(Arc::clone(&sheet));
    let any: Box<dyn Machine> = drive.clone();
    let told =
        |run: Result<Replication, BadInput>| format!("{:?}", run.unwrap_or_else(|error| panic!("{error}\n{text}")));
    [told(play.on(vec![*drive], device(), Vec::new(), None)), told(play.on(vec![any], device(), Vec::new(), None))]
}

#[test]
fn short_commands_that_go_on_by_themselves_come_to_what_they_come_to_one_by_one() {
    for model in ["atlas10k", "st318437lw", "hp-335h"] {
        for (preemption, deadline) in [("never", ""), ("priority", ""), ("always", "deadline = \"60ms\"\n")] {
            for run in ["requests = 60", "duration = \"2s\"\nwarmup = \"300ms\""] {
                let text = format!(
                    "[drive]\nmodel = \"{model}\"\n[scheduler]\npolicy = \"sstf\"\nio = \"semi-preemptible\"\npreemption = \
                     \"{preemption}\"\nplan = {{ chunk = \"16KiB\" }}\n[[workload]]\nname = \"bulk\"\nkind = \"closed\"\nsize = \
                     \"1MiB\"\ndepth = 1\nread = 0.9\n[[workload]]\nname = \"user\"\nkind = \"open\"\nrate = \"15/s\"\nsize = \
                     \"4KiB\"\npriority = 1\n{deadline}[run]\n{run}\n"
                );
                let [one, other] = by_both_loops(&text);
                assert!(one == other, "{text}\n{one}\n{other}");
            }
        }
    }
}
