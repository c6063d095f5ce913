//! Which of the requests that may come back in any order owns each block.
//!
//! **One owner a block.** What a command reads goes into the memory of one request, so those that have blocks in common own them
//! one after the other, in the order in which they came.
//!
//! **Each waits for the last before it.** A request waits for those that were, when it came, the last to ask for one of its
//! blocks; whom these wait for it need not know. Of each block only the last that asked is kept, so that a request adds two pieces at
//! most, and whatever it passes over is gone: no step grows with how many wait.
//!
//! One that is given up while it waits is passed over when its turn comes. When most are such, all is built anew without them.

use crate::JobId;
use block::{Extent, Lbn};
use std::collections::{BTreeMap, BTreeSet};

/// As many as this may have been given up besides as many as there are; in tests few, so that all is built anew at times.
const GIVEN_UP: usize = if cfg!(test) { 2 } else { 64 };

/// A request: the place of its number is the order in which it came.
#[derive(Clone, Copy, Debug)]
struct LastAsker {
    at: Extent,
    /// Nothing once it is given up.
    job: Option<JobId>,
    /// How many it waits for.
    ahead: u32,
}

/// Who owns which blocks, and who waits for them.
#[derive(Debug, Default)]
pub(crate) struct Owners {
    /// All of them, by the order in which they came.
    askers: BTreeMap<u64, LastAsker>,
    /// How many of them were given up.
    given_up: usize,
    /// By its first block: the end of each that owns its blocks, and its job. No two have a block in common.
    owned: BTreeMap<Lbn, (Lbn, JobId)>,
    /// By its first block: the end of each piece, and who was the last to ask for it; and the pieces of each.
    last: BTreeMap<Lbn, (Lbn, u64)>,
    pieces: BTreeSet<(u64, Lbn)>,
    /// Who waits for whom, the one waited for first.
    waits: BTreeSet<(u64, u64)>,
    /// Pieces and waits looked at.
    #[cfg(test)]
    steps: u64,
}

impl Owners {
    /// How many requests there are.
    pub(crate) fn len(&self) -> usize {
        self.askers.len() - self.given_up
    }

    /// The end and the job of the request that owns a block.
    pub(crate) fn of(&self, at: Lbn) -> Option<(Lbn, JobId)> {
        self.owned.range(..=at).next_back().map(|(_, owner)| *owner).filter(|(end, _)| *end > at)
    }

    /// Takes in a request with a number greater than any before it. Says whether it owns its blocks at once.
    pub(crate) fn add(&mut self, sequence: u64, id: JobId, at: Extent) -> bool {
        let ahead = self.ask(sequence, at);
        self.askers.insert(sequence, LastAsker { at, job: Some(id), ahead });
        if ahead == 0 {
            self.owned.insert(at.start, (at.end(), id));
        }
        ahead == 0
    }

    /// Takes out a request that has ended or was given up: the blocks that it owned. Adds those that own theirs now to `heirs`.
    pub(crate) fn remove(&mut self, sequence: u64, heirs: &mut Vec<Extent>) -> Option<Extent> {
        let asker = self.askers.get_mut(&sequence)?;
        if asker.ahead > 0 {
            asker.job = None;
            self.given_up += 1;
            self.forget_given_up(heirs);
            return None;
        }
        let at = asker.at;
        self.owned.remove(&at.start);
        self.end(sequence, heirs);
        self.forget_given_up(heirs);
        Some(at)
    }

    /// Begins anew where too many of those kept were given up, as they may be when others end, too.
    fn forget_given_up(&mut self, heirs: &mut Vec<Extent>) {
        if self.given_up > GIVEN_UP + self.len() {
            self.rebuild(heirs);
        }
    }

