//! What a scheduler above a drive with a queue of its own can still decide: how many commands to hand down, and when to hold
//! back, because an urgent request would wait in the drive for what is there already.
//!
//! What is in the drive cannot be had back, and the drive serves it in an order of its own. So as long as an urgent request may
//! come, only as much is handed down as the drive is believed to do within a bound; while one is in the drive, nothing less
//! urgent follows it; and when none has come for long, the drive gets all it takes. How long the drive takes is learned from the
//! times at which commands came back, never from the drive.
//!
//! **A bounded core.** `scheduler.queue` bounds what the core keeps; beyond it, requests wait outside in order of
//! arrival and the result says so.

use crate::predict::Predictor;
use block::{Command, Span, Tag, Time, Verb};

/// How many of the longest recent gaps between urgent requests may pass before none is thought to come; at least, at most, and
/// where only one has come.
const GAPS: u64 = 4;
const SHORTEST: Span = Span(100_000_000);
const LONGEST: Span = Span(10_000_000_000);
const AT_FIRST: Span = Span(1_000_000_000);
/// A gap is remembered for so many times its length.
const MEMORY: u64 = 16;
/// What a command takes beside its transfer, before any has come back.
const USUAL: Span = Span(10_000_000);
/// A command counts for so much of what was learned: 1/16.
const SHARE: i64 = 16;

/// How much a device with a queue is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// At most so many commands; nothing: as many as it takes.
    pub most: Option<u16>,
    /// While an urgent request may come: at most what is done in so long.
    pub latency: Option<Span>,
    /// For how long after an urgent request another may come; nothing: that is learned from the gaps between them.
    pub alert: Option<Span>,
}

/// The requests of a rank.
#[derive(Clone, Copy, Debug)]
struct Rank {
    rank: u8,
    /// When the last one came.
    last: Time,
    /// The longest gap between two of late.
    gap: Option<Span>,
    /// How many of its commands are in the device.
    inside: u32,
}

impl Rank {
    /// Whether one may come.
    fn may_come(&self, now: Time, alert: Option<Span>) -> bool {
        let learned = self.gap.map_or(AT_FIRST, |gap| Span((GAPS * gap.0).clamp(SHORTEST.0, LONGEST.0)));
        now.since(self.last) < alert.unwrap_or(learned)
    }
}

/// A command in the device.
#[derive(Clone, Copy, Debug)]
struct Inside {
    rank: u8,
    issued: Time,
    transfer: Span,
}

/// What is known of the device's queue.
pub(crate) struct Admission {
    limits: Limits,
    ranks: Vec<Rank>,
    /// What is in the drive, by tag.
    inside: Vec<Option<Inside>>,
    /// What the transfers of all that is inside take.
    transfers: Span,
    /// The command that the belief takes to be in service, of several.
    told: Option<Tag>,
    /// When the last command came back.
    since: Time,
    /// What a command takes beside its transfer, how far that is off, and what a transfer takes: means, ns.
    positioning: i64,
    error: i64,
    transfer: i64,
    /// Where requests can be served in short commands: whether they are given whole, many at once.
    deep: bool,
}

impl Admission {
    pub(crate) fn new(limits: Limits, depth: u16) -> Admission {
        Admission {
            limits,
            ranks: Vec::new(),
            inside: vec![None; usize::from(depth)],
            transfers: Span::ZERO,
            told: None,
            since: Time::ZERO,
            positioning: USUAL.0 as i64,
            error: 0,
            transfer: 0,
            deep: false,
        }
    }

    fn rank(&mut self, rank: u8) -> &mut Rank {
        let at = match self.ranks.binary_search_by_key(&rank, |known| known.rank) {
            Ok(at) => at,
            Err(at) => {
                self.ranks.insert(at, Rank { rank, last: Time::ZERO, gap: None, inside: 0 });
                at
            }
        };
        &mut self.ranks[at]
    }

