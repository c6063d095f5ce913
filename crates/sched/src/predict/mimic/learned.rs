//! What was learned of a device before it is used.

use super::point::Point;
use super::probe::{Prober, SPREAD};
use super::smooth::Smooth;
use super::table::Table;
use super::{Grain, ProbeEffort, Probing};
use block::{Device, Span};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is known of one distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// From the end of a request to the start of the next, in blocks.
    pub distance: i64,
    /// The time of the command.
    pub time: Span,
    /// From how many samples, up to 255.
    pub samples: u8,
    /// Whether the times up to the next distance lie on the line between the two.
    pub line: bool,
}

/// What was learned of a device before it is used.
#[derive(Clone, Debug)]
pub struct Learned {
    pub(super) grain: Grain,
    pub(super) table: Table,
    pub(super) smooth: Smooth,
    pub(super) spread: Arc<BTreeMap<i32, [f32; SPREAD]>>,
    pub(super) blocks: u64,
    /// The farthest distance tried, in grains.
    pub(super) reach: i32,
    /// The commands that probing took.
    pub effort: ProbeEffort,
    /// The samples of the distance that was to be shown, shortest first.
    pub shown: Vec<Span>,
}

impl Learned {
    /// Learns a device by probing it; `tell` is told from time to time what share of the work is done.
    pub fn by_probing(device: &mut dyn Device, how: &Probing, tell: &mut dyn FnMut(f64)) -> Learned {
        let blocks = device.caps().blocks;
        let grain = Grain::for_device(blocks, how.grain);
        let mut prober = Prober::new(device, grain, how);
        let mut table = prober.learn(tell);
        table.draw(how.smooth.then(|| prober.smooth.curve(0.0)));
        let reach = table.points().last().map_or(0, |point| point.distance);
        Learned {
            grain,
            table,
            smooth: prober.smooth,
            spread: Arc::new(prober.spread),
            blocks,
            reach,
            effort: prober.effort,
            shown: prober.shown,
        }
    }

    /// What is known already of a device of so many blocks, in ascending order of distance; `grain` blocks are not told
    /// apart.
    pub fn of(blocks: u64, grain: u32, known: impl Iterator<Item = Known>, effort: ProbeEffort) -> Learned {
        let grain = Grain::for_device(blocks, grain);
        let mut points: Vec<Point> = Vec::new();
        let mut smooth = Smooth::default();
        for known in known {
            smooth.see_all(grain.of(known.distance), known.time.0 as f32, 0.0, usize::from(known.samples));
            let mut point = Point::new(grain.of(known.distance), known.time.0 as f32, u32::from(known.samples));
            point.lead(known.line);
            points.push(point);
        }
        points.dedup_by_key(|point| point.distance);
        if let Some(last) = points.last_mut() {
            last.lead(false);
        }
        let reach = points.last().map_or(0, |point| point.distance);
        let mut table = Table::of(&points);
        table.draw(Some(smooth.curve(0.0)));
        Learned { grain, table, smooth, spread: Arc::default(), blocks, reach, effort, shown: Vec::new() }
    }

    /// What is known, in ascending order of distance.
    pub fn distances(&self) -> impl Iterator<Item = Known> {
        let grain = self.grain;
        self.table.points().map(move |point| Known {
            distance: grain.blocks(point.distance),
            time: Span(point.time() as u64),
            samples: point.samples(),
            line: point.leads(),
        })
    }

    /// Blocks that are not told apart.
    #[must_use]
    pub fn grain(&self) -> u32 {
        1 << self.grain.shift
    }

    /// Blocks of the device.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// How many distances it keeps.
    #[must_use]
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether it keeps none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its memory in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.table.bytes() + self.spread.len() * size_of::<(i32, [f32; SPREAD])>()
    }

    /// The time of a distance in blocks, where it is known.
    #[must_use]
    pub fn time(&self, distance: i64) -> Option<Span> {
        let distance = self.grain.of(distance).clamp(-self.reach, self.reach);
        self.table.time(distance, 1).map(|time| Span(time as u64))
    }
}
