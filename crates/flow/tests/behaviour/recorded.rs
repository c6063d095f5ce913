//! Recordings of whole machines: the account, who waited for what, and that a replay gives the recording back.

use block::{Span, Time};
use flow::recorded::{Dispatching, LoadedRecording, ReplayOutcome, account, picture, replay};
use flow::{Criticality, Doing, ProcessorWork};
use std::path::PathBuf;

/// One process reads two blocks and waits for each, the first of them read ahead; another writes one and does not wait.
const LINES: &str = "\
# tracer: nop
# entries-in-buffer/entries-written: 20/23   #P:1
#
 reader-7 [000] ..... 1.000000: sys_openat -> 0x3
 reader-7 [000] ..... 1.001000: block_rq_insert: 8,0 RA 4096 () 800 + 8 be,0,4 [reader]
 reader-7 [000] ..... 1.001000: block_rq_issue: 8,0 RA 4096 () 800 + 8 be,0,4 [reader]
 reader-7 [000] d..2. 1.003000: sched_switch: prev_comm=reader prev_pid=7 prev_prio=120 prev_state=D ==> next_comm=swapper/0 next_pid=0 next_prio=120
 <idle>-0 [000] d.h1. 1.005000: irq_handler_entry: irq=36 name=disk
 <idle>-0 [000] d.h1. 1.005000: block_rq_complete: 8,0 RA () 800 + 8 be,0,4 [0]
 <idle>-0 [000] d.h1. 1.005000: sched_waking: comm=reader pid=7 prio=120 target_cpu=000
 <idle>-0 [000] d.h1. 1.005000: irq_handler_exit: irq=36 ret=handled
 <idle>-0 [000] d..2. 1.005000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=reader next_pid=7 next_prio=120
 reader-7 [000] ..... 1.006000: block_rq_insert: 8,0 W 4096 () 1600 + 8 be,0,4 [reader]
 reader-7 [000] ..... 1.006000: block_rq_issue: 8,0 W 4096 () 1600 + 8 be,0,4 [reader]
 reader-7 [000] ..... 1.005900: sys_read -> 0x1000
 reader-7 [000] ..... 1.007000: block_rq_insert: 8,0 R 4096 () 808 + 8 be,0,4 [reader]
 reader-7 [000] ..... 1.007000: block_rq_issue: 8,0 R 4096 () 808 + 8 be,0,4 [reader]
 reader-7 [000] d..2. 1.007000: sched_switch: prev_comm=reader prev_pid=7 prev_prio=120 prev_state=D ==> next_comm=swapper/0 next_pid=0 next_prio=120
 <idle>-0 [000] d.h1. 1.010000: irq_handler_entry: irq=36 name=disk
 <idle>-0 [000] d.h1. 1.010000: block_rq_complete: 8,0 R () 808 + 8 be,0,4 [0]
 <idle>-0 [000] d.h1. 1.010000: block_rq_complete: 8,0 R () 9999 + 8 be,0,4 [0]
 <idle>-0 [000] d.h1. 1.010000: sched_waking: comm=reader pid=7 prio=120 target_cpu=000
 <idle>-0 [000] d.h1. 1.010000: irq_handler_exit: irq=36 ret=handled
 <idle>-0 [000] d..2. 1.010000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=reader next_pid=7 next_prio=120
 reader-7 [000] ..... 1.012000: sched_process_exit: comm=reader pid=7 prio=120
";

fn recording(name: &str, text: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("halfturn-{}-{name}.txt", std::process::id()));
    std::fs::write(&path, text).expect("there is room");
    path
}

const MS: u64 = 1_000_000;

#[test]
fn the_account_tells_who_waited_for_what() {
    let path = recording("account", LINES);
    let it = account(&LoadedRecording::read(&path).unwrap());
    std::fs::remove_file(&path).unwrap();
    assert_eq!((it.events, it.lost, it.steps_back, it.cpus), (22, 3, 1, 1));
    assert_eq!((it.busy, it.false_idle, it.idle), (Span(7 * MS), Span(5 * MS), Span::ZERO));
    assert_eq!((it.tasks.len(), it.tasks[0].name.as_str(), it.tasks[0].waits), (1, "reader", 2));
    assert_eq!(it.tasks[0].blocked, Span(5 * MS));
    let device = &it.devices[0];
    assert_eq!((device.critical, device.late, device.in_time, device.noncritical), (1, 1, 0, 0));
    assert_eq!((device.limits, device.slept), (Span(2 * MS), Span(5 * MS)));
    assert_eq!((device.unended, device.unbegun), (1, 1), "the write never ended; one read never began");
}

