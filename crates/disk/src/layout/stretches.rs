//! The sectors of data of a layout of zones, listed by stretches: sectors whose places follow one another in filling order. A
//! zone without defects is one; each slip, spare and remapped sector begins another. With these a block is found as fast where
//! there are defects as where there are none.

/// Stretches listed beforehand, at most; where there would be more, the places are worked out one by one.
pub(super) const MOST: usize = 1 << 18;

/// Runs of sectors for which the stretch is looked up beforehand, as a power of two: at least, and at most.
const LEAST_BITS: u32 = 10;
const MOST_BITS: u32 = 20;

/// Sectors of data that lie in filling order without a gap.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stretch {
    /// The first, counted over the drive.
    pub(super) first: u64,
    /// Its physical sector, counted in filling order from the zone's first.
    pub(super) place: u64,
    /// The angle by which slips have turned their tracks.
    pub(super) turned: u64,
    pub(super) zone: u32,
    pub(super) remapped: bool,
    /// Whether it is a zone of too many stretches to be listed.
    pub(super) unlisted: bool,
}

/// The stretches of a drive.
#[derive(Clone, Debug, Default)]
pub(super) struct Stretches {
    /// In ascending sectors; the last begins where the drive ends.
    all: Vec<Stretch>,
    /// For each run of 2^`shift` sectors, the stretch its first lies in.
    guesses: Vec<u32>,
    shift: u32,
}

impl Stretches {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether no more than these can be listed.
    pub(super) fn is_full(&self) -> bool {
        self.all.len() >= MOST
    }

    /// Adds what follows all others; what goes on where the last one ended is one with it, but for remapped sectors: of those
    /// each is on its own.
    pub(super) fn add(&mut self, next: Stretch) {
        let goes_on = |last: &Stretch| {
            (last.zone, last.turned) == (next.zone, next.turned)
                && !(last.remapped || next.remapped)
                && last.place + (next.first - last.first) == next.place
        };
        if !self.all.last().is_some_and(goes_on) {
            self.all.push(next);
        }
    }

    /// Gives up all but the first `len`.
    pub(super) fn truncate(&mut self, len: usize) {
        self.all.truncate(len);
    }

    /// Ends them at so many sectors, and looks up beforehand where they begin.
    pub(super) fn close(&mut self, sectors: u64) {
        let bits = (usize::BITS - self.all.len().leading_zeros() + 2).clamp(LEAST_BITS, MOST_BITS);
        self.shift = (64 - sectors.leading_zeros()).saturating_sub(bits);
        self.all.push(Stretch { first: sectors, ..self.all.last().copied().unwrap_or_default() });
        let of = |sector: u64| self.all.partition_point(|it| it.first <= sector).saturating_sub(1) as u32;
        self.guesses = (0..=(sectors >> self.shift) + 1).map(|run| of(run << self.shift)).collect();
    }

    /// The stretch of a sector of the drive, and the sectors of it from there on.
    #[inline(always)]
    pub(super) fn find(&self, sector: u64) -> (&Stretch, u64) {
        let run = (sector >> self.shift) as usize;
        let (mut i, last) = (self.guesses[run] as usize, self.guesses[run + 1] as usize);
        if i < last {
            i += self.all[i + 1..=last].partition_point(|it| it.first <= sector);
        }
        (&self.all[i], self.all[i + 1].first - sector)
    }
}
