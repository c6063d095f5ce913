//! A region: tracks of one kind that follow one another by a rule. Each is turned against the one before by the same
//! angle, but where a period ends (a cylinder, a band); periods nest as the digits of an odometer do.

use crate::estimate::fraction;

/// A period: what repeats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Sectors of data in it.
    pub sectors: u64,
    /// Turn from its beginning to that of the next, revolutions.
    pub turn: f64,
}

/// A region of a map.
#[derive(Clone, Debug, PartialEq)]
pub struct Region {
    /// Its first sector.
    pub first: u64,
    /// Sectors in it.
    pub sectors: u64,
    /// Sectors of the pattern before its first.
    pub skip: u64,
    /// Sectors all round a track.
    pub round: u32,
    /// Sectors of data on a track.
    pub track: u64,
    /// Turn from the beginning of a track to that of the next, revolutions.
    pub turn: f64,
    /// Periods, the shortest first.
    pub levels: Vec<Level>,
    /// The angle at which the pattern begins, revolutions.
    pub angle: f64,
    /// From which sector on how many places on the medium were passed over since the region's beginning.
    pub slips: Vec<(u64, i64)>,
}

/// Where a sector lies.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Place {
    /// The track, counted from the beginning of the pattern.
    pub track: u64,
    /// Sector on the track.
    pub sector: u64,
    /// The angle at which it begins, revolutions in [0, 1).
    pub angle: f64,
    /// Sectors of data, this one included, up to the end of the track.
    pub left: u64,
}

impl Region {
    /// Places passed over before a sector.
    #[must_use]
    pub fn slipped(&self, sector: u64) -> i64 {
        let next = self.slips.partition_point(|(from, _)| *from <= sector);
        next.checked_sub(1).map_or(0, |i| self.slips[i].1)
    }

    /// Where in the pattern a sector is.
    #[must_use]
    pub fn pattern(&self, sector: u64) -> u64 {
        (sector.saturating_sub(self.first) + self.skip).saturating_add_signed(self.slipped(sector))
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

    /// How many tracks a period has; of level 0, the shortest.
    #[must_use]
    pub fn tracks(&self, level: usize) -> u64 {
        let mut tracks = 1;
        let mut sectors = self.track;
        for level in &self.levels[..=level] {
            tracks *= level.sectors.div_ceil(sectors);
            sectors = level.sectors;
        }
        tracks
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
        pattern + rest * self.track
    }

    /// Where a place of the pattern lies.
    #[must_use]
    pub fn place_at(&self, pattern: u64) -> Place {
        let (mut rest, mut end) = (pattern, u64::MAX);
        let (mut angle, mut track) = (self.angle, 0);
        for (i, level) in self.levels.iter().enumerate().rev() {
            let index = rest / level.sectors;
            rest -= index * level.sectors;
            angle += fraction(index as f64 * level.turn);
            track += index * self.tracks(i);
            end = end.min(level.sectors - rest);
        }
        let index = rest / self.track;
        let sector = rest - index * self.track;
        angle += fraction(index as f64 * self.turn) + sector as f64 / f64::from(self.round);
        Place { track: track + index, sector, angle: fraction(angle), left: end.min(self.track - sector) }
    }

    /// Where a sector lies.
    #[must_use]
    pub fn place(&self, sector: u64) -> Place {
        let mut place = self.place_at(self.pattern(sector));
        // Slips further along the track push sectors off its end.
        let next = self.slips.partition_point(|(from, _)| *from <= sector);
        let mut before = self.slipped(sector);
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

    /// The sector after its last.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.first + self.sectors
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
    pub fn outermost(&self) -> Level {
        self.levels.last().copied().unwrap_or(Level { sectors: self.track, turn: self.turn })
    }

    /// Found to be `off` revolutions further at a sector, it turns more or less from one outermost period to the next.
    pub fn refine(&mut self, sector: u64, off: f64) {
        let periods = self.pattern(sector) / self.outermost().sectors;
        if periods > 0 {
            let turn = self.levels.last_mut().map_or(&mut self.turn, |level| &mut level.turn);
            *turn = fraction(*turn + off / periods as f64);
        }
    }

    /// The same pattern, begun anew at a sector and an angle.
    #[must_use]
    pub fn again(&self, first: u64, angle: f64) -> Region {
        Region { first, sectors: 0, skip: 0, angle, slips: Vec::new(), ..self.clone() }
    }

    /// Whether the two follow the same pattern.
    #[must_use]
    pub fn like(&self, other: &Region) -> bool {
        let alike = |a: f64, b: f64| crate::estimate::signed(a - b).abs() < 0.1 / f64::from(self.round);
        self.round == other.round
            && self.track == other.track
            && alike(self.turn, other.turn)
            && self.levels.len() == other.levels.len()
            && self.levels.iter().zip(&other.levels).all(|(a, b)| a.sectors == b.sectors && alike(a.turn, b.turn))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cylinders of three tracks of ten sectors, the last of them two sectors short.
    fn region() -> Region {
        Region {
            first: 100,
            sectors: 1000,
            skip: 0,
            round: 10,
            track: 10,
            turn: 0.2,
            levels: vec![Level { sectors: 28, turn: 0.7 }],
            angle: 0.0,
            slips: vec![(105, 1)],
        }
    }

    #[test]
    fn a_pattern_turns_by_track_and_by_cylinder() {
        let region = Region { slips: Vec::new(), ..region() };
        let place = region.place(100 + 28 + 12);
        assert_eq!((place.track, place.sector, place.left), (4, 2, 8));
        assert!((place.angle - 0.1).abs() < 1e-9, "{place:?}");
        assert_eq!(region.place(100 + 27).left, 1);
        assert_eq!(region.track_start(100 + 28 + 12), 138);
        assert_eq!(region.next_track(100 + 27), 128);
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
