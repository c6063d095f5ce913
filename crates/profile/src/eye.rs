//! The angle of a sector as a completion shows it. The clock is kept in step by reading old acquaintances again.

use crate::Thoroughness;
use crate::bench::ProbeBench;
use crate::clock::PhaseClock;
use crate::drift::MapDrift;
use crate::effort::TimedPart;
use crate::estimate::{fraction, signed_fraction};
use block::{BadInput, Device, Extent, Span, Time, Verb};
use disk::Ahead;
use std::collections::{BTreeMap, VecDeque};

/// The time between two looks at an old acquaintance, ns: at first, and at most.
const SOON: u64 = 50_000_000;
const LATE: u64 = 2_000_000_000;
/// How many sectors of known angle are kept to come back to.
const KEPT: usize = 64;
/// A memory of so many segments is worth going round rather than driving out.
const MANY: u32 = 32;
/// Sectors that a read of one in memory begins before it, to end on the medium.
const RUN_UPS: [u64; 8] = [2, 40, 5, 90, 200, 13, 150, 260];
/// How many angles are remembered.
const RECALLED: usize = 4096;

/// A sector seen before.
#[derive(Clone, Copy, Debug)]
struct Seen {
    sector: u64,
    angle: f64,
    /// Commands given by then.
    at: u64,
}

/// A reply as late as this, revolutions, is on time: a quarter of a sector where a track has some four thousand.
pub(crate) const ON_TIME: f64 = 6e-5;
/// What a single look is off by chance, in standard deviations of a completion.
const BY_CHANCE: f64 = 3.0;
/// An angle that is nearer to where a sector may be than this share of its width, an eighth, needs no further look.
const THERE: f64 = 0.12;
/// A read round memory is from the medium if it takes more than this share of a revolution, and is no look at another place
/// if it is off by less than so many standard deviations.
const ROUND: f64 = 0.6;
const FAR_OFF: f64 = 12.0;
/// Reads round memory that ended alike, within so many standard deviations and a third of what is on time, ended with the
/// same sector.
const SAME: f64 = 4.0;
const SAME_AT_LEAST: f64 = ON_TIME / 3.0;
/// The clock is off by more than chance from so many times its blur on; two acquaintances then agree if they are apart by no
/// more than that and a share of what both say.
const QUIET: f64 = 6.0;
const AGREE: f64 = 0.2;

/// How often an angle must be looked at where replies are late by so many revolutions on the mean, for the least late of
/// them to be on time by a quarter of a narrow sector; no oftener than can be borne.
fn looks(noise: f64) -> usize {
    if noise < ON_TIME { 1 } else { (libm::ceil(noise / ON_TIME) as usize).clamp(3, 64) }
}

/// A device on the bench, and its platter as a clock.
#[derive(Debug)]
pub struct Eye<'b, 'd, D> {
    /// The device that is asked.
    pub bench: &'b mut ProbeBench<'d, D>,
    /// The clock that times become angles by.
    pub clock: PhaseClock,
    /// How much later than a read of a sector a write of it completes, ms.
    pub write_lag: f64,
    /// Whether the device reads on after a read, and has to be called off.
    pub reads_on: bool,
    /// How far it reads on, as soon as that is known, and how many sectors at most.
    pub ahead: (Ahead, u64),
    /// No read of several sectors begins before this one: where it crossed to another track it might not end with its last.
    pub since: u64,
    /// Whether sectors come by beside the angles that the map has.
    pub(crate) drift: MapDrift,
    seen: VecDeque<Seen>,
    recalled: BTreeMap<u64, f64>,
    looked: Time,
    interval: u64,
}

impl<'b, 'd, D: Device> Eye<'b, 'd, D> {
    /// A device whose platter keeps this time.
    pub fn new(bench: &'b mut ProbeBench<'d, D>, clock: PhaseClock) -> Eye<'b, 'd, D> {
        let looked = bench.now();
        let mut clock = clock;
        clock.blur = BY_CHANCE * clock.noise / looks(clock.noise).max(3) as f64;
        Eye {
            bench,
            clock,
            write_lag: 0.0,
            reads_on: false,
            ahead: (Ahead::Nowhere, 0),
            since: 0,
            drift: MapDrift::default(),
            seen: VecDeque::with_capacity(KEPT),
            recalled: BTreeMap::new(),
            looked,
            interval: SOON,
        }
    }

    /// Begins a part that may have to end before all of it was asked.
    pub(crate) fn begin(&mut self, part: TimedPart, effort: Thoroughness) {
        self.bench.begin(part, effort, Span(self.clock.period as u64));
    }

