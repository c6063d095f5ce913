//! What a policy counts that goes by how much of each kind is in the device.

/// The jobs in service, by the queue of the policy that they came from, each with what the policy notes of it. There are no more than the
/// device takes.
pub(super) struct InService<N = ()> {
    jobs: Vec<ServedJob<N>>,
}

/// One of them, by its sequence number.
struct ServedJob<N> {
    sequence: u64,
    queue: usize,
    noted: N,
}

impl<N> Default for InService<N> {
    fn default() -> InService<N> {
        InService { jobs: Vec::new() }
    }
}

impl<N> InService<N> {
    /// A job of a queue is given to the device.
    pub(super) fn add(&mut self, sequence: u64, queue: usize, noted: N) {
        self.jobs.push(ServedJob { sequence, queue, noted });
    }

    /// It has ended, or waits again: the queue it came from and what was noted of it, if it was in service.
    pub(super) fn remove(&mut self, sequence: u64) -> Option<(usize, N)> {
        let at = self.jobs.iter().position(|job| job.sequence == sequence)?;
        let ServedJob { queue, noted, .. } = self.jobs.swap_remove(at);
        Some((queue, noted))
    }

    /// How many of a queue there are.
    pub(super) fn count(&self, queue: usize) -> usize {
        self.jobs.iter().filter(|job| job.queue == queue).count()
    }
}
