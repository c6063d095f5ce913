//! How far a scan has come: where its blocks were found, what is left, and when that will have been read.
//!
//! **Free finds dwindle.** While nearly all is wanted, whatever passes under the head is of use; near the end hardly anything is.
//! So a rate that goes on as it was tells an end that is never reached. The time for a share of the set is taken to be
//! `a + b / left`: `a` where time, `b` where wanted blocks are what is scarce; both are fitted to what was seen.

use crate::results::FreeWork;
use block::{BLOCK_BYTES, Extent, Span, Time, units};
use sched::Found;

/// The set is followed in so many parts, and of these the last so many say how it goes on.
const PARTS: f64 = 256.0;
const RECENT: usize = 64;
/// Where the shares of what was left differ by less than this, they say nothing of how finds dwindle.
const APART: f64 = 0.05;

/// How far a scan has come.
#[derive(Clone, Debug)]
pub struct ScanProgress {
    /// Blocks it began with, those left, and those of the last part of which the end can be told.
    all: u64,
    left: u64,
    least: u64,
    /// When it began, and when something was read last.
    began: Time,
    last: Time,
    /// Bytes, by where they were found, in the time that counts; and those of all time.
    found: [u64; Found::KINDS],
    unreadable: u64,
    /// When what was left was so many blocks: a point for each part.
    seen: Vec<(Time, u64)>,
}

impl ScanProgress {
    /// One of so many blocks, read in units of so many.
    #[must_use]
    pub fn new(blocks: u64, unit: u32) -> ScanProgress {
        ScanProgress {
            all: blocks,
            left: blocks,
            least: u64::from(unit),
            began: Time::ZERO,
            last: Time::ZERO,
            found: [0; Found::KINDS],
            unreadable: 0,
            seen: vec![(Time::ZERO, blocks)],
        }
    }

    /// The same, of which so many blocks are left: the others were read before.
    #[must_use]
    pub fn with_left(self, left: u64) -> ScanProgress {
        ScanProgress { left, seen: vec![(Time::ZERO, left)], ..self }
    }

    /// Counts what was found in the time that counts.
    pub fn count(&mut self, at: Extent, found: Found) {
        if found != Found::Unreadable {
            self.found[found as usize] += at.bytes();
        }
    }

    /// Blocks were read at `now`, or found unreadable.
    pub fn add(&mut self, now: Time, at: Extent, found: Found) {
        self.left = self.left.saturating_sub(u64::from(at.blocks));
        self.last = now;
        if found == Found::Unreadable {
            self.unreadable += u64::from(at.blocks);
        }
        let before = self.seen.last().map_or(self.all, |(_, left)| *left);
        if (before - self.left) as f64 >= self.all as f64 / PARTS || self.left == 0 {
            self.seen.push((now, self.left));
        }
    }

