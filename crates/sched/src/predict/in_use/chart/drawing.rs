//! How a chart is drawn: piece by piece, a bit with each read, so that whoever is served meanwhile does not wait for it.

use super::{AngleChart, ChartPiece, Saw, WINDOW, grow, place_border};
use crate::predict::in_use::sample::{Allowance, COMPARED, LookMemory, Sample, Waves, sine};

/// Blocks of a track, at least and at most.
const SHORTEST: u64 = 48;
const LONGEST: u64 = 6000;

/// A window over a border has no slope: it is sought among those near the last piece's for so many reads, before it is among all.
const BORDER: usize = 2 * WINDOW;

/// Steps of the search in what one window can tell apart.
const FINE: u64 = 2;

/// What a drawing may cost, in steps of searches.
const EFFORT: u64 = 6_000_000;

/// Where so many steps told of no piece, none is drawn.
const UNTOLD: u64 = EFFORT / 8;

/// By chance the best of 2ⁿ slopes agrees by 0.7 n: so much more is asked for, but no more than this share of the window.
const BY_CHANCE: f32 = 0.7;
const BEYOND: f32 = 11.0;
const MOST: f32 = 0.9;
/// The same of near reads, of few slopes; those count that agree a third as well as the best.
const AGREED: f32 = 12.0;
const THIRD: f32 = 1.0 / 3.0;
/// Pairs of reads tell a slope that are so many blocks apart, and as many pairs at least, which differ by less than such a factor; skews
/// make it steeper by such a share at most.
const NEAREST: u64 = 16;
const NEAR: u64 = 160;
const PARTNERS: usize = 3;
const TOLD_BY: usize = 64;
const UNLIKE: u64 = 3;
const SKEWED: u64 = 3;
/// Small zones at the ends may have slopes beyond these by such a share.
const BEYOND_THESE: u64 = 8;

/// Places where a tooth may begin.
const PLACES: u64 = 64;
/// What a saw leaves must be less than this share of what a line does.
const CLEARLY: f32 = 0.75;

/// Saws are sharpened so often, in turns, in about so many steps.
const ROUNDS: u32 = 6;
const STEPS: usize = 64;

/// Reads are near that are no more blocks apart.
const FAR: u64 = 900;

/// Between which slopes those of this device are: what near reads agree on.
fn slopes(LookMemory { sorted: samples, waves, pairs, .. }: &mut LookMemory) -> Option<(u64, u64)> {
    waves.clear();
    for (i, one) in samples.iter().enumerate() {
        if waves.len() + 4 > COMPARED {
            break;
        }
        for next in samples[i + 1..].iter().take_while(|next| next.block - one.block <= FAR).take(4) {
            let blocks = next.block - one.block;
            let turned = u64::from(next.angle.wrapping_sub(one.angle)) << 32;
            let by = (u64::MAX / (4 * FAR)).wrapping_mul(blocks).wrapping_neg();
            waves.add(turned.wrapping_sub(blocks.wrapping_mul(u64::MAX / LONGEST)), by);
        }
    }
    let mut powers = [0.0; (4 * FAR / SHORTEST) as usize];
    for power in &mut powers {
        *power = waves.power();
        waves.step();
    }
    let most = powers.iter().copied().fold(0.0, f32::max);
    if most < AGREED {
        return None;
    }
    let wide = |i: usize| u64::MAX / LONGEST + i as u64 * (u64::MAX / (4 * FAR));
    let first = powers.iter().position(|power| *power > most * THIRD)?;
    let last = powers.iter().rposition(|power| *power > most * THIRD)?;
    let coarse = || (wide(first.saturating_sub(3)), wide(last + 4));
    let (low, high) = slopes_of_near(samples, pairs).unwrap_or_else(coarse);
    Some(((low - low / BEYOND_THESE).max(u64::MAX / LONGEST), high + high / BEYOND_THESE))
}

