//! How soon after one read another, on another track, can be begun: the least time from the completion of the first until
//! the sector of a second begins that comes just in time. Each trial asks for a sector that comes by at a chosen moment and sees
//! whether it was caught then or a revolution later; the moments are narrowed down, and a normal distribution is fitted
//! to what was caught (SYSTEM.md, Section 3).

use crate::drift::off_by_chance;
use crate::estimate::{extremes, fraction, signed_fraction};
use crate::eye::Eye;
use crate::map::{MapRegion, SectorPlace};
use block::{BadInput, Device, Extent, Span, Verb};
use disk::Ahead;

/// How many of the trials nothing explains: stalls, and seeks that fail to settle.
const LAPSE: f64 = 0.04;
/// Trials that tell nothing, at most.
const MISHAPS: usize = 60;
/// Spreads looked for, ms.
const SPREADS: (f64, f64) = (0.0005, 3.0);
/// Means tried between the first and the last trial, and then again between those beside the best.
const STEPS: u32 = 120;
const MEANS: usize = STEPS as usize + 1;
const FINER: u32 = 40;
/// Logarithms of likelihoods that differ by less are alike.
const ALIKE: f64 = 0.05;
/// The least that trials differ by, and what is not known of a reach, as shares of a revolution: where nothing varies.
const NARROW: f64 = 1.0 / 5000.0;
/// The bisection ends with a gap of this share of a revolution; trials then begin so far to either side of its middle, and never
/// go further than a third of a revolution: half of one is what tells a catch from a miss.
const ROUGH: f64 = 1.0 / 60.0;
const BEGINS: f64 = 1.0 / 40.0;
const WIDEST: f64 = 1.0 / 3.0;
/// Trials tell most within so many spreads of the mean.
const TELLING: f64 = 2.5;
/// Where the spread is less than this share of a revolution, nothing varies.
const STEADY: f64 = 1.0 / 300.0;
/// Each spread that is tried is so many times the one before: neighbours are as likely as one another.
const COARSE: f64 = 1.12;
/// How likely a catch is that nothing explains, and the least that any trial is likely, whose logarithm is taken.
const BY_MISHAP: f64 = 0.002;
const UNLIKELY: f64 = 1e-9;
/// Half the quantile of χ² of one degree at 95 %: by how much a logarithm of likelihood may fall short of the most.
const REJECTED: f64 = 1.92;
/// The variance of a uniform draw from an interval of length one is a twelfth.
const UNIFORM: f64 = 1.0 / 12.0;
/// So much of a sector has passed when the next is waited for: what is left is for how late a pause may end.
const NEARLY: f64 = 0.9;
/// Trials after which it is looked where the next ones tell most.
const TOGETHER: usize = 8;
/// Trials of an estimate: at least, and at most.
const TRIALS: (usize, usize) = (20, 72);

/// The time from one completion until a sector may begin that the next one reads or writes, ms.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ArmReach {
    /// The mean, in ms.
    pub mean: f64,
    /// The standard deviation, in ms.
    pub spread: f64,
    /// What the mean may be off, in 95 of 100 cases.
    pub within: f64,
    /// How many trials it was estimated from.
    pub trials: usize,
}

/// A reach and the trials it rests on.
#[derive(Clone, Debug)]
pub struct ReachTrials {
    /// The estimate from these trials.
    pub reach: ArmReach,
    trials: Vec<Trial>,
}

/// The spread that the trials of many reaches have in common, each about its own mean, ms; without what comes of arms that
/// were called off at any moment of a sector.
#[must_use]
pub fn common_spread(found: &[ReachTrials]) -> f64 {
    let trials = trials_about_means(found);
    if trials.is_empty() {
        return 0.0;
    }
    let spread = fit(&trials).spread;
    let even =
        trials.iter().map(|trial| trial.called_off * trial.called_off * UNIFORM).sum::<f64>() / trials.len() as f64;
    libm::sqrt((spread * spread - even).max(0.0))
}

/// The trials of many reaches, each about its own mean.
fn trials_about_means(found: &[ReachTrials]) -> Vec<Trial> {
    let about = |found: &ReachTrials| {
        let mean = found.reach.mean;
        found.trials.iter().map(move |trial| Trial { at: trial.at - mean, ..*trial }).collect::<Vec<_>>()
    };
    found.iter().flat_map(about).collect()
}

