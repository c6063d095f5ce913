//! Laws of systems drawn at random, held against what a few lines of arithmetic say.

use crate::bench::{ALL, MS, Script, compute, play, play_pictured, play_pictured_until, play_workload, script};
use block::{Extent, Op, Span, Time};
use flow::{Activity, Criticality, Doing, PictureScope, ProcessStep, ProcessTimes, Program};
use load::Draw;

/// Runs a test on so many seeds, and names the one that fails.
fn of_each(count: u64, test: impl Fn(&mut Draw)) {
    let given = std::env::var("HALFTURN_SEED").ok().and_then(|seed| seed.parse::<u64>().ok());
    for seed in given.map_or(0..count, |seed| seed..seed + 1) {
        println!("HALFTURN_SEED={seed}");
        test(&mut Draw::new(seed, 77));
    }
}

fn ms(ms: u64) -> Span {
    Span(ms * MS.0)
}

/// A process whose times are told at the end.
struct Named(Script);

impl Program for Named {
    fn next(&mut self, now: Time) -> ProcessStep {
        self.0.next(now)
    }

    fn name(&self) -> &str {
        "named"
    }
}

/// One who awaits a name, as he should fare.
#[derive(Default)]
struct Waiter {
    steps: Vec<ProcessStep>,
    /// When he has done all of them.
    at: u64,
    times: ProcessTimes,
}

impl Waiter {
    /// Goes on until `begins`, and then awaits what is there from `asked` to `ended`.
    fn awaits(&mut self, key: u32, blocks: bool, (begins, asked, ended): (u64, u64, u64)) {
        self.steps.extend([compute(begins - self.at), ProcessStep::Await { key, blocks }]);
        self.times.running += ms(begins - self.at);
        self.at = begins.max(ended);
        let since = begins.max(asked);
        if blocks && since < ended {
            (self.times.blocked, self.times.waits) = (self.times.blocked + ms(ended - since), self.times.waits + 1);
        }
        self.times.ended = Some(Time::ZERO + ms(self.at));
    }
}

/// Each waits for the request that has the name then, be it made later, under way or over; only who is blocked is waiting for
/// I/O, and a request is critical, or its time limit known, by who was blocked for it first.
#[test]
fn a_name_is_of_one_request_until_all_have_awaited_it_and_then_of_the_next() {
    of_each(100, |draw| {
        let (rounds, takes, key) = (1 + draw.below(4), 2 + 2 * draw.below(10), 5);
        let mut waiters: Vec<Waiter> = (0..=draw.below(3)).map(|_| Waiter::default()).collect();
        let (mut asker, mut now) = (Vec::new(), 0);
        let (mut raised, mut limits, mut in_time, mut limits_sum) = (0, 0, 0, Span::ZERO);
        // What asks does so at even times, who waits begins at odd ones.
        for round in (0..rounds).map(|round| 100 * round) {
            let asked = round + 2 * draw.below(10);
            let at = Extent::new(800, 8);
            let key_of = Some((key, waiters.len() as u32));
            let ask = ProcessStep::Ask { key: key_of, op: Op::Read, at, criticality: Criticality::Limited };
            asker.extend([compute(asked - now), ask]);
            now = asked;
            let mut blocking = Vec::new();
            for waiter in &mut waiters {
                let (begins, blocks) = (round + 1 + 2 * draw.below(30), draw.below(2) == 0);
                waiter.awaits(key, blocks, (begins, asked, asked + takes));
                blocking.extend(Some(begins).filter(|_| blocks));
            }
            let Some(first) = blocking.iter().copied().min() else { continue };
            let is_late = first < asked + takes;
            raised += u64::from(is_late);
            let known: Vec<u64> = if is_late { vec![first] } else { blocking };
            for begins in known.into_iter().filter(|begins| *begins > asked) {
                (limits, in_time) = (limits + 1, in_time + u64::from(!is_late));
                limits_sum += ms(begins - asked);
            }
        }
        let cpus = waiters.len() + 1;
        let mut programs = vec![script(asker)];
        let mut times = Vec::new();
        for Waiter { steps, times: of, .. } in waiters {
            programs.push(Box::new(Named(Script(steps.into()))));
            times.push(("named".to_owned(), of));
        }
        let account = play(&format!("cpus = {cpus}"), programs, ms(takes)).account;
        assert_eq!(account.processes, times);
        assert_eq!((account.raised, account.limits, account.in_time), (raised, limits, in_time));
        assert_eq!(account.limits_sum, limits_sum);
        assert_eq!((account.limited, account.critical, account.noncritical), (rounds, 0, 0));
    });
}