    /// From now on a request is the last that asked for these blocks. Says for how many it waits.
    fn ask(&mut self, sequence: u64, at: Extent) -> u32 {
        let (from, until) = (at.start, at.end());
        let mut ahead = 0;
        // What reaches in from before keeps what lies there.
        let before =
            self.last.range(..from).next_back().filter(|(_, (end, _))| *end > from).map(|(first, it)| (*first, *it));
        if let Some((first, (end, of))) = before {
            self.last.insert(first, (from, of));
            ahead += u32::from(self.waits.insert((of, sequence)));
            self.keep_rest(until, end, of);
        }
        while let Some((first, (end, of))) = self.last.range(from..until).next().map(|(first, it)| (*first, *it)) {
            self.count_step();
            self.last.remove(&first);
            self.pieces.remove(&(of, first));
            ahead += u32::from(self.waits.insert((of, sequence)));
            self.keep_rest(until, end, of);
        }
        self.last.insert(from, (until, sequence));
        self.pieces.insert((sequence, from));
        ahead
    }

    /// What of a piece lies behind these blocks is still that request's.
    fn keep_rest(&mut self, from: Lbn, end: Lbn, of: u64) {
        if end > from {
            self.last.insert(from, (end, of));
            self.pieces.insert((of, from));
        }
    }

    /// One that waits for nobody is gone: those that waited for it alone own their blocks.
    fn end(&mut self, sequence: u64, heirs: &mut Vec<Extent>) {
        let mut ended = vec![sequence];
        while let Some(gone) = ended.pop() {
            self.askers.remove(&gone);
            while let Some(&(_, first)) = self.pieces.range((gone, Lbn(0))..=(gone, Lbn(u64::MAX))).next() {
                self.count_step();
                self.pieces.remove(&(gone, first));
                self.last.remove(&first);
            }
            while let Some(&(_, later)) = self.waits.range((gone, 0)..=(gone, u64::MAX)).next() {
                self.count_step();
                self.waits.remove(&(gone, later));
                let Some(asker) = self.askers.get_mut(&later) else { continue };
                asker.ahead -= 1;
                match asker.job {
                    _ if asker.ahead > 0 => {}
                    Some(id) => {
                        self.owned.insert(asker.at.start, (asker.at.end(), id));
                        heirs.push(asker.at);
                    }
                    None => {
                        self.given_up -= 1;
                        ended.push(later);
                    }
                }
            }
        }
    }

    /// All anew, without those that were given up.
    fn rebuild(&mut self, heirs: &mut Vec<Extent>) {
        let before = std::mem::take(self);
        for (sequence, LastAsker { at, job, ahead }) in before.askers {
            if let Some(id) = job
                && self.add(sequence, id, at)
                && ahead > 0
            {
                heirs.push(at);
            }
        }
    }

    #[cfg(test)]
    fn count_step(&mut self) {
        self.steps += 1;
    }

