//! How soon a command may begin, by how far the arm moves: the time that always passes, and what makes an arrival late.

/// Bins to an octave of tracks.
const PARTS: u32 = 8;
const BINS: usize = 33 * PARTS as usize;

/// What is known of a distance.
#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    /// In ns; nothing is known while no time was seen.
    time: u64,
    seen: u32,
}

/// Times by distance in tracks, in ns.
#[derive(Clone, Debug)]
pub(super) struct ReachTimes {
    bins: Vec<Bin>,
    /// The same with what lies between filled in, and the least from each on.
    curve: Vec<u64>,
    floor: Vec<u64>,
    unseen: u32,
}

impl Default for ReachTimes {
    fn default() -> ReachTimes {
        ReachTimes { bins: vec![Bin::default(); BINS], curve: vec![0; BINS], floor: vec![0; BINS], unseen: 0 }
    }
}

/// The bin of a distance.
#[inline(always)]
fn bin(tracks: u32) -> usize {
    let Some(octave) = tracks.checked_ilog2() else { return 0 };
    let part = if octave >= 3 { tracks >> (octave - 3) & 7 } else { tracks << (3 - octave) & 7 };
    (PARTS * (octave + 1) + part) as usize
}

/// The curve is drawn anew after so many times.
const DRAWN: u32 = 64;

impl ReachTimes {
    #[inline(always)]
    pub(super) fn time(&self, tracks: u32) -> u64 {
        self.curve[bin(tracks)]
    }

    /// Of no distance from this one on is it less.
    #[inline(always)]
    pub(super) fn least(&self, tracks: u32) -> u64 {
        self.floor[bin(tracks)]
    }

    /// A command began so long after it was given, and `expected` it was, where its angle is known; a revolution takes `period`.
    pub(super) fn learn(&mut self, tracks: u32, began: u64, expected: Option<u64>, period: u64) {
        let bin = &mut self.bins[bin(tracks)];
        bin.seen = bin.seen.saturating_add(1);
        if bin.seen == 1 {
            bin.time = began;
        } else if began < bin.time {
            bin.time -= (bin.time - began) / if bin.seen < 16 { 1 } else { 4 };
        } else if let Some(expected) = expected {
            // What was to wait for long and came late was not late for its distance.
            let wait = expected.saturating_sub(bin.time);
            if began <= expected + period / 2 {
                bin.time -= (period / 4096).min(bin.time);
            } else if wait < period / 8 {
                bin.time += wait / 4 + period / 256;
            }
        }
        self.unseen += 1;
        if self.unseen >= DRAWN || (self.unseen == 1 && self.curve[0] == 0) {
            self.draw();
        }
    }

    /// Fills in what was not seen.
    fn draw(&mut self) {
        self.unseen = 0;
        let mut last: Option<usize> = None;
        for i in 0..BINS {
            if self.bins[i].seen < 2 {
                continue;
            }
            self.curve[i] = self.bins[i].time;
            let from = last.map_or(0, |last| last + 1);
            let left = last.map_or(self.curve[i], |last| self.curve[last]) as f64;
            let right = self.curve[i] as f64;
            for between in from..i {
                let share = (between + 1 - from) as f64 / (i + 1 - from) as f64;
                self.curve[between] = (left + (right - left) * share) as u64;
            }
            last = Some(i);
        }
        if let Some(last) = last {
            for i in last + 1..BINS {
                self.curve[i] = self.curve[last];
            }
        }
        let mut least = u64::MAX;
        for i in (0..BINS).rev() {
            least = least.min(self.curve[i]);
            self.floor[i] = least;
        }
    }
}