/// A scene with something of everything.
fn scene() -> Vec<Box<dyn Program>> {
    let child = script([compute(4), ProcessStep::Wakeup { channel: 3 }]);
    let sleeper = [compute(2), ProcessStep::Sleep { channel: 9, blocks: false }, compute(1)];
    vec![
        script([compute(10), ProcessStep::Read { page: 7, ahead: Some(8) }, compute(5)]),
        script([compute(25), ProcessStep::Pause { span: ms(6) }, ProcessStep::Fork(child)]),
        script([ProcessStep::Sleep { channel: 3, blocks: true }, compute(3)]),
        script(sleeper),
    ]
}

/// Of a picture's pieces, what had begun by then.
fn until<T: Copy>(pieces: &[Activity<T>], end: Time) -> Vec<Activity<T>> {
    let begun = pieces.iter().filter(|piece| piece.from < end);
    begun.map(|piece| Activity { to: piece.to.min(end), ..*piece }).collect()
}

/// A run that is stopped at any time gives the picture of all of it as far as it had come: what still went on, too.
#[test]
fn a_picture_taken_early_is_the_beginning_of_the_whole() {
    const COSTS: &str = "cpus = 2\nswitch = \"1ms\"\nio_interrupt = \"2ms\"\nwakeup = \"1ms\"";
    let takes = ms(20);
    let whole = play_pictured(COSTS, scene(), takes, ALL).picture.expect("it was asked for");
    let asleep = &whole.processes[3];
    assert_eq!(asleep.pieces.last().map(|piece| piece.to), Some(whole.to), "he sleeps to the end");
    for half in (1..2 * whole.to.0 / MS.0).step_by(2) {
        let end = Time(half * MS.0 / 2);
        let it = play_pictured_until(COSTS, scene(), takes, end).picture.expect("it was asked for");
        let begun = whole.processes.iter().filter(|life| life.began < end);
        assert_eq!(it.processes.len(), begun.clone().count());
        for (life, all) in it.processes.iter().zip(begun) {
            assert_eq!((life.began, life.ended), (all.began, all.ended.filter(|ended| *ended < end)), "{end:?}");
            assert_eq!(life.pieces, until(&all.pieces, end), "{end:?}");
        }
        for (processor, all) in it.processors.iter().zip(&whole.processors) {
            assert_eq!(processor, &until(all, end), "{end:?}");
        }
        let asked = whole.requests.iter().filter(|made| made.asked < end);
        let as_then = |made: &flow::IssuedRequest| flow::IssuedRequest {
            critical: made.critical.filter(|at| *at < end),
            ended: made.ended.filter(|at| *at < end),
            ..*made
        };
        assert_eq!(it.requests, asked.map(as_then).collect::<Vec<_>>(), "{end:?}");
    }
}

