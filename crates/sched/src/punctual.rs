//! Whether seeks may be put off until just in time.
//!
//! Where too many of those that were come too late, what is believed of the drive, or how soon its host hears of it, is not
//! good enough: each costs a revolution. Then requests go at once, and their short commands are all that lets others in
//! between, until it is tried again.

/// Of the last so many, a quarter late is too many: shares are in 2^-16.
const LAST: u32 = 32;
const TOO_MANY: u32 = 1 << 14;
/// What is assumed when it is tried again.
const DOUBT: u32 = 1 << 13;
/// So many requests go at once before it is.
const REST: u32 = 256;

/// How a head came to its sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    InTime,
    /// A revolution was lost.
    Late,
}

/// How punctual arrivals were of late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Punctuality {
    late: u32,
    /// Requests that are still to go at once.
    rest: u32,
}

impl Punctuality {
    /// Whether the seek of a request may be timed.
    pub(crate) fn holds(self) -> bool {
        self.rest == 0
    }

    /// A request is to be served.
    pub(crate) fn next(&mut self) {
        self.rest = self.rest.saturating_sub(1);
    }

    /// A timed seek has come to its sector; whether that was one too many that were late.
    pub(crate) fn add_arrival(&mut self, arrival: Arrival) -> bool {
        self.late = self.late - self.late / LAST + if arrival == Arrival::Late { (1 << 16) / LAST } else { 0 };
        let too_many = self.late > TOO_MANY && self.holds();
        if too_many {
            (self.late, self.rest) = (DOUBT, REST);
        }
        too_many
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one_late_in(all: u32, n: u32) -> Arrival {
        if n.is_multiple_of(all) { Arrival::Late } else { Arrival::InTime }
    }

    #[test]
    fn what_is_rarely_late_is_never_given_up() {
        let mut punctuality = Punctuality::default();
        assert!((0..10_000).all(|n| !punctuality.add_arrival(one_late_in(8, n))), "one in eight");
    }

    #[test]
    fn what_is_often_late_is_given_up_for_a_while_and_tried_again() {
        let mut punctuality = Punctuality::default();
        let mut timed = 0;
        for n in 0..10_000 {
            punctuality.next();
            if punctuality.holds() {
                timed += 1;
                punctuality.add_arrival(one_late_in(2, n));
            }
        }
        assert!((300..1500).contains(&timed), "{timed} of 10,000 were tried");
        (0..REST).for_each(|_| punctuality.next());
        assert!(punctuality.holds());
        assert!((0..10_000).all(|_| !punctuality.add_arrival(Arrival::InTime)), "it holds once it is in time again");
    }
}