    /// A part that ends when its time is over; the bench keeps which of them did.
    ///
    /// # Errors
    /// Those of what is done in it.
    pub(crate) fn in_time<T>(
        &mut self,
        part: TimedPart,
        effort: Thoroughness,
        learn: impl FnOnce(&mut Eye<'b, 'd, D>) -> Result<T, BadInput>,
    ) -> Result<T, BadInput> {
        self.begin(part, effort);
        let found = learn(self)?;
        self.bench.hurried.extend(self.bench.is_out_of_time().then_some(part));
        self.bench.end_part();
        Ok(found)
    }

    /// The angle at which a sector has passed, revolutions: its end, later by all that is constant in a completion.
    /// Nothing if it cannot be read.
    ///
    /// # Errors
    /// As [`ProbeBench::read`].
    pub fn angle(&mut self, sector: u64) -> Result<Option<f64>, BadInput> {
        self.see(sector, None)
    }

    /// The same, of one that may be `at` an angle, in sectors so wide. What was seen for certain may set the clock later.
    fn see(&mut self, sector: u64, at: Option<(f64, f64)>) -> Result<Option<f64>, BadInput> {
        self.follow()?;
        let Some((angle, certain)) = self.look_for_certain(sector, at)? else { return Ok(None) };
        if self.seen.len() == KEPT {
            self.seen.pop_front();
        }
        let now = self.bench.commands;
        let due = self.seen.back().is_none_or(|last| now > last.at + u64::from(self.bench.memory.forgotten_after) / 16);
        if certain && due {
            self.seen.push_back(Seen { sector, angle, at: now });
        }
        Ok(Some(angle))
    }

    /// The angle of a sector, and whether that is certain: not where it was seen round memory, or but as good as `at` one.
    fn look_for_certain(&mut self, sector: u64, at: Option<(f64, f64)>) -> Result<Option<(f64, bool)>, BadInput> {
        let before = self.bench.commands;
        let angle = self.look(sector, at)?;
        let many = looks(self.clock.noise) > 1;
        let certain = if many { at.is_none() } else { self.bench.commands == before + 1 };
        Ok(angle.map(|angle| (angle, certain)))
    }

    /// Goes to a sector and reads it; whether that could be done.
    ///
    /// # Errors
    /// As [`ProbeBench::read`].
    pub fn visit(&mut self, sector: u64) -> Result<bool, BadInput> {
        self.follow()?;
        Ok(self.bench.read_medium(sector)?.is_some())
    }

    /// The angle of a sector, the least late of as many looks as it takes; of fewer, if one is as good as `at` an angle, by
    /// an eighth of a width.
    fn look(&mut self, sector: u64, at: Option<(f64, f64)>) -> Result<Option<f64>, BadInput> {
        let Some(first) = self.glance(sector, at)? else { return Ok(None) };
        let mut least = 0.0f64;
        for count in 1..looks(self.clock.noise) as u64 {
            if at.is_some_and(|(angle, width)| signed_fraction(first + least - angle).abs() < THERE * width) {
                break;
            }
            // What begins one sector sooner each time is not in memory.
            let began = self.bench.now();
            let run_up = self.run_up(sector, count)?.map(|again| signed_fraction(again - first));
            let turned = self.bench.now().since(began).0 as f64 / self.clock.period;
            match run_up.filter(|off| turned > ROUND && off.abs() < FAR_OFF * self.clock.noise) {
                Some(off) => least = least.min(off),
                None => {
                    self.bench.forget(sector)?;
                    least = self.glance(sector, None)?.map_or(least, |again| least.min(signed_fraction(again - first)));
                }
            }
        }
        Ok(Some(fraction(first + least)))
    }

    /// The angle of a sector that may be `at` one, in sectors so wide, as it was when last asked for, if that is not long
    /// ago.
    ///
    /// # Errors
    /// As [`ProbeBench::read`].
    pub fn recall(&mut self, sector: u64, at: Option<(f64, f64)>) -> Result<Option<f64>, BadInput> {
        if let Some(angle) = self.recalled.get(&sector) {
            return Ok(Some(*angle));
        }
        let angle = self.see(sector, at)?;
        if self.recalled.len() >= RECALLED {
            self.recalled.clear();
        }
        self.recalled.extend(angle.map(|angle| (sector, angle)));
        Ok(angle)
    }

