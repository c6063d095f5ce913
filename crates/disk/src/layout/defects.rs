//! Spares, slips and remaps of a zone: from the sectors that hold data, in order, to the sectors there are.

use super::plan::{Sparing, ZonePlan};

/// Which tracks slips before them have turned by as many sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TurnSectors {
    Never,
    ByCylinder,
    ByTrack,
}

/// What moves the data of a zone off its sectors. Physical sectors are counted in filling order from the zone's first.
#[derive(Clone, Debug)]
pub(super) struct Defects {
    /// Sectors at the front of the zone that hold nothing.
    reserved: u64,
    /// Physical sectors of a group, which has its own spares; of the whole zone, if that has them.
    group: u64,
    /// Groups that have all their sectors.
    groups: u64,
    /// Sectors of a group that hold data.
    data: u64,
    /// Spare sectors in front of the first block.
    lead: u64,
    /// Whether slips move what follows past the end of their group.
    flows: bool,
    /// From which sector of data on how many sectors have been slipped: in its group or, if slips flow, in the zone.
    breaks: Vec<(u64, u64)>,
    /// Physical sectors, how many, and where their data are instead; ascending.
    remaps: Vec<(u64, u64, u64)>,
    /// Slipped physical sectors, ascending.
    slips: Vec<u64>,
    turn: TurnSectors,
}

/// Where a sector of data is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SpareAt {
    /// Physical sector on the track, from 0.
    pub(super) sector: u64,
    /// Sectors of data, this one included, that follow one another on the medium without a gap.
    pub(super) run: u64,
    /// Whether it was moved off its own sector.
    pub(super) remapped: bool,
}

/// A zone's size in sectors.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    pub(super) zone: u64,
    pub(super) cylinder: u64,
    pub(super) track: u64,
}

/// Sectors that share their spares: none where the zone, or nothing, has spares.
fn group(sparing: Sparing, size: Size) -> Option<u64> {
    match sparing {
        Sparing::Track => Some(size.track),
        Sparing::Cylinder | Sparing::CylinderSlipping | Sparing::CylinderFront | Sparing::CylinderFrontSlipping => {
            Some(size.cylinder)
        }
        Sparing::Range(cylinders) => Some(size.cylinder * u64::from(cylinders.max(1))),
        _ => None,
    }
}

/// How many sectors of a zone hold data.
///
/// # Errors
/// In words, when none are left.
pub(super) fn capacity_of(zone: &ZonePlan, sparing: Sparing, size: Size) -> Result<u64, String> {
    let (spares, slips) = (u64::from(zone.spares), zone.slips.len() as u64);
    let spared = match sparing {
        Sparing::None | Sparing::EndOfDisk => 0,
        Sparing::Zone | Sparing::ZoneSlipping => spares,
        Sparing::Tracks => spares * size.track,
        _ => spares * (size.zone / group(sparing, size).unwrap_or(size.zone)),
    };
    let slipped = match sparing {
        Sparing::EndOfDisk | Sparing::ZoneSlipping | Sparing::CylinderSlipping | Sparing::CylinderFrontSlipping => {
            slips
        }
        _ => 0,
    };
    let taken = spared + slipped + u64::from(zone.reserved);
    size.zone.checked_sub(taken).filter(|held| *held > 0).ok_or("has more spares than sectors".into())
}

impl Defects {
    /// Those of a zone, if it has any.
    ///
    /// # Errors
    /// In words, when slips or remaps are not of the zone.
    pub(super) fn new(zone: &ZonePlan, sparing: Sparing, size: Size) -> Result<Option<Defects>, String> {
        let own = group(sparing, size).filter(|_| zone.spares > 0);
        let (group, spares) = own.map_or((size.zone, 0), |group| (group, u64::from(zone.spares)));
        if spares >= group {
            return Err("has more spares than sectors".into());
        }
        if own.is_none() && zone.reserved == 0 && zone.slips.is_empty() && zone.remaps.is_empty() {
            return Ok(None);
        }
        let unit = if sparing == Sparing::Tracks { size.track } else { 1 };
        let inside = |at: u32| u64::from(at) * unit < size.zone;
        if zone.slips.windows(2).any(|pair| pair[1] <= pair[0]) || !zone.slips.iter().all(|slip| inside(*slip)) {
            return Err("has slips that do not ascend, or lie past its end".into());
        }
        if !zone.remaps.iter().all(|(bad, good)| inside(*bad) && inside(*good)) {
            return Err("has remaps past its end".into());
        }
        let mut remaps: Vec<(u64, u64, u64)> =
            zone.remaps.iter().map(|(bad, good)| (u64::from(*bad) * unit, unit, u64::from(*good) * unit)).collect();
        remaps.retain(|(bad, _, good)| bad != good);
        remaps.sort_unstable();
        let front = matches!(sparing, Sparing::CylinderFront | Sparing::CylinderFrontSlipping);
        let by_cylinder = front || matches!(sparing, Sparing::Cylinder | Sparing::CylinderSlipping);
        let mut defects = Defects {
            reserved: u64::from(zone.reserved),
            group,
            groups: size.zone / group,
            data: group - spares,
            lead: if front { spares } else { 0 },
            flows: own.is_none() || matches!(sparing, Sparing::CylinderSlipping | Sparing::CylinderFrontSlipping),
            breaks: Vec::new(),
            remaps,
            slips: zone.slips.iter().map(|slip| u64::from(*slip) * unit).collect(),
            turn: match sparing {
                Sparing::Track => TurnSectors::ByTrack,
                _ if by_cylinder => TurnSectors::ByCylinder,
                _ => TurnSectors::Never,
            },
        };
        defects.breaks = defects.breaks(unit);
        let last = capacity_of(zone, sparing, size)? - 1;
        if defects.physical(last).0 >= size.zone {
            return Err("has more slips than spares: its last blocks lie past its end".into());
        }
        Ok(Some(defects))
    }

