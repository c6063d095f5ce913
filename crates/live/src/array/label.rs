//! What is written on a disk of which array it is: its superblock.
//!
//! There are two copies, one before the data and one behind it, each with a checksum; they are written in turn, so that one that
//! was half written when the power went leaves the other. The events count what became of the array; a disk that does not know of
//! all of them was not there. In the same place stand the regions of the array that may have been written since it was last known
//! that copies and parities agree, and those that were never written at all.
//!
//! Each disk that takes a place of the array has a name of its own, and all disks know the names of those that are in the places
//! now; so one whose place was taken is never had for the one that took it. Of a disk that is being filled only its own superblock
//! says how far that has come: it is written after what it tells of is on the medium.

use super::regions::{REGION_BYTES, RegionBits};
use super::write_log::LogName;
use crate::castagnoli::crc32c;
use crate::unit::SumKey;
use block::BLOCK_BYTES;
use sched::array::{Grown, Level, MOST_DISKS};

/// Bytes of a copy.
pub(super) const LABEL_BYTES: usize = 8 << 10;
/// Blocks of a disk before its data, and behind: the first copy lies at the beginning of the former, the second is the latter. What
/// is noted while nobody waits for it goes to two more, in turn, so that neither way can harm what the other has written.
pub(crate) const BEFORE: u64 = (128 << 10) / BLOCK_BYTES;
pub(crate) const BEHIND: u64 = LABEL_BYTES as u64 / BLOCK_BYTES;
pub(super) const LATER: [u64; 2] = [BEHIND, 2 * BEHIND];

const MAGIC: &[u8; 8] = b"HTARRAY1";
/// Of an array that is growing: a version that does not know of that finds none.
const GROWING: &[u8; 8] = b"HTGROWS1";
/// Of one that is growing by several disks at once.
const GROWING_BY_SETS: &[u8; 8] = b"HTGROWS2";
/// Of one whose rows come to have parity in place of copies.
const TRADING: &[u8; 8] = b"HTGROWS3";
const HEAD: usize = 80;
/// Where the marked regions stand, where the names of the disks, and where the blank regions.
const MARKS: usize = HEAD + MOST_DISKS as usize;
const NAMES: usize = MARKS + REGION_BYTES;
const BLANKS: usize = NAMES + 8 * MOST_DISKS as usize;
/// Where the number of the first record of the journal that counts; and, behind a byte of whether there are checksums, of which service
/// this is, and of which it may be.
const JOURNAL: usize = BLANKS + REGION_BYTES;
const SERVICE: usize = JOURNAL + 9;
/// Where the name of the log is, without which the array is not to be had; zeros where there is none.
const LOG: usize = SERVICE + 16;
/// Where the disks that there were before it grew are, whether the next row is had from its copy, and the rows that have moved; and behind
/// them, by their length, the paths of the disks by which it grew last, with a zero between them.
const GROWTH: usize = LOG + 16;
const PATH: usize = GROWTH + 13;
/// The longest path of a disk by which an array grows, in bytes; of several, together.
pub(crate) const MOST_PATH: usize = 1024;
/// Where the copies are that each block had before rows came to have parity in their place; 0 where they never did.
const FORMER_COPIES: usize = PATH + MOST_PATH;
const _: () = assert!(FORMER_COPIES + 2 <= LABEL_BYTES);

/// What stands for the level of a RAID 6 whose second parity lies on the last disk: a version that does not know of that finds none.
const SECOND_ON_LAST: u16 = 0x65;

/// Which of the two copies of a superblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CopyPlace {
    BeforeData,
    BehindData,
}

/// What became of a disk, as the others have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Noted {
    Sound,
    /// It was given up: what it holds is of the past.
    GivenUp,
    /// It took the place of one that was, and is being filled.
    Filling,
}

/// An array whose rows move: it is growing by a disk, or they come to have parity in place of copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LabelGrowth {
    /// Disks that there were before: with parity in place of copies, as many as there are.
    pub(super) former: u16,
    /// How far it has come.
    pub(super) grown: Grown,
}

