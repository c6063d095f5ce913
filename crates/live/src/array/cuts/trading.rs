//! The power goes while mirrored stripes come to have parity in place of copies, at any write of that: what was flushed is where it lies
//! by then, in rows that have parity or in those that have copies yet; and what comes to be there behind it is zeros.

use super::growing::cut_many;
use super::*;

fn trading(seed: u64, requests: u32) -> Scene {
    // Of two copies the first two rows overwrite themselves, of three the first.
    let (copies, disks) = [(2, 4), (3, 3), (2, 6), (3, 6)][seed as usize % 4];
    let level = Level::Mirrored { copies };
    let it = scene(seed / 4, requests);
    Scene { seed, level, disks, victims: 1, log: LogFate::None, raises: Raises::Trades, ..it }
}

#[test]
fn wherever_the_power_goes_while_parity_comes_in_place_of_copies_what_was_flushed_is_there_and_all_agrees() {
    cut_many(trading);
}
