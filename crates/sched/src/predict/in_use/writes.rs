//! Whether the device takes writes into a buffer, what one costs then, and where the arm is after it.
//!
//! A write that comes back before an arm could be there went into a buffer that had room. Where a buffer is always full, each write
//! waits until another was written back, and comes back at any angle: that tells it from one that went to the medium, which ends
//! where its last block lies. Which one was written back is not known, nor where that left the arm, until the next read.

/// A write that took less than this share of what a read would take found room.
const QUICK: u64 = 2;
/// After so many in a row that found room the next one is believed to find it, too.
const TRUST: u32 = 8;
/// By chance angles are off by a quarter of a revolution: where they are off by more than this in the mean, writes do not end on the
/// medium; less than the other, and they do.
const BY_CHANCE: f32 = 0.18;
const IN_PLACE: f32 = 0.12;
/// Writes over which that mean is taken, about, and so many at least.
const LATELY: f32 = 64.0;
const FEWEST: u32 = 64;
/// Times count for 2⁻ⁿ of their mean.
const NEWEST: u32 = 4;

/// What is known of writes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WriteHabits {
    /// How many in a row found room.
    quick: u32,
    /// By how much of a revolution they were off of late, over how many, and whether that is so much that they do not end on the medium.
    off: f32,
    judged: u32,
    waits: bool,
    /// The mean time of one, in ns.
    time: u64,
    /// Where the last one went.
    beside: u64,
    /// Whether the arm has written something back since the last read.
    moved: bool,
    /// The mean time of a read after that, and of any other, in ns.
    read_time: u64,
    usual_read: u64,
}

impl WriteHabits {
    /// What one costs, wherever it lies, in ns; nothing where they go to the medium. The first after a read costs half of what the next read
    /// will lose by it, too: were it none, far reads would wait for long; were it all, near ones would be left too late.
    pub(super) fn cost(&self) -> Option<u64> {
        let lost = if self.moved || self.quick > 0 { 0 } else { self.read_time.saturating_sub(self.usual_read) / 2 };
        self.are_buffered().then_some(self.time + lost)
    }

    /// Where the last one went.
    pub(super) fn beside(&self) -> u64 {
        self.beside
    }

    /// What a read takes, in ns, where it is not known where the arm is.
    pub(super) fn read_time(&self) -> Option<u64> {
        self.moved.then_some(self.read_time)
    }

    fn are_buffered(&self) -> bool {
        self.quick >= TRUST || self.waits
    }

    /// A write to `block` took so long, with nothing else in the device, where a read would have been on its `way` for so long, in ns. It
    /// came back so much of a revolution `off` from its end. Says whether it went into a buffer.
    pub(super) fn note_write(&mut self, block: u64, took: u64, way: u64, off: Option<f32>) -> bool {
        let found_room = took < way / QUICK;
        self.quick = if found_room { self.quick.saturating_add(1) } else { 0 };
        if let Some(off) = off.filter(|_| !found_room) {
            self.judged = self.judged.saturating_add(1);
            self.off += (off - self.off) / LATELY.min(self.judged as f32);
            let bar = if self.waits { IN_PLACE } else { BY_CHANCE };
            self.waits = self.judged >= FEWEST && self.off > bar;
        }
        if !found_room && !self.waits {
            return false;
        }
        self.moved |= !found_room;
        self.beside = block;
        grow_mean(&mut self.time, took);
        true
    }

    /// A write ended on the medium: the arm is there.
    pub(super) fn find_arm(&mut self) {
        self.moved = false;
    }

    /// A read came from the medium, which began after so long.
    pub(super) fn note_read(&mut self, began: u64) {
        grow_mean(&mut self.usual_read, began);
        self.moved = false;
    }

    /// The same where it was not known where the arm was.
    pub(super) fn note_stray_read(&mut self, began: u64) {
        grow_mean(&mut self.read_time, began);
        self.moved = false;
    }
}

/// A mean of late takes a time in.
fn grow_mean(mean: &mut u64, time: u64) {
    *mean = if *mean == 0 { time } else { *mean - (*mean >> NEWEST) + (time >> NEWEST) };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a read's way is thought to take, in ns.
    const WAY: u64 = 5_000_000;

    #[test]
    fn a_buffer_with_room_is_told_by_writes_that_come_back_too_soon() {
        let mut writes = WriteHabits::default();
        (0..TRUST).for_each(|i| assert!(writes.note_write(u64::from(i), 200_000, WAY, Some(0.3)), "{i} found room"));
        assert_eq!((writes.cost(), writes.beside(), writes.read_time()), (Some(200_000), u64::from(TRUST) - 1, None));
        assert!(!writes.note_write(9, WAY, WAY, Some(0.0)));
        assert_eq!(writes.cost(), None, "the next one may go to the medium");
    }

    #[test]
    fn a_buffer_that_is_full_is_told_by_the_angles_at_which_writes_come_back() {
        let mut writes = WriteHabits::default();
        let angle = |i: u32| (i * 37 % 100) as f32 / 200.0;
        (0..2 * FEWEST).for_each(|i| _ = writes.note_write(7, WAY, WAY, Some(angle(i))));
        assert_eq!(writes.cost(), Some(WAY));
        assert_eq!(writes.read_time(), Some(0), "where the arm is, is not known");
        writes.note_stray_read(9_000_000);
        assert_eq!(writes.read_time(), None, "it is known again");
        writes.note_read(5_000_000);
        assert_eq!(writes.cost(), Some(WAY + 2_000_000), "half of what the next read loses");
        writes.note_write(7, WAY, WAY, Some(0.3));
        assert_eq!((writes.cost(), writes.read_time()), (Some(WAY), Some(9_000_000)));
        writes.find_arm();
        assert_eq!(
            (writes.cost(), writes.read_time()),
            (Some(WAY + 2_000_000), None),
            "the arm has written to the medium"
        );
        // Another device: its writes end where their blocks lie.
        (0..10 * FEWEST).for_each(|_| _ = writes.note_write(7, WAY, WAY, Some(0.01)));
        assert_eq!(writes.cost(), None);
    }

    #[test]
    fn writes_to_the_medium_are_no_buffered_ones() {
        let mut writes = WriteHabits::default();
        (0..1000).for_each(|i| assert!(!writes.note_write(i, WAY, WAY, Some(0.04)), "{i}"));
        (0..1000).for_each(|i| assert!(!writes.note_write(i, WAY, WAY, None), "{i}: of no known angle"));
        assert_eq!((writes.cost(), writes.read_time()), (None, None));
    }
}