    /// Notes that a request of a rank was submitted.
    pub(crate) fn note_arrival(&mut self, now: Time, rank: u8) {
        let rank = self.rank(rank);
        if rank.last > Time::ZERO {
            let gap = now.since(rank.last);
            rank.gap = Some(rank.gap.map_or(gap, |longest| Span(longest.less(Span(gap.0 / MEMORY)).0.max(gap.0))));
        }
        rank.last = now;
    }

    /// Whether a request more urgent than those of a rank may come, or is in the device.
    fn expects_above(&self, now: Time, rank: u8) -> bool {
        let alert = self.limits.alert;
        self.ranks.iter().any(|other| other.rank > rank && (other.inside > 0 || other.may_come(now, alert)))
    }

    /// How long so many commands more are thought to be in the device, with what is there, before all of it is done.
    fn takes(&self, inside: u32) -> Span {
        let (all, mean) = (u64::from(inside) + 1, self.positioning.max(0) as u64);
        // Errors of several make up for one another.
        let spread = self.error.max(0) as u64 * (4 * all).isqrt();
        Span(self.transfers.0 + self.transfer.max(0) as u64 + all * mean + spread)
    }

    /// Whether a job of a rank may be handed down beside so many commands.
    pub(crate) fn admits(&self, now: Time, rank: u8, inside: u32) -> bool {
        if self.limits.most.is_some_and(|most| inside >= u32::from(most)) {
            return false;
        }
        let Some(latency) = self.limits.latency.filter(|_| inside > 0 && self.expects_above(now, rank)) else {
            return true;
        };
        let held_back = self.deep || self.ranks.iter().any(|other| other.rank > rank && other.inside > 0);
        !held_back && self.takes(inside) <= latency
    }
}

/// What it asks of the belief, which is told of one command at a time.
impl Admission {
    /// Whether requests are given whole, as many as the device takes, though they could be served in short commands: while
    /// nobody more urgent may come than who waits, and until what was so given is done. It changes its mind only while no
    /// command is in flight; `between` says that then no request is half served, `top` is the highest rank that waits.
    pub(crate) fn goes_deep(&mut self, now: Time, idle: bool, between: bool, top: Option<u8>) -> bool {
        if self.limits.latency.is_none() {
            return false;
        }
        if idle {
            self.deep = between && top.is_some_and(|rank| !self.expects_above(now, rank));
        }
        self.deep
    }

    /// When the next command handed down is thought to have the arm: when the one in service is done.
    pub(crate) fn arm_free<P: Predictor>(&self, belief: &P, now: Time) -> Time {
        self.told.and_then(|_| belief.completion_time()).map_or(now, |end| end.max(now))
    }

    /// A command for a request of a rank goes to the device. Of several in it the belief is told when they come back, and it is
    /// known in which order.
    #[inline(never)]
    pub(crate) fn issue<P: Predictor>(
        &mut self,
        belief: &mut P,
        now: Time,
        tag: Tag,
        rank: u8,
        command: &Command,
        spot: P::Spot,
    ) {
        let alone = self.inside.iter().all(Option::is_none);
        let transfer = if command.verb.transfers() { belief.transfer(command.at, spot) } else { Span::ZERO };
        self.rank(rank).inside += 1;
        self.transfers += transfer;
        self.inside[tag.0 as usize] = Some(Inside { rank, issued: now, transfer });
        if alone {
            self.told = Some(tag);
            belief.note_issue(now, command, spot);
        }
    }