/// A window shows the same pieces as the whole has there, and the requests that were open in it.
#[test]
fn a_window_is_a_part_of_the_whole() {
    let play =
        |scope| play_pictured("cpus = 2\nswitch = \"1ms\"", scene(), ms(20), scope).picture.expect("it was asked for");
    let whole = play(ALL);
    of_each(40, |draw| {
        let [a, b] = [0, 1].map(|_| Time(draw.below(2 * whole.to.0 / MS.0) * MS.0 / 2));
        let (from, to) = (a.min(b), Time(a.max(b).0 + 1));
        let it = play(PictureScope { from, to, most: usize::MAX });
        let since = |pieces: Vec<Activity<Doing>>| -> Vec<Activity<Doing>> {
            let left = pieces.into_iter().filter(|piece| piece.to > from);
            left.map(|piece| Activity { from: piece.from.max(from), ..piece }).collect()
        };
        for (life, all) in it.processes.iter().zip(&whole.processes) {
            assert_eq!((&life.name, life.began, life.ended), (&all.name, all.began, all.ended));
            assert_eq!(life.pieces, since(until(&all.pieces, to)));
        }
        let open = whole.requests.iter().filter(|made| made.asked < to && made.ended.is_none_or(|ended| ended >= from));
        assert_eq!(it.requests, open.copied().collect::<Vec<_>>());
        assert!(!it.cut && it.to == to.min(whole.to));
    });
}

/// A switch counts as false computation where somebody left to wait for I/O, or comes back from it; not where he slept.
#[test]
fn switches_are_false_computation_only_for_io() {
    let first = |step| {
        play(
            "switch = \"1ms\"\npreempt_on_wake = true",
            vec![script([compute(3), step, compute(4)]), script([compute(90)])],
            ms(20),
        )
    };
    let read = first(ProcessStep::Read { page: 7, ahead: None }).account;
    let slept = first(ProcessStep::Pause { span: ms(20) }).account;
    // To him, to the other, back to him, and to the other again: the second and the third are for I/O.
    assert_eq!((read.switches, read.false_computation), (4, ms(2)));
    assert_eq!((slept.switches, slept.false_computation), (4, Span::ZERO));
}

/// Each page of the input is read once and in order, each of the output written once, the inode besides; nothing is forced to
/// the medium, and no two processes share a page.
#[test]
fn compression_reads_and_writes_each_page_of_its_own_files_once() {
    for interleave in ["", "interleave = \"16KiB\"\n"] {
        for (processes, input, output) in [(1, 40, 19), (3, 25, 25), (2, 7, 30), (6, 200, 150)] {
            let workload = format!(
                "kind = \"compression\"\nprocesses = {processes}\ninput = \"{}KiB\"\noutput = \"{}KiB\"\n\
                 compute = \"24ms\"\nregion = \"0%..1%\"\n\
                 output_region = \"50%..51%\"\n{interleave}",
                4 * input,
                4 * output
            );
            let run = play_workload("preset = \"ncr-3433\"\nio_interrupt = \"100us\"", &workload, ms(5));
            let pages = |of: Op| -> Vec<u64> {
                let own = run.asked.iter().filter(|(op, _)| *op == of);
                let mut pages: Vec<u64> = own.map(|(_, at)| at.start.0 / 8).collect();
                pages.sort_unstable();
                pages
            };
            assert!(run.asked.iter().all(|(_, at)| at.blocks == 8 && at.start.0.is_multiple_of(8)));
            let (read, written) = (pages(Op::Read), pages(Op::Write { fua: false }));
            assert_eq!((read.len(), written.len()), (processes * input, processes * (output + 1)), "{workload}");
            assert_eq!(read.len() + written.len(), run.asked.len(), "nothing else is asked for");
            let half = 1_000_000 / 8 / 2;
            assert!(read.windows(2).all(|pair| pair[0] < pair[1]) && written.windows(2).all(|pair| pair[0] < pair[1]));
            assert!(written[0] >= half, "{workload}");
            // Interleaved they share one stretch; else each file is whole.
            for (pages, length) in [(&read, input), (&written, output + 1)] {
                let last = pages[pages.len() - 1];
                match interleave.is_empty() {
                    true => assert!(
                        pages.chunks(length).all(|file| file[length - 1] - file[0] == length as u64 - 1),
                        "{workload}: {pages:?}"
                    ),
                    false => assert!(
                        last - pages[0] < (processes * length.next_multiple_of(4)) as u64,
                        "{workload}: {pages:?}"
                    ),
                }
            }
        }
    }
}

