//! The greedy search where costs are waits for angles and age has no part in them: the hot path of SATF.
//!
//! Leaves are visited outward from the head by their distance, as long as the arm gets there before the best found so far is under
//! the head. Of a leaf, a key alone tells when its angle comes round, and whether the arm can be there by then: of what waits, no
//! more than two or three requests are weighed. Where many leaves are of one cylinder, their angles tell where to begin and where to end:
//! thousands of requests for a few tracks cost little more than a leaf.

use super::greedy::{Candidate, KeepCandidates, direction_of};
use super::walk::low;
use crate::predict::{Predictor, Swing, TURN_BITS};
use crate::sorted::{Leaf, Slot, Sorted};
use block::Direction;
use std::ops::Range;

/// A turn, in ticks.
const TURN: u64 = 1 << TURN_BITS;

/// Offers what is worth it of a kind, of which something waits, to a head at `key`; how many were examined.
#[inline(never)]
pub(super) fn search<P: Predictor, const KIND: usize>(
    sorted: &Sorted<P::Mark>,
    (head, key): (&P::Head, u64),
    belief: &P,
    kept: &mut impl KeepCandidates,
) -> u64 {
    let swing = belief.swing(head, direction_of(KIND));
    let directory = sorted.directory();
    let middle = sorted.slot_of(key);
    let (offered, mut examined) = offer_apart::<P, KIND>(sorted, (middle, swing.apart), (head, belief), kept);
    // The next leaf on either side, and how far that is.
    let find_above = |mut right: usize| {
        while directory.get(right).is_some_and(Slot::is_hole) {
            right += 1;
        }
        let distance = |slot: &Slot| cylinder(slot.low()).saturating_sub(swing.cylinder);
        (right, directory.get(right).map_or(u32::MAX, distance))
    };
    let find_below = |mut left: usize| {
        while left > 0 && directory[left - 1].is_hole() {
            left -= 1;
        }
        (left, if left == 0 { u32::MAX } else { swing.cylinder.saturating_sub(cylinder(low(sorted, left))) })
    };
    let ((mut left, mut down), (mut right, mut up)) = (find_below(middle), find_above(middle + 1));
    let (mut slot, mut least) = (middle, swing.leaves);
    loop {
        let (from, to) = (low(sorted, slot), low(sorted, slot + 1));
        let mut is_unseen = !offered.contains(&slot);
        if belief.is_told_closer(from, to) {
            if swing.turns && is_crowded(directory, slot) {
                let crowd = crowd_at(directory, cylinder(from));
                examined += examine_crowd::<P, KIND>(sorted, (&crowd, &offered), (head, &swing), belief, kept);
                (left, down) = find_below(crowd.start.min(left));
                (right, up) = find_above(crowd.end.max(right));
                is_unseen = false;
            } else {
                least = belief.least(head, from, to, direction_of(KIND)).max(least);
            }
        }
        if is_unseen && !swing.turns {
            examined += examine_near::<P, KIND>(sorted.leaf(slot), slot, head, belief, kept);
        } else if is_unseen && least <= kept.bar() {
            examined += examine::<P, KIND>(sorted.leaf(slot), slot, (head, &swing, least), belief, kept);
        }
        let distance = up.min(down);
        if distance == u32::MAX {
            return examined;
        }
        least = belief.least_from(head, distance, direction_of(KIND));
        if least > kept.bar() {
            return examined;
        }
        if up <= down {
            slot = right;
            (right, up) = find_above(right + 1);
        } else {
            slot = left - 1;
            (left, down) = find_below(left - 1);
        }
    }
}

/// Leaves on either side that are of the same cylinder where it is crowded.
const CROWD: usize = 4;

/// Whether the cylinder of a leaf has so many leaves that their angles tell where to begin.
#[inline(always)]
fn is_crowded(directory: &[Slot], slot: usize) -> bool {
    let its = cylinder(directory[slot].low());
    let is_same = |other: Option<&Slot>| other.is_some_and(|other| cylinder(other.low()) == its);
    is_same(directory.get(slot + CROWD)) || slot.checked_sub(CROWD).is_some_and(|slot| is_same(directory.get(slot)))
}

/// The leaves that hold nothing but what is on a cylinder.
fn crowd_at(directory: &[Slot], its: u32) -> Range<usize> {
    let first = directory.partition_point(|slot| cylinder(slot.low()) < its);
    let end = directory.partition_point(|slot| cylinder(slot.low()) <= its);
    // The last holds what is beyond it too.
    first..end - 1
}

/// Offers what is worth it on one cylinder, of many leaves, from that on whose angle comes round first once the arm is there: those
/// after it cost ever more. How many were examined.
#[cold]
fn examine_crowd<P: Predictor, const KIND: usize>(
    sorted: &Sorted<P::Mark>,
    (crowd, offered): (&Range<usize>, &Range<usize>),
    (head, swing): (&P::Head, &Swing),
    belief: &P,
    kept: &mut impl KeepCandidates,
) -> u64 {
    let directory = sorted.directory();
    let its = cylinder(directory[crowd.start].low());
    let travel = belief.least_from(head, its.abs_diff(swing.cylinder), direction_of(KIND));
    let sought = (u64::from(its) << 32) | ((swing.phase + travel) % TURN);
    // What has the same key may lie in several leaves, the first of them in that which begins before it.
    let before = directory[crowd.clone()].partition_point(|slot| slot.low() < sought);
    let is_past = before == crowd.len() && low(sorted, crowd.end) < sought;
    let first = crowd.start + if is_past { 0 } else { before.saturating_sub(1) };
    let mut examined = 0;
    for slot in (first..crowd.end).chain(crowd.start..first) {
        if offered.contains(&slot) || directory[slot].is_hole() {
            continue;
        }
        let least = belief.least(head, low(sorted, slot), low(sorted, slot + 1), direction_of(KIND)).max(travel);
        if least > kept.bar() {
            break;
        }
        examined += examine::<P, KIND>(sorted.leaf(slot), slot, (head, swing, least), belief, kept);
    }
    examined
}

