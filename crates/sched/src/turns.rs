//! Whose turn it is, among classes with shares of the arm.
//!
//! Each rank has a tree of shares; a class is billed in all of them, so that what it had in one rank counts in the others. A
//! floor that is owed goes before any rank. Else the highest rank in which anyone is within its limit goes first, and in it who
//! is next by share.
//!
//! **Slices.** A class keeps the arm for a slice, a twentieth of its window: to leave it and come back costs a seek each way, and
//! of a class that the policy orders also what many requests to choose from save. So a class has of its share nearly what it
//! would have alone, and others wait for a slice at most (Wachs, Abd-El-Malek, Thereska, Ganger, *Argon*, FAST 2007).
//!
//! **Who writes pays before another's turn**: what a class has in the device's buffer is written back first (`turns/buffered.rs`). What a
//! drive writes back of few writes takes longer for each than of many: so who has writes in the buffer keeps the arm for slices five
//! times as long.
//!
//! **A turn is the device's, too.** Where the device takes several commands at once, those of a class whose turn goes on are given to it,
//! and no others of its rank, even while all that the class has are in the device: who has one request outstanding would else lose
//! its turn to those who have many, and then wait for all of theirs.
//!
//! **Who comes back at once is waited for.** One that asks for its next request when it has the last has nothing waiting at the
//! moment in which the next turn is given, and would lose its turn each time (Iyer and Druschel, *Anticipatory scheduling*,
//! SOSP 2001). So where a class was served, has nothing waiting, and would be next, the arm is held back for 2 ms at most, if it
//! takes half of that to come back, of late. A real client's next request is now and then much later than usual: to wait for
//! no more than twice the usual time gave a reader at depth 1 a third of its share.

mod buffered;
mod entry;
mod length;

use self::buffered::BufferedWrites;
use self::entry::TurnEntry;
use self::length::Waiters;
use crate::bills::{Bill, Cause};
use crate::shares::{Claim, NodeId, Shares};
use block::{Lbn, Span, Time};

/// A slice is this part of the window.
const SLICES: u64 = 20;
/// How many times as long a slice is of a class that has writes in the device's buffer.
const WRITING: u64 = 5;
/// The longest that a class is waited for, and how many times what it takes to come back that must be.
const LONGEST_WAIT: Span = Span(2_000_000);
const WAITS: u64 = 2;

/// What classes and volumes may have of the arm.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ShareRules {
    /// Of the volumes that have something to say.
    pub volumes: Vec<Claim>,
    /// By class: the volume it is in, if that is one of these, and what it may have there. A class past the end has the default.
    pub classes: Vec<(Option<usize>, Claim)>,
}

impl ShareRules {
    /// What a class may have within its volume.
    fn class(&self, class: u8) -> (Option<usize>, Claim) {
        self.classes.get(usize::from(class)).copied().unwrap_or_default()
    }

    /// What each class may have, or the volume that it is all of.
    pub fn claims(&self) -> impl Iterator<Item = Claim> + '_ {
        self.classes.iter().map(|(volume, claim)| volume.map_or(*claim, |volume| self.volumes[volume]))
    }

    /// How long a class keeps the arm that goes on where it is.
    #[must_use]
    pub fn slice(&self, class: u8) -> Span {
        Span(self.class(class).1.window.0 / SLICES)
    }

    /// The same of one that has writes in the device's buffer.
    #[must_use]
    pub fn slice_of_writer(&self, class: u8) -> Span {
        Span(self.slice(class).0 * WRITING)
    }
}

/// The classes of a rank.
#[derive(Clone, Debug)]
struct Rank {
    rank: u8,
    shares: Shares,
    /// How much waits, by class.
    waiting: Vec<u32>,
}

/// What is known of a class.
#[derive(Clone, Copy, Debug)]
struct Class {
    /// How much of it waits, and how much is in the device.
    waiting: u32,
    inside: u32,
    /// When the last of it ended, while nothing has come since; and whether it was waited for since then in vain.
    left: Option<Time>,
    missed: bool,
    /// How long it took to come back, of late.
    gap: Span,
}

impl Default for Class {
    fn default() -> Class {
        Class { waiting: 0, inside: 0, left: None, missed: false, gap: Span::ZERO }
    }
}

/// The turn that is going on.
#[derive(Clone, Copy, Debug)]
struct Turn {
    rank: u8,
    class: u8,
    /// Whether it was given for a floor that was owed.
    owed: bool,
    /// Whether nothing was billed for it yet.
    first: bool,
    used: Span,
    /// How much of that was the way there.
    way: Span,
}

