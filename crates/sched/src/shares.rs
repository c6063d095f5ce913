//! Shares of the arm's time, in a tree: tenants, their volumes, and classes within those.
//!
//! Whoever waits gets time in proportion to its weight (start-time fair queueing: Goyal, Vin, Cheng, *Start-time Fair
//! Queuing*, SIGCOMM 1996), whatever the others leave goes to who waits, and nobody saves up time while idle. A *floor* is a
//! least part of the arm and a *limit* a greatest one; both are kept as the instant from which a node is behind its floor or
//! within its limit (Gulati, Merchant, Varman, *mClock*, OSDI 2010), in arm time instead of requests.
//!
//! Time is billed when it is known, after the command: a node is off its share by no more than what its commands in flight
//! cost, and that of one command of each other node. No step takes longer than the logarithm of the nodes that wait.

use block::{Span, Time};
use std::collections::BTreeSet;

/// A tag in the virtual time of a node: nanoseconds of arm over weight, in 2⁻³² parts.
type Tag = u128;

/// A floor is kept by more than is asked: by so much of it, times the part of the arm that no floor is for. What is given comes in
/// slices of a twentieth of a window, so that a time of many windows can begin or end a slice too late: of one of 24 windows with a
/// floor of 0.15 that is 1.4 %. And a slice begins with what requests cost that were half done when the last one ended: up to 15 ms of
/// revolutions for a scrub on a drive of 7200/min, 1.5 % of what is owed.
const ABOVE: f64 = 1.0 / 24.0;

/// A bound of what may be caught up on: this part of the window.
const CATCH_UP: u64 = 10;

/// What a node of the tree may have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim {
    /// Its weight beside its siblings, above 0.
    pub share: f64,
    /// The least part of the whole arm, 0 to 1, while it has something to do.
    pub floor: f64,
    /// The greatest part of the whole arm, above 0, to 1.
    pub limit: f64,
    /// Over how long both hold.
    pub window: Span,
}

impl Claim {
    /// Over how long a floor and a limit hold, where nothing is said.
    pub const WINDOW: Span = Span(5_000_000_000);
}

impl Default for Claim {
    fn default() -> Claim {
        Claim { share: 1.0, floor: 0.0, limit: 1.0, window: Claim::WINDOW }
    }
}

/// A node of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(u16);

#[derive(Clone, Debug)]
struct Node {
    parent: Option<NodeId>,
    claim: Claim,
    /// Where it stands in its parent's virtual time.
    tag: Tag,
    /// Its own virtual time, for its children.
    virtual_time: Tag,
    /// Whether something waits in it.
    waits: bool,
    /// Whether it is served for its floor alone.
    by_floor: bool,
    /// From when on it is behind its floor.
    behind_from: Time,
    /// From when on it is within its limit.
    within_from: Time,
    /// Its children in which something waits that is within its limit, by their tags.
    ready: BTreeSet<(Tag, NodeId)>,
    /// How many of its children wait, ready or not.
    waiting: u32,
}

/// The tree of who shares the arm, and how far each has come.
#[derive(Clone, Debug)]
pub struct Shares {
    nodes: Vec<Node>,
    /// The floors of all nodes together.
    promised: f64,
    /// The nodes with floors in which something waits, by when they are behind them.
    floors: BTreeSet<(Time, NodeId)>,
    /// The nodes in which something waits that is beyond its limit, by when it is within it again.
    beyond: BTreeSet<(Time, NodeId)>,
}

/// A part of a span or its multiple, to the nearest nanosecond.
fn scale(span: Span, by: f64) -> Span {
    Span((span.0 as f64 * by).round().min(u64::MAX as f64 / 2.0) as u64)
}

impl Shares {
    /// The root of the tree, which is the whole arm.
    pub const ROOT: NodeId = NodeId(0);

    /// A tree of the root alone.
    #[must_use]
    pub fn new() -> Shares {
        let mut shares =
            Shares { nodes: Vec::new(), promised: 0.0, floors: BTreeSet::default(), beyond: BTreeSet::default() };
        shares.push(None, Claim::default());
        shares
    }

    /// A new child of a node, in which nothing waits. The caller guarantees a weight and a limit above 0.
    pub fn add(&mut self, parent: NodeId, claim: Claim) -> NodeId {
        self.push(Some(parent), claim)
    }