/// The least and the most of the spreads that the trials of many reaches may have in common, each about its own mean, ms; nothing
/// of none.
#[must_use]
pub fn spread_bounds(found: &[ReachTrials]) -> Option<(f64, f64)> {
    let trials = trials_about_means(found);
    let likely = |spread: f64| trials.iter().map(|trial| log_likelihood(trial, 0.0, spread)).sum::<f64>();
    let all: Vec<(f64, f64)> = all_spreads().into_iter().map(|spread| (spread, likely(spread))).collect();
    let top = all.iter().map(|(_, sum)| *sum).fold(f64::MIN, f64::max);
    let (least, most) = extremes(all.iter().filter(|(_, sum)| *sum > top - REJECTED).map(|(spread, _)| *spread));
    // Neighbours are as likely as one another.
    (!trials.is_empty()).then_some((least / COARSE, most * COARSE))
}

impl ReachTrials {
    /// The reach, if its spread is that of many.
    #[must_use]
    pub fn spread_by(&self, spread: f64) -> ArmReach {
        ReachFit::new(vec![spread.max(SPREADS.0)]).fit(&self.trials)
    }
}

/// A track: of a region, by its number in the region's pattern.
#[derive(Clone, Copy, Debug)]
pub struct PatternTrack<'r> {
    /// The region that the track lies in.
    pub region: &'r MapRegion,
    /// The track's number in the region's pattern.
    pub number: u64,
}

impl PatternTrack<'_> {
    /// A sector of data some way into the track.
    fn sector(&self, into: u64) -> u64 {
        self.region.sector_at(self.region.track_pattern(self.number) + into)
    }

    /// The place of the track's first sector.
    fn begins(&self) -> SectorPlace {
        self.region.place_at(self.region.track_pattern(self.number))
    }

    /// How far it is from an angle until nearly the end of the sector there, revolutions.
    fn until_next(&self, angle: f64) -> f64 {
        let begins = self.begins();
        let into = fraction(fraction(angle - begins.angle) * f64::from(begins.round));
        (NEARLY - into).max(0.0) * begins.width()
    }

    /// The sector of data that begins nearest before an angle.
    fn passing(&self, angle: f64) -> u64 {
        let begins = self.begins();
        let into = (fraction(angle - begins.angle) * f64::from(begins.round)) as u64;
        let data = self.region.place(self.sector(0)).left.min(begins.data);
        self.sector(into.min(data.saturating_sub(1)))
    }
}

/// What a trial goes between.
#[derive(Clone, Copy, Debug)]
pub struct TrialPath<'r> {
    /// A track to come from beforehand, and the reach from it, ms: so that the first read does not wait for its sector,
    /// and what passes meanwhile is not taken into memory.
    pub via: Option<(PatternTrack<'r>, f64)>,
    /// The first read's track.
    pub from: PatternTrack<'r>,
    /// The track that the second read is on.
    pub to: PatternTrack<'r>,
    /// Whether the first is written, too, once it was read: then its track may be.
    pub written: bool,
    /// Whether both are given together, so that the second waits in the device for the first.
    pub together: bool,
}

impl<'r> TrialPath<'r> {
    /// From one track to another.
    #[must_use]
    pub fn new(from: PatternTrack<'r>, to: PatternTrack<'r>) -> TrialPath<'r> {
        TrialPath { via: None, from, to, written: false, together: false }
    }
}

/// What a trial showed.
#[derive(Clone, Copy, Debug)]
struct Trial {
    /// When the sector began to come by, ms.
    at: f64,
    caught: bool,
    /// The sector that the arm may have had to end before, ms.
    called_off: f64,
}