/// What stands on a disk about it and its array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Superblock {
    /// Which array it is.
    pub(super) array: [u8; 16],
    pub(super) level: Level,
    /// Blocks of a stripe unit, units of a disk.
    pub(super) unit: u32,
    pub(super) rows: u64,
    /// The how manieth disk of the array this is.
    pub(super) index: u16,
    /// What has become of the array, counted; and how often this was written since.
    pub(super) events: u64,
    pub(super) sequence: u64,
    pub(super) disks: Vec<Noted>,
    /// The names of the disks in these places, as each knows its own: 0 of those that the array was made of.
    pub(super) names: Vec<u64>,
    /// The name of this disk, and how many rows of it are filled, while it is being filled.
    pub(super) own_name: u64,
    pub(super) filled: u64,
    /// Regions that may have been written and not be alike on all disks.
    pub(super) dirty: RegionBits,
    /// Regions that were never written: zeros on every disk that holds what it should. An array of a version that did not note them
    /// has none.
    pub(super) blank: RegionBits,
    /// Records of the journal of rows count from this number on.
    pub(super) journal: u64,
    /// Whether its disks know checksums of their blocks.
    pub(super) sums: bool,
    /// The number that was drawn when the array was last begun to be served, and the one that a disk may still have which was not told
    /// of that; 0 before.
    pub(super) service: u64,
    pub(super) former_service: u64,
    /// The log of its write buffer, where something may be on that alone.
    pub(super) log: Option<LogName>,
    /// Whether it is growing, and how far it has come.
    pub(super) growth: Option<LabelGrowth>,
    /// Copies that each block had, where the array is one, or comes to be one, that has parity in their place; else 0.
    pub(super) former_copies: u16,
    /// Where the last of its disks were found when the array was told to grow by them; nothing where it was made of them.
    pub(super) joined: Vec<String>,
}