    fn push(&mut self, parent: Option<NodeId>, claim: Claim) -> NodeId {
        let id = NodeId(self.nodes.len() as u16);
        let (behind_from, within_from) = (Time::ZERO, Time::ZERO);
        let (ready, waits, waiting) = (BTreeSet::default(), false, 0);
        self.promised += claim.floor;
        self.nodes.push(Node {
            parent,
            claim,
            tag: 0,
            virtual_time: 0,
            waits,
            by_floor: false,
            behind_from,
            within_from,
            ready,
            waiting,
        });
        id
    }

    /// From now on a node in which nothing waits is served for its floor alone, not by its weight.
    pub fn keep_to_floor(&mut self, node: NodeId) {
        self.node(node).by_floor = true;
    }

    /// From now on a node may have this. What it is behind or beyond by then stays.
    pub fn set_claim(&mut self, node: NodeId, claim: Claim, now: Time) {
        self.leave_floors(node);
        let was_ready = self.leave_ready(node);
        let old = std::mem::replace(&mut self.node(node).claim, claim);
        self.promised += claim.floor - old.floor;
        if old.floor == 0.0 {
            self.node(node).behind_from = now;
        }
        self.enter_floors(node);
        if was_ready {
            self.enter_ready(node, now);
        }
    }

    /// Something waits in a leaf in which nothing did.
    /// Where it was `idle` until now, what it was behind its floor is forgotten.
    pub fn start(&mut self, leaf: NodeId, now: Time, idle: bool) {
        let mut at = leaf;
        while !self.nodes[at.index()].waits {
            let parent = self.nodes[at.index()].parent;
            let virtual_time = parent.map_or(0, |parent| self.nodes[parent.index()].virtual_time);
            let node = self.node(at);
            node.waits = true;
            // Nobody saves up time while it is idle.
            node.tag = node.tag.max(virtual_time);
            if idle {
                node.behind_from = node.behind_from.max(now);
            }
            self.enter_floors(at);
            self.enter_ready(at, now);
            let Some(parent) = parent else { return };
            self.node(parent).waiting += 1;
            at = parent;
        }
    }

    /// Nothing waits any more in a leaf.
    pub fn stop(&mut self, leaf: NodeId) {
        let mut at = leaf;
        while self.nodes[at.index()].waits {
            self.leave_floors(at);
            self.leave_ready(at);
            self.node(at).waits = false;
            let Some(parent) = self.nodes[at.index()].parent else { return };
            self.node(parent).waiting -= 1;
            if self.nodes[parent.index()].waiting > 0 {
                return;
            }
            at = parent;
        }
    }

    /// The leaf whose turn it is by weight, among those within their limits.
    pub fn next(&mut self, now: Time) -> Option<NodeId> {
        self.let_in(now);
        let leaf = self.leaf_under(Shares::ROOT)?;
        let mut at = leaf;
        while let Node { parent: Some(parent), tag, .. } = self.nodes[at.index()] {
            let node = self.node(parent);
            node.virtual_time = node.virtual_time.max(tag);
            at = parent;
        }
        Some(leaf)
    }

    /// The leaf that is next by weight in the node that has been behind its floor for longest; none if none is. The virtual
    /// times stay: this is out of turn.
    pub fn pick_owed(&mut self, now: Time) -> Option<NodeId> {
        if self.floors.first().is_none_or(|(from, _)| *from > now) {
            return None;
        }
        self.let_in(now);
        let behind = self.floors.iter().take_while(|(from, _)| *from <= now);
        behind.filter(|(_, node)| self.is_within(*node, now)).find_map(|(_, node)| self.leaf_under(*node))
    }

    /// The floors of all together.
    #[must_use]
    pub fn sum_floors(&self) -> f64 {
        self.promised
    }

    /// From when on the node has been behind its floor that has been so for longest, or will be.
    #[must_use]
    pub fn owed_since(&self) -> Option<Time> {
        self.floors.first().map(|(from, _)| *from)
    }

    /// Whether anything waits in it.
    #[must_use]
    pub fn waits(&self) -> bool {
        self.nodes[0].waits
    }

    /// Whether a leaf in which nothing waits would be next by weight, were it otherwise.
    #[must_use]
    pub fn would_lead(&self, leaf: NodeId, now: Time) -> bool {
        let mut at = leaf;
        while let Some(parent) = self.nodes[at.index()].parent {
            let (node, above) = (&self.nodes[at.index()], &self.nodes[parent.index()]);
            let tag = node.tag.max(above.virtual_time);
            if above.ready.first().is_some_and(|(first, id)| *id != at && *first < tag) {
                return false;
            }
            at = parent;
        }
        self.is_within(leaf, now)
    }

