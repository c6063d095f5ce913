//! What is measured of operations: several requests, each of which is asked for when the one before has ended.

use super::Meter;
use crate::results::Operations;
use crate::tally::Tally;
use block::{Ending, Time};

/// An operation that has ended, or is given up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OperationServed {
    /// The class of its requests.
    pub(crate) class: u8,
    /// When its first request arrived.
    pub(crate) arrived: Time,
    /// By when all of it was to be done.
    pub(crate) deadline: Option<Time>,
    /// Whether it belongs to the sample.
    pub(crate) counts: bool,
}

/// What operations of one class came to.
#[derive(Clone, Debug, Default)]
pub(super) struct OperationMeter {
    response: Tally,
    count: u64,
    dropped: u64,
    failed: u64,
    still_waiting: u64,
    missed: u64,
}

impl OperationMeter {
    pub(super) fn merge(&mut self, other: &OperationMeter) {
        self.response.merge(&other.response);
        self.count += other.count;
        self.dropped += other.dropped;
        self.failed += other.failed;
        self.still_waiting += other.still_waiting;
        self.missed += other.missed;
    }

    pub(super) fn results(&self) -> Operations {
        Operations {
            count: self.count,
            dropped: self.dropped,
            failed: self.failed,
            still_waiting: self.still_waiting,
            missed_deadlines: self.missed,
            response_ms: self.response.distribution(),
        }
    }
}

impl Meter {
    /// Operations of a class are counted.
    pub(crate) fn begin_operations(&mut self, class: u8) {
        self.classes[usize::from(class)].operations = Some(Box::default());
    }

    /// An operation has begun, with a request that belongs to the sample: then so does the operation, to its end.
    pub(crate) fn await_operation(&mut self) {
        self.awaited += 1;
    }

    /// An operation has ended as its last request did: an earlier one that did not end well is its last.
    pub(crate) fn end_operation(&mut self, it: &OperationServed, now: Time, how: Ending) {
        let Some(operations) = self.settle_operation(it) else { return };
        operations.missed += u64::from(how == Ending::Dropped || it.deadline.is_some_and(|deadline| now > deadline));
        match how {
            Ending::Finished => operations.response.add(now.since(it.arrived)),
            Ending::Failed(_) => operations.failed += 1,
            Ending::Dropped => operations.dropped += 1,
        }
    }

    /// An operation of the sample is given up: the time that it has had counts, as the least it would have taken.
    pub(crate) fn give_up_operation(&mut self, it: &OperationServed, now: Time) {
        let Some(operations) = self.settle_operation(it) else { return };
        operations.missed += u64::from(it.deadline.is_some_and(|deadline| now > deadline));
        operations.still_waiting += 1;
        operations.response.add(now.since(it.arrived));
    }

    fn settle_operation(&mut self, it: &OperationServed) -> Option<&mut OperationMeter> {
        if !it.counts {
            return None;
        }
        self.awaited = self.awaited.saturating_sub(1);
        let operations = self.classes[usize::from(it.class)].operations.as_deref_mut()?;
        operations.count += 1;
        Some(operations)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched::value::Worth;

    const MS: u64 = 1_000_000;

    #[test]
    fn operations_of_the_sample_are_awaited_and_count_by_how_they_ended() {
        let mut meter = Meter::new([("a".to_owned(), Worth::USUAL)].into_iter(), Time::ZERO);
        meter.begin(Time::ZERO, None, Some(Time(100 * MS)));
        meter.begin_operations(0);
        let operation =
            |counts| OperationServed { class: 0, arrived: Time(10 * MS), deadline: Some(Time(60 * MS)), counts };
        (0..5).for_each(|_| meter.await_operation());
        meter.end_operation(&operation(true), Time(30 * MS), Ending::Finished);
        meter.end_operation(&operation(true), Time(70 * MS), Ending::Finished);
        meter.end_operation(&operation(true), Time(50 * MS), Ending::Dropped);
        meter.end_operation(&operation(true), Time(50 * MS), Ending::Failed(5));
        meter.end_operation(&operation(false), Time(90 * MS), Ending::Finished);
        assert!(meter.awaits(None), "one of the sample has not ended");
        meter.give_up_operation(&operation(true), Time(110 * MS));
        assert!(!meter.awaits(None));
        let told = |meter: &Meter| meter.classes().next().unwrap().1.operations.unwrap();
        let came = told(&meter);
        assert_eq!((came.count, came.dropped, came.failed, came.still_waiting, came.missed_deadlines), (5, 1, 1, 1, 3));
        assert!((came.response_ms.mean - (20.0 + 60.0 + 100.0) / 3.0).abs() < 1e-9);
        let other = meter.clone();
        meter.merge(&other);
        let both = told(&meter);
        assert_eq!((both.count, both.failed, both.missed_deadlines), (10, 2, 6));
    }
}
