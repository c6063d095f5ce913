//! What is told of a run beside its results: a film of its commands, counts of requests as it goes, the arm's moves. Each is
//! worked out here from the commands that the disks had.

use crate::files::{cases, once, results};
use block::{Lbn, Span, Time, Verb};
use flow::PictureScope;
use sim::{Step, Timeline, Window, panorama, timeline};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const MIXED: &str = "[drive]\nmodel = \"st318437lw\"\n[scheduler]\npolicy = \"satf\"\n\
    [[workload]]\nname = \"reads\"\nclass = \"reads\"\nkind = \"closed\"\ndepth = 3\nsize = \"4KiB\"\n\
    [[workload]]\nname = \"writes\"\nclass = \"writes\"\nkind = \"closed\"\ndepth = 4\nsize = \"64KiB\"\nread = 0\n\
    [run]\nrequests = 300\nreplications = 1\n";

fn film(request: u64, requests: u64) -> Timeline {
    let window = Window { disk: 0, request, requests, commands: usize::MAX };
    timeline(&cases(MIXED)[0].experiment, window).unwrap_or_else(|error| panic!("{error}"))
}

/// The commands of each disk over a whole run.
fn steps(text: &str) -> Vec<Vec<Step>> {
    let all = PictureScope { from: Time::ZERO, to: Time::NEVER, most: usize::MAX };
    let it = panorama(&cases(text)[0].experiment, all).unwrap_or_else(|error| panic!("{error}"));
    it.disks.into_iter().map(|run| run.steps).collect()
}

#[test]
fn a_film_of_a_part_shows_what_one_of_the_whole_shows_there() {
    let whole = film(1, 60);
    assert_eq!(whole.from, Time::ZERO);
    assert!(whole.ends.len() >= 60, "{}", whole.ends.len());
    for (request, requests) in [(2, 1), (2, 20), (7, 5), (30, 25)] {
        let part = film(request, requests);
        let before = request as usize - 1;
        assert_eq!(part.from, whole.ends[before - 1].at, "it begins when the one before has ended");
        let ends = |film: &Timeline| film.ends.iter().map(|end| (end.request, end.at)).collect::<Vec<_>>();
        let shown = ends(&part);
        assert!(shown.len() >= requests as usize, "{} of {requests}", shown.len());
        assert_eq!(shown[..requests as usize], ends(&whole)[before..before + requests as usize]);
        let last = shown[requests as usize - 1].1;
        let there = |film: &Timeline| {
            let inside = film.steps.iter().filter(|step| step.issued > part.from && step.issued < last);
            inside.map(|step| (step.issued, step.command.at, step.ended)).collect::<Vec<_>>()
        };
        assert_eq!(there(&part), there(&whole), "from {request}, {requests} requests");
    }
}

#[test]
fn a_film_has_no_more_commands_than_were_asked_for() {
    let window = Window { disk: 0, request: 1, requests: 100, commands: 7 };
    let short = timeline(&cases(MIXED)[0].experiment, window).unwrap();
    let issued = |film: &Timeline| film.steps.iter().take(6).map(|step| step.issued).collect::<Vec<_>>();
    assert!((6..=7).contains(&short.steps.len()), "{}", short.steps.len());
    assert_eq!(issued(&short), issued(&film(1, 100)));
}

#[test]
fn what_requests_waited_for_the_drives_own_work_is_what_their_commands_did() {
    let steps = &steps(MIXED)[0];
    let run = results(MIXED).runs.remove(0);
    for (class, reads) in [("reads", true), ("writes", false)] {
        let told = &run.classes[class];
        let of_class = steps.iter().filter(|step| step.request.is_some() && (step.command.verb == Verb::Read) == reads);
        let waits: Vec<Span> = of_class.map(|step| step.parts.external).collect();
        let waited: Span = waits.iter().copied().sum();
        let expected = waited.as_ms() / told.requests as f64;
        // Where the run ends, a command or two are under way.
        let longest = waits.iter().max().expect("commands").as_ms();
        let off = (told.external_ms * told.requests as f64 - waited.as_ms()).abs();
        assert!(
            off <= 2.0 * longest,
            "{class}: {} ms, by its commands {expected}, at most {longest}",
            told.external_ms
        );
        assert!(reads || expected > 0.1, "{class}: nothing to tell, {expected}");
    }
}

