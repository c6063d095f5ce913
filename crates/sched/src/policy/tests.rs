//! What holds of every policy.

use super::*;
use crate::predict::Distance;
use block::{Command, Extent, Lbn, Op, Place, Qos, Request, RequestId, Verb};

/// A policy that lets a job pass is left as one that took it in and gave it up: from then on both choose alike.
#[test]
fn a_job_that_passes_leaves_no_trace() {
    let mut state = 3u64;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut passing = Vec::new();
    for name in names() {
        let make = || choose(name, "").map(|chosen| chosen.make::<Distance>(&Beside::default()));
        let (Ok(mut passes), Ok(mut keeps)) = (make(), make()) else { continue };
        let (mut belief, mut jobs) = (Distance::default(), Jobs::new());
        let (mut held, mut passed) = (0u32, 0u32);
        for step in 0..4000u32 {
            let now = Time(u64::from(step) * 100_000);
            let id = if held < 6 && draw(2) == 0 || held == 0 {
                let most = if draw(3) == 0 { 3 } else { 100_000 };
                let at = Extent::new(draw(most), 8);
                let request = Request { id: RequestId(step), op: Op::Read, at, qos: Qos::default() };
                let job = Job::new(&request, now, u64::from(step), at.start);
                let id = jobs.insert(job);
                keeps.add(id, &job, &belief);
                if held > 0 || draw(3) == 0 || !passes.pass(&job, &belief) {
                    passes.add(id, &job, &belief);
                    held += 1;
                    continue;
                }
                passed += 1;
                assert_eq!(keeps.take(now, &jobs, &belief), Some(id), "{name}, step {step}");
                id
            } else {
                let chosen = keeps.take(now, &jobs, &belief);
                assert_eq!(passes.take(now, &jobs, &belief), chosen, "{name}, step {step}");
                let Some(id) = chosen else { continue };
                held -= 1;
                id
            };
            assert_eq!(passes.candidates(), keeps.candidates(), "{name}, step {step}");
            let job = *jobs.get(id).expect("it is there");
            belief.note_issue(now, &Command::new(Verb::Read, job.at, Place::Nowhere), Lbn(job.at.start.0));
            passes.end(now, &job);
            keeps.end(now, &job);
            jobs.free(id);
        }
        passing.extend((passed > 0).then_some(name));
    }
    assert_eq!(passing, ["fcfs", "c-look", "sstf", "satf"]);
}