/// Whose turn it is.
pub(crate) struct Turns {
    rules: ShareRules,
    /// The volumes' nodes in each tree, and after them those of the classes.
    volumes: Vec<NodeId>,
    leaves: Vec<NodeId>,
    /// A tree as it is at first.
    blank: Shares,
    /// The ranks that share out turns, the highest first.
    ranks: Vec<Rank>,
    classes: Vec<Class>,
    /// By class: its writes in the device's buffer.
    buffered: Vec<BufferedWrites>,
    /// The class whose writes the device is to write back before another has its turn; and whether it does so now.
    drains: Option<u8>,
    is_draining: bool,
    turn: Option<Turn>,
    /// The class whose blocks are wanted in any order, where it has a floor; whether any are; and whether it is its turn now. It has
    /// turns for its floor alone, by whatever share.
    works: Option<u8>,
    is_wanted: bool,
    works_now: bool,
    /// How long such a turn lasts at most: what is wanted lies wherever the arm is, so that to come back costs next to nothing.
    brief: Span,
    /// Where the last transfer of each class ended, and when a turn for a floor begins.
    places: Vec<Option<Lbn>>,
    entry: TurnEntry,
    waiters: Waiters,
    now: Time,
    /// Who is waited for, and until when.
    awaited: Option<(u8, Time)>,
    wake: Option<Time>,
    /// How often a floor that was owed went before a higher rank.
    pub(crate) outbids: u64,
    /// By class: how long it kept the device without a command until its seek was due, of what counts.
    pub(crate) kept: Vec<Span>,
    from: Time,
}

impl Turns {
    pub(crate) fn new(rules: ShareRules) -> Turns {
        let mut blank = Shares::new();
        let volumes: Vec<NodeId> = rules.volumes.iter().map(|claim| blank.add(Shares::ROOT, *claim)).collect();
        let (leaves, ranks, classes) = (Vec::new(), Vec::new(), Vec::new());
        let (turn, now, awaited, wake) = (None, Time::ZERO, None, None);
        let mut turns = Turns {
            rules,
            volumes,
            leaves,
            blank,
            ranks,
            classes,
            buffered: Vec::new(),
            drains: None,
            is_draining: false,
            turn,
            works: None,
            is_wanted: false,
            works_now: false,
            brief: Span::ZERO,
            places: Vec::new(),
            entry: TurnEntry::default(),
            waiters: Waiters::default(),
            now,
            awaited,
            wake,
            outbids: 0,
            kept: Vec::new(),
            from: Time::ZERO,
        };
        turns.reach(turns.rules.classes.len().saturating_sub(1) as u8);
        turns
    }

    /// There is a leaf for a class.
    fn reach(&mut self, class: u8) {
        while self.leaves.len() <= usize::from(class) {
            let (volume, claim) = self.rules.class(self.leaves.len() as u8);
            let parent = volume.and_then(|volume| self.volumes.get(volume).copied()).unwrap_or(Shares::ROOT);
            let leaf = self.blank.add(parent, claim);
            for rank in &mut self.ranks {
                rank.shares.add(parent, claim);
                rank.waiting.push(0);
            }
            self.leaves.push(leaf);
            self.classes.push(Class::default());
            self.kept.push(Span::ZERO);
            self.places.push(None);
            self.buffered.push(BufferedWrites::default());
        }
    }

    /// Where a rank is, or where it would be.
    fn find_rank(&self, rank: u8) -> Result<usize, usize> {
        self.ranks.binary_search_by(|known| rank.cmp(&known.rank))
    }

    /// Lets time pass until now.
    pub(crate) fn pass(&mut self, now: Time) {
        self.now = now;
    }

    /// When someone may be served that now may not.
    pub(crate) fn wake(&self) -> Option<Time> {
        self.wake
    }

    /// Nobody came by the time until which was waited.
    pub(crate) fn end_wait(&mut self) {
        if let Some((class, _)) = self.awaited.take_if(|(_, until)| *until <= self.now) {
            self.classes[usize::from(class)].missed = true;
        }
    }