    /// Whether nothing is left.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.left == 0
    }

    /// The share of it that is left.
    #[must_use]
    pub fn share_left(&self) -> f64 {
        self.left as f64 / self.all.max(1) as f64
    }

    /// How long it took until such a share of it was read, to a 256th of it; nothing where that was not reached yet.
    #[must_use]
    pub fn time_until(&self, share: f64) -> Option<Span> {
        let left = (self.all as f64 * (1.0 - share)) as u64;
        self.seen.iter().find(|(_, less)| *less <= left).map(|(at, _)| at.since(self.began))
    }

    /// Blocks that could not be read.
    #[must_use]
    pub fn unreadable(&self) -> u64 {
        self.unreadable
    }

    /// Bytes read in the time that counts.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.found.iter().sum()
    }

    /// How long what is left will take; nothing before enough was seen.
    #[must_use]
    pub fn remaining(&self) -> Option<Span> {
        if self.left == 0 {
            return Some(Span::ZERO);
        }
        let all = self.all as f64;
        let recent = &self.seen[self.seen.len().saturating_sub(RECENT + 1)..];
        // Of each part: 1 / left on the average over it, how long a share took, and its share.
        let parts: Vec<[f64; 3]> = recent
            .windows(2)
            .map(|pair| {
                let [(from, more), (to, less)] = [pair[0], pair[1]];
                let (more, less) = (more as f64 / all, (less as f64 / all).max(1e-12));
                let share = more - less;
                [libm::log(more / less) / share, to.since(from).as_secs() / share, share]
            })
            .filter(|[.., share]| *share > 0.0)
            .collect();
        let sum = |of: &dyn Fn(&[f64; 3]) -> f64| parts.iter().map(|part| of(part) * part[2]).sum::<f64>();
        let weight = sum(&|_| 1.0);
        if weight == 0.0 {
            return None;
        }
        let (x, y) = (sum(&|part| part[0]) / weight, sum(&|part| part[1]) / weight);
        let square = sum(&|part| (part[0] - x) * (part[0] - x));
        let product = sum(&|part| (part[0] - x) * (part[1] - y));
        let (first, last) = (recent.first()?.1 as f64 / all, recent.last()?.1 as f64 / all);
        let b = if first - last > APART && square > 0.0 { (product / square).clamp(0.0, y / x) } else { 0.0 };
        let a = (y - b * x).max(0.0);
        let left = self.share_left();
        let end = (self.least as f64 / all).min(left);
        Some(Span(((a * left + b * (libm::log(left / end) + 1.0)) * 1e9) as u64))
    }

    /// Adds the bytes of another replication; how far it came, the first one tells.
    pub fn merge(&mut self, other: &ScanProgress) {
        self.found.iter_mut().zip(other.found).for_each(|(bytes, more)| *bytes += more);
        self.unreadable += other.unreadable;
    }

    /// As the results have it, over so long.
    #[must_use]
    pub fn results(&self, measured: Span) -> FreeWork {
        let rate = |found: Found| {
            if measured == Span::ZERO { 0.0 } else { self.found[found as usize] as f64 / 1e6 / measured.as_secs() }
        };
        FreeWork {
            source_mb_s: rate(Found::Source),
            between_mb_s: rate(Found::Between),
            destination_mb_s: rate(Found::Destination),
            slack_mb_s: rate(Found::Slack),
            idle_mb_s: rate(Found::Idle),
            floor_mb_s: rate(Found::Floor),
            left_fraction: self.share_left(),
            unreadable_blocks: self.unreadable,
            eta_seconds: self.remaining().map(Span::as_secs),
        }
    }

    /// Blocks that a second brought, from the first to the last of them.
    fn pace(&self) -> f64 {
        let before = self.seen.first().map_or(self.all, |(_, left)| *left);
        (before - self.left) as f64 / self.last.since(self.began).as_secs().max(1e-9)
    }

    fn show_pace(&self) -> String {
        format!("{:.1} MB/s", self.pace() * BLOCK_BYTES as f64 / 1e6)
    }

    /// How long what is left takes if it goes on as it was; nothing before anything was read. Finds dwindle: it takes longer.
    fn least_remaining(&self) -> Option<Span> {
        let pace = self.pace();
        (pace > 0.0).then(|| Span((self.left as f64 / pace * 1e9) as u64))
    }

    /// What a reader of the results is told of the scan of this name.
    #[must_use]
    pub fn note(&self, name: &str) -> String {
        let read = self.bytes() as f64 / 1e9;
        let of = |found: Found| 100.0 * self.found[found as usize] as f64 / self.bytes().max(1) as f64;
        let kinds = [
            ("the track left", Found::Source),
            ("tracks on the way", Found::Between),
            ("the track gone to", Found::Destination),
            ("slack", Found::Slack),
            ("idle time", Found::Idle),
            ("its floor", Found::Floor),
        ];
        let told = kinds.into_iter().filter(|(_, found)| of(*found) > 0.0);
        let told: Vec<String> = told.map(|(what, found)| format!("{:.0} % from {what}", of(found))).collect();
        let left = match (self.is_done(), self.remaining()) {
            (true, _) => {
                let took = self.last.since(self.began);
                format!("all of it was read after {:.1} s, at {}", took.as_secs(), self.show_pace())
            }
            (false, Some(span)) => {
                let (left, more) = (100.0 * self.share_left(), units::show_long(span));
                format!("{left:.1} % is left, which would take {more} more at this load")
            }
            (false, None) => {
                let least = self.least_remaining().map_or_else(String::new, |span| {
                    format!(
                        ", which would take {} more at this pace, and more as finds dwindle",
                        units::show_long(span)
                    )
                });
                format!("{:.1} % is left{least}", 100.0 * self.share_left())
            }
        };
        let pace = if self.is_done() { String::new() } else { format!(" at {}", self.show_pace()) };
        let unreadable = match self.unreadable * BLOCK_BYTES {
            0 => String::new(),
            bytes => format!("; {bytes} bytes could not be read"),
        };
        format!("{name}: {read:.2} GB read{pace} ({}); {left}{unreadable}", told.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A scan of 2^20 blocks whose next share of `1` takes `a + b / left` seconds, up to a share left; and when that was.
    fn read_to(until: f64, a: f64, b: f64) -> (ScanProgress, f64) {
        let all = 1u64 << 20;
        let mut scan = ScanProgress::new(all, 8);
        let (mut now, mut left) = (0.0, all);
        while left > (until * all as f64) as u64 {
            let share = 8.0 / all as f64;
            now += share * (a + b / (left as f64 / all as f64));
            left -= 8;
            scan.count(Extent::new(left, 8), Found::Destination);
            scan.add(Time((now * 1e9) as u64), Extent::new(left, 8), Found::Destination);
        }
        (scan, now)
    }

    #[test]
    fn the_end_is_told_though_finds_dwindle() {
        for (a, b) in [(1000.0, 0.0), (1000.0, 20.0), (100.0, 200.0)] {
            let (_, whole) = read_to(0.0, a, b);
            for left in [0.8, 0.5, 0.2, 0.05, 0.01] {
                let (scan, now) = read_to(left, a, b);
                let told = now + scan.remaining().expect("enough was seen").as_secs();
                assert!((told / whole - 1.0).abs() < 0.05, "{a} {b}, {left} left: {told} for {whole}");
            }
        }
    }

    #[test]
    fn before_a_part_is_read_the_pace_so_far_tells_how_long_it_takes_at_least() {
        let mut scan = ScanProgress::new(2_000_000, 8);
        assert!(!scan.note("s").contains("would take"), "nothing is known yet: {}", scan.note("s"));
        // 1,000 blocks a second; what came before the time that counts is part of the pace.
        scan.add(Time(1_000_000_000), Extent::new(0, 1000), Found::Idle);
        add(&mut scan, Time(2_000_000_000), Extent::new(1000, 1000), Found::Idle);
        let told = scan.note("s");
        assert!(told.contains("s: 0.00 GB read at 0.5 MB/s (100 % from idle time); 99.9 % is left"), "{told}");
        assert!(told.ends_with("which would take 33.3 min more at this pace, and more as finds dwindle"), "{told}");
        assert!(scan.remaining().is_none());
    }

    fn add(scan: &mut ScanProgress, now: Time, at: Extent, found: Found) {
        scan.count(at, found);
        scan.add(now, at, found);
    }

    #[test]
    fn what_was_read_is_told_by_where_it_was_found() {
        let mut scan = ScanProgress::new(100, 1);
        assert!(scan.remaining().is_none());
        let second = |n: u64| Time(n * 1_000_000_000);
        scan.add(second(1), Extent::new(0, 10), Found::Source);
        add(&mut scan, second(2), Extent::new(10, 30), Found::Source);
        add(&mut scan, second(3), Extent::new(40, 10), Found::Idle);
        add(&mut scan, second(4), Extent::new(50, 25), Found::Unreadable);
        let told = scan.results(Span(2_000_000_000));
        assert_eq!((told.source_mb_s, told.idle_mb_s), (30.0 * 512.0 / 2e6, 10.0 * 512.0 / 2e6));
        assert_eq!((told.left_fraction, told.unreadable_blocks), (0.25, 25));
        add(&mut scan, second(9), Extent::new(75, 25), Found::Idle);
        assert_eq!(scan.time_until(0.5), Some(Span(3_000_000_000)));
        assert_eq!([0.0, 1.0].map(|share| scan.time_until(share)), [Some(Span::ZERO), Some(Span(9_000_000_000))]);
        assert!(scan.is_done() && scan.note("s").contains("all of it was read after 9.0 s"), "{}", scan.note("s"));
    }
}