    /// A command came back: how long the device takes.
    #[inline(never)]
    pub(crate) fn learn<P: Predictor>(&mut self, belief: &mut P, now: Time, tag: Tag, command: &Command) {
        let Some(inside) = self.inside[tag.0 as usize].take() else { return };
        self.rank(inside.rank).inside -= 1;
        self.transfers = self.transfers.less(inside.transfer);
        // It was begun when the one before it was done, if it was there by then.
        let began = inside.issued.max(self.since);
        if self.told != Some(tag) {
            let spot = belief.spot(command.at);
            belief.note_issue(began, command, spot);
        }
        (self.told, self.since) = (None, now);
        if matches!(command.verb, Verb::Read | Verb::Write { .. }) {
            let (took, transfer) = (now.since(began).0 as i64, inside.transfer.0 as i64);
            let off = took - transfer - self.positioning;
            self.positioning += off / SHARE;
            self.error += (off.abs() - self.error) / SHARE;
            self.transfer += (transfer - self.transfer) / SHARE;
        }
    }

    /// A command has come back, and these are in the device: the belief takes the nearest of them to be in service, as what is
    /// handed down next is chosen by where that leaves the arm. Whether it was tells itself when it comes back.
    pub(crate) fn guess_next<P: Predictor>(
        &mut self,
        belief: &mut P,
        now: Time,
        inside: impl Iterator<Item = (Tag, Command)>,
    ) {
        let (head, _) = belief.head(now);
        let costs = inside.filter(|(_, command)| command.verb.transfers()).map(|(tag, command)| {
            let spot = belief.spot(command.at);
            let (key, mark) = (belief.key(spot), belief.mark(spot));
            (belief.cost(&head, key, mark, command.verb.direction()), tag, command, spot)
        });
        let Some((_, tag, command, spot)) = costs.min_by_key(|(cost, tag, ..)| (*cost, tag.0)) else { return };
        self.told = Some(tag);
        belief.note_issue(now, &command, spot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn limits() -> Limits {
        Limits { most: Some(8), latency: Some(Span(25 * MS)), alert: None }
    }

    #[test]
    fn all_is_handed_down_until_someone_urgent_has_come() {
        let mut admission = Admission::new(limits(), 32);
        admission.note_arrival(Time(MS), 0);
        assert!((0..8).all(|inside| admission.admits(Time(MS), 0, inside)) && !admission.admits(Time(MS), 0, 8));
        admission.note_arrival(Time(2 * MS), 1);
        // 10 ms each, before any is known: two are done in 25 ms.
        let most = (0..8).take_while(|inside| admission.admits(Time(3 * MS), 0, *inside)).count();
        assert_eq!(most, 2);
        assert!((0..8).all(|inside| admission.admits(Time(3 * MS), 1, inside)), "nobody is more urgent");
        assert!(admission.admits(Time(2 * MS) + AT_FIRST, 0, 7), "nobody urgent has come for long");
    }

    #[test]
    fn nothing_follows_an_urgent_request_into_the_device() {
        let mut admission = Admission::new(limits(), 32);
        admission.note_arrival(Time(MS), 1);
        admission.rank(1).inside = 1;
        let later = Time(MS) + LONGEST;
        assert!(!admission.admits(later, 0, 1) && admission.admits(later, 1, 1));
        admission.rank(1).inside = 0;
        assert!(admission.admits(later, 0, 1));
    }

    #[test]
    fn who_comes_at_long_gaps_is_awaited_for_longer() {
        let mut admission = Admission::new(limits(), 32);
        for second in 1..=4 {
            admission.note_arrival(Time(second * 1000 * MS), 1);
        }
        assert!(admission.expects_above(Time(7900 * MS), 0) && !admission.expects_above(Time(8100 * MS), 0));
        // A burst does not make up for the gap before it at once.
        for burst in 0..8 {
            admission.note_arrival(Time((4000 + burst) * MS), 1);
        }
        assert!(admission.expects_above(Time(7900 * MS), 0));
        let fixed = Limits { alert: Some(Span(50 * MS)), ..limits() };
        let mut admission = Admission::new(fixed, 32);
        admission.note_arrival(Time(1000 * MS), 1);
        assert!(admission.expects_above(Time(1049 * MS), 0) && !admission.expects_above(Time(1050 * MS), 0));
    }
}
