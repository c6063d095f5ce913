//! When reads came back, and how well many angles agree.

/// A read from the medium: its last block, when it came back, and where the platter was then, in 2⁻³² revolutions.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sample {
    pub(super) block: u64,
    pub(super) at: u64,
    pub(super) angle: u32,
}

/// Sums of this many are kept apart, so that a processor adds that many at once.
const LANES: usize = 8;

/// What looking at reads takes, kept so that nothing is allocated for it.
#[derive(Clone, Debug)]
pub(super) struct LookMemory {
    /// The reads in the order of their blocks.
    pub(super) sorted: Vec<Sample>,
    pub(super) waves: Waves,
    /// Of pairs of reads, how many blocks and ns they are apart.
    pub(super) pairs: Vec<(u64, u64)>,
    /// Of some reads, how far along a piece they are and what it is off by.
    pub(super) rest: Vec<(u64, f32)>,
}

/// What may be weighed before the next command has its turn, in angles: a service that learns must not stand still for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowance(usize);

/// Some 0.3 ms of a processor.
const AT_ONCE: usize = 1 << 17;

impl Allowance {
    pub(super) fn new() -> Allowance {
        Allowance(AT_ONCE)
    }

    /// So many were weighed.
    pub(super) fn spend(&mut self, angles: usize) {
        self.0 = self.0.saturating_sub(angles);
    }

    pub(super) fn is_spent(self) -> bool {
        self.0 == 0
    }
}

/// A revolution, in 2⁻³² of one.
pub(super) const REVOLUTION: f64 = 4_294_967_296.0;

/// How far apart angles are that differ by so much, in revolutions.
pub(super) fn share_of_turn(off: i32) -> f32 {
    (f64::from(off) / REVOLUTION).abs() as f32
}

/// Angles compared at once, at most.
pub(super) const COMPARED: usize = 2048;

impl LookMemory {
    /// For so many reads.
    pub(super) fn new(reads: usize) -> LookMemory {
        let waves = Waves { now: Vec::with_capacity(COMPARED), by: Vec::with_capacity(COMPARED) };
        let (sorted, pairs, rest) =
            (Vec::with_capacity(reads), Vec::with_capacity(COMPARED), Vec::with_capacity(COMPARED));
        LookMemory { sorted, waves, pairs, rest }
    }
}

/// Angles that turn on, each at its own rate.
#[derive(Clone, Debug, Default)]
pub(super) struct Waves {
    now: Vec<u32>,
    by: Vec<u32>,
}

impl Waves {
    pub(super) fn clear(&mut self) {
        self.now.clear();
        self.by.clear();
    }

    /// One more, in 2⁻⁶⁴ revolutions, and what it turns by at each step.
    pub(super) fn add(&mut self, angle: u64, by: u64) {
        self.now.push((angle >> 32) as u32);
        self.by.push((by.wrapping_add(1 << 31) >> 32) as u32);
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.now.len()
    }

    pub(super) fn step(&mut self) {
        for (now, by) in self.now.iter_mut().zip(&self.by) {
            *now = now.wrapping_add(*by);
        }
    }

    /// How well they agree: about 1 where they do not at all, their number where all are the same.
    pub(super) fn power(&self) -> f32 {
        let (mut cosines, mut sines) = ([0.0f32; LANES], [0.0f32; LANES]);
        let chunks = self.now.chunks_exact(LANES);
        for angle in chunks.remainder() {
            cosines[0] += sine(angle.wrapping_add(1 << 30));
            sines[0] += sine(*angle);
        }
        for chunk in chunks {
            for lane in 0..LANES {
                cosines[lane] += sine(chunk[lane].wrapping_add(1 << 30));
                sines[lane] += sine(chunk[lane]);
            }
        }
        let (cosine, sine): (f32, f32) = (cosines.iter().sum(), sines.iter().sum());
        (cosine * cosine + sine * sine) / self.now.len().max(1) as f32
    }
}

/// About the sine of an angle, within 0.1 %: a parabola, and one of that.
#[inline(always)]
pub(super) fn sine(angle: u32) -> f32 {
    /// The parabola through the sine's zeros and its peak.
    const PARABOLA: (f32, f32) = (8.0, 16.0);
    /// What mixes it with its square, so that the error is least.
    const MIXED: (f32, f32) = (0.775, 0.225);
    let part = (angle as i32 as f32) * (1.0 / REVOLUTION as f32);
    let parabola = part * (PARABOLA.0 - PARABOLA.1 * part.abs());
    parabola * (MIXED.0 + MIXED.1 * parabola.abs())
}