/// The reach from tracks to tracks, as `pick` draws them; known well enough once it is off by no more than `enough` ms, in 95 of
/// 100 cases. Nothing where there are no such tracks, or too few trials tell anything in the time there is.
///
/// # Errors
/// As [`crate::bench::ProbeBench::read`].
pub fn reach<'r, D: Device>(
    eye: &mut Eye<D>,
    verb: Verb,
    enough: f64,
    mut pick: impl FnMut(&mut Eye<D>) -> Option<TrialPath<'r>>,
) -> Result<Option<ReachTrials>, BadInput> {
    match try_reach(eye, verb, enough, &mut pick)? {
        None if eye.drift.find() => try_reach(eye, verb, enough, &mut pick),
        found => Ok(found),
    }
}

/// Measures it once; nothing where most trials tell nothing.
fn try_reach<'r, D: Device>(
    eye: &mut Eye<D>,
    verb: Verb,
    enough: f64,
    pick: &mut impl FnMut(&mut Eye<D>) -> Option<TrialPath<'r>>,
) -> Result<Option<ReachTrials>, BadInput> {
    eye.drift.begin();
    let period = eye.clock.period_ms();
    // Any response is the first pass after the reach.
    let mut high = f64::MAX;
    for _ in 0..4 {
        let Some(way) = pick(eye) else { return Ok(None) };
        let wanted = eye.bench.draw.unit() * period;
        if let Some((_, response)) = trial(eye, verb, way, wanted)? {
            high = high.min(response);
        }
    }
    if high == f64::MAX {
        return Ok(None);
    }
    let mut low = high - period;
    let mut asked = 0;
    while high - low > ROUGH * period && asked < MISHAPS && !eye.bench.is_out_of_time() {
        asked += 1;
        let middle = low + (high - low) / 2.0;
        let Some(way) = pick(eye) else { return Ok(None) };
        let Some((Trial { at, caught, .. }, _)) = trial(eye, verb, way, middle)? else { continue };
        if caught { high = at.min(high) } else { low = at.max(low) }
    }
    let mut trials: Vec<Trial> = Vec::new();
    let mut fitted = ReachFit::new(all_spreads());
    let (mut centre, mut half) = ((low + high) / 2.0, BEGINS * period);
    let mut mishaps = 0;
    while trials.len() < TRIALS.1 && mishaps < MISHAPS && !eye.bench.is_out_of_time() {
        let wanted = centre + (2.0 * eye.bench.draw.unit() - 1.0) * half;
        let Some(way) = pick(eye) else { return Ok(None) };
        let Some((trial, _)) = trial(eye, verb, way, wanted)? else {
            mishaps += 1;
            continue;
        };
        trials.push(trial);
        if trials.len() > TOGETHER
            && let Some((missed, caught)) = apart(&trials)
        {
            // Nothing seems to vary: each trial tells where the next is worth most. Half of them lie beyond, so that what does vary shows.
            (centre, half) = (f64::midpoint(missed, caught), (caught - missed).max(NARROW * period));
        }
        if trials.len().is_multiple_of(TOGETHER) {
            let fit = fitted.fit(&trials);
            let caught = trials.iter().filter(|trial| trial.caught).count();
            let lopsided = caught.min(trials.len() - caught) < trials.len() / 6;
            // Where to look next: about the middle, as wide as the spread asks for, wider where one side is missing.
            let gap = gap(&trials, fit.mean);
            half = if lopsided { 2.0 * half } else { (TELLING * fit.spread).max(gap) };
            half = half.clamp(NARROW * period, WIDEST * period);
            centre = fit.mean;
            let known = fit.within < enough || (fit.spread < STEADY * period && gap < NARROW * period);
            if trials.len() >= TRIALS.0 && known && !lopsided {
                break;
            }
        }
    }
    Ok((trials.len() >= TRIALS.0 / 2).then(|| ReachTrials { reach: fitted.fit(&trials), trials }))
}

/// Whether a sector that begins to come by `wanted` ms after a read is caught. Nothing if it cannot be told.
///
/// # Errors
/// As [`crate::bench::ProbeBench::read`].
pub fn catches<D: Device>(eye: &mut Eye<D>, verb: Verb, way: TrialPath, wanted: f64) -> Result<Option<bool>, BadInput> {
    Ok(trial(eye, verb, way, wanted)?.map(|(trial, _)| trial.caught))
}

