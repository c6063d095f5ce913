//! Pictures: exact pieces of small scenes, a life without gaps, and that looking on changes nothing.

use crate::bench::{ALL, MS, compute, play, play_pictured, play_workload, play_workload_pictured, script};
use block::{Extent, Op, Span, Time};
use flow::{Activity, Criticality, Doing, IssuedRequest, Picture, PictureScope, ProcessStep, ProcessorWork, Program};

/// One reads a page and computes a little, the other computes.
fn scene() -> Vec<Box<dyn Program>> {
    vec![script([compute(10), ProcessStep::Read { page: 7, ahead: None }, compute(5)]), script([compute(25)])]
}

const COSTS: &str = "switch = \"1ms\"\nio_interrupt = \"2ms\"";

fn picture(scope: PictureScope) -> Picture {
    play_pictured(COSTS, scene(), Span(20 * MS.0), scope).picture.expect("it was asked for")
}

/// Pieces in milliseconds.
fn in_ms<T: Copy>(pieces: &[Activity<T>]) -> Vec<(T, u64, u64)> {
    pieces.iter().map(|piece| (piece.what, piece.from.0 / MS.0, piece.to.0 / MS.0)).collect()
}

#[test]
fn every_piece_of_a_small_scene_is_where_it_was() {
    let it = picture(ALL);
    let [reader, other] = [0, 1].map(|place| in_ms(&it.processes[place].pieces));
    use Doing::{Ready, Running, Waiting};
    assert_eq!(reader, [(Running, 0, 11), (Waiting(Some(1)), 11, 33), (Running, 33, 39)]);
    assert_eq!(other, [(Ready, 0, 11), (Running, 11, 33), (Ready, 33, 39), (Running, 39, 46)]);
    let processor = [
        (ProcessorWork::Switch(0), 0, 1),
        (ProcessorWork::Process(0), 1, 11),
        (ProcessorWork::Switch(1), 11, 12),
        (ProcessorWork::Process(1), 12, 31),
        (ProcessorWork::Interrupt(Some(1)), 31, 33),
        (ProcessorWork::Switch(0), 33, 34),
        (ProcessorWork::Process(0), 34, 39),
        (ProcessorWork::Switch(1), 39, 40),
        (ProcessorWork::Process(1), 40, 46),
    ];
    assert_eq!(in_ms(&it.processors[0]), processor);
    let ended = it.processes.iter().map(|life| life.ended.map(|at| at.0 / MS.0)).collect::<Vec<_>>();
    assert_eq!((it.to, ended), (Time(46 * MS.0), vec![Some(39), Some(46)]));
    let asked = Time(11 * MS.0);
    let made = IssuedRequest {
        number: 1,
        op: Op::Read,
        at: Extent::new(56, 8),
        issued_as: Criticality::Critical,
        asked,
        critical: Some(asked),
        ended: Some(Time(31 * MS.0)),
    };
    assert_eq!(it.requests, [made]);
}

#[test]
fn nobody_to_run_while_one_waits_is_false_idle_and_a_late_request_tells_since_when_it_is_critical() {
    let at = Extent::new(80, 8);
    let ask = ProcessStep::Ask { key: Some((0, 1)), op: Op::Read, at, criticality: Criticality::Limited };
    let steps = [
        ask,
        compute(5),
        ProcessStep::Await { key: 0, blocks: true },
        ProcessStep::Pause { span: Span(4 * MS.0) },
        compute(1),
    ];
    let it = play_pictured("", vec![script(steps)], Span(20 * MS.0), ALL).picture.unwrap();
    let life = in_ms(&it.processes[0].pieces);
    use Doing::{Asleep, Running, Waiting};
    assert_eq!(life, [(Running, 0, 5), (Waiting(Some(1)), 5, 20), (Asleep, 20, 24), (Running, 24, 25)]);
    let work = [ProcessorWork::Process(0), ProcessorWork::FalseIdle, ProcessorWork::Idle, ProcessorWork::Process(0)];
    assert_eq!(in_ms(&it.processors[0]).iter().map(|(work, ..)| *work).collect::<Vec<_>>(), work);
    let made = &it.requests[0];
    assert_eq!((made.issued_as, made.critical), (Criticality::Limited, Some(Time(5 * MS.0))));
}