    #[cfg(not(test))]
    #[inline(always)]
    fn count_step(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Step {
        Ask(u64, u32),
        /// Ends the owner of this number, counted round.
        End(usize),
        /// Gives up the request of this number, counted round.
        GiveUp(usize),
    }

    fn meet(a: Extent, b: Extent) -> bool {
        a.start < b.end() && b.start < a.end()
    }

    /// Those that come before all others they have blocks in common with.
    fn first_in_line(asked: &[(u64, Extent)]) -> Vec<u64> {
        let is_first = |i: usize| !asked[..i].iter().any(|(_, other)| meet(*other, asked[i].1));
        (0..asked.len()).filter(|i| is_first(*i)).map(|i| asked[i].0).collect()
    }

    fn owning(owners: &Owners) -> Vec<u64> {
        owners.askers.iter().filter(|(_, asker)| asker.ahead == 0 && asker.job.is_some()).map(|(n, _)| *n).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        #[test]
        fn who_came_first_owns_its_blocks_and_the_others_follow_in_order(
            give_up: bool,
            steps in prop::collection::vec(
                prop_oneof![
                    4 => (0..200u64, prop_oneof![3 => 1..12u32, 1 => 1..200u32]).prop_map(|(at, blocks)| Step::Ask(at, blocks)),
                    2 => any::<usize>().prop_map(Step::End),
                    2 => any::<usize>().prop_map(Step::GiveUp),
                ],
                1..400,
            ),
        ) {
            let (mut owners, mut asked, mut next) = (Owners::default(), Vec::<(u64, Extent)>::new(), 0);
            for step in steps {
                let before = owning(&owners);
                let mut heirs = Vec::new();
                match step {
                    Step::Ask(at, blocks) => {
                        let at = Extent::new(at, blocks);
                        asked.push((next, at));
                        let owns = owners.add(next, JobId(next as u32), at);
                        prop_assert_eq!(owns, owning(&owners).contains(&next));
                        next += 1;
                    }
                    Step::End(n) if !before.is_empty() => {
                        let sequence = before[n % before.len()];
                        let at = asked.iter().find(|(it, _)| *it == sequence).map(|(_, at)| *at);
                        prop_assert_eq!(owners.remove(sequence, &mut heirs), at);
                        asked.retain(|(it, _)| *it != sequence);
                    }
                    Step::GiveUp(n) if give_up && !asked.is_empty() => {
                        let (sequence, at) = asked.remove(n % asked.len());
                        let owned = before.contains(&sequence).then_some(at);
                        prop_assert_eq!(owners.remove(sequence, &mut heirs), owned);
                    }
                    _ => continue,
                }
                let (mut now, first) = (owning(&owners), first_in_line(&asked));
                // One that waits for one that was given up may wait for a while.
                prop_assert!(now.iter().all(|it| first.contains(it)), "{now:?} of {first:?}");
                prop_assert!(give_up || now == first, "{now:?}, not {first:?}");
                prop_assert_eq!(owners.len(), asked.len());
                prop_assert!(owners.given_up <= GIVEN_UP + asked.len() + 1);
                for block in 0..410 {
                    let meets = |(n, at): &&(u64, Extent)| now.contains(n) && meet(*at, Extent::new(block, 1));
                    let known = asked.iter().find(meets).map(|(n, at)| (at.end(), JobId(*n as u32)));
                    prop_assert_eq!(owners.of(Lbn(block)), known);
                }
                // Who owns since then was told.
                let came = matches!(step, Step::Ask(..)).then_some(next - 1);
                now.retain(|it| !before.contains(it) && Some(*it) != came);
                let mut told: Vec<Extent> = asked.iter().filter(|(it, _)| now.contains(it)).map(|(_, at)| *at).collect();
                told.sort_unstable_by_key(|at| at.start);
                heirs.sort_unstable_by_key(|at| at.start);
                prop_assert_eq!(heirs, told);
            }
            // Each has its turn.
            while let Some(sequence) = owning(&owners).first().copied() {
                owners.remove(sequence, &mut Vec::new());
                asked.retain(|(it, _)| *it != sequence);
            }
            prop_assert!(asked.is_empty() && owners.askers.is_empty(), "{asked:?} wait for nobody");
            prop_assert!(owners.last.is_empty() && owners.pieces.is_empty() && owners.waits.is_empty());
        }
    }

    #[test]
    fn a_step_takes_no_longer_the_more_wait() {
        // All of the same blocks; those of a few long ones over many short ones; a staircase.
        let shapes: [fn(u64) -> Extent; 3] = [
            |_| Extent::new(0, 64),
            |n| if n.is_multiple_of(100) { Extent::new(0, 100_000) } else { Extent::new(n * 7919 % 99_000, 8) },
            |n| Extent::new(n * 8, 64),
        ];
        for (shape, at) in shapes.into_iter().enumerate() {
            let (mut owners, mut heirs) = (Owners::default(), Vec::new());
            let all = 20_000;
            (0..all).for_each(|n| {
                assert_eq!(
                    owners.add(n, JobId(n as u32), at(n)),
                    owners.of(at(n).start).is_some_and(|(_, id)| id == JobId(n as u32))
                )
            });
            let mut dearest = 0;
            for n in 0..all {
                let before = owners.steps;
                heirs.clear();
                owners.remove(n, &mut heirs).expect("it is the oldest");
                // One that waits for many is told of each, once each.
                dearest = dearest.max(owners.steps - before);
            }
            assert!(owners.steps <= 10 * all && dearest <= 250, "{shape}: {} steps, {dearest} at once", owners.steps);
        }
    }
}
