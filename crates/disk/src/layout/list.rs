//! A layout as a list of runs (DiskSim's G2): what lies where was read off a drive, run by run, and only the angles
//! follow from a rule. The tracks of a zone, in the order of their blocks, begin at the zone's offset; each further one is
//! turned by the head skew or, on another cylinder, by the cylinder skew.

use super::{Kind, Spot, Track, angle};

/// Runs of a list, at most.
pub(crate) const RUNS: usize = 1 << 24;

/// A zone: cylinders whose tracks have the same number of sectors. Skews are in revolutions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ListZone {
    /// The zone's outermost cylinder.
    pub first_cylinder: u32,
    /// The zone's innermost cylinder, inclusive.
    pub last_cylinder: u32,
    /// Sectors on each track.
    pub sectors: u32,
    /// Its first block, counted in sectors.
    pub first: u64,
    /// Angle of sector 0 of its first track, in revolutions.
    pub offset: f64,
    /// Turn between sector 0 of a track and that of the next on the same cylinder.
    pub head_skew: f64,
    /// The same, on another cylinder.
    pub cylinder_skew: f64,
}

/// Sectors of a track that hold blocks which follow one another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SectorRun {
    /// The cylinder, counted from the outermost as 0.
    pub cylinder: u32,
    /// The head, that is the surface, counted from 0.
    pub head: u32,
    /// First physical sector on the track.
    pub sector: u32,
    /// How many sectors in a row.
    pub count: u32,
}

/// A list of runs as a sheet gives it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListPlan {
    /// Zones in ascending cylinders and blocks.
    pub zones: Vec<ListZone>,
    /// Runs in ascending blocks, from block 0 on without a gap.
    pub runs: Vec<SectorRun>,
}

/// A run worked out.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Angle of its first sector.
    angle: u64,
    cylinder: u32,
    sector: u32,
    zone: u32,
    head: u16,
    remapped: bool,
}

/// A list worked out for use.
#[derive(Clone, Debug)]
pub(super) struct List {
    /// The first sector of data of each run, and the end of the last.
    starts: Vec<u64>,
    runs: Vec<Place>,
    kinds: Vec<Kind>,
    parts: Vec<u64>,
    cylinders: u32,
}

impl List {
    /// Works a plan out, for a drive of so many heads.
    pub(super) fn new(plan: &ListPlan, heads: u32) -> Result<List, String> {
        check_zones(&plan.zones)?;
        if plan.runs.is_empty() || plan.runs.len() > RUNS {
            return Err(format!("a list has from 1 to {RUNS} runs, not {}", plan.runs.len()));
        }
        let kind = |zone: &ListZone| Kind { width: u64::MAX / u64::from(zone.sectors), sectors: zone.sectors };
        let mut list = List {
            starts: vec![0],
            runs: Vec::with_capacity(plan.runs.len()),
            kinds: plan.zones.iter().map(kind).collect(),
            parts: plan.zones.iter().map(|zone| zone.first).collect(),
            cylinders: plan.zones.last().map_or(0, |zone| zone.last_cylinder + 1),
        };
        for (i, run) in plan.runs.iter().enumerate() {
            list.add(i, run, &plan.zones, heads)?;
        }
        if list.parts.last().is_some_and(|first| *first >= list.sectors()) {
            return Err(format!("the last zone begins past block {}, the last of all runs", list.sectors() - 1));
        }
        let mut order: Vec<u32> = (0..list.runs.len() as u32).collect();
        order.sort_unstable_by_key(|i| list.runs[*i as usize].key());
        list.mark(&order)?;
        list.turn(&order, &plan.zones);
        Ok(list)
    }

    /// Adds a run; one that goes on where the last one ended is the same run.
    fn add(&mut self, i: usize, run: &SectorRun, zones: &[ListZone], heads: u32) -> Result<(), String> {
        let bad = |what: &str| Err(format!("run {i} {what}"));
        let z = zones.partition_point(|zone| zone.last_cylinder < run.cylinder);
        let Some(zone) = zones.get(z).filter(|zone| zone.first_cylinder <= run.cylinder) else {
            return bad(&format!("lies on cylinder {}, which is of no zone", run.cylinder));
        };
        if run.head >= heads.min(1 << 16) {
            return bad(&format!("lies on head {}, of {heads}", run.head));
        }
        if run.count == 0 || u64::from(run.sector) + u64::from(run.count) > u64::from(zone.sectors) {
            return bad(&format!(
                "has {} sectors from sector {} on, of {} on a track",
                run.count, run.sector, zone.sectors
            ));
        }
        let sectors = self.sectors();
        let before = self.runs.last().map(|last| (last, (sectors - self.starts[self.runs.len() - 1]) as u32));
        let goes_on = |(last, count): (&Place, u32)| {
            (last.cylinder, u32::from(last.head), last.sector + count) == (run.cylinder, run.head, run.sector)
        };
        if before.is_some_and(goes_on) {
            self.starts.pop();
        } else {
            let (zone, head) = (z as u32, run.head as u16);
            let (cylinder, sector) = (run.cylinder, run.sector);
            self.runs.push(Place { angle: 0, cylinder, sector, zone, head, remapped: false });
        }
        self.starts.push(sectors + u64::from(run.count));
        Ok(())
    }

    fn count(&self, run: u32) -> u64 {
        self.starts[run as usize + 1] - self.starts[run as usize]
    }

