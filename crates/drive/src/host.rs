//! What a host gets of a device that it keeps busy for a while, from rest: the benchmarks by which other systems learn a drive.

use crate::Machine;
use crate::figures::{keep_busy, place_anywhere};
use block::{Extent, Span, Time, Verb};

/// Where the commands of a load lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostOrder {
    /// One behind the other from a block on, and from there again once the device ends.
    From(u64),
    /// Anywhere, at multiples of their size.
    Anywhere,
}

/// Equal commands, so many outstanding at any time.
#[derive(Clone, Copy, Debug)]
pub struct HostLoad {
    /// Whether each reads or writes.
    pub verb: Verb,
    /// How many blocks each covers.
    pub blocks: u32,
    /// How many are outstanding, or fewer where the device takes no more.
    pub depth: u16,
    /// In which order their blocks lie on the device.
    pub order: HostOrder,
    /// Commands that end within this time do not count.
    pub warm_up: Span,
    /// For how long those count that end behind it.
    pub lasts: Span,
    /// So many count, at most: a shorter time tells as much of equal commands in a row.
    pub most: u32,
}

impl HostLoad {
    fn place(&self, seed: u64, number: u32, whole: u64) -> u64 {
        let blocks = u64::from(self.blocks);
        match self.order {
            HostOrder::From(start) => start + u64::from(number) % ((whole - start) / blocks) * blocks,
            HostOrder::Anywhere => place_anywhere(seed, number, self.blocks, whole),
        }
    }
}

/// Commands of a load that end in a second. The caller guarantees that one fits into the device behind its start.
pub fn commands_s(machine: &mut dyn Machine, seed: u64, load: &HostLoad) -> f64 {
    let whole = machine.caps().blocks;
    let depth = u32::from(load.depth.min(machine.caps().depth).max(1));
    let command = |number: u32| (load.verb, Extent::new(load.place(seed, number, whole), load.blocks));
    let begins = Time::ZERO + load.warm_up;
    let (mut done, mut last) = (0u32, begins);
    keep_busy(machine, depth, command, |now| {
        if now > begins {
            (done, last) = (done + 1, now);
        }
        last < begins + load.lasts && done < load.most
    });
    f64::from(done) / last.since(begins).as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Drive;
    use crate::figures::{SteadyLoad, random_s, stream_mb_s};

    const READS: HostLoad = HostLoad {
        verb: Verb::Read,
        blocks: 8,
        depth: 1,
        order: HostOrder::Anywhere,
        warm_up: Span(1_000_000_000),
        lasts: Span(20_000_000_000),
        most: u32::MAX,
    };

    fn drive() -> Drive {
        named("st318437lw")
    }

    fn named(name: &str) -> Drive {
        let drive = disk::catalogue::find(name).expect("it is in the catalogue");
        Drive::new(&drive.sheet, &drive.truth, 1)
    }

    #[test]
    fn a_load_by_time_gives_what_one_by_count_gives() {
        let (timed, counted) = (commands_s(&mut drive(), 5, &READS), random_s(&mut drive(), 3, SteadyLoad::RANDOM));
        assert!((timed / counted - 1.0).abs() < 0.03, "{timed} of {counted}");
        let stream = HostLoad { blocks: 2048, order: HostOrder::From(0), ..READS };
        let mb_s = commands_s(&mut drive(), 5, &stream) * 2048.0 * 512.0 / 1e6;
        let sheet = stream_mb_s(&mut drive(), 0, SteadyLoad::stream(drive().caps().blocks));
        assert!((mb_s / sheet - 1.0).abs() < 0.03, "{mb_s} of {sheet}");
    }

    #[test]
    fn what_ends_in_the_warm_up_does_not_count() {
        // Until the write buffer is full, writes cost next to nothing.
        let whole =
            HostLoad { verb: Verb::Write { fua: false }, warm_up: Span::ZERO, lasts: Span(2_000_000_000), ..READS };
        let warm = HostLoad { warm_up: Span(10_000_000_000), ..whole };
        let [whole, warm] = [whole, warm].map(|load| commands_s(&mut named("nl20"), 5, &load));
        assert!(whole > 1.5 * warm, "{whole} {warm}");
    }

    #[test]
    fn a_row_begins_anew_where_the_device_ends() {
        let load = HostLoad { blocks: 8, order: HostOrder::From(100), ..READS };
        let places: Vec<u64> = (0..5).map(|number| load.place(1, number, 125)).collect();
        assert_eq!(places, [100, 108, 116, 100, 108], "the last block is left out: no command ends behind it");
        let few = HostLoad { most: 10, ..READS };
        assert!(commands_s(&mut drive(), 5, &few) > 0.0);
    }
}