#[test]
fn a_window_shows_what_lies_in_it_and_a_bound_cuts_all_lines_at_once() {
    let it = picture(PictureScope { from: Time(12 * MS.0), to: Time(32 * MS.0), most: usize::MAX });
    assert_eq!(in_ms(&it.processes[0].pieces), [(Doing::Waiting(Some(1)), 12, 32)]);
    assert_eq!(
        in_ms(&it.processors[0]),
        [(ProcessorWork::Process(1), 12, 31), (ProcessorWork::Interrupt(Some(1)), 31, 32)]
    );
    assert!(!it.cut && it.requests.len() == 1);
    let it = picture(PictureScope { most: 5, ..ALL });
    assert!(it.cut && it.to == Time(12 * MS.0), "{:?}", it.to);
    let ends = it.processes.iter().map(|life| life.pieces.last().map(|piece| piece.to));
    assert!(ends.chain([it.processors[0].last().map(|piece| piece.to)]).all(|to| to == Some(it.to)));
    assert!(picture(PictureScope { from: Time(100 * MS.0), ..ALL }).processors.is_empty());
}

/// Pieces follow one another from the beginning of a life to its end, and add up to what the account says.
#[test]
fn the_pieces_of_a_process_are_its_life_and_looking_on_changes_nothing() {
    let system = "cpus = 2\npreempt_on_wake = true\nswitch = \"62us\"\nio_interrupt = \"380us\"\n\
                  clock_interrupt = \"92us\"\nwakeup = \"200us\"\nslice = \"20ms\"";
    let workload = "kind = \"processes\"\nprocesses = 5\ncompute = \"9ms\"\nlimit = \"5ms\"\ncritical = 0.3\n\
                    limited = 0.5\nsize = \"4KiB\"\nrequests = 40";
    let run = play_workload_pictured(system, workload, Span(3 * MS.0));
    let plain = play_workload(system, workload, Span(3 * MS.0));
    assert_eq!((&run.account, &run.events, &run.made), (&plain.account, &plain.events, &plain.made));
    let it = run.picture.expect("it was asked for");
    for (life, (name, times)) in it.processes.iter().zip(&run.account.processes) {
        let mut at = life.began;
        let mut sums = [Span::ZERO; 3];
        for piece in &life.pieces {
            assert_eq!(piece.from, at, "a gap in {name}");
            at = piece.to;
            let of = match piece.what {
                Doing::Running => 0,
                Doing::Ready => 1,
                Doing::Waiting(number) => {
                    let made = &it.requests[number.expect("it is known") as usize - 1];
                    assert!(made.asked <= piece.from && made.critical.is_some(), "{made:?} {piece:?}");
                    2
                }
                Doing::Asleep => continue,
            };
            sums[of] += piece.to.since(piece.from);
        }
        assert_eq!((&life.name, life.ended), (name, Some(at)));
        assert_eq!(sums, [times.running, times.ready, times.blocked]);
    }
    let numbers: Vec<u32> = it.requests.iter().map(|made| made.number).collect();
    assert_eq!(numbers, (1..=5 * 40).collect::<Vec<_>>());
    let waited = |run: &crate::bench::Run| run.account.false_idle;
    let idle =
        it.processors.iter().flatten().filter(|piece| piece.what == ProcessorWork::FalseIdle && piece.from < it.to);
    let ended = run.account.ended.expect("it ends");
    let shown: Span = idle.map(|piece| piece.to.min(ended).since(piece.from.min(ended))).sum();
    assert_eq!(shown, waited(&plain));
    assert!(play(COSTS, scene(), MS).picture.is_none(), "nothing is kept where it is not asked for");
}
