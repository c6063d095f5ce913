//! Open arrivals: requests come at their own times, whatever becomes of the earlier ones.

use super::kind::{Manual, Recipe};
use super::pattern::{self, Addresses, Pattern, Region};
use super::{Draft, Workload};
use crate::draw::Draw;
use block::{BadInput, Extent, Op, Span, Time};
use config::{Key, Section, Word, Words};
use std::path::Path;

config::keys! {
    /// Requests that arrive in a given time, on average.
    RATE: f64 = rate("rate").required();
    /// How the arrivals are spaced.
    ARRIVALS: Arrivals = word("arrivals").usually("poisson");
}

/// The most requests per second: one for each tick of the clock, or time would stand still.
const FASTEST: f64 = 1e9;

/// Requests that arrive whether or not earlier ones have ended.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenPlan {
    /// Requests per second, on average.
    pub rate: f64,
    /// How they are spaced.
    pub arrivals: Arrivals,
    /// What they look like.
    pub pattern: Pattern,
    /// Requests of an operation; 1 where each is for itself.
    pub cascade: u32,
}

/// How the arrivals of an open workload are spaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arrivals {
    /// Independently of one another.
    #[default]
    Poisson,
    /// At even intervals, as a recording stream asks.
    Constant,
    /// At intervals from nothing to twice the mean, each with the same chance.
    Uniform,
}

impl Words for Arrivals {
    const WORDS: &'static [Word<Arrivals>] = &[
        Word::new("poisson", Arrivals::Poisson, "independently of one another: the gaps are exponentially distributed"),
        Word::new("constant", Arrivals::Constant, "evenly"),
        Word::new("uniform", Arrivals::Uniform, "by gaps from none to twice their mean, each with the same chance"),
    ];
}

impl Recipe for OpenPlan {
    const MANUALS: &'static [Manual] = &[Manual {
        name: "open",
        text: "Requests arrive at a rate of their own, whether or not earlier ones have ended. Where the drive is slower than that, more and more of them wait.",
        keys: &[
            RATE.about,
            ARRIVALS.about,
            pattern::SIZE.about,
            pattern::SIZES.about,
            pattern::READ.about,
            pattern::CASCADE.about,
            pattern::AT.about,
            pattern::VOLUME.about,
            pattern::REGION.about,
            pattern::ALIGN.about,
        ],
        only: &[],
        example: "kind = \"open\"\nrate = \"50/s\"\nsize = \"4KiB\"\nread = 0.7",
        processes: false,
    }];

    fn read(_: &str, section: &Section, _: &Path) -> Result<OpenPlan, BadInput> {
        let rate = section.need(RATE.name(), rate(section, &RATE)?)?;
        let (arrivals, cascade) = (section.value(&ARRIVALS)?, section.value(&pattern::CASCADE)?);
        Ok(OpenPlan { rate, arrivals, pattern: Pattern::read_varied(section)?, cascade })
    }

    fn build(&self, name: &str, blocks: u64, draw: Draw) -> Result<Box<dyn Workload>, BadInput> {
        let addresses = Addresses::new(name, &self.pattern, blocks, draw)?;
        Ok(Box::new(Open::new(self.rate, self.arrivals, addresses)))
    }

    fn longest(&self) -> u32 {
        self.pattern.longest()
    }

    fn length(&self) -> Option<u32> {
        self.pattern.length()
    }

    fn cascade(&self) -> u32 {
        self.cascade
    }

    fn is_endless(&self) -> bool {
        true
    }

    fn is_open(&self) -> bool {
        true
    }

    fn confine(&mut self, region: Region) {
        self.pattern.region = region;
    }
}

/// A rate of requests that the clock can tell apart.
pub(super) fn rate(section: &Section, key: &Key<f64>) -> Result<Option<f64>, BadInput> {
    let rate = section.get(key)?;
    if rate.is_some_and(|rate| rate > FASTEST) {
        let what = format!("`{}` is more than one request per nanosecond", key.name());
        return Err(section.error(key.name(), what, "give a lower one"));
    }
    Ok(rate)
}

struct Open {
    next: Time,
    rate: f64,
    interval_ns: f64,
    arrivals: Arrivals,
    /// Whether it ever asked for anything.
    asked: bool,
    addresses: Addresses,
}

