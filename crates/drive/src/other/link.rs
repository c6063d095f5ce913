//! A bus or a network: one transfer at a time, each at the first gap that is long enough for it.

use block::{BLOCK_BYTES, Span, Time};

/// What carries the data of several commands in turn.
#[derive(Clone, Debug)]
pub(super) struct Link {
    ns_per_block: f64,
    /// From when until when it is taken, in order.
    taken: Vec<(Time, Time)>,
}

impl Link {
    /// A link of so many 10^6 bytes/s.
    pub(super) fn new(mb_s: f64) -> Link {
        Link { ns_per_block: BLOCK_BYTES as f64 * 1e3 / mb_s, taken: Vec::new() }
    }

    /// When so many blocks are carried that are there at `ready`, from and until. Whoever asks next, asks at `now` or
    /// later.
    pub(super) fn carry(&mut self, now: Time, ready: Time, blocks: u32) -> (Time, Time) {
        self.taken.retain(|(_, end)| *end > now);
        let span = Span((f64::from(blocks) * self.ns_per_block + 0.5) as u64);
        let mut begin = ready;
        let mut place = 0;
        for (from, to) in &self.taken {
            if begin + span <= *from {
                break;
            }
            begin = begin.max(*to);
            place += 1;
        }
        self.taken.insert(place, (begin, begin + span));
        (begin, begin + span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transfer_takes_the_first_gap_that_is_long_enough() {
        // A block a microsecond.
        let mut link = Link::new(512.0);
        let mut carry = |ready: u64, blocks| {
            let (from, to) = link.carry(Time::ZERO, Time(ready * 1000), blocks);
            (from.0 / 1000, to.0 / 1000)
        };
        assert_eq!(carry(100, 10), (100, 110));
        assert_eq!(carry(115, 10), (115, 125));
        assert_eq!(carry(0, 100), (0, 100));
        assert_eq!(carry(0, 5), (110, 115));
        assert_eq!(carry(0, 1), (125, 126));
    }
}
