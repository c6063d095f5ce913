//! The bus: blocks go in their order, one after the other, each once its sector has passed. Times of blocks are whole 2⁻¹⁶ ns.

use disk::{DrivePlan, Whole};

/// A sector on its way: when it has passed, and how many of its blocks are wanted.
#[derive(Clone, Copy, Debug)]
pub struct Sector {
    pub passed: u64,
    pub blocks: u64,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Bus {
    /// Time of a block that is read, 2⁻¹⁶ ns.
    pub block: u64,
    /// The same of one that is written.
    pub write_block: u64,
    /// Share of a read, or of so many blocks of a segment, that must be there before any of it goes.
    pub watermark: f64,
    pub of_segment: Option<u64>,
    /// Whether what follows a beginning from the cache waits for no watermark.
    pub holds: bool,
    /// Taken before it begins to go.
    pub reselect: u64,
}

impl Bus {
    pub fn new(plan: &DrivePlan) -> Bus {
        let block = |mb_s: Option<f64>| {
            let block = mb_s.map_or(0.0, |rate| 512.0 / (rate * 1e6) * 1e9 * 65536.0);
            (block + 1e-6) as u64
        };
        let of_segment = plan.bus.watermark_of == Whole::Segment;
        Bus {
            block: block(plan.bus.mb_s),
            write_block: block(plan.bus.write_mb_s.or(plan.bus.mb_s)),
            watermark: plan.bus.watermark,
            of_segment: of_segment.then_some(u64::from(plan.cache.segment)),
            holds: plan.bus.holds_reading,
            reselect: plan.overheads.reselect.0,
        }
    }

    pub fn time(&self, blocks: u64) -> u64 {
        ((u128::from(self.block) * u128::from(blocks)) >> 16) as u64
    }

    pub fn write_time(&self, blocks: u64) -> u64 {
        ((u128::from(self.write_block) * u128::from(blocks)) >> 16) as u64
    }

    /// When the last of `sectors` is with the host, if nothing goes before `from`; they may follow a `beginning` from the cache.
    pub fn deliver(&self, sectors: &[Sector], from: u64, beginning: bool) -> u64 {
        let all: u64 = sectors.iter().map(|sector| sector.blocks).sum();
        let share = match self.of_segment {
            _ if self.holds && beginning => 0.0,
            None => self.watermark,
            Some(segment) => (self.watermark * segment as f64 / all as f64).min(1.0),
        };
        let gate = ((all as f64 * share) as u64).max(1);
        let (mut there, mut opens) = (0, 0);
        for sector in sectors {
            opens = opens.max(sector.passed);
            there += sector.blocks;
            if there >= gate {
                break;
            }
        }
        let mut at = u128::from(opens.max(from) + self.reselect) << 16;
        for sector in sectors {
            at = at.max(u128::from(sector.passed) << 16) + u128::from(self.block) * u128::from(sector.blocks);
        }
        (at >> 16) as u64
    }
}

#[test]
fn a_fast_bus_adds_the_last_sector_and_a_slow_one_sets_the_pace() {
    let sectors: Vec<Sector> = (1..=10).map(|k| Sector { passed: 1000 + 10 * k, blocks: 1 }).collect();
    let end = |block: u64, watermark, reselect| {
        Bus { block: block << 16, watermark, reselect, ..Bus::default() }.deliver(&sectors, 0, false)
    };
    assert_eq!([end(2, 0.0, 0), end(20, 0.0, 0), end(20, 0.5, 0), end(20, 1.0, 7)], [1102, 1210, 1250, 1307]);
}