/// The same by reads so near that less than a turn lies between: each pair tells a slope, but for the skew of a track's end. Nothing
/// where they are too few, or do not agree.
fn slopes_of_near(samples: &[Sample], told: &mut Vec<(u64, u64)>) -> Option<(u64, u64)> {
    let tell = |(one, next): (&Sample, &Sample)| {
        let blocks = next.block - one.block;
        let turned = next.angle.wrapping_sub(one.angle);
        (NEAREST..=NEAR).contains(&blocks).then(|| ((u64::from(turned) << 32) / blocks, blocks))
    };
    let pairs = (1..=PARTNERS).flat_map(|on| samples.iter().zip(samples.iter().skip(on)));
    told.clear();
    told.extend(pairs.filter_map(tell).take(told.capacity()));
    if told.len() < TOLD_BY {
        return None;
    }
    told.sort_unstable();
    // Some cross to the next track, and some came from memory.
    let [low, high] = [10, 80].map(|percent| told[told.len() * percent / 100].0);
    (high / UNLIKE < low).then_some((low, high + high / SKEWED))
}

/// A chart that is drawn from reads in the order of their blocks, which goes on for as long as it is allowed.
#[derive(Clone, Copy, Debug)]
pub(in crate::predict::in_use) struct ChartDrawing {
    /// Between which slopes those of this device are.
    slopes: (u64, u64),
    /// The read from which the next piece is sought, and the slope of the last one.
    from: usize,
    hint: Option<u64>,
    /// The first read behind the last piece.
    border: usize,
    /// Steps that are left.
    effort: u64,
    stage: DrawStage,
}

/// What is sought next.
#[derive(Clone, Copy, Debug)]
enum DrawStage {
    /// A window in which reads agree.
    Window,
    /// The slope by which the reads of the window agree.
    Slope(SlopeSearch),
    /// The teeth of a piece of so many reads: a track's, then a cylinder's.
    Tooth(ChartPiece, usize, ToothSearch),
    /// Where exactly the teeth of a piece of so many reads begin, and how high they are; so many rounds are done.
    Edges(ChartPiece, usize, u32),
}

/// Which slopes are weighed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SlopesAmong {
    /// Those near that of the last piece.
    Near,
    /// All that this device has.
    All,
}

#[derive(Clone, Copy, Debug)]
struct SlopeSearch {
    low: u64,
    step: u64,
    steps: u64,
    next: u64,
    /// How well the best slope agreed, and what it is.
    best: (f32, u64),
    among: SlopesAmong,
}

#[derive(Clone, Copy, Debug)]
struct ToothSearch {
    /// The next tooth to be weighed, the end of all, and how far they are apart.
    next: u64,
    end: u64,
    apart: u64,
    best: (f32, u64),
}

impl ChartDrawing {
    /// One of the reads in memory; nothing where near reads do not agree.
    pub(in crate::predict::in_use) fn begin(chart: &mut AngleChart, scratch: &mut LookMemory) -> Option<ChartDrawing> {
        chart.pieces.clear();
        let slopes = slopes(scratch)?;
        // Those so near that they agree by any slope would make all seem right.
        scratch.sorted.dedup_by(|next, kept| next.block - kept.block <= NEAR);
        Some(ChartDrawing { slopes, from: 0, hint: None, border: 0, effort: EFFORT, stage: DrawStage::Window })
    }

