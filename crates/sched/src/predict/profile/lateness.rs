//! How often an arrival that leaves a given wait for its sector comes too late and costs a revolution.
//!
//! Seeks vary. Whether one took longer than its wait allowed shows in the completion: it comes a revolution
//! late. Counted by the wait that was left, this gives each candidate the revolution it is likely to cost; on a
//! drive that does as its sheet says, it gives none.

/// Classes of waits: 1/128 revolution each.
const CLASSES: usize = 128;
const CLASS_SHIFT: u32 = 28 - 7;
/// A class with so many samples forgets half of them.
const MEMORY: u32 = 2048;
/// On-time arrivals assumed in every class beforehand.
const PRIOR: u32 = 4;

/// Learned lateness.
#[derive(Clone, Debug)]
pub struct Lateness {
    seen: [u32; CLASSES],
    late: [u32; CLASSES],
    /// Ticks an arrival of this class is expected to lose.
    penalty: [u32; CLASSES],
}

impl Lateness {
    pub(super) fn new() -> Lateness {
        Lateness { seen: [0; CLASSES], late: [0; CLASSES], penalty: [0; CLASSES] }
    }

    /// Ticks an arrival that leaves `wait` ticks (less than a revolution) is expected to lose.
    pub(super) fn penalty(&self, wait: u64) -> u64 {
        u64::from(self.penalty[(wait >> CLASS_SHIFT) as usize % CLASSES])
    }

    /// An arrival that should have left `wait` ticks came in time or late.
    pub(super) fn observed(&mut self, wait: u64, late: bool) {
        let class = (wait >> CLASS_SHIFT) as usize % CLASSES;
        self.seen[class] += 1;
        self.late[class] += u32::from(late);
        if self.seen[class] >= MEMORY {
            self.seen[class] /= 2;
            self.late[class] /= 2;
        }
        let share = u64::from(self.late[class]) << 28;
        self.penalty[class] = (share / u64::from(self.seen[class] + PRIOR)) as u32;
    }
}
