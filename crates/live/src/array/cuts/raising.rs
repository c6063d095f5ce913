//! The power goes while a RAID 5 comes to have a second parity, or does without it again, at any write of that: what was flushed is there,
//! and each parity agrees that is held, so that any two disks may be lost in the end.

use super::*;
use crate::array::cuts::growing::cut_many;

/// Whether an array comes to have a second parity on a disk of its own, or parity in place of copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Raises {
    No,
    Once,
    /// And is to do without it again.
    AndLowers,
    /// Of mirrored stripes: comes to have parity in place of copies.
    Trades,
}

impl Raises {
    /// What the array is told for that.
    pub(super) fn list_orders(self) -> Vec<ArrayOrder> {
        let raise = || ArrayOrder::Raise("another".into(), Former::Kept);
        match self {
            Raises::No => Vec::new(),
            Raises::Once => vec![raise()],
            Raises::AndLowers => vec![raise(), ArrayOrder::BecomeRaid5],
            Raises::Trades => vec![ArrayOrder::BecomeRaid5],
        }
    }
}

fn raising(seed: u64, requests: u32) -> Scene {
    let it = scene(seed / 2, requests);
    let befalls_joined = it.fate != Fate::None && (seed / 24) % 2 == 1;
    let disks = 3 + (seed % 2) as u16;
    let of_five = Scene { seed, level: Level::Parity, disks, victims: 1, log: LogFate::None, ..it };
    Scene { raises: Raises::Once, befalls_joined, ..of_five }
}

fn lowering(seed: u64, requests: u32) -> Scene {
    Scene { raises: Raises::AndLowers, ..raising(seed, requests) }
}

/// One that has its second parity on the last disk, of which up to two fail or are replaced.
fn raised(seed: u64, requests: u32) -> Scene {
    let disks = 4 + (seed % 2) as u16;
    let victims = 1 + (seed / 24) as usize % 2;
    Scene { seed, level: Level::SecondOnLast, disks, victims, ..scene(seed / 2, requests) }
}

#[test]
fn wherever_the_power_goes_with_the_second_parity_on_one_disk_what_was_flushed_is_there_and_all_agrees() {
    cut_many(raised);
}

#[test]
fn wherever_the_power_goes_while_a_second_parity_comes_what_was_flushed_is_there_and_all_agrees() {
    cut_many(raising);
}

#[test]
fn wherever_the_power_goes_while_a_second_parity_comes_and_goes_what_was_flushed_is_there_and_all_agrees() {
    cut_many(lowering);
}
