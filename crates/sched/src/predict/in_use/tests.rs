//! A made-up platter, learned from nothing but its completions.

use super::InUse;
use crate::predict::{OrderBasis, Predictor};
use block::{Command, Extent, FrameId, Lbn, Outcome, Place, Span, Time, Verb};

/// Zones of so many tracks of so many blocks; each next track begins a fifth of a turn later, each sixth one a third.
const ZONES: [(u64, u64); 3] = [(9000, 400), (8000, 330), (9000, 250)];
const HEADS: u64 = 6;

fn blocks() -> u64 {
    ZONES.iter().map(|(tracks, track)| tracks * track).sum()
}

/// The angle at which a block begins and what it takes, in revolutions, and its track.
fn place(mut block: u64) -> (f64, f64, u64) {
    let (mut before, mut turned) = (0, 0.0);
    for (tracks, track) in ZONES {
        let skew = |tracks: u64| tracks as f64 * 0.2 + (tracks / HEADS) as f64 * 0.133;
        if block < tracks * track {
            let on = block / track;
            let angle = turned + skew(on) + (block % track) as f64 / track as f64;
            return (angle.fract(), 1.0 / track as f64, before + on);
        }
        (block, before, turned) = (block - tracks * track, before + tracks, turned + skew(tracks) + 0.37);
    }
    unreachable!("past the end")
}

/// Reads at random, a new one as each comes back.
struct Bench {
    mimic: InUse,
    now: Time,
    track: u64,
    period: f64,
    /// What the arm takes for the way of so many tracks' root, in ns.
    way: f64,
    /// What the platter is ahead of where its period alone would have it, in revolutions.
    ahead: f64,
    dice: u64,
}

impl Bench {
    fn new() -> Bench {
        Bench {
            mimic: InUse::new(blocks()),
            now: Time(1),
            track: 0,
            period: 6_003_001.7,
            way: 30_000.0,
            ahead: 0.0,
            dice: 7,
        }
    }

    fn draw(&mut self, below: u64) -> u64 {
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.dice >> 33) % below
    }

    /// One read; how far off the belief in its time was, in ns.
    fn read(&mut self, turns: bool) -> u64 {
        let at = Extent { start: Lbn(self.draw(blocks() / 8 - 1) * 8), blocks: 8 };
        self.read_at(at, Place::Frame(FrameId(0), 0), turns)
    }

    /// The same of these blocks.
    fn read_at(&mut self, at: Extent, place_of_data: Place, turns: bool) -> u64 {
        let command = Command::new(Verb::Read, at, place_of_data);
        let spot = self.mimic.spot(at);
        let (head, _) = self.mimic.head(self.now);
        let cost = self.mimic.cost(&head, self.mimic.key(spot), self.mimic.mark(spot), block::Direction::Read);
        let (angle, width, track) = place(at.start.0);
        let seek = 800_000.0 + self.way * (self.track.abs_diff(track) as f64).sqrt() + self.draw(60_000) as f64;
        let arrived = self.now.0 as f64 + seek;
        let wait = (angle - self.ahead - arrived / self.period).rem_euclid(1.0) * self.period;
        let began = seek + if turns { wait } else { 0.0 };
        let took = began + 8.0 * width * self.period;
        self.mimic.note_issue(self.now, &command, spot);
        self.now = Time(self.now.0 + took as u64);
        self.mimic.note_completion(self.now, &command, Outcome::Ok);
        self.track = track;
        cost.abs_diff(began as u64)
    }

    fn read_many(&mut self, count: u32, turns: bool) -> f64 {
        (0..count).map(|_| self.read(turns) as f64 / f64::from(count)).sum()
    }
}

#[test]
fn where_something_turns_the_period_the_angles_and_the_moves_are_learned() {
    let mut bench = Bench::new();
    bench.read_many(12_000, true);
    let (mimic, period) = (&bench.mimic, bench.period);
    assert!((mimic.turning.period() as f64 / period - 1.0).abs() < 2e-4, "{} ns, not {period}", mimic.turning.period());
    assert!(mimic.chart.count_known() > blocks() / 20 * 19, "{} of {} blocks", mimic.chart.count_known(), blocks());
    let off = bench.read_many(2000, true);
    assert!(off < 0.1 * period, "times are off by {off} ns");
}