    /// A request of a class waits.
    pub(crate) fn add(&mut self, rank: u8, class: u8) {
        self.reach(class);
        let (now, leaf) = (self.now, self.leaves[usize::from(class)]);
        let state = &mut self.classes[usize::from(class)];
        state.waiting += 1;
        // One that was served until now, or comes back at once, was not idle.
        let idle = state.inside == 0 && state.left.is_none_or(|left| now.since(left) > LONGEST_WAIT);
        if let Some(left) = state.left.take() {
            // A long rest says only that it did not come back soon: it is not to be outweighed by many that did.
            let gap = now.since(left).0.min(WAITS * LONGEST_WAIT.0);
            state.gap = Span((3 * state.gap.0 + gap) / 4);
        }
        let (at, has_work) = (self.find_or_add_rank(rank), self.has_work(rank, class));
        let known = &mut self.ranks[at];
        known.waiting[usize::from(class)] += 1;
        if known.waiting[usize::from(class)] == 1 && !has_work {
            known.shares.start(leaf, now, idle);
        }
    }

    /// Where a rank is, which there is from now on.
    fn find_or_add_rank(&mut self, rank: u8) -> usize {
        self.find_rank(rank).unwrap_or_else(|at| {
            let waiting = vec![0; self.leaves.len()];
            self.ranks.insert(at, Rank { rank, shares: self.blank.clone(), waiting });
            at
        })
    }

    /// It does not wait any more.
    pub(crate) fn remove(&mut self, rank: u8, class: u8) {
        self.classes[usize::from(class)].waiting -= 1;
        let Ok(at) = self.find_rank(rank) else { return };
        let has_work = self.has_work(rank, class);
        let known = &mut self.ranks[at];
        known.waiting[usize::from(class)] -= 1;
        if known.waiting[usize::from(class)] == 0 && !has_work {
            known.shares.stop(self.leaves[usize::from(class)]);
        }
    }

    /// The rank and the class whose request is next; nobody where none waits, or none may be served now.
    pub(crate) fn next(&mut self) -> Option<(u8, u8)> {
        let (rank, class) = self.find_next()?;
        self.works_now = self.does_work(rank, class);
        (!self.works_now).then_some((rank, class))
    }

    /// Blocks of a class are wanted in any order: it waits for its floor, if it has one, in turns no longer than this.
    pub(crate) fn begin_work(&mut self, class: u8, brief: Span) {
        self.reach(class);
        self.brief = brief;
        if self.works.is_none() {
            let (volume, _) = self.rules.class(class);
            let node = volume.map_or(self.leaves[usize::from(class)], |volume| self.volumes[volume]);
            self.blank.keep_to_floor(node);
            self.ranks.iter_mut().for_each(|rank| rank.shares.keep_to_floor(node));
            self.works = Some(class);
        }
        if !self.is_wanted {
            let at = self.find_or_add_rank(0);
            self.is_wanted = true;
            let (now, leaf) = (self.now, self.leaves[usize::from(class)]);
            self.ranks[at].shares.start(leaf, now, true);
        }
    }

    /// Nothing is wanted in any order any more.
    pub(crate) fn end_work(&mut self) {
        if let Some(class) = self.works.filter(|_| std::mem::take(&mut self.is_wanted))
            && let Ok(at) = self.find_rank(0)
            && self.ranks[at].waiting[usize::from(class)] == 0
        {
            self.ranks[at].shares.stop(self.leaves[usize::from(class)]);
        }
    }

    /// Whether the turn is for what is wanted in any order; it is told once.
    pub(crate) fn take_work(&mut self) -> bool {
        std::mem::take(&mut self.works_now)
    }

    /// Whether a turn of a class is for what is wanted in any order.
    fn does_work(&self, rank: u8, class: u8) -> bool {
        self.has_work(rank, class)
            && !self.find_rank(rank).is_ok_and(|at| self.ranks[at].waiting[usize::from(class)] > 0)
    }

    /// Whether a class waits at this rank for its floor, since blocks are wanted of it in any order.
    fn has_work(&self, rank: u8, class: u8) -> bool {
        self.is_wanted && self.works == Some(class) && rank == 0
    }

