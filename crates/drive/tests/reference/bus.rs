//! The bus: blocks go in their order, one after the other, each once its sector has passed. Times of blocks are whole 2⁻¹⁶ ns.

/// A sector on its way: when it has passed, and how many of its blocks are wanted.
#[derive(Clone, Copy, Debug)]
pub struct Sector {
    pub passed: u64,
    pub blocks: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct Bus {
    /// Time of a block, 2⁻¹⁶ ns.
    pub block: u64,
    /// Share of a read that must be there before any of it goes.
    pub watermark: f64,
    /// Taken before it begins to go.
    pub reselect: u64,
}

impl Bus {
    pub fn new(mb_s: Option<f64>, watermark: f64, reselect: u64) -> Bus {
        let block = mb_s.map_or(0.0, |rate| 512.0 / (rate * 1e6) * 1e9 * 65536.0);
        Bus { block: (block + 1e-6) as u64, watermark, reselect }
    }

    pub fn time(&self, blocks: u64) -> u64 {
        ((u128::from(self.block) * u128::from(blocks)) >> 16) as u64
    }

    /// When the last of `sectors` is with the host, if nothing goes before `from`.
    pub fn deliver(&self, sectors: &[Sector], from: u64) -> u64 {
        let all: u64 = sectors.iter().map(|sector| sector.blocks).sum();
        let gate = ((all as f64 * self.watermark) as u64).max(1);
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
    let end = |block: u64, watermark, reselect| Bus { block: block << 16, watermark, reselect }.deliver(&sectors, 0);
    assert_eq!([end(2, 0.0, 0), end(20, 0.0, 0), end(20, 0.5, 0), end(20, 1.0, 7)], [1102, 1210, 1250, 1307]);
}
