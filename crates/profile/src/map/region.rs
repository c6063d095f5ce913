//! A region: tracks of one kind that follow one another by a rule. Each is turned against the one before by the same
//! angle, but where a period ends (a cylinder, a band); periods nest as the digits of an odometer do.

use crate::estimate::fraction;

/// Angles that differ by less than this share of a sector are one: what they are off by chance is much less.
pub(crate) const ALIKE: f64 = 0.1;
/// A run of a band has so many tracks at least.
const LEAST_RUN: u64 = 4;

/// A period: what repeats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PatternLevel {
    /// Sectors of data in it.
    pub sectors: u64,
    /// Turn from its beginning to that of the next, revolutions.
    pub turn: f64,
}

/// Tracks of one kind in a row, where those of the shortest period are not all alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrackRun {
    /// Sectors of the period before it.
    pub sectors: u64,
    /// Tracks of the period before it.
    pub tracks: u64,
    /// Turn from the beginning of the period to that of the run, revolutions.
    pub angle: f64,
    /// Sectors all round a track.
    pub round: u32,
    /// Sectors of data on a track.
    pub track: u64,
    /// Turn from the beginning of a track to that of the next, revolutions.
    pub turn: f64,
}

/// A region of a map.
#[derive(Clone, Debug, PartialEq)]
pub struct MapRegion {
    /// The first sector of the region.
    pub first: u64,
    /// How many sectors the region has.
    pub sectors: u64,
    /// Sectors of the pattern before its first.
    pub skip: u64,
    /// Sectors all round a track; of several kinds, the most.
    pub round: u32,
    /// Sectors of data on a track; of several kinds, the most.
    pub track: u64,
    /// Turn from the beginning of a track to that of the next, revolutions.
    pub turn: f64,
    /// What the shortest period is made of, if its tracks are not all alike.
    pub runs: Vec<TrackRun>,
    /// Periods, the shortest first.
    pub levels: Vec<PatternLevel>,
    /// The angle at which the pattern begins, revolutions.
    pub angle: f64,
    /// From which sector on how many places on the medium were passed over since the region's beginning.
    pub slips: Vec<(u64, i64)>,
    /// From which place in the pattern on it is turned by how much more than the pattern has it, revolutions.
    pub bends: Vec<(u64, f64)>,
}

/// Where a sector lies.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SectorPlace {
    /// The track, counted from the beginning of the pattern.
    pub track: u64,
    /// Sector on the track.
    pub sector: u64,
    /// The angle at which it begins, revolutions in [0, 1).
    pub angle: f64,
    /// Sectors of data, this one included, up to the end of the track.
    pub left: u64,
    /// Sectors all round the track.
    pub round: u32,
    /// Sectors of data on the track.
    pub data: u64,
}

impl SectorPlace {
    /// A sector's width, revolutions.
    #[must_use]
    pub fn width(&self) -> f64 {
        1.0 / f64::from(self.round)
    }
}

impl MapRegion {
    /// Places passed over before a sector.
    #[must_use]
    pub fn slipped_before(&self, sector: u64) -> i64 {
        let next = self.slips.partition_point(|(from, _)| *from <= sector);
        next.checked_sub(1).map_or(0, |i| self.slips[i].1)
    }

    /// Where in the pattern a sector is.
    #[must_use]
    pub fn pattern(&self, sector: u64) -> u64 {
        (sector.saturating_sub(self.first) + self.skip).saturating_add_signed(self.slipped_before(sector))
    }

    /// The sector at a place in the pattern, or the next one after it.
    #[must_use]
    pub fn sector_at(&self, pattern: u64) -> u64 {
        let plain = (self.first + pattern).saturating_sub(self.skip);
        let mut at = plain;
        for (from, shift) in &self.slips {
            let moved = plain.saturating_add_signed(-shift);
            if moved < *from {
                return at.min(*from).max(self.first);
            }
            at = moved;
        }
        at.max(self.first)
    }

