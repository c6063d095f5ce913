//! By how much commands take longer the farther they lie from the last one: a line through their times, by the logarithm of distance.
//!
//! Commands that do the same and are of about one size are compared with one another alone. A write that may end in a buffer tells nothing:
//! it takes as long wherever it lies, and what it costs to write it back is seen thousands of commands later.
//!
//! Distances are in octaves, times in nanoseconds.

use block::Verb;

/// Octaves of sizes that are told apart; what is longer counts as the longest.
const SIZES: usize = 16;
/// What commands of a size do: they read, they write to the medium, or they write into a buffer if there is one. The last tell nothing of
/// distance.
const DEEDS: usize = 3;
const READS: usize = 0;
const WRITES_THROUGH: usize = 1;
const WRITES: usize = 2;

/// Commands of one kind that tell something, at least, and how far their distances must differ, as a variance.
const FEWEST: f64 = 8.0;
const SPREAD: f64 = 0.25;

/// What takes so many times the mean was held up by something else, and counts as no more.
const HELD_UP: f64 = 4.0;
const HELD_UP_AFTER: f64 = 16.0;

/// Writes that take less than this share of what reads of their size take come back from a buffer.
const BUFFERED: f64 = 0.5;

/// Of the time of all commands, the share that must be of kinds that tell something.
const TOLD: f64 = 0.75;

/// A command that came back: which kind it is of, how far away it was, and what it took.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stride {
    pub(super) kind: usize,
    pub(super) octaves: f64,
    pub(super) took: f64,
    /// Whether nothing else was in the device when it was given.
    pub(super) alone: bool,
}

impl Stride {
    /// One that was alone.
    pub(super) fn new(verb: Verb, blocks: u32, distance: u64, took: u64) -> Stride {
        let size = (blocks.max(1).ilog2() as usize).min(SIZES - 1);
        let deed = match verb {
            Verb::Write { fua: false } => WRITES,
            Verb::Write { fua: true } => WRITES_THROUGH,
            _ => READS,
        };
        Stride { kind: DEEDS * size + deed, octaves: octaves(distance), took: took as f64, alone: true }
    }
}

/// About the logarithm of a distance: a line from each power of two to the next.
fn octaves(distance: u64) -> f64 {
    let distance = distance.saturating_add(1);
    let octave = distance.ilog2();
    f64::from(octave) + (distance as f64 / (1u64 << octave) as f64 - 1.0)
}

/// Commands of one kind: means, and sums of squares and products of what they are off from these.
#[derive(Clone, Copy, Debug, Default)]
struct Kin {
    count: f64,
    octaves: f64,
    took: f64,
    /// What all took, held up or not.
    whole: f64,
    octaves_squared: f64,
    product: f64,
    took_squared: f64,
}

impl Kin {
    fn bound(&self, took: f64) -> f64 {
        if self.count < HELD_UP_AFTER { took } else { took.min(HELD_UP * self.took) }
    }

    fn add(&mut self, octaves: f64, took: f64) {
        self.count += 1.0;
        self.whole += took;
        let took = self.bound(took);
        let (along, up) = (octaves - self.octaves, took - self.took);
        self.octaves += along / self.count;
        self.took += up / self.count;
        self.octaves_squared += along * (octaves - self.octaves);
        self.product += along * (took - self.took);
        self.took_squared += up * (took - self.took);
    }

    /// What an octave more takes, and the square of how far off that may be by chance; nothing where too little is known.
    fn slope(&self) -> Option<(f64, f64)> {
        if self.count < FEWEST || self.octaves_squared < SPREAD * self.count {
            return None;
        }
        let slope = self.product / self.octaves_squared;
        let rest = (self.took_squared - slope * self.product).max(0.0) / (self.count - 2.0);
        Some((slope, rest / self.octaves_squared))
    }
}

/// How much longer commands take by an octave of distance, as a share of their time, and how far off that is by chance: one standard
/// error.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rise {
    pub(super) share: f64,
    pub(super) error: f64,
}

/// Commands of late, kind by kind.
#[derive(Clone, Debug)]
pub(super) struct DistanceSlope {
    kins: Vec<Kin>,
    pub(super) seen: u32,
}

impl Default for DistanceSlope {
    fn default() -> DistanceSlope {
        DistanceSlope { kins: vec![Kin::default(); DEEDS * SIZES], seen: 0 }
    }
}

impl DistanceSlope {
    pub(super) fn clear(&mut self) {
        self.kins.fill(Kin::default());
        self.seen = 0;
    }