/// One trial: reads on one track, then asks for the sector of another that begins to come by `wanted` ms after; with the
/// response without its passing, ms. A drive that reads on does so first if that keeps it on the track; else the arm is
/// called off, and ends the sector it is at: on the mean half of it, which is taken off, too.
fn trial<D: Device>(
    eye: &mut Eye<D>,
    verb: Verb,
    TrialPath { via, from, to, written, together }: TrialPath,
    wanted: f64,
) -> Result<Option<(Trial, f64)>, BadInput> {
    if together {
        return try_together(eye, from, to, wanted);
    }
    let period = eye.clock.period_ms();
    let track = from.begins();
    let width = period * track.width();
    let same = std::ptr::eq(from.region, to.region) && from.number == to.number;
    let on = eye.reads_on && !written && !same;
    let read_on = rest(eye.ahead, track.data).filter(|_| on);
    let called_off = if on && read_on.is_none() { width } else { 0.0 };
    let passes = period * to.begins().width() + called_off / 2.0;
    // Sectors come by in steps; a pause makes what is asked for come by at any moment. Where the arm is called off, or comes to the
    // same track again, that is drawn; else the pause is as long as a sector needs to come by when it is wanted.
    let is_drawn = same || called_off > 0.0;
    let left = if is_drawn { 0.0 } else { (1.0 - NEARLY) * to.begins().width() };
    let wanted = wanted + passes - left * period;
    let drawn = if is_drawn { eye.bench.draw.unit() } else { 0.0 };
    let pause = (drawn + read_on.unwrap_or(0) as f64) * width;
    let into = match same {
        // So that what comes by `wanted` ms after is the beginning of the track, which no reading ahead brings.
        true => track.data.saturating_sub(((wanted + pause) / width) as u64 + 1),
        // Not near the end of the track: what reads ahead stays on it.
        false => eye.bench.draw.below((track.data / 2).max(1)),
    };
    let first = from.sector(into);
    if let Some((via, reach)) = via {
        let there = from.region.place(first).angle - reach / period;
        eye.visit(via.passing(there))?;
    }
    if !eye.visit(first)? {
        return Ok(None);
    }
    if written && eye.bench.write(Verb::Write { fua: true }, first, 1)?.is_none() {
        return Ok(None);
    }
    eye.bench.idle(Span::from_ms(pause));
    if !is_drawn {
        let turned = eye.clock.phase(eye.bench.now()) + wanted / period;
        eye.bench.idle(Span::from_ms(to.until_next(turned) * period));
    }
    let looked = eye.bench.now();
    let phase = eye.clock.phase(looked);
    let sector = to.passing(phase + wanted / period);
    let there = to.region.place(sector);
    let passed = there.angle + there.width();
    let at = wanted + signed_fraction(passed - phase - wanted / period) * period;
    let Some(reply) = eye.bench.one(verb, sector)? else { return Ok(None) };
    // A host takes some time to ask.
    let at = at - reply.issued.since(looked).as_ms();
    // As if a write completed at the angle at which a read does.
    let response = reply.response().as_ms() - if verb.writes() { eye.write_lag } else { 0.0 };
    // What came at another angle came from memory, or was held up.
    let known = eye.drift.tells((response - at) / period, off_by_chance(&there, &eye.clock));
    let caught = response < at + period / 2.0;
    Ok(known.then_some((Trial { at: at - passes, caught, called_off }, response - passes)))
}

/// The same of two reads given together, of which the device begins the first at once: from when that came back.
fn try_together<D: Device>(
    eye: &mut Eye<D>,
    from: PatternTrack,
    to: PatternTrack,
    wanted: f64,
) -> Result<Option<(Trial, f64)>, BadInput> {
    let period = eye.clock.period_ms();
    let first = from.sector(eye.bench.draw.below(from.begins().data.max(1)));
    let ends = |place: SectorPlace| place.angle + place.width();
    let begun = ends(from.region.place(first));
    let passes = period * to.begins().width();
    let wanted = wanted + passes;
    let sector = to.passing(begun + wanted / period);
    let there = to.region.place(sector);
    let at = wanted + signed_fraction(ends(there) - begun - wanted / period) * period;
    let shift = eye.bench.shift;
    let both = [first, sector].map(|sector| Extent::new(sector << shift, 1));
    let replies = eye.bench.together(Verb::Read, &both)?;
    let (one, other) = (replies[0], replies[1]);
    if !one.done || !other.done || other.end <= one.end {
        return Ok(None);
    }
    let response = other.end.since(one.end).as_ms();
    // What came at another angle came from memory, or was held up.
    let known = eye.drift.tells((response - at) / period, off_by_chance(&there, &eye.clock));
    let caught = response < at + period / 2.0;
    Ok(known.then_some((Trial { at: at - passes, caught, called_off: 0.0 }, response - passes)))
}

