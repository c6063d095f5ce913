//! Periodic streams, as a video server or a recorder has them: each asks for one unit in each of its periods, from a place of its own on,
//! whatever becomes of the units before (Preemptive RAID scheduling, Section 4.3).

use super::kind::{Manual, Recipe};
use super::open::rate;
use super::pattern::{self, Addresses, Bound, Pattern, Region};
use super::{Draft, Workload, misfit};
use crate::draw::Draw;
use block::{BadInput, Extent, Span, Time, units};
use config::Section;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::Path;

/// The most streams of one workload.
const MOST: u32 = 65_536;

config::keys! {
    /// How many streams there are.
    STREAMS: u32 = within("streams", 1, MOST).required();
    /// Requests of each stream in a given time: one comes in each period, at a point of it that is the stream's own.
    RATE: f64 = rate("rate").required();
    /// By which part of a period a request comes late at most, drawn anew for each.
    JITTER: f64 = share("jitter").usually("0.0");
    /// The deadline of a request, in periods from its arrival, in place of `deadline`.
    PERIODS: u32 = within("periods", 1, 1_000_000).else_told("none, unless there is a `deadline`");
}

/// Streams that differ in their places and in when they ask.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamsPlan {
    /// How many; at least 1.
    pub streams: u32,
    /// Requests per second of each.
    pub rate: f64,
    /// The most by which a request is late, of a period.
    pub jitter: f64,
    /// The deadline in periods, if it is given so.
    pub periods: Option<u32>,
    /// What each asks for; where, all of them together.
    pub pattern: Pattern,
}

