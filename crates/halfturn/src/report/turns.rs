//! Which request a drive served when, in a piece of a run, and what that yielded for the time it took.

use block::{Place, RequestId, Span, Time};
use sim::{Step, Timeline};

/// A request in a piece of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct ServedRequest {
    request: RequestId,
    ended: Option<Time>,
    /// What it was worth when it ended; nothing where not all of it was seen.
    pub worth: Option<f64>,
    /// When it was served, the way there included: several times where others stepped in.
    pub turns: Vec<(Time, Time)>,
    /// When its blocks were transferred.
    pub transfers: Vec<(Time, Time)>,
}

/// The requests of a piece of a run, in the order in which they were first served.
pub fn served_requests(run: &Timeline) -> Vec<ServedRequest> {
    let mut all: Vec<ServedRequest> = Vec::new();
    let (mut before, mut last) = (run.from, None);
    for step in &run.steps {
        let Place::Request(request, done) = step.command.place else {
            (before, last) = (step.ended, None);
            continue;
        };
        let end = run.ends.iter().find(|end| end.request == request && end.at >= step.ended);
        let ended = end.map(|end| end.at);
        let known = all.iter().position(|it| (it.request, it.ended) == (request, ended));
        let at = known.unwrap_or_else(|| {
            let worth = end.filter(|_| done == 0).map(|end| end.worth);
            all.push(ServedRequest { request, ended, worth, turns: Vec::new(), transfers: Vec::new() });
            all.len() - 1
        });
        let turns = &mut all[at].turns;
        match turns.last_mut().filter(|_| last == Some(at)) {
            Some(turn) => turn.1 = step.ended,
            None => {
                let begins = run.begins.iter().rev().find(|(at, id)| *id == request && *at <= step.issued);
                let from = begins.map_or(before, |(at, _)| (*at).max(before));
                turns.push((from, step.ended));
            }
        }
        all[at].transfers.push(transfer(step));
        (before, last) = (step.ended, Some(at));
    }
    all
}

/// When a command's blocks came.
fn transfer(step: &Step) -> (Time, Time) {
    let ends = Time(step.ended.0 - step.parts.bus.0);
    (Time(ends.0 - step.parts.transfer.0), ends)
}

impl ServedRequest {
    /// What it yields a second: by the time in which it was served (Preemptive RAID scheduling, Eq. 4), and by that of its
    /// transfers alone.
    pub fn averages(&self) -> Option<(f64, f64)> {
        let sum = |spans: &[(Time, Time)]| spans.iter().map(|(from, to)| to.since(*from)).sum::<Span>().as_secs();
        let per = |worth: f64, spans| worth / sum(spans).max(1e-9);
        self.worth.map(|worth| (per(worth, &self.turns), per(worth, &self.transfers)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::{Command, Extent, Verb};
    use sim::Ended;

    /// A read of 8 blocks of a request, from then to then in ms; the last ms of it is transfer.
    fn step(request: u32, done: u32, from: u64, to: u64) -> Step {
        let place = Place::Request(RequestId(request), done);
        let command = Command::new(Verb::Read, Extent::new(8 * u64::from(done), 8), place);
        let [issued, ended] = [from, to].map(|ms| Time(ms * 1_000_000));
        let mut step = Step { request: None, command, issued, ended, parts: Default::default(), own_until: issued };
        step.parts.transfer = Span::from_ms(1.0);
        step
    }

    #[test]
    fn who_was_interrupted_has_two_turns_and_what_it_yields_is_by_both() {
        let steps =
            vec![step(7, 0, 3, 10), step(7, 8, 10, 12), step(2, 0, 15, 20), step(7, 16, 24, 30), step(2, 0, 31, 40)];
        let end = |request, ms: u64, worth| Ended { request: RequestId(request), at: Time(ms * 1_000_000), worth };
        let ends = vec![end(2, 20, 3.0), end(7, 30, 2.0)];
        // The last one was not there when the one before had ended.
        let begins = vec![(Time(0), RequestId(7)), (Time(12_000_000), RequestId(2)), (Time(31_000_000), RequestId(2))];
        let run = Timeline { from: Time(0), steps, own_until: Time(0), begins, ends, weights: Vec::new() };
        let served = served_requests(&run);
        let ms =
            |it: &ServedRequest| it.turns.iter().map(|(a, b)| (a.0 / 1_000_000, b.0 / 1_000_000)).collect::<Vec<_>>();
        assert_eq!(
            served.iter().map(ms).collect::<Vec<_>>(),
            [vec![(0, 12), (20, 30)], vec![(12, 20)], vec![(31, 40)]]
        );
        // 2 in 12 + 10 ms, of which 3 were transfer; 3 in 8 ms, of which 1 was.
        let (long, short) = (served[0].averages().expect("it ended"), served[1].averages().expect("it ended"));
        assert!((long.0 - 2.0 / 0.022).abs() < 1e-9 && (long.1 - 2.0 / 0.003).abs() < 1e-9, "{long:?}");
        assert!((short.0 - 375.0).abs() < 1e-9 && (short.1 - 3000.0).abs() < 1e-9, "{short:?}");
        assert_eq!(served[2].averages(), None, "the third did not end");
    }
}