    /// The breaks that follow from the slips.
    fn breaks(&self, unit: u64) -> Vec<(u64, u64)> {
        let mut breaks = Vec::with_capacity(self.slips.len());
        let (mut shift, mut group) = (0, 0);
        for slip in &self.slips {
            let (g, x) = (slip / self.group, slip % self.group);
            if !self.flows && g != group {
                (group, shift) = (g, 0);
            }
            // A slipped spare moves nothing.
            let from = match self.flows {
                true => x.checked_sub(self.lead).filter(|x| *x < self.data).map(|x| g * self.data + x - shift),
                false => x.checked_sub(shift + self.lead_of(g)).filter(|x| *x < self.data).map(|x| g * self.data + x),
            };
            if let Some(from) = from {
                shift += unit;
                breaks.push((from, shift));
            }
        }
        breaks
    }

    /// Where the `sector`-th sector of data is.
    pub(super) fn locate(&self, sector: u64) -> SpareAt {
        let (physical, run) = self.physical(sector);
        self.remap(physical, run)
    }

    /// Where it would be but for remaps, and how many follow it.
    fn physical(&self, sector: u64) -> (u64, u64) {
        let logical = sector + self.reserved;
        let next = self.breaks.partition_point(|(from, _)| *from <= logical);
        let shift = next.checked_sub(1).map(|i| self.breaks[i]);
        let run = self.breaks.get(next).map_or(u64::MAX, |(from, _)| from - logical);
        let stream = if self.flows { logical + shift.map_or(0, |(_, shift)| shift) } else { logical };
        let g = (stream / self.data).min(self.groups);
        let within = stream - g * self.data;
        let run = if g < self.groups { run.min(self.data - within) } else { run };
        let physical = g * self.group
            + within
            + match self.flows {
                true => self.lead,
                false => {
                    self.lead_of(g) + shift.filter(|(from, _)| *from >= g * self.data).map_or(0, |(_, shift)| shift)
                }
            };
        (physical, run)
    }

    /// Spares before the data of a group whose slips are made up for by beginning earlier.
    fn lead_of(&self, group: u64) -> u64 {
        match self.lead {
            0 => 0,
            lead => lead.saturating_sub(self.before((group + 1) * self.group) - self.before(group * self.group)),
        }
    }

    fn remap(&self, physical: u64, run: u64) -> SpareAt {
        let next = self.remaps.partition_point(|(bad, ..)| *bad <= physical);
        if let Some((bad, length, good)) = next.checked_sub(1).map(|i| self.remaps[i])
            && physical < bad + length
        {
            let into = physical - bad;
            return SpareAt { sector: good + into, run: run.min(length - into), remapped: true };
        }
        let run = self.remaps.get(next).map_or(run, |(bad, ..)| run.min(bad - physical));
        SpareAt { sector: physical, run, remapped: false }
    }

    /// Slips before a physical sector.
    fn before(&self, physical: u64) -> u64 {
        self.slips.partition_point(|slip| *slip < physical) as u64
    }

    /// Whether slips turn tracks.
    pub(super) fn turns(&self) -> bool {
        self.turn != TurnSectors::Never
    }

    /// By how many sectors slips have turned a track, given the physical sectors before its cylinder and those before
    /// its surface, surfaces counted upwards.
    pub(super) fn spare_turn(&self, cylinder: u64, surface: u64) -> u64 {
        match self.turn {
            TurnSectors::Never => 0,
            TurnSectors::ByCylinder => self.before(cylinder),
            TurnSectors::ByTrack => self.before(surface),
        }
    }
}