    /// Goes on; whether all pieces are drawn.
    pub(in crate::predict::in_use) fn go_on(
        &mut self,
        chart: &mut AngleChart,
        scratch: &mut LookMemory,
        allowance: &mut Allowance,
    ) -> bool {
        let LookMemory { sorted: samples, waves, rest, .. } = scratch;
        while !allowance.is_spent() {
            match std::mem::replace(&mut self.stage, DrawStage::Window) {
                DrawStage::Window => {
                    let untold = chart.pieces.is_empty() && EFFORT - self.effort > UNTOLD;
                    if untold || self.from + WINDOW > samples.len() {
                        return true;
                    }
                    self.seek_slope(&samples[self.from..self.from + WINDOW], waves, SlopesAmong::Near);
                }
                DrawStage::Slope(mut search) => {
                    if !search.go_on(waves, allowance) {
                        self.stage = DrawStage::Slope(search);
                        continue;
                    }
                    match search.best_slope() {
                        Some(slope) => self.grow_piece(samples, slope, rest, allowance),
                        None if search.among == SlopesAmong::Near && self.from >= self.border + BORDER => {
                            self.seek_slope(&samples[self.from..self.from + WINDOW], waves, SlopesAmong::All);
                        }
                        None => self.from += WINDOW / 4,
                    }
                }
                DrawStage::Tooth(piece, count, mut search) => {
                    if !search.go_on(rest, allowance) {
                        self.stage = DrawStage::Tooth(piece, count, search);
                        continue;
                    }
                    allowance.spend(rest.len() * PLACES as usize);
                    let saw = search.best_saw(rest);
                    self.cut_teeth((piece, count), saw, samples, rest);
                }
                DrawStage::Edges(mut piece, count, round) => {
                    let its = &samples[self.from..self.from + count];
                    if round < ROUNDS {
                        piece.sharpen_saw(round as usize % 2, its, rest);
                        piece.fit(its);
                        allowance.spend(rest.len() * STEPS + count);
                        self.stage = DrawStage::Edges(piece, count, round + 1);
                    } else {
                        allowance.spend(self.put_down(chart, piece, count, samples));
                    }
                }
            }
        }
        false
    }

    /// Begins to weigh the slopes of a window: those near the last piece's, or all; or goes on to the next window.
    fn seek_slope(&mut self, window: &[Sample], waves: &mut Waves, among: SlopesAmong) {
        let around = self.hint.filter(|_| among == SlopesAmong::Near);
        let around = around.map(|slope| (slope - slope / 64, slope + slope / 64));
        let search = around.and_then(|range| self.weigh_slopes(window, range, waves, SlopesAmong::Near));
        match search.or_else(|| self.weigh_slopes(window, self.slopes, waves, SlopesAmong::All)) {
            Some(search) => self.stage = DrawStage::Slope(search),
            None => self.from += WINDOW / 4,
        }
    }

    /// Begins to weigh slopes between these, where enough effort is left.
    fn weigh_slopes(
        &mut self,
        window: &[Sample],
        (low, high): (u64, u64),
        waves: &mut Waves,
        among: SlopesAmong,
    ) -> Option<SlopeSearch> {
        let first = window[0].block;
        let length = window[window.len() - 1].block - first;
        let step = u64::MAX / length.max(1) / FINE;
        let steps = (high - low) / step.max(1) + 1;
        self.effort = self.effort.checked_sub(steps)?;
        waves.clear();
        for sample in window {
            let blocks = sample.block - first;
            let angle = (u64::from(sample.angle) << 32).wrapping_sub(blocks.wrapping_mul(low));
            waves.add(angle, blocks.wrapping_mul(step).wrapping_neg());
        }
        Some(SlopeSearch { low, step, steps, next: 0, best: (0.0, low), among })
    }

    /// Draws a piece on from the window for as long as reads agree.
    fn grow_piece(&mut self, samples: &[Sample], slope: u64, rest: &mut Vec<(u64, f32)>, allowance: &mut Allowance) {
        let (piece, count) = grow(&samples[self.from..], slope);
        // It is fitted anew each time it has grown by a quarter.
        allowance.spend(4 * count);
        if count < WINDOW * 3 / 4 {
            self.from += WINDOW / 4;
            return;
        }
        piece.leave_rest(&samples[self.from..self.from + count], rest);
        let even = u64::MAX / piece.slope.max(1);
        let search = ToothSearch { next: even, end: even * 8 / 5, apart: 1, best: (0.0, 0) };
        self.stage = DrawStage::Tooth(piece, count, search);
    }

