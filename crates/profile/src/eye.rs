//! The angle of a sector as a completion shows it. The clock is kept in step by reading old acquaintances again.

use crate::bench::Bench;
use crate::clock::Clock;
use crate::estimate::{fraction, median, signed};
use block::{BadInput, Device, Time};
use std::collections::VecDeque;

/// The time between two looks at an old acquaintance, ns: at first, and at most.
const SOON: u64 = 50_000_000;
const LATE: u64 = 2_000_000_000;
/// Old acquaintances kept.
const KEPT: usize = 64;

/// A sector seen before.
#[derive(Clone, Copy, Debug)]
struct Seen {
    sector: u64,
    angle: f64,
    /// Commands given by then.
    at: u64,
}

/// How often an angle must be looked at, completions scattering by so many revolutions, for their median to be as good as
/// one that does not scatter; no oftener than can be borne.
fn looks(noise: f64) -> usize {
    let (fine, most) = (6e-5, 9);
    let looks = libm::ceil(1.6 * (noise / fine) * (noise / fine));
    if noise < fine { 1 } else { (looks as usize).clamp(3, most) | 1 }
}

/// A device on the bench, and its platter as a clock.
#[derive(Debug)]
pub struct Eye<'b, 'd, D> {
    /// The device.
    pub bench: &'b mut Bench<'d, D>,
    /// The clock.
    pub clock: Clock,
    seen: VecDeque<Seen>,
    looked: Time,
    interval: u64,
}

impl<'b, 'd, D: Device> Eye<'b, 'd, D> {
    /// A device whose platter keeps this time.
    pub fn new(bench: &'b mut Bench<'d, D>, clock: Clock) -> Eye<'b, 'd, D> {
        let looked = bench.now();
        Eye { bench, clock, seen: VecDeque::with_capacity(KEPT), looked, interval: SOON }
    }

    /// The angle at which a sector has passed, revolutions: its end, later by all that is constant in a completion.
    /// Nothing if it cannot be read.
    ///
    /// # Errors
    /// As [`Bench::read`].
    pub fn angle(&mut self, sector: u64) -> Result<Option<f64>, BadInput> {
        self.follow()?;
        let Some(mut angle) = self.glance(sector)? else { return Ok(None) };
        let looks = looks(self.clock.noise);
        if looks > 1 {
            let mut offs = vec![0.0];
            for _ in 1..looks {
                self.bench.forget(sector)?;
                offs.extend(self.glance(sector)?.map(|again| signed(again - angle)));
            }
            angle = fraction(angle + median(&offs));
        }
        if self.seen.len() == KEPT {
            self.seen.pop_front();
        }
        let at = self.bench.commands;
        if self.seen.back().is_none_or(|last| at > last.at + u64::from(self.bench.memory.forgotten_after) / 16) {
            self.seen.push_back(Seen { sector, angle, at });
        }
        Ok(Some(angle))
    }

    /// The same, by the clock as it is.
    fn glance(&mut self, sector: u64) -> Result<Option<f64>, BadInput> {
        Ok(self.bench.read_medium(sector)?.map(|reply| self.clock.phase(reply.end)))
    }

    /// Sets the clock, if that is due, by two acquaintances that agree.
    fn follow(&mut self) -> Result<(), BadInput> {
        if self.bench.now().since(self.looked).0 < self.interval {
            return Ok(());
        }
        let Some(mut off) = self.off()? else { return Ok(()) };
        let quiet = 6.0 * self.clock.noise;
        if off.abs() > quiet {
            match self.off()? {
                Some(again) if signed(again - off).abs() < quiet + 0.2 * off.abs() => off = again,
                _ => return Ok(()),
            }
        }
        self.looked = self.bench.now();
        self.clock.anchor(self.looked, off);
        self.interval = if off.abs() > quiet { self.interval / 2 } else { self.interval * 2 }.clamp(SOON / 2, LATE);
        Ok(())
    }

    /// How far an old acquaintance is from where it was.
    fn off(&mut self) -> Result<Option<f64>, BadInput> {
        let long_ago = self.bench.commands.saturating_sub(2 * u64::from(self.bench.memory.forgotten_after) + 4);
        let Some(i) = self.seen.iter().position(|seen| seen.at <= long_ago) else { return Ok(None) };
        let Some(mut seen) = self.seen.remove(i) else { return Ok(None) };
        let angle = self.glance(seen.sector)?;
        seen.at = self.bench.commands;
        self.seen.push_back(seen);
        Ok(angle.map(|angle| signed(fraction(seen.angle) - angle)))
    }
}