    /// Whether something waits in a leaf, and it and all above it are within their limits.
    #[must_use]
    pub fn may(&self, leaf: NodeId, now: Time) -> bool {
        self.nodes[leaf.index()].waits && self.is_within(leaf, now)
    }

    /// When, if nothing else happens, someone who waits may be served that may not now.
    #[must_use]
    pub fn wake_at(&self) -> Option<Time> {
        self.beyond.first().map(|(from, _)| *from)
    }

    /// A leaf has had the arm for so long, up to `now`.
    /// Of that only `useful` counts for its floor.
    pub fn bill(&mut self, leaf: NodeId, span: Span, useful: Span, now: Time) {
        let above = 1.0 + ABOVE * (1.0 - self.promised).max(0.0);
        let mut next = Some(leaf);
        while let Some(at) = next {
            self.leave_floors(at);
            let was_ready = self.leave_ready(at);
            let node = self.node(at);
            let Claim { share, floor, limit, window } = node.claim;
            node.tag += (((u128::from(span.0)) << 32) as f64 / share) as Tag;
            if floor > 0.0 {
                // No more than a window is owed, nor held against it.
                let earliest = Time(now.0.saturating_sub(window.0));
                node.behind_from =
                    (node.behind_from.max(earliest) + scale(useful, 1.0 / (floor * above))).min(now + window);
            }
            if limit < 1.0 {
                // What others had of the arm beyond the instant is caught up on.
                let earliest = Time(now.0.saturating_sub(window.0 / CATCH_UP));
                node.within_from = node.within_from.max(earliest) + scale(span, 1.0 / limit);
            }
            next = node.parent;
            self.enter_floors(at);
            if was_ready {
                self.enter_ready(at, now);
            }
        }
    }

    fn node(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id.index()]
    }

    /// The leaf under a node whose turn it is by weight.
    fn leaf_under(&self, from: NodeId) -> Option<NodeId> {
        let mut at = from;
        while self.nodes[at.index()].waiting > 0 {
            at = self.nodes[at.index()].ready.first()?.1;
        }
        self.nodes[at.index()].waits.then_some(at)
    }

    /// Whether a node and all above it are within their limits.
    fn is_within(&self, id: NodeId, now: Time) -> bool {
        let mut next = Some(id);
        while let Some(at) = next {
            let node = &self.nodes[at.index()];
            if node.claim.limit < 1.0 && node.within_from > now {
                return false;
            }
            next = node.parent;
        }
        true
    }

    /// Those that are within their limits again may be served.
    fn let_in(&mut self, now: Time) {
        while let Some(&(from, node)) = self.beyond.first()
            && from <= now
        {
            self.beyond.pop_first();
            self.enter_ready(node, now);
        }
    }

    /// Puts a node in which something waits where it is found: among its parent's children by its tag, or, beyond its
    /// limit, among those that wait for that.
    fn enter_ready(&mut self, id: NodeId, now: Time) {
        let mut at = id;
        loop {
            let node = &self.nodes[at.index()];
            let Some(parent) = node.parent.filter(|_| node.waits && !node.by_floor) else { return };
            if node.within_from > now && node.claim.limit < 1.0 {
                self.beyond.insert((node.within_from, at));
                return;
            }
            if node.waiting > 0 && node.ready.is_empty() {
                // All its children are beyond their limits; the first that is not brings it back.
                return;
            }
            let tag = node.tag;
            let siblings = &mut self.node(parent).ready;
            let was_empty = siblings.is_empty();
            siblings.insert((tag, at));
            if !was_empty {
                return;
            }
            at = parent;
        }
    }

    /// Takes a node from wherever it is found. Says whether it was anywhere.
    fn leave_ready(&mut self, id: NodeId) -> bool {
        let mut at = id;
        let node = &self.nodes[at.index()];
        let Some(parent) = node.parent else { return false };
        let (within_from, tag) = (node.within_from, node.tag);
        if self.beyond.remove(&(within_from, at)) {
            return true;
        }
        let mut found = self.node(parent).ready.remove(&(tag, at));
        let was = found;
        at = parent;
        // A node without a child to serve is not served.
        while found && self.nodes[at.index()].ready.is_empty() {
            let Node { parent: Some(parent), tag, .. } = self.nodes[at.index()] else { break };
            found = self.node(parent).ready.remove(&(tag, at));
            at = parent;
        }
        was
    }

    fn enter_floors(&mut self, id: NodeId) {
        let Node { waits, behind_from, claim, .. } = self.nodes[id.index()];
        if waits && claim.floor > 0.0 {
            self.floors.insert((behind_from, id));
        }
    }

    fn leave_floors(&mut self, id: NodeId) {
        let behind_from = self.nodes[id.index()].behind_from;
        self.floors.remove(&(behind_from, id));
    }
}

