//! Recordings of whole machines: the account, who waited for what, and that a replay gives the recording back.

use block::{Span, Time};
use flow::recorded::{account, replay};
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
    let it = account(&path).unwrap();
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
fn a_replay_gives_the_recording_back() {
    let path = recording("replay", LINES);
    let it = replay(&path, (8, 0)).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!((it.recorded, it.replayed), (Time(12 * MS), Time(12 * MS)));
    assert_eq!((it.requests, it.in_order), (3, 3));
}

#[test]
fn a_recording_that_is_cut_off_is_told_as_far_as_it_goes() {
    for lines in 4..24 {
        let cut: String = LINES.lines().take(lines).map(|line| format!("{line}\n")).collect();
        let path = recording(&format!("cut-{lines}"), &cut);
        account(&path).unwrap();
        replay(&path, (8, 0)).unwrap();
        std::fs::remove_file(&path).unwrap();
    }
    let path = recording("garbled", &LINES[..LINES.len() - 60]);
    let told = account(&path).unwrap_err().to_string();
    std::fs::remove_file(&path).unwrap();
    assert!(told.contains(":25"), "{told}");
}

/// The recordings that were made for this project; they are not part of it.
#[test]
#[ignore = "needs the folder of recordings in HALFTURN_RECORDINGS"]
fn recordings_come_back() {
    let folder = std::env::var("HALFTURN_RECORDINGS").expect("the folder is given");
    for entry in std::fs::read_dir(folder).expect("it is there") {
        let path = entry.expect("it is there").path();
        let it = replay(&path, (254, 0)).expect("it can be read");
        println!("{}: {it:?}", path.display());
        assert!(it.in_order * 10 >= it.requests * 9, "{it:?}");
    }
}