    fn find_next(&mut self) -> Option<(u8, u8)> {
        (self.wake, self.awaited, self.drains, self.works_now) = (None, None, None, false);
        let now = self.now;
        let top = self.ranks.iter().position(|rank| rank.shares.waits())?;
        if let Some(turn) = self.turn.filter(|turn| turn.owed && self.lasts(turn)) {
            return self.go_on(turn, top);
        }
        let owed = self.ranks.iter_mut().enumerate().find_map(|(at, rank)| Some((at, rank.shares.pick_owed(now)?)));
        if let Some((at, leaf)) = owed.filter(|_| !self.entry.waits) {
            return Some(self.give(at, leaf, top, true));
        }
        if let Some(turn) = self.turn.filter(|turn| turn.rank == self.ranks[top].rank && self.lasts(turn)) {
            return self.go_on(turn, top);
        }
        if self.waits_for_last(top) {
            return None;
        }
        if let Some(class) = self.owes(top) {
            self.drains = Some(class).filter(|_| !self.is_draining);
            return None;
        }
        for at in top..self.ranks.len() {
            if let Some(leaf) = self.ranks[at].shares.next(now) {
                return Some(self.give(at, leaf, top, false));
            }
        }
        self.wake = self.ranks.iter().filter_map(|rank| rank.shares.wake_at()).min();
        None
    }

    /// Whether a turn goes on, were there something to do.
    fn lasts(&self, turn: &Turn) -> bool {
        let at = self.find_rank(turn.rank);
        let leaf = self.leaves[usize::from(turn.class)];
        let may = at.is_ok_and(|at| match self.ranks[at].waiting[usize::from(turn.class)] {
            0 if !self.does_work(turn.rank, turn.class) => self.is_still_there(turn.class),
            _ => self.ranks[at].shares.may(leaf, self.now),
        });
        turn.used < self.slice(turn) && may
    }

    /// How long a turn lasts. What is owed to a floor keeps others waiting for no longer than need be.
    fn slice(&self, turn: &Turn) -> Span {
        let class = usize::from(turn.class);
        if self.does_work(turn.rank, turn.class) {
            return self.rules.slice(turn.class).min(self.brief);
        }
        let writes = self.buffered[class].is_any() || self.buffered[class].credit > 0;
        match (turn.owed, writes) {
            (true, false) => self.owed_slice(turn.class),
            (false, true) => self.rules.slice_of_writer(turn.class),
            _ => self.rules.slice(turn.class),
        }
    }

    /// Whether a class that has nothing waiting keeps its turn: something of it is in the device, or it comes back soon.
    fn is_still_there(&self, class: u8) -> bool {
        self.classes[usize::from(class)].inside > 0 || self.return_of(class).is_some()
    }

    /// By when a class that has nothing waiting is believed to have come back; nothing where that is too long.
    fn return_of(&self, class: u8) -> Option<Time> {
        let state = &self.classes[usize::from(class)];
        let soon = WAITS * state.gap.0 <= LONGEST_WAIT.0;
        let back = soon && state.waiting == 0 && state.inside == 0 && !state.missed;
        let until = state.left.filter(|_| back)? + LONGEST_WAIT;
        (until >= self.now).then_some(until)
    }

    /// The turn that goes on: of a class that waits, or that is waited for.
    fn go_on(&mut self, turn: Turn, top: usize) -> Option<(u8, u8)> {
        let at = self.find_rank(turn.rank).ok()?;
        if self.ranks[at].waiting[usize::from(turn.class)] == 0 && !self.does_work(turn.rank, turn.class) {
            self.hold(turn.class);
            return None;
        }
        self.outbids += u64::from(at > top);
        Some((turn.rank, turn.class))
    }

    /// Whether who was served last is waited for: it is of a rank as high as any, and would be next.
    fn waits_for_last(&mut self, top: usize) -> bool {
        let Some(Turn { rank, class, .. }) = self.turn.filter(|turn| turn.rank >= self.ranks[top].rank) else {
            return false;
        };
        let Ok(at) = self.find_rank(rank) else { return false };
        let leads = at < top || self.ranks[at].shares.would_lead(self.leaves[usize::from(class)], self.now);
        let inside = at == top && self.classes[usize::from(class)].inside > 0;
        let waits = leads && (inside || self.return_of(class).is_some());
        if waits {
            self.hold(class);
        }
        waits
    }

    fn hold(&mut self, class: u8) {
        self.awaited = self.return_of(class).map(|until| (class, until));
        self.wake = self.awaited.map(|(_, until)| until);
    }