impl NodeId {
    fn index(self) -> usize {
        usize::from(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    /// Lets the arm serve one command after the other for so long; what each leaf had, and the longest command.
    fn serve(
        shares: &mut Shares,
        from: Time,
        until: Time,
        leaves: &[(NodeId, Span)],
        mut pick: impl FnMut(&mut Shares, Time) -> Option<NodeId>,
    ) -> Vec<Span> {
        let (mut now, mut had) = (from, vec![Span::ZERO; leaves.len()]);
        while now < until {
            let Some(leaf) = pick(shares, now) else {
                now = shares.wake_at().expect("someone waits").max(Time(now.0 + 1));
                continue;
            };
            let i = leaves.iter().position(|(id, _)| *id == leaf).expect("a leaf is served");
            now += leaves[i].1;
            had[i] += leaves[i].1;
            shares.bill(leaf, leaves[i].1, leaves[i].1, now);
        }
        had
    }

    fn leaf() -> impl Strategy<Value = (f64, u64)> {
        (0.05..20.0, 1..40u64)
    }

    proptest! {
        #[test]
        fn who_waits_gets_its_share_whatever_its_commands_cost(
            tenants in prop::collection::vec((0.1..10.0, prop::collection::vec(leaf(), 1..5)), 1..5),
            skip in 0..2_000u64,
        ) {
            let mut shares = Shares::new();
            let (mut leaves, mut wanted) = (vec![], vec![]);
            let all: f64 = tenants.iter().map(|(weight, _)| weight).sum();
            for (weight, classes) in &tenants {
                let tenant = shares.add(Shares::ROOT, Claim { share: *weight, ..Claim::default() });
                let within: f64 = classes.iter().map(|(share, _)| share).sum();
                for (share, ms) in classes {
                    let id = shares.add(tenant, Claim { share: *share, ..Claim::default() });
                    leaves.push((id, Span(ms * MS)));
                    wanted.push(weight / all * share / within);
                    shares.start(id, Time::ZERO, true);
                }
            }
            // Any stretch of time, not only from the beginning: a lag may not build up and be made good later.
            let from = Time(skip * MS);
            serve(&mut shares, Time::ZERO, from, &leaves, Shares::next);
            let had = serve(&mut shares, from, from + Span(60_000 * MS), &leaves, Shares::next);
            let total: u64 = had.iter().map(|had| had.0).sum();
            // At each of the two levels a command of its own, and at most one of each other by weight, at both ends.
            let longest = leaves.iter().map(|(_, span)| span.0).max().expect("there is one");
            for ((had, wanted), (id, _)) in had.iter().zip(&wanted).zip(&leaves) {
                let off = had.0.abs_diff((total as f64 * wanted) as u64);
                prop_assert!(off <= 4 * longest, "{id:?} had {had:?} of {total}, wanted {wanted}: off by {off}");
            }
        }

        #[test]
        fn a_floor_is_kept_whoever_else_is_preferred(floor in 0.05..0.6f64, own in 1..40u64, other in 1..40u64) {
            let mut shares = Shares::new();
            let urgent = shares.add(Shares::ROOT, Claim::default());
            let scrub = shares.add(Shares::ROOT, Claim { floor, ..Claim::default() });
            let leaves = [(urgent, Span(other * MS)), (scrub, Span(own * MS))];
            leaves.iter().for_each(|(id, _)| shares.start(*id, Time::ZERO, true));
            let pick = |shares: &mut Shares, now| shares.pick_owed(now).or(Some(urgent));
            let had = serve(&mut shares, Time::ZERO, Time(100_000 * MS), &leaves, pick);
            let part = had[1].0 as f64 / (had[0].0 + had[1].0) as f64;
            let command = (own + other) as f64 / 100_000.0;
            prop_assert!((floor - command..floor * (1.0 + ABOVE * (1.0 - floor)) + 2.0 * command).contains(&part), "{part} of {floor}");
        }

        #[test]
        fn a_limit_is_kept_and_reached(limit in 0.05..0.95f64, own in 1..40u64, other in 1..40u64, alone: bool) {
            let mut shares = Shares::new();
            let capped = shares.add(Shares::ROOT, Claim { limit, share: 50.0, ..Claim::default() });
            let rest = shares.add(Shares::ROOT, Claim::default());
            let leaves = [(capped, Span(own * MS)), (rest, Span(other * MS))];
            shares.start(capped, Time::ZERO, true);
            if !alone {
                shares.start(rest, Time::ZERO, true);
            }
            let had = serve(&mut shares, Time::ZERO, Time(100_000 * MS), &leaves, Shares::next);
            let (part, credit) = (had[0].0 as f64 / 100e9, 5.0 / CATCH_UP as f64 / 100.0);
            let reached = limit.min(50.0 / 51.0 + f64::from(u8::from(alone)));
            prop_assert!((reached - 0.003..limit + credit + 0.002).contains(&part), "{part} of {limit}");
        }
    }

    #[test]
    fn nobody_saves_up_time_while_idle() {
        let mut shares = Shares::new();
        let [busy, late] = [(); 2].map(|()| shares.add(Shares::ROOT, Claim { floor: 0.3, ..Claim::default() }));
        let leaves = [(busy, Span(10 * MS)), (late, Span(10 * MS))];
        shares.start(busy, Time::ZERO, true);
        serve(&mut shares, Time::ZERO, Time(50_000 * MS), &leaves, Shares::next);
        shares.start(late, Time(50_000 * MS), true);
        let either = |shares: &mut Shares, now| shares.pick_owed(now).or_else(|| shares.next(now));
        let had = serve(&mut shares, Time(50_000 * MS), Time(51_000 * MS), &leaves, either);
        assert!(had[0].0.abs_diff(had[1].0) <= 20 * MS, "{had:?}");
        // And again after a pause of its own.
        shares.stop(late);
        serve(&mut shares, Time(51_000 * MS), Time(90_000 * MS), &leaves, either);
        shares.start(late, Time(90_000 * MS), true);
        let had = serve(&mut shares, Time(90_000 * MS), Time(91_000 * MS), &leaves, either);
        assert!(had[0].0.abs_diff(had[1].0) <= 20 * MS, "{had:?}");
    }

    #[test]
    fn what_one_leaves_goes_to_its_siblings_first() {
        let mut shares = Shares::new();
        let [left, right] = [(); 2].map(|()| shares.add(Shares::ROOT, Claim::default()));
        let [a, b] = [(); 2].map(|()| shares.add(left, Claim::default()));
        let c = shares.add(right, Claim::default());
        let leaves = [(a, Span(7 * MS)), (b, Span(3 * MS)), (c, Span(5 * MS))];
        leaves.iter().for_each(|(id, _)| shares.start(*id, Time::ZERO, true));
        shares.stop(b);
        let had = serve(&mut shares, Time::ZERO, Time(20_000 * MS), &leaves, Shares::next);
        assert!(had[1] == Span::ZERO && had[0].0.abs_diff(had[2].0) <= 14 * MS, "{had:?}");
        shares.stop(a);
        assert_eq!(shares.next(Time(20_000 * MS)), Some(c));
        shares.stop(c);
        assert_eq!(shares.next(Time(20_000 * MS)), None);
    }

    #[test]
    fn a_claim_changes_while_it_runs() {
        let mut shares = Shares::new();
        let [a, b] = [(); 2].map(|()| shares.add(Shares::ROOT, Claim::default()));
        let leaves = [(a, Span(10 * MS)), (b, Span(10 * MS))];
        leaves.iter().for_each(|(id, _)| shares.start(*id, Time::ZERO, true));
        serve(&mut shares, Time::ZERO, Time(10_000 * MS), &leaves, Shares::next);
        shares.set_claim(a, Claim { share: 3.0, ..Claim::default() }, Time(10_000 * MS));
        let had = serve(&mut shares, Time(10_000 * MS), Time(20_000 * MS), &leaves, Shares::next);
        assert!(had[0].0.abs_diff(7_500 * MS) <= 30 * MS, "{had:?}");
        shares.set_claim(a, Claim { limit: 0.25, ..Claim::default() }, Time(20_000 * MS));
        let had = serve(&mut shares, Time(20_000 * MS), Time(40_000 * MS), &leaves, Shares::next);
        assert!(had[0].0.abs_diff(5_000 * MS) <= 200 * MS, "{had:?}");
    }
}
