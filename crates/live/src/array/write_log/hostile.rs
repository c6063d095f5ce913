//! Reading of logs that somebody wrote who means no good.

use super::pages::{PAGE_BYTES, find, read_label, seal_anew};
use crate::memory::Slice;
use crate::store::Unwritten;
use crate::unit::{LiveDevice, Ram};
use block::Extent;
use sched::array::LOG_PAGE;

/// Reads a log of these pages, whose checksums are made to agree, whatever is on them: how many writes are found that are needed.
pub fn read_log(bytes: &[u8]) -> Option<usize> {
    let mut pages = bytes.to_vec();
    pages.resize(bytes.len().next_multiple_of(PAGE_BYTES), 0);
    let count = (pages.len() / PAGE_BYTES) as u64;
    let mut unit = Ram::new((count + 1) * u64::from(LOG_PAGE), Unwritten::Zeros);
    for (number, page) in (0..).zip(pages.chunks(PAGE_BYTES)) {
        let at = Extent::new(number * u64::from(LOG_PAGE), LOG_PAGE);
        unit.store(at, &Slice::holding(&seal_anew(page))).ok()?;
    }
    let label = read_label(&mut unit).filter(|label| label.pages > 0 && label.pages < count)?;
    find(&mut unit, &label).ok().map(|found| found.writes.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::write_log::pages::{BatchHead, LogLabel, MOST_WRITES};
    use load::Draw;

    /// Batches whose numbers, places and lengths are anything, though each is whole.
    #[test]
    fn whatever_stands_on_a_log_is_read_or_refused() {
        let mut found = 0;
        for seed in 0..300 {
            let mut draw = Draw::new(seed, 0);
            let pages = 1 + draw.below(12);
            let log = [draw.below(2) as u8; 16];
            let mut bytes = LogLabel { array: [1; 16], log, pages: pages + draw.below(2) * draw.below(99) }.to_bytes();
            for page in 0..pages {
                let mut number =
                    |most: u64| if draw.below(9) == 0 { u64::MAX - draw.below(3) } else { draw.below(most) };
                let (sequence, place, oldest) =
                    (number(5), number(3).wrapping_mul(7).wrapping_add(page), (number(5), number(pages)));
                let count = if number(9) == 0 { MOST_WRITES as u64 } else { number(3).min(9) };
                let write = |_| Extent::new(number(99), 1 + number(30) as u32 % (1 << 30));
                let writes = (0..count).map(write).collect();
                let place = if place % 3 == 0 { page } else { place };
                // The checksum of nothing, as it were; or of zeros.
                let head = BatchHead { log: [0; 16], sequence, page: place, oldest, writes, sum: 0 };
                bytes.extend(if seed % 4 == 0 { vec![7; PAGE_BYTES] } else { head.to_bytes() });
            }
            found += u64::from(read_log(&bytes).is_some());
        }
        assert!(found > 0, "none is read");
    }
}
