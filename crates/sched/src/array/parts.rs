//! What a child is worth: its part of what its task is worth (Preemptive RAID scheduling, Eqs. 2 and 3).
//!
//! A task yields nothing until all of it is done. So a child counts for its blocks over those that remain of the task, and counts
//! more the nearer its task is to its end. What remains changes whenever a child ends; then its siblings are weighed anew. A write
//! in the buffer has yielded already, and its task's size no longer counts: only the child's own.

use super::Array;
use super::children::ChildRequest;
use crate::JobId;
use crate::predict::Predictor;
use block::RequestId;

/// In place of a child where there is none.
const NONE: u32 = u32::MAX;

/// What remains of a task, and the first of its children.
#[derive(Clone, Copy, Debug)]
struct TaskRest {
    remains: u64,
    first: u32,
}

/// The children before and after one, of the same task.
#[derive(Clone, Copy, Debug)]
struct Siblings {
    before: u32,
    after: u32,
}

/// What remains of each task, and its children: kept only where something goes by worth.
#[derive(Debug, Default)]
pub(super) struct TaskParts {
    /// By the slot of a task, and by that of a child.
    tasks: Vec<TaskRest>,
    children: Vec<Siblings>,
}

impl TaskParts {
    fn whole(&mut self, task: JobId) -> &mut TaskRest {
        let slot = task.0 as usize;
        if self.tasks.len() <= slot {
            self.tasks.resize(slot + 1, TaskRest { remains: 0, first: NONE });
        }
        &mut self.tasks[slot]
    }

    /// So many blocks more are to be done of a task.
    pub(super) fn grow(&mut self, task: JobId, blocks: u64) {
        self.whole(task).remains += blocks;
    }

    /// So many blocks of a task are done, or are done by others.
    pub(super) fn shrink(&mut self, task: JobId, blocks: u64) {
        let whole = self.whole(task);
        debug_assert!(blocks <= whole.remains, "more is done than there was");
        whole.remains = whole.remains.saturating_sub(blocks);
    }

    fn add(&mut self, task: JobId, child: u32) {
        let after = std::mem::replace(&mut self.whole(task).first, child);
        let slot = child as usize;
        if self.children.len() <= slot {
            self.children.resize(slot + 1, Siblings { before: NONE, after: NONE });
        }
        self.children[slot] = Siblings { before: NONE, after };
        if let Some(next) = self.children.get_mut(after as usize) {
            next.before = child;
        }
    }

    fn remove(&mut self, task: JobId, child: u32) {
        let Siblings { before, after } = self.children[child as usize];
        match self.children.get_mut(before as usize) {
            Some(previous) => previous.after = after,
            None => self.whole(task).first = after,
        }
        if let Some(next) = self.children.get_mut(after as usize) {
            next.before = before;
        }
    }

    fn remains(&self, task: JobId) -> u64 {
        self.tasks.get(task.0 as usize).map_or(0, |whole| whole.remains)
    }

    fn first(&self, task: JobId) -> Option<u32> {
        self.tasks.get(task.0 as usize).map(|whole| whole.first).filter(|first| *first != NONE)
    }

    fn next(&self, child: u32) -> Option<u32> {
        Some(self.children[child as usize].after).filter(|next| *next != NONE)
    }
}

impl<P: Predictor> Array<P> {
    /// A task has another child; one of an update is within what that is to do.
    pub(super) fn add_part(&mut self, id: u32, child: &ChildRequest) {
        let Some(parts) = &mut self.parts else { return };
        parts.add(child.task, id);
        if child.is_of_task() {
            parts.grow(child.task, child.at.blocks.into());
        }
    }

    /// A task has a child less: its siblings are worth more.
    pub(super) fn remove_part(&mut self, id: u32, child: &ChildRequest) {
        let Some(parts) = &mut self.parts else { return };
        parts.remove(child.task, id);
        if child.is_of_task() {
            parts.shrink(child.task, child.at.blocks.into());
            self.weigh_siblings(child.task);
        }
    }

    /// So many blocks of a task are done in an update.
    pub(super) fn end_part(&mut self, task: JobId, blocks: u64) {
        let Some(parts) = &mut self.parts else { return };
        parts.shrink(task, blocks);
        self.weigh_siblings(task);
    }

    /// Tells the disks what the children of a task are worth now.
    pub(super) fn weigh_siblings(&mut self, task: JobId) {
        let mut next = self.parts.as_ref().and_then(|parts| parts.first(task));
        while let Some(id) = next {
            if let Some(child) = self.children.get(id).copied() {
                let part = self.part(&child);
                self.disks[usize::from(child.disk.0)].weigh_part(RequestId(id), part);
            }
            next = self.parts.as_ref().and_then(|parts| parts.next(id));
        }
    }

    /// By how much what its class says of a child's size counts.
    pub(super) fn part(&self, child: &ChildRequest) -> f32 {
        let (Some(parts), Some(job)) = (&self.parts, self.tasks.get(child.task)) else { return 1.0 };
        let worth = self.rules.class(job.qos.class).worth;
        let own = worth.fresh(child.at.blocks);
        if child.at.blocks == 0 || own <= 0.0 {
            return 1.0;
        }
        let of = if job.spot.buffered.is_some() { own } else { worth.fresh(job.at.blocks) };
        let remains = parts.remains(child.task).max(child.at.blocks.into());
        (of / own * f64::from(child.at.blocks) / remains as f64) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_leave_in_any_order() {
        let (mut parts, task) = (TaskParts::default(), JobId(3));
        let there = |parts: &TaskParts| {
            let mut children: Vec<u32> = std::iter::successors(parts.first(task), |child| parts.next(*child)).collect();
            children.sort_unstable();
            children
        };
        for child in [4, 0, 7, 2] {
            parts.add(task, child);
        }
        for (gone, left) in [(0, vec![2, 4, 7]), (2, vec![4, 7]), (4, vec![7]), (7, vec![])] {
            parts.remove(task, gone);
            assert_eq!(there(&parts), left);
        }
        parts.add(task, 4);
        assert_eq!(there(&parts), [4]);
    }
}