    /// The same, by the clock as it is.
    fn glance(&mut self, sector: u64, at: Option<(f64, f64)>) -> Result<Option<f64>, BadInput> {
        let Some(reply) = self.bench.read(sector)? else { return Ok(None) };
        if !self.bench.is_hit(reply.response()) {
            return Ok(Some(self.clock.phase(reply.end)));
        }
        let run_ups = if self.bench.memory.forgotten_after < MANY { &[][..] } else { &RUN_UPS };
        let most = sector.saturating_sub(self.since);
        for before in run_ups {
            let a = self.run_up(sector, *before)?;
            if a.is_some_and(|a| at.is_some_and(|(angle, width)| signed_fraction(a - angle).abs() < THERE * width)) {
                return Ok(a);
            }
            // What crosses to a track comes to its first sector, or to others. It goes on as the bus has it, which may be slower than the
            // medium: those after the first would all end too late, and alike.
            if before + 3 > most && most > 0 {
                continue;
            }
            let (b, c) = (self.run_up(sector, before + 1)?, self.run_up(sector, before + 3)?);
            let alike = SAME_AT_LEAST + SAME * self.clock.noise;
            let same = |other: f64| a.is_some_and(|a| signed_fraction(a - other).abs() < alike);
            // All ended with the sector, unless one was answered from memory or began in its middle.
            if b.is_some_and(same) && c.is_some_and(same) {
                return Ok(a);
            }
        }
        Ok(self.bench.read_medium(sector)?.map(|reply| self.clock.phase(reply.end)))
    }

    /// The angle at which a read of a sector and so many before it ended: that of the sector, if they are not in memory,
    /// even where that one is.
    fn run_up(&mut self, sector: u64, before: u64) -> Result<Option<f64>, BadInput> {
        let shift = self.bench.shift;
        let Some(first) = sector.checked_sub(before) else { return Ok(None) };
        let reply = self.bench.command(Verb::Read, Extent::new(first << shift, (before << shift) as u32 + 1))?;
        Ok(reply.done.then(|| self.clock.phase(reply.end)))
    }

    /// Sets the clock, if that is due, by two acquaintances that agree.
    fn follow(&mut self) -> Result<(), BadInput> {
        if self.bench.now().since(self.looked).0 < self.interval {
            return Ok(());
        }
        let Some(mut off) = self.off()? else { return Ok(()) };
        let quiet = QUIET * self.clock.blur;
        if off.abs() > quiet {
            match self.off()? {
                Some(again) if signed_fraction(again - off).abs() < quiet + AGREE * off.abs() => off = again,
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
        let since = std::mem::take(&mut self.since);
        let found = self.look_for_certain(seen.sector, None)?;
        self.since = since;
        seen.at = self.bench.commands;
        self.seen.push_back(seen);
        Ok(found.filter(|(_, certain)| *certain).map(|(angle, _)| signed_fraction(fraction(seen.angle) - angle)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::ProbeDraw;
    use crate::estimate::{median, quantile};
    use crate::platter::{PERIOD, Platter};

    /// How far angles are from where they are, revolutions, apart from what is constant, as a clock goes that is off by so much of
    /// its period; those of one in a hundred sectors left out.
    fn off_by(wrong: f64, late: Option<(usize, f64)>) -> f64 {
        let mut platter = Platter::of_zones(2, &[(40, 200)]);
        platter.late = late;
        let map = platter.geometry.map.clone();
        let mut bench = ProbeBench::new("platter", &mut platter, 1, None);
        let clock = PhaseClock::new(PERIOD * (1.0 + wrong), 1e-6, bench.now());
        let (mut eye, mut draw, mut offs) = (Eye::new(&mut bench, clock), ProbeDraw::new(4), Vec::new());
        for _ in 0..6_000 {
            let sector = draw.below(40 * 2 * 200);
            let angle = eye.angle(sector).expect("it is read").expect("it can be read");
            let place = map.place(sector);
            offs.push(signed_fraction(angle - place.angle - place.width()));
        }
        let middle = median(&offs[..100]);
        let offs: Vec<f64> = offs.iter().map(|off| signed_fraction(off - middle).abs()).collect();
        quantile(&offs, 0.98)
    }

    #[test]
    fn a_clock_is_kept_in_step_and_a_reply_that_is_late_does_not_set_it() {
        assert!(off_by(0.0, None) < 1e-6);
        // Left to itself it would be off by a hundredth of a revolution at the end, and by as much in between.
        for wrong in [3e-6, -3e-6] {
            assert!(off_by(wrong, None) < 5e-4, "{wrong}: {}", off_by(wrong, None));
        }
        for (every, late) in [(101, 0.03), (67, 0.2), (83, 0.5)] {
            assert!(off_by(0.0, Some((every, late))) < 5e-4, "{every}, {late}: {}", off_by(0.0, Some((every, late))));
        }
    }
}