#[test]
fn the_picture_of_a_recording_is_as_it_was_recorded() {
    let path = recording("picture", LINES);
    let it = picture(&LoadedRecording::read(&path).unwrap(), crate::bench::ALL);
    std::fs::remove_file(&path).unwrap();
    let ms = |time: Time| time.0 / MS;
    assert_eq!((it.processes.len(), it.processes[0].name.as_str()), (1, "reader-7"));
    let life: Vec<_> = it.processes[0].pieces.iter().map(|piece| (piece.what, ms(piece.from), ms(piece.to))).collect();
    use Doing::{Running, Waiting};
    let waits = [Waiting(Some(1)), Waiting(Some(3))];
    assert_eq!(life, [(Running, 0, 3), (waits[0], 3, 5), (Running, 5, 7), (waits[1], 7, 10), (Running, 10, 12)]);
    let work: Vec<_> = it.processors[0].iter().map(|piece| (piece.what, ms(piece.from))).collect();
    let (reads, idles) = (ProcessorWork::Process(0), ProcessorWork::FalseIdle);
    assert_eq!(work, [(reads, 0), (idles, 3), (reads, 5), (idles, 7), (reads, 10)]);
    let served: Vec<_> = it.devices[0].1.iter().map(|piece| (piece.what, ms(piece.from), ms(piece.to))).collect();
    assert_eq!((it.devices[0].0.as_str(), served), ("8,0", vec![(1, 1, 5), (3, 7, 10)]));
    let mattered: Vec<_> = it.requests.iter().map(|made| (made.issued_as, made.critical.map(ms))).collect();
    use Criticality::{Critical, Limited, Noncritical};
    assert_eq!(mattered, [(Limited, Some(3)), (Noncritical, None), (Critical, Some(7))]);
}

/// Who was preempted could have gone on; of who left unseen nobody can tell.
#[test]
fn a_recorded_process_that_is_preempted_can_run_and_one_that_left_unseen_is_not_said_to() {
    let lines = "\
# tracer: nop
 a-7 [000] ..... 1.000000: sys_read -> 0x1
 a-7 [000] d..2. 1.001000: sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=R ==> next_comm=b next_pid=8 next_prio=120
 b-8 [000] ..... 1.003000: sys_read -> 0x1
 a-7 [000] ..... 1.004000: sys_read -> 0x1
 a-7 [000] ..... 1.009000: sys_read -> 0x1
";
    let path = recording("preempted", lines);
    let it = picture(&LoadedRecording::read(&path).unwrap(), crate::bench::ALL);
    std::fs::remove_file(&path).unwrap();
    let life = |place: usize| -> Vec<_> {
        let pieces = it.processes[place].pieces.iter();
        pieces.map(|piece| (piece.what, piece.from.0 / MS, piece.to.0 / MS)).collect()
    };
    assert_eq!(life(0), [(Doing::Running, 0, 1), (Doing::Ready, 1, 3), (Doing::Running, 3, 9)]);
    assert_eq!(life(1), [(Doing::Running, 1, 3), (Doing::Asleep, 3, 9)]);
}

/// Of the recording that ships: every life without a gap, and as much computing as the account has.
#[test]
fn the_picture_of_the_shipped_recording_agrees_with_its_account() {
    let tape = shipped();
    let (it, account) = (picture(&tape, crate::bench::ALL), account(&tape));
    for life in &it.processes {
        assert!(life.pieces.windows(2).all(|pair| pair[0].to <= pair[1].from && pair[0].from < pair[0].to));
    }
    let all = it.processors.iter().flatten();
    let of = |what: &dyn Fn(ProcessorWork) -> bool| -> Span {
        all.clone().filter(|piece| what(piece.what)).map(|piece| piece.to.since(piece.from)).sum()
    };
    assert_eq!(of(&|work| matches!(work, ProcessorWork::Process(_))), account.busy);
    assert_eq!(of(&|work| work == ProcessorWork::FalseIdle), account.false_idle);
}

#[test]
fn a_replay_gives_the_recording_back() {
    let path = recording("replay", LINES);
    let it = replay(&LoadedRecording::read(&path).unwrap(), (8, 0), Dispatching::Modelled);
    std::fs::remove_file(&path).unwrap();
    assert_eq!((it.recorded, it.replayed), (Time(12 * MS), Time(12 * MS)));
    assert_eq!((it.requests, it.in_order), (3, 3));
}

