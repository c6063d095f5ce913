//! The figures that data sheets print, as a host measures them: so many commands outstanding at any time, a new one when one has
//! ended.

use crate::Machine;
use crate::noise::hash;
use block::{BLOCK_BYTES, Command, Extent, Place, Tag, Time, Verb};

/// Commands that are served before the measurement begins.
const WARM_UP: u32 = 16;

/// A load of equal commands without a pause.
#[derive(Clone, Copy, Debug)]
pub struct SteadyLoad {
    /// What each command does.
    pub verb: Verb,
    /// Blocks of each command.
    pub blocks: u32,
    /// How many are outstanding.
    pub depth: u32,
    /// How many are measured.
    pub commands: u32,
}

impl SteadyLoad {
    /// Reads of 1 MiB, one at a time: what sheets call sustained. On a drive of less than 9.4 GB they are shorter, for all to lie within
    /// half a sixteenth of it.
    #[must_use]
    pub fn stream(capacity: u64) -> SteadyLoad {
        let commands = 128;
        let blocks = (capacity / 32 / u64::from(commands + WARM_UP)).clamp(8, 2048) as u32 / 8 * 8;
        SteadyLoad { verb: Verb::Read, blocks, depth: 1, commands }
    }

    /// All the blocks of it, one behind the other.
    #[must_use]
    pub fn length(self) -> u64 {
        u64::from(self.blocks) * u64::from(self.commands + WARM_UP + self.depth)
    }

    /// Reads of 4 KiB, one at a time.
    pub const RANDOM: SteadyLoad = SteadyLoad { verb: Verb::Read, blocks: 8, depth: 1, commands: 2_000 };
}

/// 10^6 bytes/s of commands one behind the other from block `start` on. The caller guarantees that they lie within the device.
pub fn stream_mb_s(machine: &mut dyn Machine, start: u64, load: SteadyLoad) -> f64 {
    let place = |i: u32| start + u64::from(i) * u64::from(load.blocks);
    rate(machine, load, place) * (f64::from(load.blocks) * BLOCK_BYTES as f64) / 1e6
}

/// Commands a second at random multiples of their size.
pub fn random_s(machine: &mut dyn Machine, seed: u64, load: SteadyLoad) -> f64 {
    let whole = machine.caps().blocks;
    rate(machine, load, |i| place_anywhere(seed, i, load.blocks, whole))
}

/// Where the command of a number begins that may lie anywhere on a device of `whole` blocks: at a multiple of its size.
pub(crate) fn place_anywhere(seed: u64, number: u32, blocks: u32, whole: u64) -> u64 {
    let places = whole / u64::from(blocks);
    ((u128::from(hash(seed, u64::from(number))) * u128::from(places)) >> 64) as u64 * u64::from(blocks)
}

/// Commands a second of those after the warm-up.
fn rate(machine: &mut dyn Machine, load: SteadyLoad, place: impl Fn(u32) -> u64) -> f64 {
    let (mut done, mut began, mut last) = (0, Time::ZERO, Time::ZERO);
    let command = |i: u32| (load.verb, Extent::new(place(i), load.blocks));
    keep_busy(machine, load.depth, command, |now| {
        done += 1;
        if done == WARM_UP {
            began = now;
        }
        last = now;
        done < WARM_UP + load.commands
    });
    f64::from(load.commands) / last.since(began).as_secs()
}

/// Keeps so many commands outstanding from rest, those of the numbers from 0 on, for as long as `goes_on` says so at each end.
pub(crate) fn keep_busy(
    machine: &mut dyn Machine,
    depth: u32,
    command: impl Fn(u32) -> (Verb, Extent),
    mut goes_on: impl FnMut(Time) -> bool,
) {
    let mut issued = 0;
    let mut issue = |machine: &mut dyn Machine, now: Time| {
        let (verb, at) = command(issued);
        machine.issue(now, Tag(issued), Command::new(verb, at, Place::Nowhere));
        issued += 1;
    };
    (0..depth).for_each(|_| issue(machine, Time::ZERO));
    loop {
        let Some((now, ..)) = machine.finish() else { continue };
        if !goes_on(now) {
            return;
        }
        issue(machine, now);
    }
}
