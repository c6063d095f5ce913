//! What a policy counts that goes by how much of each kind is in the device.

/// The jobs in service, by the queue of the policy that they came from. There are no more than the device takes.
#[derive(Default)]
pub(super) struct InService {
    jobs: Vec<(u64, usize)>,
}

impl InService {
    /// A job of a queue, by its sequence number, is given to the device.
    pub(super) fn add(&mut self, sequence: u64, queue: usize) {
        self.jobs.push((sequence, queue));
    }

    /// It has ended, or waits again: the queue it came from, if it was in service.
    pub(super) fn remove(&mut self, sequence: u64) -> Option<usize> {
        let at = self.jobs.iter().position(|(it, _)| *it == sequence)?;
        Some(self.jobs.swap_remove(at).1)
    }

    /// How many of a queue there are.
    pub(super) fn count(&self, queue: usize) -> usize {
        self.jobs.iter().filter(|(_, it)| *it == queue).count()
    }
}