#[test]
fn requests_are_told_as_they_end_and_each_once() {
    let text = "[drive]\nmodel = \"st318437lw\"\n[scheduler]\npolicy = \"fcfs\"\n[[workload]]\nname = \"it\"\n\
                kind = \"closed\"\ndepth = 1\nsize = \"4KiB\"\nat = \"sequential\"\n[run]\nrequests = 70000\n";
    let (told, most) = (AtomicU64::new(0), AtomicU64::new(0));
    let count = |requests: u64| {
        told.fetch_add(requests, Relaxed);
        most.fetch_max(requests, Relaxed);
    };
    let done = sim::replicate(&cases(text)[0].experiment, 0, &count).unwrap();
    // Some end before the measured time.
    let before = told.load(Relaxed) - done.meter.requests();
    assert!(before < 100, "{} told, {} ended", told.load(Relaxed), done.meter.requests());
    assert!(most.load(Relaxed) < 40_000, "it was told late: {} at once", most.load(Relaxed));
}

#[test]
fn an_empty_disk_in_place_of_one_that_failed_is_written_to_and_without_one_nothing_is_asked_of_it() {
    for replaced in [false, true] {
        let text = format!(
            "[drive]\nmodel = \"st318437lw\"\n[array]\nlevel = \"1\"\ndisks = 2\n\
             [[array.fails]]\ndisk = 1\nat = \"500ms\"\nreplaced = {replaced}\n[scheduler]\npolicy = \"fcfs\"\n\
             [[workload]]\nname = \"it\"\nkind = \"closed\"\ndepth = 4\nread = 0.5\nsize = \"4KiB\"\n[run]\nrequests = 400\n"
        );
        let disks = steps(&text);
        let late = |disk: usize| disks[disk].iter().filter(|step| step.issued > Time(500_000_000));
        assert!(late(0).count() > 50, "the run goes on: {}", late(0).count());
        let written = late(1).filter(|step| step.command.verb.writes()).count();
        assert_eq!(late(1).count() > 0, replaced);
        assert_eq!(written > 10, replaced, "{written} writes");
    }
}

const PROCESSES: &str = "[drive]\nmodel = \"lxt-535sy\"\n[scheduler]\npolicy = \"priority-2\"\n[system]\npreset = \"ncr-3433\"\n\
    [[workload]]\nname = \"it\"\nkind = \"compression\"\nprocesses = 2\ninput = \"400KiB\"\noutput = \"200KiB\"\ncompute = \"5ms\"\n\
    region = \"0 blocks..160000 blocks\"\noutput_region = \"416570 blocks..490000 blocks\"\n";

#[test]
fn a_systems_account_of_the_arm_is_what_its_commands_tell() {
    let disks = steps(PROCESSES);
    let layout = disk::catalogue::find("lxt-535sy").unwrap().sheet.mechanics;
    let cylinder = |lbn: u64| layout.layout.locate(Lbn(lbn)).track.cylinder;
    let mut done = disks[0].clone();
    done.sort_by_key(|step| step.ended);
    let (mut seeks, mut crossed, mut hits, mut at, mut served) = (Span::ZERO, 0, 0, 0, 0);
    for Step { command, parts, .. } in &done {
        let still = parts.seek + parts.rotation == Span::ZERO;
        if still {
            hits += u32::from(command.verb == Verb::Read);
            continue;
        }
        served += 1;
        if parts.seek > Span::ZERO {
            seeks += parts.seek;
            crossed += cylinder(command.at.start.0).abs_diff(at);
        }
        at = cylinder(command.at.end().0 - 1);
    }
    let count = f64::from(served);
    let told = once(PROCESSES).system.expect("there are processes");
    assert!(count > 100.0 && crossed > 1000, "{count} commands, {crossed} cylinders");
    assert_eq!(told.buffer_hits, f64::from(hits));
    assert!((told.seek_ms - seeks.as_ms() / count).abs() < 1e-9, "{} {}", told.seek_ms, seeks.as_ms() / count);
    assert!((told.seek_distance - f64::from(crossed) / count).abs() < 1e-9, "{}", told.seek_distance);
}