    fn give(&mut self, at: usize, leaf: NodeId, top: usize, owed: bool) -> (u8, u8) {
        let (rank, class) =
            (self.ranks[at].rank, self.leaves.iter().position(|known| *known == leaf).unwrap_or(0) as u8);
        self.outbids += u64::from(owed && at > top);
        let same = self.turn.filter(|turn| !owed && (turn.rank, turn.class) == (rank, class));
        let same = same.filter(|turn| turn.used < self.slice(turn));
        if let Some(over) = self.turn.filter(|_| same.is_none()) {
            self.note_turn(over);
        }
        let (used, way) = same.map_or((Span::ZERO, Span::ZERO), |turn| (turn.used, turn.way));
        self.turn = Some(Turn { rank, class, owed, first: same.is_none(), used, way });
        (rank, class)
    }

    /// A request of a class has its turn.
    pub(crate) fn begin_turn(&mut self, class: u8) {
        self.classes[usize::from(class)].inside += 1;
    }

    /// A request of a class has had its turn: it has ended, or waits again.
    pub(crate) fn end_turn(&mut self, class: u8) {
        let now = self.now;
        let state = &mut self.classes[usize::from(class)];
        state.inside = state.inside.saturating_sub(1);
        state.left = (state.inside == 0 && state.waiting == 0).then_some(now);
        state.missed = false;
        self.waiters.note_end(class);
    }

    /// Whether nobody of a higher rank interrupts a request of a class now: it has its turn for a floor that is owed.
    pub(crate) fn shields(&self, class: u8) -> bool {
        self.turn.is_some_and(|turn| {
            turn.owed && turn.class == class && turn.used < self.slice(&turn).max(self.rules.slice(class))
        })
    }

    /// A class has had the arm for so long.
    pub(crate) fn bill(&mut self, class: u8, span: Span) {
        self.bill_way(class, span, Span::ZERO);
    }

    /// The same, of which so much was the way there. What a slice begins with does not count for the floor that it is given
    /// for: alone, the class would not have had it.
    fn bill_way(&mut self, class: u8, span: Span, way: Span) {
        self.reach(class);
        let credit = &mut self.buffered[usize::from(class)].credit;
        let span = span.less(Span(std::mem::replace(credit, credit.saturating_sub(span.0))));
        let mut useful = span;
        if let Some(turn) = self.turn.as_mut().filter(|turn| turn.class == class) {
            turn.used += span;
            if turn.first && turn.owed {
                useful = span.less(way);
                turn.way += way.min(span);
            }
            // Only who has waited all the while is still on the way.
            turn.first &= way == span;
        }
        let (leaf, now) = (self.leaves[usize::from(class)], self.now);
        self.ranks.iter_mut().for_each(|rank| rank.shares.bill(leaf, span, useful, now));
    }

    /// From now on it counts how long classes keep the device without a command.
    pub(crate) fn count_from(&mut self, from: Time) {
        self.from = from;
    }

    /// Bills a class that kept the device without a command, until its seek was due.
    pub(crate) fn bill_rest(&mut self, class: u8, span: Span) {
        self.bill_way(class, span, span);
        if self.now >= self.from {
            self.kept[usize::from(class)] += span;
        }
    }

    /// Bills who pays for a command that took so long, of which its blocks take so much to pass.
    pub(crate) fn bill_command(&mut self, bill: &Bill, took: Span, passes: Span) {
        match bill.cause {
            // Nobody lost that time.
            Cause::Slack => {}
            Cause::Request => {
                self.bill_way(bill.class, took, took.less(passes));
            }
            Cause::Resumed(by) => {
                let back = bill.believed.map_or(Span::ZERO, |(travel, wait)| (travel + wait).min(took));
                self.bill(by, back);
                self.bill(bill.class, took - back);
            }
        }
    }

    /// From now on a class may have this; where its volume has a claim, that one changes.
    pub(crate) fn set_claim(&mut self, class: u8, claim: Claim) {
        self.reach(class);
        let now = self.now;
        let (volume, mut of_class) = self.rules.class(class);
        let node = match volume {
            Some(volume) => {
                self.rules.volumes[volume] = claim;
                // A slice is a part of its class's window.
                of_class.window = claim.window;
                self.volumes[volume]
            }
            None => {
                of_class = claim;
                self.leaves[usize::from(class)]
            }
        };
        let missing = (usize::from(class) + 1).saturating_sub(self.rules.classes.len());
        self.rules.classes.extend(std::iter::repeat_n((None, Claim::default()), missing));
        self.rules.classes[usize::from(class)] = (volume, of_class);
        self.blank.set_claim(node, claim, now);
        self.ranks.iter_mut().for_each(|rank| rank.shares.set_claim(node, claim, now));
    }
}

#[cfg(test)]
mod tests;