impl Superblock {
    /// As it is written.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(LABEL_BYTES);
        bytes.extend_from_slice(match (self.growth, self.level) {
            (None, _) => MAGIC,
            (Some(_), _) if self.traded_level().is_some() => TRADING,
            (Some(_), Level::Mirrored { .. }) => GROWING_BY_SETS,
            (Some(_), _) => GROWING,
        });
        bytes.extend_from_slice(&[0; 4]);
        let (level, copies) = match self.level {
            Level::Striped => (0_u16, 1_u16),
            Level::Mirrored { copies } => (1, copies),
            Level::Parity => (5, 1),
            Level::DoubleParity => (6, 1),
            Level::SecondOnLast => (SECOND_ON_LAST, 1),
        };
        [level, copies].iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
        bytes.extend_from_slice(&self.array);
        bytes.extend_from_slice(&self.unit.to_le_bytes());
        [self.index, self.disks.len() as u16].iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
        [self.rows, self.events, self.sequence]
            .iter()
            .for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
        [self.own_name, self.filled].iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
        bytes.extend(self.disks.iter().map(|noted| *noted as u8));
        bytes.resize(MARKS, 0);
        bytes.extend_from_slice(self.dirty.bytes());
        self.names.iter().for_each(|name| bytes.extend_from_slice(&name.to_le_bytes()));
        bytes.resize(BLANKS, 0);
        bytes.extend_from_slice(self.blank.bytes());
        bytes.extend_from_slice(&self.journal.to_le_bytes());
        bytes.push(self.sums.into());
        [self.service, self.former_service].iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
        bytes.extend_from_slice(&self.log.unwrap_or_default());
        let none = LabelGrowth { former: 0, grown: Grown { rows: 0, copied: false } };
        let LabelGrowth { former, grown } = self.growth.unwrap_or(none);
        bytes.extend_from_slice(&former.to_le_bytes());
        bytes.push(grown.copied.into());
        bytes.extend_from_slice(&grown.rows.to_le_bytes());
        // No path has a zero in it.
        let joined = self.joined.join("\0");
        bytes.extend_from_slice(&(joined.len().min(MOST_PATH) as u16).to_le_bytes());
        bytes.extend(joined.bytes().take(MOST_PATH));
        bytes.resize(FORMER_COPIES, 0);
        bytes.extend_from_slice(&self.former_copies.to_le_bytes());
        bytes.resize(LABEL_BYTES, 0);
        let sum = crc32c(&bytes);
        bytes[8..12].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// What was written; nothing where it is none, or not whole.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Superblock> {
        let mut bytes = bytes.get(..LABEL_BYTES)?.to_vec();
        let sum = u32::from_le_bytes(bytes[8..12].try_into().ok()?);
        bytes[8..12].fill(0);
        let grows = [GROWING, GROWING_BY_SETS, TRADING].contains(&bytes[..8].try_into().ok().as_ref()?);
        if !grows && &bytes[..8] != MAGIC || crc32c(&bytes) != sum {
            return None;
        }
        let small = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let large = |at: usize| bytes[at..at + 8].try_into().map(u64::from_le_bytes).ok();
        let level = match (small(12), small(14)) {
            (0, _) => Level::Striped,
            (1, copies) => Level::Mirrored { copies },
            (5, _) => Level::Parity,
            (6, _) => Level::DoubleParity,
            (SECOND_ON_LAST, _) => Level::SecondOnLast,
            _ => return None,
        };
        let noted = |byte: &u8| match byte {
            0 => Noted::Sound,
            2 => Noted::Filling,
            _ => Noted::GivenUp,
        };
        let disks = usize::from(small(38).min(MOST_DISKS));
        let grown = Grown { rows: large(GROWTH + 3)?, copied: bytes[GROWTH + 2] == 1 };
        let path = bytes.get(PATH..PATH + usize::from(small(PATH - 2)))?;
        Some(Superblock {
            array: bytes[16..32].try_into().ok()?,
            level,
            unit: u32::from_le_bytes(bytes[32..36].try_into().ok()?),
            index: small(36),
            rows: large(40)?,
            events: large(48)?,
            sequence: large(56)?,
            disks: bytes[HEAD..HEAD + disks].iter().map(noted).collect(),
            names: (0..disks).map(|disk| large(NAMES + 8 * disk)).collect::<Option<_>>()?,
            own_name: large(64)?,
            filled: large(72)?,
            dirty: RegionBits::from_bytes(&bytes[MARKS..NAMES])?,
            blank: RegionBits::from_bytes(bytes.get(BLANKS..JOURNAL)?)?,
            journal: large(JOURNAL)?,
            sums: bytes[JOURNAL + 8] == 1,
            service: large(SERVICE)?,
            former_service: large(SERVICE + 8)?,
            log: bytes[LOG..LOG + 16].try_into().ok().filter(|log| *log != [0; 16]),
            growth: grows.then_some(LabelGrowth { former: small(GROWTH), grown }),
            former_copies: small(FORMER_COPIES),
            joined: std::str::from_utf8(path).ok()?.split_terminator('\0').map(str::to_owned).collect(),
        })
    }

    /// Where its rows come to have parity in place of copies, the level that it had.
    pub(super) fn traded_level(&self) -> Option<Level> {
        let moves_within = self.growth.is_some_and(|growth| usize::from(growth.former) == self.disks.len());
        moves_within.then_some(Level::Mirrored { copies: self.former_copies })
    }

    /// Whether this was written before or after the array came to have a second parity on a disk of its own, and the other not: what
    /// lies on the disks that both have is the same.
    pub(super) fn is_other_level_of(&self, other: &Superblock) -> bool {
        let layout = |label: &Superblock| (label.array, label.unit, label.rows);
        let changed = |five: &Superblock, six: &Superblock| {
            (five.level, six.level) == (Level::Parity, Level::SecondOnLast) && five.disks.len() + 1 == six.disks.len()
        };
        layout(self) == layout(other) && (changed(self, other) || changed(other, self))
    }

    /// What is greater the later it was written, of one array.
    pub(super) fn age(&self) -> (u64, u64) {
        (self.events, self.sequence)
    }

    /// Whether another superblock of this array, which is no newer, is of the same past: not of a copy that was served by itself.
    pub(super) fn shares_past(&self, other: &Superblock) -> bool {
        [self.service, self.former_service].contains(&other.service)
    }

    /// Whose the checksums of the disk of this name are.
    pub(super) fn sum_key(&self, own_name: u64) -> SumKey {
        let mut key = [0; 24];
        key[..16].copy_from_slice(&self.array);
        key[16..].copy_from_slice(&own_name.to_le_bytes());
        key
    }

    /// The name of the array, as users see it.
    pub(super) fn name(&self) -> String {
        self.array.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
impl Superblock {
    /// Of one of three disks with parity, all sound.
    pub(super) fn example(index: u16) -> Superblock {
        Superblock {
            array: [7; 16],
            level: Level::Parity,
            unit: 8,
            rows: 10,
            index,
            events: 5,
            sequence: 1,
            disks: vec![Noted::Sound; 3],
            names: vec![0; 3],
            own_name: 0,
            filled: 0,
            dirty: RegionBits::default(),
            blank: RegionBits::default(),
            journal: 0,
            sums: false,
            service: 6,
            former_service: 6,
            log: None,
            growth: None,
            former_copies: 0,
            joined: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label() -> Superblock {
        let (mut dirty, mut blank) = (RegionBits::default(), RegionBits::default());
        [0, 7, 4095].into_iter().for_each(|region| dirty.add(region));
        [1, 4094].into_iter().for_each(|region| blank.add(region));
        let disks = vec![Noted::Sound, Noted::GivenUp, Noted::Filling];
        let array = std::array::from_fn(|i| i as u8 * 17);
        Superblock {
            array,
            level: Level::Parity,
            unit: 128,
            rows: 1 << 40,
            index: 2,
            events: 77,
            sequence: 9,
            disks,
            names: vec![0, 5, u64::MAX - 3],
            own_name: u64::MAX - 3,
            filled: 1 << 33,
            dirty,
            blank,
            journal: 1 << 50,
            sums: true,
            service: u64::MAX - 1,
            former_service: 1 << 63,
            log: Some([9; 16]),
            growth: Some(LabelGrowth { former: 2, grown: Grown { rows: 1 << 41, copied: true } }),
            former_copies: 513,
            joined: vec!["/a/disk".into(), "/another".into()],
        }
    }

    #[test]
    fn an_array_of_the_version_before_is_read_as_all_written() {
        // What stands behind the names was zeros there.
        let before = Superblock { blank: RegionBits::default(), journal: 0, sums: false, service: 0, ..label() };
        let mut bytes =
            Superblock { former_service: 0, log: None, growth: None, former_copies: 0, joined: Vec::new(), ..before }
                .to_bytes();
        assert!(bytes[NAMES + 8 * 3..].iter().all(|byte| *byte == 0));
        assert!(bytes.len() == LABEL_BYTES && PATH + MOST_PATH <= LABEL_BYTES);
        let read = Superblock::from_bytes(&bytes).expect("a label");
        assert_eq!((read.blank.count(), read.dirty.count(), read.journal), (0, 3, 0));
        bytes[BLANKS] ^= 1;
        assert_eq!(Superblock::from_bytes(&bytes), None, "the checksum is of the map, too");
    }

    #[test]
    fn a_version_that_does_not_know_of_growing_finds_no_array_that_does() {
        assert_eq!(label().to_bytes()[..8], *GROWING);
        // One that knows of growing by a disk alone.
        let mirrored = Superblock { level: Level::Mirrored { copies: 2 }, ..label() };
        assert_eq!(mirrored.to_bytes()[..8], *GROWING_BY_SETS);
        // One that does not know of parity in place of copies.
        let growth = label().growth.map(|growth| LabelGrowth { former: 3, ..growth });
        let trading = Superblock { growth, former_copies: 3, ..label() };
        assert_eq!(
            (&trading.to_bytes()[..8], trading.traded_level()),
            (&TRADING[..], Some(Level::Mirrored { copies: 3 }))
        );
        assert_eq!(Superblock::from_bytes(&trading.to_bytes()), Some(trading));
        let grown = Superblock { growth: None, ..label() };
        assert_eq!(grown.to_bytes()[..8], *MAGIC);
        assert_eq!(Superblock::from_bytes(&grown.to_bytes()), Some(grown));
    }

    #[test]
    fn of_the_most_disks_all_fits() {
        let count = usize::from(MOST_DISKS);
        let label = Superblock { disks: vec![Noted::Filling; count], names: (0..count as u64).collect(), ..label() };
        assert_eq!(Superblock::from_bytes(&label.to_bytes()), Some(label));
    }

    #[test]
    fn what_is_written_is_read_of_every_level() {
        let parities = [Level::Parity, Level::DoubleParity, Level::SecondOnLast];
        for level in [Level::Striped, Level::Mirrored { copies: 3 }].into_iter().chain(parities) {
            let label = Superblock { level, ..label() };
            assert_eq!(label.to_bytes().len(), LABEL_BYTES);
            assert_eq!(Superblock::from_bytes(&label.to_bytes()), Some(label));
        }
    }

    #[test]
    fn what_was_half_written_or_changed_is_none() {
        let (old, new) = (label().to_bytes(), Superblock { events: 78, ..label() }.to_bytes());
        for cut in 1..64 {
            let torn = [&new[..cut], &old[cut..]].concat();
            let whole = torn == new || torn == old;
            assert_eq!(Superblock::from_bytes(&torn).is_some(), whole, "cut at {cut}");
        }
        for at in 0..LABEL_BYTES {
            let mut changed = old.clone();
            changed[at] ^= 4;
            assert_eq!(Superblock::from_bytes(&changed), None, "changed at {at}");
        }
        assert_eq!(Superblock::from_bytes(&[0; LABEL_BYTES]), None);
        assert_eq!(Superblock::from_bytes(&old[..100]), None);
    }
}