/// A process waits for each critical request, for no other; for one with a time limit only where that was too short.
#[test]
fn who_asks_for_what_is_critical_is_blocked_for_each_of_it() {
    let of = |kinds: &str| {
        let workload =
            format!("kind = \"processes\"\nprocesses = 3\ncompute = \"2ms\"\nsize = \"4KiB\"\nrequests = 50\n{kinds}");
        let account = play_workload("cpus = 3", &workload, ms(4)).account;
        let waits: Vec<u64> = account.processes.iter().map(|(_, times)| times.waits).collect();
        let blocked: Span = account.processes.iter().map(|(_, times)| times.blocked).sum();
        (waits, blocked, account)
    };
    let (waits, blocked, account) = of("critical = 1.0");
    assert_eq!((waits, account.critical, account.limits), (vec![50; 3], 150, 0));
    assert!(blocked >= ms(150 * 4), "{blocked:?}");
    let (waits, blocked, account) = of("critical = 0.0");
    assert_eq!((waits, blocked, account.noncritical), (vec![0; 3], Span::ZERO, 150));
    let (waits, _, account) = of("limited = 1.0\nlimit = \"3ms\"");
    assert_eq!((account.limited, account.limits), (150, 150));
    assert_eq!(waits.iter().sum::<u64>(), account.limits - account.in_time);
    assert_eq!(account.raised, account.limits - account.in_time);
}

/// With a processor for each process nobody has to give way, whether waking preempts or not.
#[test]
fn nobody_is_preempted_while_a_processor_is_free() {
    of_each(8, |draw| {
        let processes = 2 + draw.below(4);
        let costs = "switch = \"62us\"\nio_interrupt = \"380us\"\nclock_interrupt = \"92us\"\nwakeup = \"200us\"";
        let workload = format!(
            "kind = \"processes\"\nprocesses = {processes}\ncompute = \"{}ms\"\nlimit = \"5ms\"\ncritical = 0.4\n\
             limited = 0.4\nsize = \"4KiB\"\nrequests = 40",
            1 + draw.below(20)
        );
        let takes = ms(1 + draw.below(6));
        let [yes, no] = [true, false].map(|preempts| {
            let system = format!("cpus = {processes}\npreempt_on_wake = {preempts}\n{costs}");
            play_workload(&system, &workload, takes)
        });
        assert_eq!(yes.events, no.events);
        assert_eq!(yes.account, no.account);
    });
}

/// Under a fair dispatcher who computes has as much as any other, but for a slice or two, and who slept long is not owed for it.
#[test]
fn a_fair_dispatcher_owes_nobody_for_having_slept() {
    const SLICE: u64 = 10;
    of_each(20, |draw| {
        let (others, sleeps, works) = (1 + draw.below(3), 200 + draw.below(800), 100 + draw.below(100));
        let mut programs: Vec<Box<dyn Program>> = (0..others).map(|_| script([compute(5_000)])).collect();
        let sleeper = [ProcessStep::Pause { span: ms(sleeps) }, compute(works)];
        programs.push(Box::new(Named(Script(sleeper.into_iter().collect()))));
        let system = format!("fair = true\nclock = \"10ms\"\nslice = \"{SLICE}ms\"");
        let account = play(&system, programs, ms(1)).account;
        let [(_, times)] = &account.processes[..] else { panic!("one has a name") };
        // It takes turns with the others from when it wakes on.
        let took = times.ended.expect("it ends").since(Time::ZERO).as_ms() - sleeps as f64;
        let fair = (works * (others + 1)) as f64;
        let most = (3 * SLICE * (others + 1)) as f64;
        assert!((took - fair).abs() <= most, "{took} ms for {fair}");
    });
}