    /// The run that holds what `holds` says of the last of them; all of a region without any.
    fn run(&self, holds: impl Fn(&TrackRun) -> bool) -> TrackRun {
        let plain =
            TrackRun { sectors: 0, tracks: 0, angle: 0.0, round: self.round, track: self.track, turn: self.turn };
        let after = self.runs.partition_point(holds);
        after.checked_sub(1).map_or(plain, |i| self.runs[i])
    }

    /// How many tracks a period has; of level 0, the shortest.
    #[must_use]
    pub fn tracks(&self, level: usize) -> u64 {
        let shortest = self.levels[0].sectors;
        let run = self.run(|run| run.sectors < shortest);
        let mut tracks = run.tracks + (shortest - run.sectors).div_ceil(run.track);
        let mut sectors = shortest;
        for level in &self.levels[1..=level] {
            tracks *= level.sectors.div_ceil(sectors);
            sectors = level.sectors;
        }
        tracks
    }

    /// How many tracks a run has, if all have as many; of tracks all alike, those of the shortest period.
    #[must_use]
    pub fn run_tracks(&self) -> Option<u64> {
        let shortest = (!self.levels.is_empty()).then(|| self.tracks(0))?;
        let starts = self.runs.iter().map(|run| run.tracks).skip(1).chain([shortest]);
        let mut lengths = self.runs.iter().zip(starts).map(|(run, next)| next - run.tracks);
        let first = lengths.next().unwrap_or(shortest);
        lengths.all(|length| length == first).then_some(first)
    }

    /// How much more than the pattern has it a place in it is turned.
    fn bent(&self, pattern: u64) -> f64 {
        let next = self.bends.partition_point(|(from, _)| *from <= pattern);
        next.checked_sub(1).map_or(0.0, |i| self.bends[i].1)
    }

    /// The place in the pattern at which a track begins.
    #[must_use]
    pub fn track_pattern(&self, track: u64) -> u64 {
        let (mut rest, mut pattern) = (track, 0);
        for (i, level) in self.levels.iter().enumerate().rev() {
            let tracks = self.tracks(i);
            pattern += rest / tracks * level.sectors;
            rest %= tracks;
        }
        let run = self.run(|run| run.tracks <= rest);
        pattern + run.sectors + (rest - run.tracks) * run.track
    }

    /// Where a place of the pattern lies.
    #[must_use]
    pub fn place_at(&self, pattern: u64) -> SectorPlace {
        let (mut rest, mut end) = (pattern, u64::MAX);
        let (mut angle, mut track) = (self.angle, 0);
        for (i, level) in self.levels.iter().enumerate().rev() {
            let index = rest / level.sectors;
            rest -= index * level.sectors;
            angle += fraction(index as f64 * level.turn);
            track += index * self.tracks(i);
            end = end.min(level.sectors - rest);
        }
        let run = self.run(|run| run.sectors <= rest);
        rest -= run.sectors;
        let index = rest / run.track;
        let sector = rest - index * run.track;
        angle += run.angle + fraction(index as f64 * run.turn) + sector as f64 / f64::from(run.round);
        angle += self.bent(pattern);
        let left = end.min(run.track - sector);
        let track = track + run.tracks + index;
        SectorPlace { track, sector, angle: fraction(angle), left, round: run.round, data: run.track }
    }

    /// Where a sector lies.
    #[must_use]
    pub fn place(&self, sector: u64) -> SectorPlace {
        let mut place = self.place_at(self.pattern(sector));
        // Slips further along the track push sectors off its end.
        let next = self.slips.partition_point(|(from, _)| *from <= sector);
        let mut before = self.slipped_before(sector);
        for (from, shift) in &self.slips[next..] {
            let pushed = shift - before;
            if *from >= sector + place.left {
                break;
            }
            place.left = place.left.saturating_add_signed(-pushed).max(from - sector);
            before = *shift;
        }
        place
    }