    /// Marks the runs that stand in for bad sectors: as many blocks as the sectors passed over on the track where
    /// their neighbours are. `order` has the runs by place.
    fn mark(&mut self, order: &[u32]) -> Result<(), String> {
        // At each run, how many more stretches of remapped runs begin there than end.
        let mut steps = vec![0i32; self.runs.len() + 1];
        for pair in order.windows(2) {
            let (a, b) = (self.runs[pair[0] as usize], self.runs[pair[1] as usize]);
            if (a.cylinder, a.head) != (b.cylinder, b.head) {
                continue;
            }
            let Some(gap) = u64::from(b.sector).checked_sub(u64::from(a.sector) + self.count(pair[0])) else {
                let (first, second) = (self.starts[pair[0] as usize], self.starts[pair[1] as usize]);
                let track = format!("cylinder {}, head {}", a.cylinder, a.head);
                return Err(format!("the runs of blocks {first} and {second} overlap on {track}"));
            };
            let between = self.starts[pair[1] as usize].checked_sub(self.starts[pair[0] as usize + 1]);
            if gap > 0 && between == Some(gap) {
                steps[pair[0] as usize + 1] += 1;
                steps[pair[1] as usize] -= 1;
            }
        }
        let mut within = 0;
        for (run, step) in self.runs.iter_mut().zip(steps) {
            within += step;
            run.remapped = within > 0;
        }
        Ok(())
    }

    /// Works out the angles. A track's place among those of its zone is that of its longest run: remapped blocks on its
    /// spares do not move it.
    fn turn(&mut self, order: &[u32], zones: &[ListZone]) {
        let track = |i: u32| {
            let run = &self.runs[i as usize];
            (run.cylinder, run.head)
        };
        let mut tracks: Vec<(u32, u32, &[u32])> = Vec::new();
        for runs in order.chunk_by(|a, b| track(*a) == track(*b)) {
            let longest = runs.iter().copied().max_by_key(|i| (self.count(*i), u32::MAX - i)).unwrap_or(runs[0]);
            tracks.push((self.runs[longest as usize].zone, longest, runs));
        }
        tracks.sort_unstable_by_key(|(zone, longest, _)| (*zone, *longest));
        let mut last: Option<(u32, u32)> = None;
        let mut turned = 0u64;
        for (z, _, runs) in tracks {
            let cylinder = self.runs[runs[0] as usize].cylinder;
            let zone = &zones[z as usize];
            turned = match last {
                Some((zone_before, before)) if zone_before == z => {
                    turned.wrapping_add(angle(if before == cylinder { zone.head_skew } else { zone.cylinder_skew }))
                }
                _ => angle(zone.offset),
            };
            last = Some((z, cylinder));
            let width = self.kinds[z as usize].width;
            for i in runs {
                let run = &mut self.runs[*i as usize];
                run.angle = turned.wrapping_add(width.wrapping_mul(u64::from(run.sector)));
            }
        }
    }

    /// Sectors that hold data.
    pub(super) fn sectors(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// What lies past so many sectors does not exist for anyone.
    pub(super) fn cut(&mut self, sectors: u64) {
        self.parts.retain(|first| *first < sectors);
        self.runs.truncate(self.starts.partition_point(|start| *start < sectors));
        self.starts.truncate(self.runs.len());
        self.starts.push(sectors);
    }

    pub(super) fn cylinders(&self) -> u32 {
        self.cylinders
    }

    pub(super) fn kinds(&self) -> Vec<Kind> {
        self.kinds.clone()
    }

    /// The first sector of each zone.
    pub(super) fn parts(&self) -> Vec<u64> {
        self.parts.clone()
    }

    /// Where a sector lies, which must be on the drive.
    pub(super) fn locate(&self, sector: u64) -> Spot {
        let i = self.starts.partition_point(|start| *start <= sector).saturating_sub(1);
        let (run, within) = (&self.runs[i], (sector - self.starts[i]) as u32);
        let width = self.kinds[run.zone as usize].width;
        Spot {
            track: Track { zone: run.zone, cylinder: run.cylinder, head: u32::from(run.head) },
            sector: run.sector + within,
            angle: run.angle.wrapping_add(width.wrapping_mul(u64::from(within))),
            left: (self.starts[i + 1] - sector) as u32,
            before: within,
            remapped: run.remapped,
            ends_track: false,
        }
    }
}

impl Place {
    fn key(&self) -> (u32, u16, u32) {
        (self.cylinder, self.head, self.sector)
    }
}

fn check_zones(zones: &[ListZone]) -> Result<(), String> {
    if zones.first().is_none_or(|zone| zone.first != 0) {
        return Err("a list needs zones, of which the first begins at block 0".into());
    }
    for (i, zone) in zones.iter().enumerate() {
        let ListZone { first_cylinder: first, last_cylinder: last, .. } = *zone;
        if last < first || last >= 1 << 24 || zone.sectors == 0 {
            return Err(format!("zone {i} has cylinders {first} to {last} of {} sectors a track", zone.sectors));
        }
        if let Some(before) = i.checked_sub(1).map(|i| &zones[i])
            && (first <= before.last_cylinder || zone.first <= before.first)
        {
            return Err(format!("zone {i} begins at cylinder {first}, block {}: inside the one before it", zone.first));
        }
    }
    Ok(())
}