impl Recipe for StreamsPlan {
    const MANUALS: &'static [Manual] = &[Manual {
        name: "streams",
        text: "Streams that ask for one unit in each of their periods, as a video server or a recorder does, whatever becomes of the units before. \
               Each has an equal part of the region, and goes through it from a place of its own on, again and again.",
        keys: &[
            STREAMS.about,
            RATE.about,
            pattern::SIZE.about,
            JITTER.about,
            PERIODS.about,
            pattern::READ.about,
            pattern::VOLUME.about,
            pattern::REGION.about,
            pattern::ALIGN.about,
        ],
        only: &[],
        example: "kind = \"streams\"\nstreams = 8\nrate = \"2/s\"\nsize = \"256KiB\"\nperiods = 1",
        processes: false,
    }];

    fn read(_: &str, section: &Section, _: &Path) -> Result<StreamsPlan, BadInput> {
        let rate = section.need(RATE.name(), rate(section, &RATE)?)?;
        let (streams, jitter, periods) = (section.value(&STREAMS)?, section.value(&JITTER)?, section.get(&PERIODS)?);
        if periods.is_some() && section.has("deadline") {
            return Err(section.error(PERIODS.name(), "both `periods` and `deadline`", "keep one of them"));
        }
        Ok(StreamsPlan { streams, rate, jitter, periods, pattern: Pattern::read_in_order(section)? })
    }

    fn build(&self, name: &str, blocks: u64, mut draw: Draw) -> Result<Box<dyn Workload>, BadInput> {
        let (from, end) = self.pattern.region.on(blocks);
        let (streams, align) = (u64::from(self.streams), u64::from(self.pattern.align.max(1)));
        let part = end.saturating_sub(from) / streams / align * align;
        if part < u64::from(self.pattern.blocks) + align {
            let size = units::show_blocks(self.pattern.blocks.into());
            let what = format!("{streams} streams of {size} do not fit the region, blocks {from} to {end}");
            return Err(misfit(name, what, "make the region larger, or the streams fewer"));
        }
        let one = |stream: u64| {
            let start = from + stream * part;
            let region = Region { from: Bound::Blocks(start), to: Bound::Blocks(start + part) };
            let pattern = Pattern { region, ..self.pattern.clone() };
            let mut addresses = Addresses::new(name, &pattern, blocks, draw.fork())?;
            addresses.begin_anywhere();
            let phase = addresses.draw().unit();
            Ok(PeriodicStream { addresses, phase, asked: 0 })
        };
        let streams = (0..streams).map(one).collect::<Result<Vec<_>, BadInput>>()?;
        Ok(Box::new(PeriodicStreams::new(streams, 1e9 / self.rate, self.jitter)))
    }

    fn longest(&self) -> u32 {
        self.pattern.longest()
    }

    fn length(&self) -> Option<u32> {
        self.pattern.length()
    }

    fn deadline(&self) -> Option<Span> {
        let periods = f64::from(self.periods?);
        Some(Span((periods * 1e9 / self.rate) as u64))
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

struct PeriodicStream {
    addresses: Addresses,
    /// The point of its period at which it asks, from 0 to 1.
    phase: f64,
    /// Units that it has asked for.
    asked: u64,
}

struct PeriodicStreams {
    streams: Vec<PeriodicStream>,
    /// When each asks next.
    next: BinaryHeap<Reverse<(Time, u32)>>,
    period_ns: f64,
    jitter: f64,
}

impl PeriodicStreams {
    fn new(streams: Vec<PeriodicStream>, period_ns: f64, jitter: f64) -> PeriodicStreams {
        let mut it = PeriodicStreams { streams, next: BinaryHeap::new(), period_ns, jitter };
        (0..it.streams.len() as u32).for_each(|stream| it.plan(stream));
        it
    }

    /// Says when a stream asks next.
    fn plan(&mut self, number: u32) {
        let stream = &mut self.streams[number as usize];
        let late = if self.jitter > 0.0 { self.jitter * stream.addresses.draw().unit() } else { 0.0 };
        let at = (stream.asked as f64 + stream.phase + late) * self.period_ns;
        self.next.push(Reverse((Time(at as u64), number)));
    }
}

impl Workload for PeriodicStreams {
    fn due(&self) -> Option<Time> {
        self.next.peek().map(|Reverse((at, _))| *at)
    }

    fn make(&mut self) -> Result<Draft, BadInput> {
        let Some(Reverse((arrives, number))) = self.next.pop() else {
            return Err(misfit("streams", "nothing is due", "report this"));
        };
        let stream = &mut self.streams[number as usize];
        stream.asked += 1;
        let (op, at) = stream.addresses.draft();
        self.plan(number);
        Ok(Draft { arrives, op, at })
    }

    fn end_request(&mut self, _: Time, _: Extent) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use pattern::{AddressPattern, Sizes};

    fn plan(streams: u32, jitter: f64) -> StreamsPlan {
        let pattern = Pattern {
            blocks: 64,
            sizes: Sizes::Fixed,
            read: 1.0,
            at: AddressPattern::Sequential,
            region: Region::WHOLE,
            align: 8,
        };
        StreamsPlan { streams, rate: 10.0, jitter, periods: Some(2), pattern }
    }

    #[test]
    fn each_stream_asks_once_in_each_period_and_goes_on_in_its_own_part() {
        for jitter in [0.0, 1.0] {
            let (plan, blocks) = (plan(5, jitter), 100_000);
            let mut streams = plan.build("s", blocks, Draw::new(3, 0)).unwrap();
            let (mut ends, mut times) = (vec![None; 5], vec![Vec::new(); 5]);
            let mut last = Time::ZERO;
            for _ in 0..2_000 {
                assert_eq!(streams.due(), streams.due());
                let draft = streams.make().unwrap();
                assert!(draft.arrives >= last, "in order");
                last = draft.arrives;
                let number = (draft.at.start.0 / 20_000) as usize;
                assert!(draft.at.end().0 <= 20_000 * (number as u64 + 1), "{draft:?} leaves its part");
                if let Some(end) = ends[number] {
                    assert!(draft.at.start == end || draft.at.start.0 == 20_000 * number as u64, "{draft:?} after {end:?}");
                }
                ends[number] = Some(draft.at.end());
                times[number].push(draft.arrives.0 as f64 / 1e8);
            }
            let phases: Vec<f64> = times.iter().map(|times| times[0]).collect();
            assert!(phases.iter().all(|phase| (0.0..2.0).contains(phase)) && phases[0] != phases[1], "{phases:?}");
            for times in &times {
                assert!((399..=401).contains(&times.len()), "{}", times.len());
                let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
                let off = gaps.iter().map(|gap| (gap - 1.0).abs()).fold(0.0, f64::max);
                assert!(if jitter > 0.0 { (0.5..1.0).contains(&off) } else { off < 1e-6 }, "{off}");
            }
        }
    }

    #[test]
    fn a_deadline_is_of_so_many_periods() {
        assert_eq!(plan(1, 0.0).deadline(), Some(Span(200_000_000)));
        assert_eq!(StreamsPlan { periods: None, ..plan(1, 0.0) }.deadline(), None);
    }

    #[test]
    fn streams_that_have_no_room_are_refused() {
        let error = plan(1000, 0.0).build("s", 70_000, Draw::new(3, 0)).err().unwrap();
        assert!(error.what.contains("1000 streams of 32 KiB do not fit"), "{error}");
    }
}
