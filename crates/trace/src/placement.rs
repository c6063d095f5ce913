//! Where on a disk the files lie of a trace whose requests name files, not blocks.
//!
//! Such a trace tells which file a request is for and where in it, but not where the file lay. Each file begins where a hash of
//! its name says, so that its requests keep their distances among each other and those of two files are as far apart as two
//! places of a full disk. Nothing is kept, whatever the number of files; two of them seldom overlap.

use block::Extent;

use crate::number::extent;
use crate::reader::Fault;

/// Where a file may begin: whole MiB of 8 TiB, which drives of such servers hold.
const PLACES: u64 = 8 << 20;
const PLACE_SHIFT: u32 = 20;

/// The blocks of `bytes` at `offset` of a file of this name, and whether they cover more than these bytes.
///
/// # Errors
/// When they end beyond any device.
pub(crate) fn place(file: &[u8], offset: u64, bytes: u64) -> Result<(Extent, bool), Fault> {
    let begin = (hash(file) % PLACES) << PLACE_SHIFT;
    let from = begin
        .checked_add(offset)
        .ok_or_else(|| Fault::new(format!("the request begins {offset} bytes into its file, beyond any device")))?;
    extent(from, 1, bytes, 1)
}

/// FNV-1a, its bits mixed once more (SplitMix64): names that differ in a digit lie far apart.
fn hash(name: &[u8]) -> u64 {
    let folded = name
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    let mixed = (folded ^ folded >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_file_keeps_its_distances_and_files_spread_over_all_places() {
        let (begin, _) = place(b"17", 0, 4096).unwrap();
        assert_eq!(begin.start.0 % (1 << (PLACE_SHIFT - 9)), 0);
        assert_eq!(place(b"17", 1 << 30, 512).unwrap().0.start.0 - begin.start.0, 1 << 21);
        let eighths: BTreeSet<u64> =
            (0..200).map(|n| place(n.to_string().as_bytes(), 0, 1).unwrap().0.start.0 >> 31).collect();
        assert_eq!(eighths.len(), 8, "8 TiB are 2^34 blocks");
        assert!(place(b"17", u64::MAX, 1).is_err());
    }
}