#[test]
fn a_recording_that_is_cut_off_is_told_as_far_as_it_goes() {
    for lines in 4..24 {
        let cut: String = LINES.lines().take(lines).map(|line| format!("{line}\n")).collect();
        let path = recording(&format!("cut-{lines}"), &cut);
        let tape = LoadedRecording::read(&path).unwrap();
        let _ = (account(&tape), replay(&tape, (8, 0), Dispatching::Modelled));
        let _ = replay(&tape, (8, 0), Dispatching::AsRecorded);
        std::fs::remove_file(&path).unwrap();
    }
    let path = recording("garbled", &LINES[..LINES.len() - 60]);
    let told = LoadedRecording::read(&path).unwrap_err().to_string();
    std::fs::remove_file(&path).unwrap();
    assert!(told.contains(":25"), "{told}");
}

/// A switch from the idle task that is not shown: the process computes from the interrupt on that woke it.
#[test]
fn a_switch_that_was_not_shown_follows_from_who_is_there() {
    let hidden = LINES.lines().filter(|line| !line.contains("prev_pid=0 "));
    let path = recording("unseen", &hidden.map(|line| format!("{line}\n")).collect::<String>());
    let tape = LoadedRecording::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let it = account(&tape);
    assert_eq!((tape.unseen, it.busy, it.false_idle), (2, Span(7 * MS), Span(5 * MS)));
    let it = replay(&tape, (8, 0), Dispatching::Modelled);
    assert_eq!((it.replayed, it.in_order), (Time(12 * MS), 3));
}

/// A program over a device above another, a worker passing its request on, and a second request that ends in the interrupt which
/// wakes the worker.
const STACKED: &str = "\
# tracer: nop
 kworker-5 [000] d..2. 1.000000: sched_switch: prev_comm=kworker prev_pid=5 prev_prio=120 prev_state=I ==> next_comm=reader next_pid=7 next_prio=120
 reader-7 [000] ..... 1.001000: block_rq_insert: 7,0 R 4096 () 80 + 8 be,0,4 [reader]
 reader-7 [000] d..2. 1.001000: sched_waking: comm=kworker pid=5 prio=120 target_cpu=000
 reader-7 [000] d..2. 1.001000: sched_switch: prev_comm=reader prev_pid=7 prev_prio=120 prev_state=D ==> next_comm=kworker next_pid=5 next_prio=120
 kworker-5 [000] ..... 1.003000: block_rq_insert: 8,0 R 4096 () 800 + 8 be,0,4 [kworker]
 kworker-5 [000] ..... 1.003000: block_rq_insert: 8,0 W 8192 () 1600 + 16 be,0,4 [kworker]
 kworker-5 [000] d..2. 1.004000: sched_switch: prev_comm=kworker prev_pid=5 prev_prio=120 prev_state=I ==> next_comm=swapper/0 next_pid=0 next_prio=120
 <idle>-0 [000] d.h1. 1.010000: irq_handler_entry: irq=36 name=disk
 <idle>-0 [000] d.h1. 1.010000: block_rq_complete: 8,0 R () 800 + 8 be,0,4 [0]
 <idle>-0 [000] d.h1. 1.010000: sched_waking: comm=kworker pid=5 prio=120 target_cpu=000
 <idle>-0 [000] d.h1. 1.010000: block_rq_complete: 8,0 W () 1600 + 16 be,0,4 [0]
 <idle>-0 [000] d.h1. 1.010000: irq_handler_exit: irq=36 ret=handled
 kworker-5 [000] ..... 1.012000: block_rq_complete: 7,0 R () 80 + 8 be,0,4 [0]
 kworker-5 [000] ..... 1.012000: sched_waking: comm=reader pid=7 prio=120 target_cpu=000
 kworker-5 [000] d..2. 1.012000: sched_switch: prev_comm=kworker prev_pid=5 prev_prio=120 prev_state=I ==> next_comm=reader next_pid=7 next_prio=120
 reader-7 [000] ..... 1.015000: sched_process_exit: comm=reader pid=7 prio=120
";

/// An experiment on a recording, each request of which takes `takes`.
fn played(path: &std::path::Path, takes: Span) -> crate::bench::Run {
    let workload = format!("kind = \"process-flow\"\nfile = \"{}\"\ndevice = \"8,0\"", path.display());
    crate::bench::play_workload("", &workload, takes)
}