    /// Gives a piece the saw that was found, and seeks the next, or goes on to sharpen both.
    fn cut_teeth(
        &mut self,
        (mut piece, count): (ChartPiece, usize),
        saw: Option<Saw>,
        samples: &[Sample],
        rest: &mut Vec<(u64, f32)>,
    ) {
        let its = &samples[self.from..self.from + count];
        let is_track = piece.saws[0].tooth == 0;
        match saw {
            Some(track) if is_track => {
                piece.saws[0] = track;
                piece.sharpen_saw(0, its, rest);
                piece.fit(its);
                piece.leave_rest(its, rest);
                let (next, end) = (2 * track.tooth, 33 * track.tooth);
                let search = ToothSearch { next, end, apart: track.tooth, best: (0.0, 0) };
                self.stage = DrawStage::Tooth(piece, count, search);
            }
            cylinder => {
                piece.saws[1] = cylinder.unwrap_or_default();
                self.stage = DrawStage::Edges(piece, count, if is_track { ROUNDS } else { 0 });
            }
        }
    }

    /// A piece of so many reads is drawn. How many were weighed for where the last one ends.
    fn put_down(&mut self, chart: &mut AngleChart, mut piece: ChartPiece, count: usize, samples: &[Sample]) -> usize {
        let its = &samples[self.from..self.from + count];
        let sum: f32 = its.iter().map(|sample| piece.off(sample).abs()).sum();
        piece.astray = sum / count as f32;
        let weighed = chart.pieces.last_mut().map_or(0, |last| place_border(last, &mut piece, samples));
        self.hint = Some(piece.slope);
        chart.pieces.push(piece);
        self.from += count;
        self.border = self.from;
        weighed
    }
}

impl SlopeSearch {
    /// Goes on; whether it is through.
    fn go_on(&mut self, waves: &mut Waves, allowance: &mut Allowance) -> bool {
        while self.next < self.steps && !allowance.is_spent() {
            allowance.spend(waves.len());
            let power = waves.power();
            if power > self.best.0 {
                self.best = (power, self.low + self.next * self.step);
            }
            waves.step();
            self.next += 1;
        }
        self.next == self.steps
    }

    /// The slope by which reads agree, if they do.
    fn best_slope(&self) -> Option<u64> {
        let needed = (self.steps.max(2).ilog2() as f32 * BY_CHANCE + BEYOND).min(MOST * WINDOW as f32);
        (self.best.0 > needed).then_some(self.best.1)
    }
}

impl ToothSearch {
    /// Goes on among what reads are off by; whether it is through.
    fn go_on(&mut self, rest: &[(u64, f32)], allowance: &mut Allowance) -> bool {
        while self.next < self.end && !allowance.is_spent() {
            // A division each.
            allowance.spend(2 * rest.len() + 1);
            let turn = u64::MAX / self.next;
            let (mut cosines, mut sines) = (0.0f32, 0.0f32);
            for (blocks, off) in rest {
                let angle = ((blocks % self.next).wrapping_mul(turn) >> 32) as u32;
                cosines += off * sine(angle.wrapping_add(1 << 30));
                sines += off * sine(angle);
            }
            let power = cosines * cosines + sines * sines;
            if power > self.best.0 {
                self.best = (power, self.next);
            }
            self.next += self.apart;
        }
        self.next >= self.end
    }

    /// The saw of the best tooth, if that makes what is left clearly smaller.
    fn best_saw(&self, rest: &[(u64, f32)]) -> Option<Saw> {
        let tooth = self.best.1;
        if tooth == 0 || rest.len() < 24 {
            return None;
        }
        let even: f32 = rest.iter().map(|(_, off)| off * off).sum();
        let fits = (0..PLACES).map(|i| Saw::fit_height(tooth, tooth * i / PLACES, rest));
        let chosen = fits.min_by(|one, other| one.0.total_cmp(&other.0))?;
        (chosen.0 < CLEARLY * even).then_some(chosen.1)
    }
}
