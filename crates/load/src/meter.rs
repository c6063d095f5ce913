//! What is measured of a run: responses and waits by class, durations of commands.

use crate::results::{Class, Commands};
use crate::tally::Tally;
use block::{Ending, Span, Time};

/// Counts requests that arrived and commands that were issued in the measured time, and bytes that came in it: in a closed
/// loop as many come of requests from before as are outstanding at the end.
#[derive(Clone, Debug)]
pub struct Meter {
    classes: Vec<ClassMeter>,
    commands: Tally,
    /// ΣT² of the commands, ns².
    squares: u128,
    from: Time,
    requests: u64,
    measured: Span,
}

#[derive(Clone, Debug)]
struct ClassMeter {
    name: String,
    response: Tally,
    waiting: Tally,
    bytes: u64,
    requests: u64,
    dropped: u64,
    failed: u64,
    missed: u64,
}

impl Meter {
    /// A meter for these classes that counts from `from` on.
    #[must_use]
    pub fn new(classes: Vec<String>, from: Time) -> Meter {
        let class = |name| ClassMeter {
            name,
            response: Tally::default(),
            waiting: Tally::default(),
            bytes: 0,
            requests: 0,
            dropped: 0,
            failed: 0,
            missed: 0,
        };
        Meter {
            classes: classes.into_iter().map(class).collect(),
            commands: Tally::default(),
            squares: 0,
            from,
            requests: 0,
            measured: Span::ZERO,
        }
    }

    /// Since when it counts.
    #[must_use]
    pub fn from(&self) -> Time {
        self.from
    }

    /// Requests counted.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Time measured, all replications together.
    #[must_use]
    pub fn measured(&self) -> Span {
        self.measured
    }

    /// The measured time ends.
    pub fn close(&mut self, until: Time) {
        self.measured = until.since(self.from);
    }

    /// A command took from `issued` to `ended`.
    pub fn command(&mut self, issued: Time, ended: Time) {
        if issued >= self.from {
            let took = ended.since(issued);
            self.commands.add(took);
            self.squares += u128::from(took.0) * u128::from(took.0);
        }
    }

    /// A request of a class has ended.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn ended(
        &mut self,
        class: u8,
        bytes: u64,
        arrived: Time,
        began: Time,
        now: Time,
        how: Ending,
        missed: bool,
    ) {
        let class = &mut self.classes[usize::from(class)];
        if how == Ending::Finished && now >= self.from {
            class.bytes += bytes;
        }
        if arrived < self.from {
            return;
        }
        self.requests += 1;
        class.requests += 1;
        class.missed += u64::from(missed);
        match how {
            Ending::Finished => {
                class.response.add(now.since(arrived));
                class.waiting.add(began.min(now).since(arrived));
            }
            Ending::Failed(_) => class.failed += 1,
            Ending::Dropped => class.dropped += 1,
        }
    }

    /// Adds another replication of the same run.
    pub fn merge(&mut self, other: &Meter) {
        self.requests += other.requests;
        self.measured += other.measured;
        self.squares += other.squares;
        self.commands.merge(&other.commands);
        for (class, other) in self.classes.iter_mut().zip(&other.classes) {
            class.response.merge(&other.response);
            class.waiting.merge(&other.waiting);
            class.bytes += other.bytes;
            class.requests += other.requests;
            class.dropped += other.dropped;
            class.failed += other.failed;
            class.missed += other.missed;
        }
    }

    /// Megabytes a second of all classes.
    #[must_use]
    pub fn throughput_mb_s(&self) -> f64 {
        self.rate(self.classes.iter().map(|class| class.bytes).sum())
    }

    /// What an arrival would wait for the command in progress: ½ΣT²/ΣT in ms (Virtual IO, Eq. 2).
    #[must_use]
    pub fn expected_wait_ms(&self) -> f64 {
        let sum = self.commands.mean_ns() * self.commands.count() as f64;
        if sum == 0.0 { 0.0 } else { self.squares as f64 / sum / 2.0 / 1e6 }
    }

    /// Durations of commands.
    #[must_use]
    pub fn commands(&self) -> Commands {
        Commands {
            count: self.commands.count(),
            mean_ms: self.commands.mean_ns() / 1e6,
            p99_ms: self.commands.quantile_ms(0.99),
            max_ms: self.commands.max_ms(),
        }
    }

    /// What each class got.
    pub fn classes(&self) -> impl Iterator<Item = (String, Class)> {
        self.classes.iter().map(|class| {
            let got = Class {
                requests: class.requests,
                dropped: class.dropped,
                failed: class.failed,
                throughput_mb_s: self.rate(class.bytes),
                yield_: 0.0,
                missed_deadlines: class.missed,
                response_ms: class.response.distribution(),
                waiting_ms: class.waiting.distribution(),
            };
            (class.name.clone(), got)
        })
    }

    fn rate(&self, bytes: u64) -> f64 {
        if self.measured == Span::ZERO { 0.0 } else { bytes as f64 / 1e6 / self.measured.as_secs() }
    }
}