#[test]
fn what_a_worker_passes_on_matters_as_much_as_to_who_asked_for_it() {
    let path = recording("stacked", STACKED);
    let it = replay(&LoadedRecording::read(&path).unwrap(), (8, 0), Dispatching::Modelled);
    assert_eq!((it.recorded, it.replayed, it.in_order), (Time(15 * MS), Time(15 * MS), 2));
    // One after the other, 20 ms each: the worker goes on when both have ended, and the reader after it.
    let run = played(&path, Span(20 * MS));
    std::fs::remove_file(&path).unwrap();
    assert_eq!(run.account.ended, Some(Time((3 + 40 + 2 + 3) * MS)));
    assert_eq!((run.account.critical, run.account.noncritical, run.account.raised), (1, 1, 0));
}

/// The end of what a worker passed on, told in an interrupt of a process that has nothing to do with it.
#[test]
fn whose_processor_an_interrupt_takes_does_not_wait_for_what_it_tells_of() {
    let told = " kworker-5 [000] ..... 1.012000: block_rq_complete: 7,0 R () 80 + 8 be,0,4 [0]\n";
    let elsewhere = "\
 other-9 [001] d.h1. 1.012000: irq_handler_entry: irq=37 name=other
 other-9 [001] d.h1. 1.012000: block_rq_complete: 7,0 R () 80 + 8 be,0,4 [0]
 other-9 [001] d.h1. 1.012000: irq_handler_exit: irq=37 ret=handled
";
    let begins = " kworker-5 [000] d..2. 1.000000";
    let other = " other-9 [001] ..... 1.000000: sys_read -> 0x1\n kworker-5 [000] d..2. 1.000000";
    let text = STACKED.replace(told, elsewhere).replacen(begins, other, 1);
    let path = recording(
        "stacked-elsewhere",
        &(text + " other-9 [001] ..... 1.015000: sched_process_exit: comm=other pid=9 prio=120\n"),
    );
    let run = played(&path, Span(20 * MS));
    std::fs::remove_file(&path).unwrap();
    let (_, times) = run.account.processes.iter().find(|(name, _)| name == "other-9").expect("it is there");
    assert_eq!((times.ended, times.running), (Some(Time(15 * MS)), Span(15 * MS)), "{times:?}");
}

/// A recording that ships with the project, 0.3 s of 45,856 events.
fn shipped() -> LoadedRecording {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/traces/sqlite-beside-writer.pflow");
    LoadedRecording::read(std::path::Path::new(path)).expect("it is there")
}

/// A number below `bound`, from a seed that goes on.
fn below(seed: &mut u64, bound: usize) -> usize {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    (*seed % bound as u64) as usize
}

#[test]
fn the_shipped_recording_comes_back() {
    let it = replay(&shipped(), (254, 0), Dispatching::Modelled);
    let (recorded, replayed) = (it.recorded.0 as f64, it.replayed.0 as f64);
    assert!((replayed / recorded - 1.0).abs() < 0.02, "{it:?}");
    assert!(it.in_order * 100 >= it.requests * 99, "{it:?}");
}

#[test]
fn damaged_recordings_are_accounted_for_and_replayed_to_an_end() {
    let whole = shipped();
    let mut seed: u64 = std::env::var("HALFTURN_SEED").map_or(0x9E37_79B9, |seed| seed.parse().expect("a number"));
    for round in 0..24 {
        let begun = seed;
        let mut tape = whole.clone();
        match round % 4 {
            // Cut off in the middle; begun in the middle.
            0 => tape.events.truncate(below(&mut seed, whole.events.len())),
            1 => drop(tape.events.drain(..below(&mut seed, whole.events.len()))),
            // Events lost: one of so many, or some in a row.
            2 => {
                let every = 2 + below(&mut seed, 200);
                tape.events.retain(|_| below(&mut seed, every) > 0);
            }
            _ => {
                let from = below(&mut seed, whole.events.len() - 2000);
                tape.events.drain(from..from + 2000);
            }
        }
        let it = account(&tape);
        let processors = it.length.0 * it.cpus as u64;
        let told = it.busy + it.interrupts + it.false_idle + it.idle;
        assert!(told.0 <= processors, "HALFTURN_SEED={begun}: {told:?} of {processors}");
        for dispatching in [Dispatching::Modelled, Dispatching::AsRecorded] {
            let back = replay(&tape, (254, 0), dispatching);
            assert!(
                back.in_order <= back.requests && back.replayed < Time(3600 * 1000 * MS),
                "HALFTURN_SEED={begun}: {back:?}"
            );
        }
    }
}