/// Sectors after which a drive that reads on has done so, if it is then still on the track of so many it began on.
fn rest((ahead, most): (Ahead, u64), track: u64) -> Option<u64> {
    match ahead {
        Ahead::Track => Some(track + 2),
        Ahead::Most if most + 4 < track / 2 => Some(most + 2),
        _ => None,
    }
}

/// The last that was missed and the first that was caught, ms, where all that was caught came after all that was missed.
fn apart(trials: &[Trial]) -> Option<(f64, f64)> {
    let of = |caught: bool| trials.iter().filter(move |trial| trial.caught == caught).map(|trial| trial.at);
    let (missed, caught) = (of(false).fold(f64::MIN, f64::max), of(true).fold(f64::MAX, f64::min));
    (missed > f64::MIN && caught < f64::MAX && missed < caught).then_some((missed, caught))
}

/// How far it is, about a mean, from what was missed to what was caught.
fn gap(trials: &[Trial], mean: f64) -> f64 {
    let missed = trials.iter().filter(|trial| !trial.caught && trial.at <= mean).map(|trial| trial.at);
    let caught = trials.iter().filter(|trial| trial.caught && trial.at >= mean).map(|trial| trial.at);
    caught.fold(f64::MAX, f64::min) - missed.fold(f64::MIN, f64::max)
}

/// The normal distribution most likely to give these trials.
fn fit(trials: &[Trial]) -> ArmReach {
    ReachFit::new(all_spreads()).fit(trials)
}

/// The spreads that are looked for, ms.
fn all_spreads() -> Vec<f64> {
    let spreads = std::iter::successors(Some(SPREADS.0), |spread| Some(spread * COARSE));
    spreads.take_while(|spread| *spread < SPREADS.1).collect()
}

/// Fits a normal distribution to trials, and anew to the same and more. Means and spreads are tried by a grid. Each trial makes a
/// point of it less likely, so that most points are given up after a few; those few need not be looked at again.
struct ReachFit {
    spreads: Vec<f64>,
    /// The first mean and the step from one to the next, ms.
    means: (f64, f64),
    /// Of each spread, of each mean.
    points: Vec<GridPoint>,
    /// The number of the likeliest point.
    likeliest: usize,
}

/// What is known of a mean and a spread: the logarithm of how likely they make so many of the trials.
#[derive(Clone, Copy, Default)]
struct GridPoint {
    trials: usize,
    sum: f64,
}

impl ReachFit {
    /// By these spreads, ms.
    fn new(spreads: Vec<f64>) -> ReachFit {
        ReachFit { spreads, means: (0.0, 0.0), points: Vec::new(), likeliest: 0 }
    }

    /// The fit to these trials, of which the first are those of the fit before.
    fn fit(&mut self, trials: &[Trial]) -> ArmReach {
        self.lay_grid(trials);
        let step = self.means.1;
        let top = self.find_likeliest(trials);
        let (_, spread) = self.point(self.likeliest);
        let row = self.likeliest - self.likeliest % MEANS;
        let whole = |points: std::ops::Range<usize>| points.filter(|i| self.points[*i].trials == trials.len());
        let alike = whole(row..row + MEANS).filter(|i| self.points[*i].sum > top - ALIKE).map(|i| self.point(i).0);
        let mean = refine(trials, middle(alike), spread, step);
        // Means that no likelihood test rejects, and half a step.
        let left = whole(0..self.points.len()).filter(|i| self.points[*i].sum > top - REJECTED);
        let within = left.map(|i| (self.point(i).0 - mean).abs()).fold(0.0, f64::max) + step / 2.0;
        ArmReach { mean, spread, within, trials: trials.len() }
    }