    pub(super) fn add(&mut self, Stride { kind, octaves, took, .. }: Stride) {
        let kin = &mut self.kins[kind];
        kin.add(octaves, took);
        self.seen += 1;
    }

    /// The mean time of a command's kind and what this one counts as beside it; nothing where the kind is not known. Among several in
    /// the device one is held up by others, and counts whole.
    pub(super) fn usual(&self, Stride { kind, took, alone, .. }: Stride) -> Option<(f64, f64)> {
        let kin = &self.kins[kind];
        let counts = if alone { (kin.took, kin.bound(took)) } else { (kin.whole / kin.count, took) };
        (kin.count >= FEWEST).then_some(counts)
    }

    /// Whether writes of some size come back much sooner than reads: from a buffer, as long as it has room.
    pub(super) fn are_writes_buffered(&self) -> bool {
        self.kins.chunks_exact(DEEDS).any(|kins| {
            let [reads, writes] = [&kins[READS], &kins[WRITES]];
            reads.count >= FEWEST && writes.count >= FEWEST && writes.took < BUFFERED * reads.took
        })
    }

    /// The kinds that tell anything of distance.
    fn telling_kins(&self) -> impl Iterator<Item = &Kin> {
        self.kins.chunks_exact(DEEDS).flat_map(|kins| &kins[..WRITES])
    }

    /// How many commands tell anything.
    pub(super) fn count_telling(&self) -> u32 {
        self.telling_kins().map(|kin| kin.count as u32).sum()
    }

    /// Over all kinds that tell anything; nothing where most of the time is of kinds of which too little is known.
    pub(super) fn rise(&self) -> Option<Rise> {
        let (mut all, mut told, mut rise, mut variance) = (0.0, 0.0, 0.0, 0.0);
        for kin in self.telling_kins() {
            let time = kin.count * kin.took;
            all += time;
            if let Some((slope, chance)) = kin.slope() {
                told += time;
                rise += kin.count * slope;
                variance += kin.count * kin.count * chance;
            }
        }
        let enough = told > 0.0 && told >= TOLD * all;
        enough.then(|| Rise { share: rise / told, error: variance.sqrt() / told })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(state: &mut u64, below: u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) % below
    }

    /// The rise of so many commands whose time grows by so much with each octave, beside chance of half of it.
    fn rise_of(growth: f64, commands: u32) -> Rise {
        let (mut slope, mut state) = (DistanceSlope::default(), 11);
        for _ in 0..commands {
            let distance = draw(&mut state, 1 << 28);
            let writes = draw(&mut state, 2) == 1;
            let verb = if writes { Verb::Write { fua: true } } else { Verb::Read };
            let blocks = 1 << draw(&mut state, 5);
            // By chance half of it more or less, twice that where it writes, and more the longer it is.
            let noise = 0.5 + draw(&mut state, 1000) as f64 / 1000.0;
            let mean = 100_000.0 * if writes { 2.0 } else { 1.0 } * (1.0 + f64::from(blocks) / 8.0);
            let took = mean * noise * (1.0 + growth * (octaves(distance) - 26.0));
            slope.add(Stride::new(verb, blocks, distance, took as u64));
        }
        slope.rise().expect("there are enough")
    }

    #[test]
    fn a_rise_is_told_from_none_whatever_the_mix_of_commands() {
        for growth in [0.0, 0.02, 0.1, -0.02] {
            let Rise { share, error } = rise_of(growth, 20_000);
            assert!(error < 0.004 && (share - growth).abs() < 4.0 * error, "{share} ± {error}, not {growth}");
        }
        assert!(rise_of(0.0, 500).error > 4.0 * rise_of(0.0, 20_000).error, "few tell as well as many");
    }

    #[test]
    fn distances_that_are_all_the_same_tell_nothing() {
        let mut slope = DistanceSlope::default();
        (0..1000).for_each(|i| slope.add(Stride::new(Verb::Read, 8, 0, 100_000 + i)));
        assert!(slope.rise().is_none());
    }

    #[test]
    fn what_is_held_up_for_long_hides_nothing() {
        let mut slope = DistanceSlope::default();
        let mut state = 3;
        for i in 0..2000u64 {
            let took = if i % 100 == 99 { 50_000_000 } else { 100_000 + draw(&mut state, 1000) };
            slope.add(Stride::new(Verb::Read, 8, draw(&mut state, 1 << 28), took));
        }
        let Rise { share, error } = slope.rise().expect("there are enough");
        assert!(error < 0.01 && share.abs() < 4.0 * error, "{share} ± {error}");
    }
}
