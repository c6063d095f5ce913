//! What is known of one distance, in eight bytes.

/// Samples beyond which a mean moves no more slowly: what is old is forgotten at that pace.
const MOST_SAMPLES: u8 = u8::MAX;
/// Bits of the packed word: samples, then the epoch, then whether what follows is interpolated.
const SAMPLES: u32 = 4;
const EPOCH: u32 = 1;
const EPOCHS: u32 = 0b111;
const TIME: u32 = !0xFFF;

/// A distance and the time it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Point {
    /// The distance, in grains.
    pub(super) distance: i32,
    /// The upper 20 bits of the time as `f32` nanoseconds, 8 bits of samples, 3 of the epoch, 1 whether the distances up to
    /// the next point are interpolated.
    packed: u32,
}

impl Point {
    pub(super) fn new(distance: i32, time: f32, samples: u32) -> Point {
        let samples = samples.min(u32::from(MOST_SAMPLES));
        Point { distance, packed: bits(time) | samples << SAMPLES }
    }

    /// Its time in nanoseconds.
    pub(super) fn time(self) -> f32 {
        f32::from_bits(self.packed & TIME)
    }

    /// From how many samples, up to 255.
    pub(super) fn samples(self) -> u8 {
        (self.packed >> SAMPLES) as u8
    }

    /// Whether the distances up to the next point are interpolated.
    pub(super) fn leads(self) -> bool {
        self.packed & 1 == 1
    }

    pub(super) fn lead(&mut self, leads: bool) {
        self.packed = self.packed & !1 | u32::from(leads);
    }

    /// One more sample goes into its mean. What was learned in another epoch counts no more.
    pub(super) fn add(&mut self, time: f32, epoch: u8) {
        let epoch = u32::from(epoch) & EPOCHS;
        let same = self.packed >> EPOCH & EPOCHS == epoch;
        let samples = if same { self.samples().saturating_add(1) } else { 1 };
        let mean = self.time() + (time - self.time()) / f32::from(samples);
        self.packed = bits(mean) | u32::from(samples) << SAMPLES | epoch << EPOCH | self.packed & 1;
    }

    /// A point that one sample made.
    pub(super) fn first(distance: i32, time: f32, epoch: u8) -> Point {
        let mut point = Point::new(distance, time, 1);
        point.packed |= (u32::from(epoch) & EPOCHS) << EPOCH;
        point
    }
}

/// From one distance to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct FittedLine {
    from: i32,
    to: i32,
}

impl Point {
    pub(super) fn line(self, to: Point) -> FittedLine {
        FittedLine { from: self.distance, to: to.distance }
    }
}

impl FittedLine {
    /// What lies at a distance between these two values at its ends.
    pub(super) fn at(self, distance: i32, left: f32, right: f32) -> f32 {
        let share = f64::from(distance) - f64::from(self.from);
        let share = share / (f64::from(self.to) - f64::from(self.from));
        left + (right - left) * share as f32
    }
}

/// The upper bits of a time, rounded.
fn bits(time: f32) -> u32 {
    time.max(0.0).to_bits().saturating_add(0x800) & TIME
}
