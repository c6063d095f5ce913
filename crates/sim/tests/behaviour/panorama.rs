//! What is kept of a run for a picture: commands with the numbers of their requests, cut where it is to be.

use crate::files::{cases, once};
use block::{Span, Time};
use flow::{Doing, PictureScope};
use sim::{Panorama, panorama};

const ALL: PictureScope = PictureScope { from: Time::ZERO, to: Time::NEVER, most: usize::MAX };

const PROCESSES: &str = "[drive]\nmodel = \"lxt-535sy\"\n[scheduler]\npolicy = \"priority-2\"\n[system]\npreset = \"ncr-3433\"\n\
    [[workload]]\nname = \"it\"\nkind = \"compression\"\nprocesses = 2\ninput = \"400KiB\"\noutput = \"200KiB\"\ncompute = \"5ms\"\n\
    region = \"0 blocks..160000 blocks\"\noutput_region = \"416570 blocks..490000 blocks\"\n";

fn of(text: &str, scope: PictureScope) -> Panorama {
    panorama(&cases(text)[0].experiment, scope).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_wait_is_for_a_request_that_the_disk_had_then() {
    let it = of(PROCESSES, ALL);
    let machine = it.machine.as_ref().expect("there are processes");
    let steps = &it.disks[0].steps;
    assert!(!it.cut && steps.len() == machine.requests.len(), "no command is split here");
    for step in steps {
        let made = &machine.requests[step.request.expect("it is for one") as usize - 1];
        assert_eq!(made.at, step.command.at);
        assert!(made.asked <= step.issued && made.ended == Some(step.ended), "{made:?} {step:?}");
        assert_eq!(step.parts.total(), step.ended.since(step.issued));
    }
    let waits = machine.processes.iter().flat_map(|life| &life.pieces);
    let waits: Vec<_> = waits.filter(|piece| matches!(piece.what, Doing::Waiting(Some(_)))).collect();
    assert!(waits.len() > 20, "{}", waits.len());
    let known = once(PROCESSES).system.expect("there are processes");
    let blocked: f64 = known.processes.iter().map(|process| process.blocked_ms).sum();
    let shown: Span = waits.iter().map(|piece| piece.to.since(piece.from)).sum();
    assert!((shown.as_ms() - blocked).abs() < 1e-6, "{} {blocked}", shown.as_ms());
}

#[test]
fn a_window_and_a_bound_say_where_they_end() {
    let ms = |ms: u64| Time(ms * 1_000_000);
    let it = of(PROCESSES, PictureScope { from: ms(500), to: ms(700), most: usize::MAX });
    assert!(!it.cut && (it.from, it.to) == (ms(500), ms(700)));
    let whole = of(PROCESSES, ALL);
    let meets = |step: &&sim::Step| step.ended > ms(500) && step.issued < ms(700);
    let expected: Vec<_> = whole.disks[0].steps.iter().filter(meets).map(|step| (step.issued, step.request)).collect();
    let steps: Vec<_> = it.disks[0].steps.iter().map(|step| (step.issued, step.request)).collect();
    assert_eq!(steps, expected);
    let cut = of(PROCESSES, PictureScope { most: 300, ..ALL });
    let pieces: usize = cut.machine.iter().flat_map(|it| &it.processes).map(|life| life.pieces.len()).sum();
    assert!(cut.cut && cut.to < whole.to && pieces <= 300, "{:?} {pieces}", cut.to);
}

#[test]
fn loads_without_processes_and_arrays_have_their_commands_with_numbers_too() {
    let text = "[drive]\nmodel = \"st318437lw\"\n[array]\ndisks = 2\nlevel = \"0\"\n[scheduler]\npolicy = \"satf\"\n\
                [[workload]]\nname = \"it\"\nkind = \"closed\"\ndepth = 4\nsize = \"4KiB\"\n[run]\nrequests = 200\n";
    let it = of(text, ALL);
    assert!(it.machine.is_none() && it.disks.len() == 2);
    let mut numbers: Vec<u32> = it.disks.iter().flat_map(|run| &run.steps).filter_map(|step| step.request).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert!(numbers.len() >= 200 && numbers[0] == 1, "{}", numbers.len());
}