/// Blocks a little farther on, which the drive has read ahead, tell no angle, however often they are read: neither those that come at
/// once, a random read later, nor those that follow a read by so little that any slow rate would do.
#[test]
fn where_a_drive_reads_ahead_the_period_is_learned_all_the_same() {
    for (later, most, memory) in [(true, 3, 120_000), (false, 1, 1_200_000)] {
        let (mut bench, mut last) = (Bench::new(), 0);
        for _ in 0..20_000 {
            let start = bench.draw(blocks() / 8 - 20) * 8;
            bench.read_at(Extent::new(start, 8), Place::Frame(FrameId(0), 0), true);
            let near = std::mem::replace(&mut last, start);
            for ahead in 1..=1 + bench.draw(most) {
                let at = Extent::new(if later { near } else { start } + ahead * 24, 8);
                let command = Command::new(Verb::Read, at, Place::Frame(FrameId(0), 0));
                let spot = bench.mimic.spot(at);
                bench.mimic.note_issue(bench.now, &command, spot);
                bench.now = Time(bench.now.0 + memory + bench.draw(60_000));
                bench.mimic.note_completion(bench.now, &command, Outcome::Ok);
            }
        }
        let (period, found) = (bench.period, bench.mimic.turning.period());
        assert!((found as f64 / period - 1.0).abs() < 2e-4, "{found} ns, not {period}: {memory} ns");
    }
}

#[test]
fn where_nothing_turns_costs_are_not_gone_by() {
    let mut bench = Bench::new();
    bench.read_many(20_000, false);
    assert_eq!(bench.mimic.turning.rate, 0);
    assert!(!bench.mimic.forecasts.counts);
    assert_eq!(bench.mimic.order_basis(), OrderBasis::Distance, "far blocks take longer");
}

#[test]
fn where_nothing_turns_and_far_blocks_take_no_longer_arrival_is_gone_by_until_they_do() {
    let mut bench = Bench::new();
    bench.way = 0.0;
    bench.read_many(2000, false);
    assert_eq!(bench.mimic.order_basis(), OrderBasis::Arrival);
    assert_eq!(bench.mimic.grasp().expect("it learns").basis, OrderBasis::Arrival);
    bench.way = 30_000.0;
    bench.read_many(2000, false);
    assert_eq!(bench.mimic.order_basis(), OrderBasis::Distance);
    bench.way = 0.0;
    bench.read_many(8000, false);
    assert_eq!(bench.mimic.order_basis(), OrderBasis::Arrival);
}

/// What looks at thousands of reads goes on with each read that comes, for as long as one may be kept waiting: where nothing turns
/// that is a search to the end, of 60,000 rates and more with six tracks and up to 256 pairs each.
#[test]
fn nobody_waits_for_what_is_learned() {
    let mut bench = Bench::new();
    let (mut looks, mut looked, mut longest) = (0, 0, 0);
    for _ in 0..20_000 {
        let before = bench.mimic.look.is_some();
        bench.read(false);
        let is_looking = bench.mimic.look.is_some();
        looks += u32::from(is_looking && !before);
        looked = if is_looking { looked + 1 } else { 0 };
        longest = longest.max(looked);
    }
    assert!((5..12).contains(&looks), "{looks} looks");
    assert!((40..2000).contains(&longest), "a look took {longest} reads");
}

#[test]
fn another_device_in_its_place_is_noticed_and_learned() {
    let mut bench = Bench::new();
    bench.read_many(12_000, true);
    bench.period *= 1.3;
    bench.read_many(400, true);
    assert!(!bench.mimic.forecasts.counts, "what was learned of the one before is believed");
    bench.read_many(12_000, true);
    let period = bench.mimic.turning.period() as f64;
    assert!((period / bench.period - 1.0).abs() < 2e-4, "{period} ns, not {}", bench.period);
}

#[test]
fn a_read_from_the_cache_leaves_the_arm_where_it_was() {
    let mut bench = Bench::new();
    bench.read_many(12_000, true);
    let (head, at) = (bench.mimic.head, Extent { start: Lbn(4096), blocks: 8 });
    let command = Command::new(Verb::Read, at, Place::Nowhere);
    bench.mimic.note_issue(bench.now, &command, bench.mimic.spot(at));
    assert_eq!(bench.mimic.head, at.end().0);
    bench.mimic.note_completion(Time(bench.now.0 + 90_000), &command, Outcome::Ok);
    assert_eq!(bench.mimic.head, head);
}