    /// Lays the grid over all trials; what is known of its points stays where it is as before.
    fn lay_grid(&mut self, trials: &[Trial]) {
        let (least, most) = extremes(trials.iter().map(|trial| trial.at));
        let means = (least, (most - least).max(0.0) / f64::from(STEPS));
        if means != self.means || self.points.is_empty() {
            self.means = means;
            self.points = vec![GridPoint::default(); self.spreads.len() * MEANS];
        }
    }

    /// The mean and the spread of a point.
    fn point(&self, number: usize) -> (f64, f64) {
        let (least, step) = self.means;
        (least + step * (number % MEANS) as f64, self.spreads[number / MEANS])
    }

    /// Finds the likeliest point and says how likely it is; of equals it is the last. The likeliest of the fit before goes first:
    /// what is far below it is given up.
    fn find_likeliest(&mut self, trials: &[Trial]) -> f64 {
        let mut top = self.look_at(self.likeliest, trials, f64::MIN);
        for number in 0..self.points.len() {
            let sum = self.look_at(number, trials, top - REJECTED);
            if sum > top || (sum == top && number > self.likeliest) {
                (self.likeliest, top) = (number, sum);
            }
        }
        top
    }

    /// Takes in trials until the sum is below `least`, or none is left.
    fn look_at(&mut self, number: usize, trials: &[Trial], least: f64) -> f64 {
        let (mean, spread) = self.point(number);
        let GridPoint { trials: known, sum } = &mut self.points[number];
        while *sum >= least && *known < trials.len() {
            *sum += log_likelihood(&trials[*known], mean, spread);
            *known += 1;
        }
        *sum
    }
}

/// The mean that is likeliest with this spread, of those less than a step from one.
fn refine(trials: &[Trial], mean: f64, spread: f64, step: f64) -> f64 {
    let finer = 2.0 * step / f64::from(FINER);
    let tried = (0..=FINER).map(|i| mean - step + finer * f64::from(i));
    let tried: Vec<(f64, f64)> =
        tried.map(|mean| (mean, trials.iter().map(|trial| log_likelihood(trial, mean, spread)).sum())).collect();
    let top = tried.iter().map(|(_, sum)| *sum).fold(f64::MIN, f64::max);
    middle(tried.iter().filter(|(_, sum)| *sum > top - ALIKE).map(|(mean, _)| *mean))
}

/// The middle of what is alike: between what was missed and what was caught all means are.
fn middle(alike: impl Iterator<Item = f64>) -> f64 {
    let (first, last) = extremes(alike);
    f64::midpoint(first, last)
}

/// The logarithm of how likely a trial is, if reaches are normal with this mean and spread.
fn log_likelihood(trial: &Trial, mean: f64, spread: f64) -> f64 {
    let caught = (1.0 - LAPSE) * 0.5 * libm::erfc((mean - trial.at) / (spread * std::f64::consts::SQRT_2));
    let likely = if trial.caught { caught + BY_MISHAP } else { 1.0 - caught };
    libm::log(likely.max(UNLIKELY))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fit_finds_mean_and_spread_through_lapses() {
        let mut draw = crate::draw::ProbeDraw::new(3);
        let mut normal = || (0..12).map(|_| draw.unit()).sum::<f64>() - 6.0;
        let trials: Vec<Trial> = (0..400)
            .map(|i| {
                let at = 4.0 + f64::from(i % 40) / 20.0;
                let late = if i % 20 == 7 { 2.0 } else { 0.0 };
                Trial { at, caught: at > 5.0 + 0.25 * normal() + late, called_off: 0.0 }
            })
            .collect();
        let fit = fit(&trials);
        assert!((fit.mean - 5.0).abs() < 0.05 && (fit.spread / 0.25 - 1.0).abs() < 0.35, "{fit:?}");
        let bounds = spread_bounds(&[ReachTrials { reach: fit, trials }]).expect("there are trials");
        assert!(bounds.0 < 0.25 && bounds.1 > 0.25 && bounds.1 < 1.9 * bounds.0, "{bounds:?}");
        assert_eq!(spread_bounds(&[]), None);
    }
}