/// The cylinder of a key.
#[inline(always)]
fn cylinder(key: u64) -> u32 {
    (key >> 32) as u32
}

/// Where something waits under the key `apart`, which costs neither a move nor a wait, offers all of its leaves: which these are, and how
/// many are in them.
#[inline(always)]
fn offer_apart<P: Predictor, const KIND: usize>(
    sorted: &Sorted<P::Mark>,
    (near, apart): (usize, u64),
    (head, belief): (&P::Head, &P),
    kept: &mut impl KeepCandidates,
) -> (Range<usize>, u64) {
    if apart == u64::MAX {
        return (0..0, 0);
    }
    // As a rule it would lie where the head is.
    let is_near = (low(sorted, near)..low(sorted, near + 1)).contains(&apart);
    let slot = if is_near { near } else { sorted.slot_of(apart) };
    if low(sorted, slot) < apart && !sorted.leaf(slot).keys().contains(&apart) {
        return (0..0, 0);
    }
    offer_leaves::<P, KIND>(sorted, (slot, apart), (head, belief), kept)
}

/// Offers all of the leaves that may hold anything under a key, of which the last is at `last`: which leaves these are, and
/// how many requests they hold.
#[cold]
fn offer_leaves<P: Predictor, const KIND: usize>(
    sorted: &Sorted<P::Mark>,
    (last, key): (usize, u64),
    (head, belief): (&P::Head, &P),
    kept: &mut impl KeepCandidates,
) -> (Range<usize>, u64) {
    let mut first = last;
    while first > 0 && low(sorted, first) >= key {
        first -= 1;
    }
    let mut many = 0;
    for slot in first..last + 1 {
        let leaf = sorted.leaf(slot);
        for place in 0..leaf.keys().len() {
            weigh::<P, KIND>(leaf, (slot, place), P::cost, (head, belief), kept);
        }
        many += leaf.keys().len() as u64;
    }
    (first..last + 1, many)
}

/// Offers what is worth it of a leaf in which nothing costs less than `least`; how many were examined.
#[inline(always)]
fn examine<P: Predictor, const KIND: usize>(
    leaf: &Leaf<P::Mark>,
    slot: usize,
    (head, swing, least): (&P::Head, &Swing, u64),
    belief: &P,
    kept: &mut impl KeepCandidates,
) -> u64 {
    let keys = leaf.keys();
    let origin = swing.phase + least;
    // How long the arm has moved by the time that is under the head.
    let moved = least - swing.leaves;
    let mut next = 0;
    while next < keys.len() {
        let room = kept.bar().saturating_sub(least);
        // What the arm cannot be there for comes round a turn later.
        let is_worth = |key: &u64| {
            let beyond = key.wrapping_sub(origin) % TURN;
            beyond <= room
                && (cylinder(*key).abs_diff(swing.cylinder) <= swing.reach(moved + beyond) || beyond + TURN <= room)
        };
        let Some(passed) = keys[next..].iter().position(is_worth) else { break };
        let place = next + passed;
        weigh::<P, KIND>(leaf, (slot, place), P::cost_of_way, (head, belief), kept);
        next = place + 1;
    }
    keys.len() as u64
}

/// The same where angles tell nothing.
#[inline(never)]
fn examine_near<P: Predictor, const KIND: usize>(
    leaf: &Leaf<P::Mark>,
    slot: usize,
    head: &P::Head,
    belief: &P,
    kept: &mut impl KeepCandidates,
) -> u64 {
    let swing = belief.swing(head, direction_of(KIND));
    let within = |bar: u64| swing.reach(bar.saturating_sub(swing.leaves));
    let mut reach = within(kept.bar());
    for (place, key) in leaf.keys().iter().enumerate() {
        if cylinder(*key).abs_diff(swing.cylinder) <= reach {
            weigh::<P, KIND>(leaf, (slot, place), P::cost, (head, belief), kept);
            reach = within(kept.bar());
        }
    }
    leaf.keys().len() as u64
}

/// Works out what an entry of a leaf costs, and offers it if it is worth that.
#[inline(always)]
fn weigh<P: Predictor, const KIND: usize>(
    leaf: &Leaf<P::Mark>,
    (slot, place): (usize, usize),
    cost: impl Fn(&P, &P::Head, u64, P::Mark, Direction) -> u64,
    (head, belief): (&P::Head, &P),
    kept: &mut impl KeepCandidates,
) {
    let (key, its) = (leaf.keys()[place], &leaf.rest()[place]);
    let score = cost(belief, head, key, its.item, direction_of(KIND));
    if score <= kept.bar() {
        kept.offer(Candidate { score, sequence: its.sequence, id: its.id, kind: KIND, slot, place });
    }
}