#[test]
fn writes_are_believed_to_go_to_a_buffer_after_several_did_until_one_went_to_the_medium() {
    let mut bench = Bench::new();
    bench.read_many(12_000, true);
    let mut write = |took: u64| {
        let at = Extent { start: Lbn(bench.draw(blocks() / 8 - 1) * 8), blocks: 8 };
        let command = Command::new(Verb::Write { fua: false }, at, Place::Nowhere);
        bench.mimic.note_issue(bench.now, &command, bench.mimic.spot(at));
        bench.now = Time(bench.now.0 + took);
        bench.mimic.note_completion(bench.now, &command, Outcome::Ok);
        bench.mimic.buffered_cost(Time::ZERO)
    };
    const QUICK: u64 = 90_000;
    for round in 0..3 {
        for i in 1..=300 {
            let cost = write(QUICK);
            assert_eq!(cost.is_some(), i >= 8, "after {i} of round {round}");
            assert!(cost.is_none_or(|cost| cost <= QUICK), "{cost:?}");
            assert!(i < 200 || cost.is_some_and(|cost| cost > QUICK / 10 * 9), "{cost:?} after {i}");
        }
        assert_eq!(write(9_000_000), None, "one went to the medium");
    }
}

#[test]
fn costs_are_tried_once_forecasts_are_good_and_never_before() {
    let mut bench = Bench::new();
    let mut tried = 0;
    for i in 0..12_000 {
        let counted = bench.mimic.forecasts.counts;
        bench.read(true);
        let is_tried = bench.mimic.order_basis() == OrderBasis::Forecasts;
        assert!(counted || !is_tried, "read {i}");
        tried += u32::from(is_tried);
    }
    assert!(tried > 0);
}

#[test]
fn after_a_long_silence_the_platter_is_sought_and_the_chart_kept() {
    let mut bench = Bench::new();
    bench.read_many(14_000, true);
    for ahead in [0.5, 0.2, 0.4, 0.9] {
        bench.ahead += ahead;
        bench.now = Time(bench.now.0 + 100_000_000_000);
        bench.read_many(8, true);
        let off = bench.read_many(300, true);
        assert!(off < 0.1 * bench.period, "times are off by {off} ns, {ahead} of a turn later");
        assert!(bench.mimic.chart.count_known() > blocks() / 20 * 19, "{ahead} of a turn later");
    }
    // Without a silence it is another device.
    bench.ahead += 0.4;
    bench.read_many(300, true);
    assert!(bench.mimic.chart.count_known() < blocks() / 2);
}

#[test]
fn an_idle_device_is_read_until_it_is_known_and_no_order_is_tried_by_that() {
    let mut bench = Bench::new();
    bench.mimic = bench.mimic.probing_after(Some(Span(5)));
    assert_eq!(bench.mimic.patience(), Some(Span(5)));
    let mut count = 0;
    while let Some(at) = bench.mimic.probe(bench.now) {
        bench.read_at(at, Place::Nowhere, true);
        count += 1;
        assert_ne!(bench.mimic.order_basis(), OrderBasis::Forecasts);
    }
    assert!((10_000..30_000).contains(&count), "{count} reads");
    assert!(bench.mimic.chart.count_known() > blocks() / 20 * 19, "{} blocks", bench.mimic.chart.count_known());
    let is_tried = (0..1000).any(|_| {
        bench.read(true);
        bench.mimic.order_basis() == OrderBasis::Forecasts
    });
    assert!(is_tried, "what is known is tried at once");
}

#[test]
fn where_nothing_turns_reads_of_the_idle_device_end() {
    let mut bench = Bench::new();
    bench.mimic = bench.mimic.probing_after(Some(Span(5)));
    let mut count = 0;
    while let Some(at) = bench.mimic.probe(bench.now) {
        bench.read_at(at, Place::Nowhere, false);
        count += 1;
    }
    assert!((1000..5000).contains(&count), "{count} reads");
    assert_eq!(bench.mimic.turning.rate, 0);
}