    /// Whether it is no more than part of a track, between what could not be understood.
    #[must_use]
    pub fn is_fragment(&self) -> bool {
        2 * self.track < u64::from(self.round)
    }

    /// The sector after its last.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.first + self.sectors
    }

    /// The number of its last track.
    #[must_use]
    pub fn last_track(&self) -> u64 {
        self.place(self.end() - 1).track
    }

    /// How many tracks it has, a part of one counted whole.
    #[must_use]
    pub fn track_count(&self) -> u64 {
        self.last_track() + 1 - self.place(self.first).track
    }

    /// How many tracks its longest period has; one where it has none.
    #[must_use]
    pub fn longest_period(&self) -> u64 {
        self.levels.len().checked_sub(1).map_or(1, |level| self.tracks(level))
    }

    /// It ends before a sector, and with it all that was found further on.
    pub fn close(&mut self, end: u64) {
        self.sectors = end - self.first;
        self.slips.retain(|(from, _)| *from < end);
        let after = self.pattern(end);
        self.bends.retain(|(from, _)| *from < after);
    }

    /// The first sector of the track a sector is on.
    #[must_use]
    pub fn track_start(&self, sector: u64) -> u64 {
        let place = self.place(sector);
        let pattern = self.pattern(sector);
        self.sector_at(pattern - place.sector)
    }

    /// The first sector of the track after a sector's.
    #[must_use]
    pub fn next_track(&self, sector: u64) -> u64 {
        sector + self.place(sector).left.max(1)
    }

    /// The period that ends last, as its sectors and its turn: the outermost, or the track.
    #[must_use]
    pub fn outermost(&self) -> PatternLevel {
        self.levels.last().copied().unwrap_or(PatternLevel { sectors: self.track, turn: self.turn })
    }

    /// Found to be `off` revolutions further at a sector, it turns more or less from one outermost period to the next.
    pub fn refine(&mut self, sector: u64, off: f64) {
        let periods = self.pattern(sector) / self.outermost().sectors;
        if periods > 0 {
            let turn = self.levels.last_mut().map_or(&mut self.turn, |level| &mut level.turn);
            *turn = fraction(*turn + off / periods as f64);
        }
    }

    /// The same places, with the pattern begun half a period sooner or later: of tracks turned evenly but for where the one period
    /// they have begins, which is then its middle. Nothing of others.
    #[must_use]
    pub fn begun_sooner(&self) -> Option<MapRegion> {
        let [PatternLevel { sectors, turn }] = self.levels[..] else { return None };
        let (half, tracks) = (sectors / 2, sectors / 2 / self.track);
        if !self.runs.is_empty() || tracks < LEAST_RUN || 2 * tracks * self.track != sectors {
            return None;
        }
        let even = tracks as f64 * self.turn;
        let middle = PatternLevel { sectors: half, turn: fraction(turn - even) };
        let levels = vec![middle, PatternLevel { sectors, turn }];
        let (skip, angle, by) = match self.skip.checked_sub(half) {
            Some(skip) => (skip, self.angle + even, -(half as i64)),
            None => (self.skip + half, self.angle - middle.turn, half as i64),
        };
        let bends = self.bends.iter().map(|(from, more)| (from.saturating_add_signed(by), *more)).collect();
        Some(MapRegion { skip, angle: fraction(angle), levels, bends, ..self.clone() })
    }

    /// The same places, with the pattern begun sooner: in the period before its first, with this one of the runs of the one period it
    /// has. Nothing of others.
    #[must_use]
    pub fn begun_with(&self, run: usize) -> Option<MapRegion> {
        let ([PatternLevel { sectors, turn }], Some(first)) = (&self.levels[..], self.runs.get(run)) else {
            return None;
        };
        let (sooner, tracks, turned) = (sectors - first.sectors, self.tracks(0) - first.tracks, turn - first.angle);
        let later = |run: &TrackRun| TrackRun {
            sectors: run.sectors + sooner,
            tracks: run.tracks + tracks,
            angle: fraction(run.angle + turned),
            ..*run
        };
        let before = |run: &TrackRun| TrackRun {
            sectors: run.sectors - first.sectors,
            tracks: run.tracks - first.tracks,
            angle: fraction(run.angle - first.angle),
            ..*run
        };
        let runs = self.runs[run..].iter().map(before).chain(self.runs[..run].iter().map(later)).collect();
        let bends = self.bends.iter().map(|(from, more)| (from + sooner, *more)).collect();
        let (skip, angle) = (self.skip + sooner, fraction(self.angle - turned));
        Some(MapRegion { skip, angle, runs, bends, ..self.clone() })
    }

    /// The same places, with the pattern begun so many tracks sooner. The caller guarantees that it has no runs, and so many tracks
    /// are whole periods of it, if it has any.
    #[must_use]
    pub fn begun_tracks_sooner(&self, tracks: u64) -> MapRegion {
        let sooner = self.track_pattern(tracks);
        let straight = MapRegion { bends: Vec::new(), ..self.clone() };
        let angle = fraction(2.0 * self.angle - straight.place_at(sooner).angle);
        let bends = self.bends.iter().map(|(from, more)| (from + sooner, *more)).collect();
        MapRegion { skip: self.skip + sooner, angle, bends, ..self.clone() }
    }

    /// The same pattern, begun anew at a sector and an angle.
    #[must_use]
    pub fn again(&self, first: u64, angle: f64) -> MapRegion {
        MapRegion { first, sectors: 0, skip: 0, angle, slips: Vec::new(), bends: Vec::new(), ..self.clone() }
    }

    /// Whether the two follow the same pattern.
    #[must_use]
    pub fn like(&self, other: &MapRegion) -> bool {
        let alike = |a: f64, b: f64| crate::estimate::signed_fraction(a - b).abs() < ALIKE / f64::from(self.round);
        self.round == other.round
            && self.track == other.track
            && alike(self.turn, other.turn)
            && self.runs.len() == other.runs.len()
            && self.runs.iter().zip(&other.runs).all(|(a, b)| {
                (a.sectors, a.round, a.track) == (b.sectors, b.round, b.track)
                    && alike(a.turn, b.turn)
                    && alike(a.angle, b.angle)
            })
            && self.levels.len() == other.levels.len()
            && self.levels.iter().zip(&other.levels).all(|(a, b)| a.sectors == b.sectors && alike(a.turn, b.turn))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cylinders of three tracks of ten sectors, the last of them two sectors short.
    fn region() -> MapRegion {
        MapRegion {
            first: 100,
            sectors: 1000,
            skip: 0,
            round: 10,
            track: 10,
            turn: 0.2,
            levels: vec![PatternLevel { sectors: 28, turn: 0.7 }],
            angle: 0.0,
            slips: vec![(105, 1)],
            runs: Vec::new(),
            bends: Vec::new(),
        }
    }

    #[test]
    fn a_pattern_turns_by_track_and_by_cylinder() {
        let region = MapRegion { slips: Vec::new(), ..region() };
        let place = region.place(100 + 28 + 12);
        assert_eq!((place.track, place.sector, place.left), (4, 2, 8));
        assert!((place.angle - 0.1).abs() < 1e-9, "{place:?}");
        assert_eq!(region.place(100 + 27).left, 1);
        assert_eq!(region.track_start(100 + 28 + 12), 138);
        assert_eq!(region.next_track(100 + 27), 128);
    }

    /// A band of two runs of six tracks, whatever of it comes first, slipped and bent: all lies where it did, half a period further on.
    #[test]
    fn a_pattern_begun_sooner_is_the_same() {
        for skip in (0..240).step_by(7) {
            let bends = vec![(skip + 90, 0.05), (skip + 400, 0.125)];
            let levels = vec![PatternLevel { sectors: 120, turn: 0.37 }];
            let before = MapRegion { skip, levels, bends, angle: 0.41, ..region() };
            let after = before.begun_sooner().expect("its period has two halves");
            assert_eq!((after.tracks(0), after.tracks(1)), (6, 12));
            let moved = |region: &MapRegion| region.place(region.first).track as i64;
            let moved = moved(&after) - moved(&before);
            assert_eq!(moved.abs(), 6);
            for sector in 100..1100 {
                let (a, b) = (before.place(sector), after.place(sector));
                assert_eq!((a.sector, a.left, a.round), (b.sector, b.left, b.round), "{sector} of {skip}");
                assert_eq!(b.track as i64 - a.track as i64, moved, "{sector} of {skip}");
                assert!(crate::estimate::signed_fraction(a.angle - b.angle).abs() < 1e-9, "{sector} of {skip}");
            }
        }
        assert_eq!(region().begun_sooner(), None, "of three tracks");
    }

    #[test]
    fn runs_of_a_period_have_tracks_of_their_own() {
        let run = |sectors, tracks, angle, round: u32, turn| TrackRun {
            sectors,
            tracks,
            angle,
            round,
            track: u64::from(round),
            turn,
        };
        let runs = vec![run(0, 0, 0.0, 10, 0.2), run(20, 2, 0.5, 8, 0.25)];
        let levels = vec![PatternLevel { sectors: 36, turn: 0.1 }];
        let bends = vec![(36 + 20, 0.01)];
        let region = MapRegion { slips: Vec::new(), runs, levels, bends, ..region() };
        assert_eq!((region.tracks(0), region.run_tracks()), (4, Some(2)));
        for (sector, track, on, angle, left) in
            [(15, 1, 5, 0.7, 5), (20, 2, 0, 0.5, 8), (29, 3, 1, 0.875, 7), (36, 4, 0, 0.1, 10), (57, 6, 1, 0.735, 7)]
        {
            let place = region.place(100 + sector);
            assert_eq!((place.track, place.sector, place.left), (track, on, left), "{sector}");
            assert!((place.angle - angle).abs() < 1e-9, "{sector}: {place:?}");
            assert_eq!(region.track_pattern(track), sector - on);
        }
    }

    /// A period of three runs, slipped and bent: all lies where it did, whichever run begins the pattern.
    #[test]
    fn a_pattern_begun_with_another_run_is_the_same() {
        let run = |sectors, tracks, angle, round: u32| TrackRun {
            sectors,
            tracks,
            angle,
            round,
            track: u64::from(round),
            turn: 0.2,
        };
        let runs = vec![run(0, 0, 0.0, 10), run(40, 4, 0.5, 8), run(72, 8, 0.9, 9)];
        let levels = vec![PatternLevel { sectors: 108, turn: 0.35 }];
        let before = MapRegion { runs, levels, bends: vec![(130, 0.05), (300, 0.12)], angle: 0.41, ..region() };
        for first in 1..3 {
            let after = before.begun_with(first).expect("it has one period");
            assert_eq!((after.tracks(0), after.run_tracks()), (12, Some(4)));
            let tracks = 12 - 4 * first as u64;
            for sector in 100..1100 {
                let (a, b) = (before.place(sector), after.place(sector));
                assert_eq!((a.sector, a.left, a.round, a.data), (b.sector, b.left, b.round, b.data), "{sector}");
                assert_eq!(b.track, a.track + tracks, "{sector} of {first}");
                assert!(crate::estimate::signed_fraction(a.angle - b.angle).abs() < 1e-9, "{sector} of {first}");
            }
        }
        assert_eq!(region().begun_with(0), None, "it has no runs");
    }

    #[test]
    fn a_slip_moves_what_follows_and_ends_its_track_sooner() {
        let region = region();
        assert_eq!(region.place(104).sector, 4);
        assert_eq!(region.place(105).sector, 6);
        assert_eq!(region.next_track(100), 109);
        assert_eq!(region.next_track(106), 109);
        assert_eq!(region.track_start(110), 109);
        assert_eq!(region.sector_at(region.pattern(300)), 300);
    }
}