#[test]
fn a_clock_that_steps_is_followed() {
    let mut lines = LINES.replace(" 1.006000", " 9.006000").replace(" 1.007000", " 9.007000");
    lines = lines.replace(" 1.010000", " 9.010000").replace(" 1.012000", " 9.012000");
    let path = recording("steps", &lines);
    let tape = LoadedRecording::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let it = account(&tape);
    // Eight seconds in which the reader had the processor, as far as anybody can tell.
    assert_eq!((it.steps_back, it.busy, it.false_idle), (1, Span(8007 * MS), Span(5 * MS)));
    assert_eq!(replay(&tape, (8, 0), Dispatching::Modelled).replayed, Time(8012 * MS));
}

/// What a reader of a run on this recording is told.
fn notes(name: &str, text: &str) -> Vec<String> {
    let path = recording(name, text);
    let workload = format!("kind = \"process-flow\"\nfile = \"{}\"", path.display());
    let machine = flow::machine(&crate::bench::case("", &workload), 1, 1_000_000).unwrap();
    std::fs::remove_file(&path).unwrap();
    machine.notes.iter().map(|note| note.split_once(": ").expect("the file is named").1.to_owned()).collect()
}

#[test]
fn what_a_recording_lacks_is_said() {
    let lost = "3 events were lost: what they tell is missing";
    let back = "1 lines whose time went back, taken as of the line above";
    let open = "1 requests to 8,0 were not seen to end; here they do";
    assert_eq!(notes("whole", LINES), [lost, back, open]);
    let fork = " reader-7 [000] ..... 1.000500: sched_process_fork: comm=reader pid=7 child_comm=reader child_pid=9\n";
    let (head, tail) = LINES.split_at(LINES.find(" reader-7 [000] ..... 1.001000").expect("it is there"));
    let alive = "1 processes had not ended when the recording did, and are followed as far as it goes";
    assert_eq!(notes("alive", &format!("{head}{fork}{tail}")), [lost, back, alive, open]);
    assert!(notes("stacked-notes", STACKED).is_empty(), "what is passed on is no one else's");
    let elsewhere = "1 requests to other devices, not passed on to 8,0, take as long as recorded";
    assert_eq!(
        notes(
            "beside",
            &STACKED
                .replace("7,0 R 4096 () 80 + 8", "7,0 R 8192 () 80 + 16")
                .replace("7,0 R () 80 + 8", "7,0 R () 80 + 16")
        ),
        [elsewhere]
    );
    // Nobody is there to wake a process that sleeps on another: it never ends, and that is said too.
    let asleep = vec![crate::bench::script([flow::ProcessStep::Sleep { channel: 1, blocks: true }])];
    let system = flow::ProcessSystem::new(
        &crate::bench::case("", crate::bench::ANY),
        flow::MachineSetup::new(load::experiment::SystemPlan::PLAIN, asleep),
        1,
    );
    let mut system = system;
    while let Some(due) = load::Load::due(&system) {
        load::Load::fire(&mut system, due, Span::ZERO).unwrap();
    }
    assert!(system.finish(Time(MS)).2[0].starts_with("1 processes never ended"));
}

/// With the processors given to processes as recorded: every request and every sleep in its order, and at its time.
fn assert_comes_back(it: &ReplayOutcome) {
    assert_eq!((it.in_order, it.slept), (it.requests, it.sleeps), "{it:?}");
    assert!(it.sleeps > 1 && it.deviation() < 0.0005, "{it:?} is off by {}", it.deviation());
}

#[test]
fn with_the_recorded_dispatches_the_shipped_recording_comes_back_exactly() {
    assert_comes_back(&replay(&shipped(), (254, 0), Dispatching::AsRecorded));
}

/// The recordings that were made for this project; they are not part of it.
#[test]
#[ignore = "needs the folder of recordings in HALFTURN_RECORDINGS"]
fn recordings_come_back() {
    let folder = std::env::var("HALFTURN_RECORDINGS").expect("the folder is given");
    for entry in std::fs::read_dir(folder).expect("it is there") {
        let path = entry.expect("it is there").path();
        let tape = LoadedRecording::read(&path).expect("it can be read");
        let it = replay(&tape, (254, 0), Dispatching::Modelled);
        println!("{}: modelled {it:?}", path.display());
        let (recorded, replayed) = (it.recorded.0 as f64, it.replayed.0 as f64);
        assert!((replayed / recorded - 1.0).abs() < 0.02, "{it:?}");
        assert!(it.in_order * 100 >= it.requests * 95, "{it:?}");
        let it = replay(&tape, (254, 0), Dispatching::AsRecorded);
        println!("{}: as recorded {it:?}, {:.5} % off", path.display(), 100.0 * it.deviation());
        assert_comes_back(&it);
    }
}
