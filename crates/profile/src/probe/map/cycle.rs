//! Regions in a row that repeat each other, several at a time, become one: a period of runs, each of tracks of its own kind
//! (a cylinder whose heads hold more or fewer sectors; a band of such heads).

use crate::estimate::{fraction, signed_fraction};
use crate::map::{ALIKE, MapRegion, PatternLevel, TrackMap, TrackRun};

/// Runs of a period, at most.
const RUNS: usize = 128;

/// A sequence goes round where the angles of its pieces are as they were, within this share of a sector: less than half of one,
/// and more than what a few leaps leave uncertain.
const GOES_ROUND: f64 = 0.3;
/// Tracks turn evenly where their turns differ by less than this share of a sector: a skew may be rounded to whole ones.
const EVENLY: f64 = 0.7;

/// Tracks alike in a row: a region, or what repeats in one.
#[derive(Clone, Copy, Debug)]
struct TrackGroup {
    region: usize,
    /// Whether its region begins with it.
    opens: bool,
    sectors: u64,
    round: u32,
    track: u64,
    turn: f64,
    angle: f64,
}

impl TrackGroup {
    /// Whether the two are of one kind, and as long.
    fn like(&self, other: &TrackGroup) -> bool {
        // Of a single track the turn to the next is no matter of its kind.
        (self.sectors, self.round, self.track) == (other.sectors, other.round, other.track)
            && (self.sectors <= self.track || self.near(self.turn - other.turn, ALIKE))
    }

    /// Whether another is the same, a period and its turn later.
    fn goes_round(&self, other: &TrackGroup, turn: f64) -> bool {
        self.like(other) && self.near(other.angle - self.angle - turn, GOES_ROUND)
    }

    /// Whether an angle is nothing but error, of so many sectors.
    fn near(&self, angle: f64, sectors: f64) -> bool {
        signed_fraction(angle).abs() < sectors / f64::from(self.round)
    }
}

/// Joins the last region, which is under way, to those before it, if it begins a sequence of them for the third time.
pub(super) fn join_sequence(map: &mut TrackMap) -> bool {
    let Some((under_way, before)) = map.regions.split_last() else { return false };
    let pieces = pieces(before);
    let most = (pieces.len() / 2).min(RUNS);
    let Some(period) = (2..=most).find(|period| repeats(&pieces[pieces.len() - 2 * period..], under_way)) else {
        return false;
    };
    // The cycle may have begun before it was noticed.
    let mut begin = pieces.len() - 2 * period;
    let turn = pieces[begin + period].angle - pieces[begin].angle;
    while begin > 0 && pieces[begin - 1].opens && pieces[begin - 1].goes_round(&pieces[begin - 1 + period], turn) {
        begin -= 1;
    }
    let cycle = &pieces[begin..];
    let whole = region(&cycle[..period], cycle[period].angle, before);
    map.regions.truncate(cycle[0].region);
    map.regions.push(whole);
    true
}

/// The pieces of the last regions, as far back as they are whole.
fn pieces(regions: &[MapRegion]) -> Vec<TrackGroup> {
    let mut pieces: Vec<TrackGroup> = Vec::new();
    for (index, region) in regions.iter().enumerate().rev() {
        let length = region.pattern(region.end() - 1) + 1;
        let each = region.levels.first().map_or(length, |level| level.sectors);
        let plain = region.skip == 0 && region.runs.is_empty() && region.bends.is_empty() && region.levels.len() <= 1;
        let plain = plain && !region.is_fragment();
        if !plain || !length.is_multiple_of(each) || pieces.len() >= 2 * RUNS {
            break;
        }
        let piece = |i: u64| {
            let MapRegion { round, track, turn, .. } = *region;
            let angle = region.place_at(i * each).angle;
            TrackGroup { region: index, opens: i == 0, sectors: each, round, track, turn, angle }
        };
        pieces.extend((0..length / each).rev().map(piece));
    }
    pieces.reverse();
    pieces
}

/// Whether the second half of these pieces repeats the first, and a region begins to do so again.
fn repeats(pieces: &[TrackGroup], under_way: &MapRegion) -> bool {
    let (a, b) = pieces.split_at(pieces.len() / 2);
    let turn = b[0].angle - a[0].angle;
    a[0].opens
        && b[0].opens
        && !evenly_turned(a)
        && (under_way.round, under_way.track, under_way.skip) == (a[0].round, a[0].track, 0)
        && a[0].near(under_way.angle - b[0].angle - turn, GOES_ROUND)
        && a.iter().zip(b).all(|(a, b)| a.goes_round(b, turn))
}

/// Whether these are single tracks of one kind that a rule for each would do for.
fn evenly_turned(pieces: &[TrackGroup]) -> bool {
    let [first, second, ..] = pieces else { return true };
    let turn = second.angle - first.angle;
    let one = |pair: &[TrackGroup]| {
        let [before, after] = pair else { return false };
        before.sectors <= before.track && before.like(after) && after.near(after.angle - before.angle - turn, EVENLY)
    };
    pieces.windows(2).all(one)
}

/// The region of a period of these pieces, of which the next begins at an angle.
fn region(cycle: &[TrackGroup], next: f64, before: &[MapRegion]) -> MapRegion {
    let opens = cycle[0];
    let (mut sectors, mut tracks) = (0, 0);
    let runs = cycle.iter().map(|piece| {
        let TrackGroup { round, track, turn, .. } = *piece;
        let run = TrackRun { sectors, tracks, angle: fraction(piece.angle - opens.angle), round, track, turn };
        sectors += piece.sectors;
        tracks += piece.sectors.div_ceil(piece.track);
        run
    });
    let runs: Vec<TrackRun> = runs.collect();
    let mut slips = Vec::new();
    let mut shifted = 0;
    for region in &before[opens.region..] {
        slips.extend(region.slips.iter().map(|(from, shift)| (*from, shift + shifted)));
        shifted = slips.last().map_or(0, |(_, shift)| *shift);
    }
    MapRegion {
        first: before[opens.region].first,
        sectors: 0,
        skip: 0,
        round: cycle.iter().map(|piece| piece.round).max().unwrap_or(opens.round),
        track: cycle.iter().map(|piece| piece.track).max().unwrap_or(opens.track),
        turn: opens.turn,
        runs,
        levels: vec![PatternLevel { sectors, turn: fraction(next - opens.angle) }],
        angle: opens.angle,
        slips,
        bends: Vec::new(),
    }
}