impl Open {
    fn new(rate: f64, arrivals: Arrivals, mut addresses: Addresses) -> Open {
        let interval_ns = 1e9 / rate;
        // Constant arrivals begin at a random point of their period, so that nothing locks to them.
        let first = match arrivals {
            Arrivals::Poisson => addresses.draw().exponential(),
            Arrivals::Constant => addresses.draw().unit(),
            Arrivals::Uniform => 2.0 * addresses.draw().unit(),
        };
        Open { next: Time((first * interval_ns) as u64), rate, interval_ns, arrivals, asked: false, addresses }
    }
}

impl Workload for Open {
    fn due(&self) -> Option<Time> {
        Some(self.next)
    }

    fn make(&mut self) -> Result<Draft, BadInput> {
        let arrives = self.next;
        self.asked = true;
        let gap = match self.arrivals {
            Arrivals::Poisson => self.addresses.draw().exponential(),
            Arrivals::Constant => 1.0,
            Arrivals::Uniform => 2.0 * self.addresses.draw().unit(),
        };
        self.next += Span((gap * self.interval_ns) as u64);
        let (op, at) = self.addresses.draft();
        Ok(Draft { arrives, op, at })
    }

    fn end_request(&mut self, _: Time, _: Extent) {}

    fn follow(&mut self) -> Option<(Op, Extent)> {
        Some(self.addresses.draft())
    }

    fn notes(&self) -> Vec<String> {
        if self.asked {
            return Vec::new();
        }
        let rate = self.rate;
        vec![format!("nothing came at a rate of {rate:e}/s: the run was over before the first request was due")]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pattern::AddressPattern;

    fn open(rate: f64, arrivals: Arrivals, seed: u64) -> Open {
        let pattern = Pattern { blocks: 8, sizes: pattern::Sizes::Fixed, read: 1.0, at: AddressPattern::Random, region: Region::WHOLE, align: 1 };
        let addresses = Addresses::new("a", &pattern, 1 << 20, Draw::new(seed, 0)).unwrap();
        Open::new(rate, arrivals, addresses)
    }

    /// When the first few arrive, in periods.
    fn arrivals(arrivals: Arrivals, seed: u64, count: usize) -> Vec<f64> {
        let mut open = open(100.0, arrivals, seed);
        (0..count).map(|_| open.make().unwrap().arrives.0 as f64 / 1e7).collect()
    }

    #[test]
    fn constant_arrivals_begin_anywhere_in_their_period_and_keep_it() {
        let firsts: Vec<f64> = (0..1000).map(|seed| arrivals(Arrivals::Constant, seed, 1)[0]).collect();
        let tenth = |n: u32| firsts.iter().filter(|first| ((*first * 10.0) as u32) == n).count();
        assert!((0..10).all(|n| (60..140).contains(&tenth(n))), "{:?}", (0..10).map(tenth).collect::<Vec<_>>());
        let times = arrivals(Arrivals::Constant, 3, 50);
        assert!(times.windows(2).all(|pair| (pair[1] - pair[0] - 1.0).abs() < 1e-6), "{times:?}");
    }

    #[test]
    fn poisson_arrivals_keep_their_rate_and_vary_as_they_should() {
        let times = arrivals(Arrivals::Poisson, 5, 20_001);
        let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<f64>() / 20_000.0;
        let variance = gaps.iter().map(|gap| (gap - mean) * (gap - mean)).sum::<f64>() / 20_000.0;
        assert!((mean - 1.0).abs() < 0.03 && (variance - 1.0).abs() < 0.08, "{mean}, {variance}");
        let firsts: f64 = (0..1000).map(|seed| arrivals(Arrivals::Poisson, seed, 1)[0]).sum();
        assert!((firsts / 1000.0 - 1.0).abs() < 0.15, "the first is a gap like any other: {}", firsts / 1000.0);
    }

    #[test]
    fn uniform_arrivals_keep_their_rate_and_are_never_two_gaps_apart() {
        let times = arrivals(Arrivals::Uniform, 5, 20_001);
        let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<f64>() / 20_000.0;
        let variance = gaps.iter().map(|gap| (gap - mean) * (gap - mean)).sum::<f64>() / 20_000.0;
        assert!((mean - 1.0).abs() < 0.02 && (variance - 1.0 / 3.0).abs() < 0.02, "{mean}, {variance}");
        assert!(gaps.iter().all(|gap| *gap < 2.0));
    }

    #[test]
    fn a_rate_that_asks_for_nothing_says_so() {
        let mut open = open(1e-300, Arrivals::Constant, 1);
        assert!(open.due().unwrap() > Time(u64::MAX / 1000));
        assert!(open.notes()[0].starts_with("nothing came at a rate of 1e-300/s"), "{:?}", open.notes());
        open.make().unwrap();
        assert!(open.notes().is_empty());
    }
}
