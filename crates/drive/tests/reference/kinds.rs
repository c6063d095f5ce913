//! Drives made up by chance: from one head to many, of 1 to 400 zones, even and uneven, with every habit a drive file can give them.

use crate::dice::Dice;
use block::Span;
use disk::{
    Access, After, Ahead, Bus, Cache, Confidence, Disconnect, Drain, DrivePlan, DurationLimit, FreesAt, LayoutPlan,
    LimitPolicy, Order, Overheads, Parity, Queue, SeekCurve, Sparing, Switches, Truth, Turn, Whole, WriteStages,
    ZonePlan,
};

/// What of a drive is switched on; each has all that those before it have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Layout, moves and rotation.
    Bare,
    /// Blocks taken as they come by.
    AnyOrder,
    /// The way to the host.
    OnBus,
    /// Read segments and reading ahead.
    Reads,
    /// The write buffer.
    Writes,
    /// Several commands in the drive.
    Queued,
    /// Commands that ask to be served before others; the only level that has them.
    Marked,
    /// What drives imported from elsewhere do, and a spindle off its rate.
    Imported,
}

/// Sectors of a drive, more or less.
const SECTORS: u64 = 50_000;

fn us(dice: &mut Dice, least: u64, most: u64) -> Span {
    Span(dice.from(least * 1000, most * 1000))
}

fn after(dice: &mut Dice, least: u64, most: u64) -> After {
    let least = if dice.percent(15) { 0 } else { least };
    let most = if least == 0 && dice.percent(50) { 0 } else { most };
    let one = After::either(us(dice, least, most));
    if dice.percent(50) { one } else { After { write: us(dice, least, most), ..one } }
}

/// A drive by chance.
pub fn drive(dice: &mut Dice, level: Level) -> DrivePlan {
    let mut plan = plain(dice, level);
    // By what was drawn, not by dice of their own: the scenes that stand by their number stay what they are.
    let drawn = u64::from(plan.layout.heads) + plan.queue.age_limit.0 / 1000;
    plan.cache.merges_sectors = plan.layout.sector_blocks > 1 && drawn.is_multiple_of(3);
    plan.queue.weighs = if drawn.is_multiple_of(5) { 1 + (drawn / 5 % 6) as u16 } else { u16::MAX };
    let plan = if level >= Level::Imported { imported(dice, plan) } else { plan };
    if level == Level::Marked { marked(dice, plan) } else { plan }
}

/// A drive that heeds marks, and has several commands to choose from. It takes blocks in their order: which one a head that comes at the
/// end of another catches first is a matter of roundings, in one of 3,000 scenes of so many commands.
fn marked(dice: &mut Dice, plan: DrivePlan) -> DrivePlan {
    let mut limits = [None; DurationLimit::MOST];
    let policies = [LimitPolicy::Late, LimitPolicy::Unavailable, LimitPolicy::Abort];
    for limit in limits.iter_mut().take(dice.from(0, 7) as usize) {
        let span = |dice: &mut Dice| if dice.percent(60) { us(dice, 1, 200_000) } else { Span::ZERO };
        *limit = Some(DurationLimit { inactive: span(dice), duration: span(dice), policy: dice.one_of(&policies) });
    }
    let high_priority = dice.percent(60);
    let depth = dice.one_of(&[2, 4, 8, 16, 32]);
    let access = Access::default();
    DrivePlan { access, queue: Queue { depth, high_priority, limits, ..plan.queue }, ..plan }
}

/// The habits that files of other simulators have. Left out, since the two still differ in one of 2,000 scenes: `free` beside
/// reads in any order; a set-out before the data are there beside sectors of many blocks; an arm let go late beside a write buffer.
fn imported(dice: &mut Dice, plan: DrivePlan) -> DrivePlan {
    let has = Dice::percent;
    let wander = has(dice, 20);
    let orders = [Turn::Fcfs, Turn::Look, Turn::Ascending, Turn::CLook, Turn::Sstf];
    let ordered = has(dice, 50);
    let order = dice.one_of(&orders);
    let late = dice.one_of(&[FreesAt::Message, FreesAt::Completion]);
    let rate = dice.from(3, 1200) as f64 + 0.25;
    DrivePlan {
        truth: Truth {
            rpm_offset: if has(dice, 20) { (dice.share() - 0.5) / 100.0 } else { 0.0 },
            rpm_wander: if wander { dice.share() / 100_000.0 } else { 0.0 },
            wander_period: us(dice, 1_000_000, 60_000_000),
            ..plan.truth
        },
        access: Access { free: !plan.access.reads && has(dice, 20), ..plan.access },
        bus: Bus {
            write_mb_s: (plan.bus.mb_s.is_some() && has(dice, 30)).then_some(rate),
            watermark_of: if has(dice, 50) { Whole::Segment } else { Whole::Request },
            holds_reading: has(dice, 50),
            ..plan.bus
        },
        overheads: Overheads { prepare: if has(dice, 30) { us(dice, 1, 400) } else { Span::ZERO }, ..plan.overheads },
        queue: Queue {
            order: if ordered { order } else { Turn::Soonest },
            frees_at: if plan.cache.write_buffer == 0 && has(dice, 60) { late } else { FreesAt::Medium },
            ..plan.queue
        },
        cache: Cache {
            seeks_early: plan.layout.sector_blocks == 1 && has(dice, 50),
            ends_at_command: has(dice, 50),
            ..plan.cache
        },
        ..plan
    }
}

fn plain(dice: &mut Dice, level: Level) -> DrivePlan {
    let layout = layout(dice);
    let last = layout.zones.last().map_or(0, |zone| zone.last_cylinder);
    let head = us(dice, 0, 900);
    let cylinder = us(dice, 100, 1200);
    let switches = Switches {
        head,
        head_write: if dice.percent(50) { head } else { us(dice, 0, 1200) },
        cylinder,
        cylinder_write: if dice.percent(50) { cylinder } else { us(dice, 100, 1500) },
        write_settle: if dice.percent(50) { Span::ZERO } else { us(dice, 1, 1000) },
    };
    let access = Access {
        reads: level >= Level::AnyOrder && dice.percent(35),
        writes: level >= Level::AnyOrder && dice.percent(25),
        free: false,
    };
    let on_bus = level >= Level::OnBus && dice.percent(85);
    let watermark = if dice.percent(15) { dice.share() } else { 0.0 };
    let write_watermark = if dice.percent(15) { dice.share() } else { 0.0 };
    let depth = if level >= Level::Queued { dice.one_of(&[1, 2, 3, 4, 8, 16, 32]) } else { 1 };
    let seek = curve(dice, last);
    DrivePlan {
        title: "made up".into(),
        sources: vec![],
        assumed: vec![],
        rpm: dice.one_of(&[3600.0, 4500.0, 5400.0, 5640.0, 7200.0, 7197.0, 10_000.0, 10_025.0, 15_000.0, 6543.21]),
        seek_write: dice.percent(15).then(|| curve(dice, last)),
        seek,
        layout,
        switches,
        access,
        overheads: overheads(dice, level),
        bus: match on_bus {
            true => Bus { mb_s: Some(dice.from(3, 1200) as f64 + 0.25), watermark, write_watermark, ..Bus::default() },
            false => Bus::default(),
        },
        cache: cache(dice, level),
        queue: Queue { depth, age_limit: us(dice, 5_000, 400_000), ..Queue::default() },
        unmeasured: disk::Unmeasured::default(),
        truth: Truth::default(),
        confidence: Confidence::default(),
    }
}

fn layout(dice: &mut Dice) -> LayoutPlan {
    let heads = dice.one_of(&[1, 1, 2, 2, 3, 4, 5, 6, 8, 12]);
    let count = dice.one_of(&[1, 1, 2, 3, 5, 8, 20, 60, 400]);
    let sector_blocks = dice.one_of(&[1, 1, 8]);
    let order = match dice.below(4) {
        0 => Order::HeadsFirst,
        1 => Order::Serpentine(Parity::OfZone),
        2 => Order::Serpentine(Parity::OfDisk),
        _ => Order::BandSerpentine(dice.from(1, 12) as u32),
    };
    let sparing = dice.one_of(&[Sparing::Zone, Sparing::Zone, Sparing::None, Sparing::Track, Sparing::ZoneSlipping]);
    // Sector by sector it must be looked at: some 50,000 are enough.
    let heads = if count > 50 { heads.min(4) } else { heads };
    let longest = (SECTORS / count / u64::from(heads)).clamp(12, 420);
    let outer = dice.from(12, longest);
    let tracks = (SECTORS / count / outer).max(1);
    let (mut zones, mut cylinder) = (Vec::new(), 0u64);
    for _ in 0..count {
        // Where cylinders without data lie between zones, moves are long though the drive is small.
        let first = cylinder + if dice.percent(30) { dice.from(0, 4000) } else { 0 };
        let wide = dice.from(1, (tracks / u64::from(heads)).max(1));
        let sectors = if dice.percent(70) { outer } else { dice.from(8, longest) } as u32;
        cylinder = first + wide;
        zones.push(zone(dice, (first as u32, cylinder as u32 - 1), sectors, heads, sparing));
    }
    LayoutPlan { heads, order, sector_blocks, sparing, zones, ..LayoutPlan::default() }
}

fn zone(dice: &mut Dice, (first, last): (u32, u32), sectors: u32, heads: u32, sparing: Sparing) -> ZonePlan {
    let total = u64::from(last - first + 1) * u64::from(heads) * u64::from(sectors);
    let in_sectors = |dice: &mut Dice| dice.below(u64::from(sectors)) as f64 / f64::from(sectors);
    let skew = |dice: &mut Dice| if dice.percent(50) { in_sectors(dice) } else { dice.share() };
    let plan = ZonePlan {
        first_cylinder: first,
        last_cylinder: last,
        sectors,
        head_skew: skew(dice),
        cylinder_skew: skew(dice),
        offset: if dice.percent(40) { dice.share() } else { 0.0 },
        ..ZonePlan::default()
    };
    let defects = matches!(sparing, Sparing::Zone | Sparing::ZoneSlipping) && total > 200 && dice.percent(50);
    if sparing == Sparing::Track {
        return ZonePlan { spares: dice.below(3) as u32, ..plan };
    }
    if !defects {
        return plan;
    }
    let spares = 12;
    let reserved = dice.below(20);
    let mut places: Vec<u32> = (0..8).map(|_| dice.from(reserved, total - 60) as u32).collect();
    places.sort_unstable();
    places.dedup();
    let slips: Vec<u32> = places.iter().copied().filter(|place| place % 2 == 0).take(4).collect();
    // No spare for the first or last sector of a track: which of two tracks such a block belongs to nobody can tell.
    let within =
        |place: &u32| place % sectors >= 12 && place % sectors + 12 < sectors && *place >= reserved as u32 + 12;
    let bad = places.iter().copied().filter(|place| place % 2 == 1 && within(place)).take(3);
    // The last of the zone's sectors hold nothing: as many as are spare less those the slips have taken.
    let remaps = bad.enumerate().map(|(i, place)| (place, (total - 1 - i as u64) as u32)).collect();
    ZonePlan { spares, reserved: reserved as u32, slips, remaps, ..plan }
}

fn curve(dice: &mut Dice, last: u32) -> SeekCurve {
    let (a, b) = (0.2 + 2.0 * dice.share(), 0.005 + 0.06 * dice.share());
    match dice.below(3) {
        0 => SeekCurve::Lee { a: b, b: 3e-4 * dice.share(), c: a },
        1 => {
            let mut points = vec![(1, a)];
            for _ in 0..6 {
                let (x, y) = points[points.len() - 1];
                points.push((x + dice.from(1, 1 + u64::from(last) / 4) as u32, y + dice.share()));
            }
            points.push((last + 9, points[points.len() - 1].1 + dice.share()));
            points.sort_unstable_by_key(|(x, _)| *x);
            points.retain(|(x, _)| *x <= last + 9);
            SeekCurve::Table(points)
        }
        _ => {
            let first = if dice.percent(40) { vec![0.1 + dice.share(), 0.3 + dice.share()] } else { vec![] };
            SeekCurve::TwoPiece { a, b, knee: dice.from(0, u64::from(last)) as u32, c: a, e: 2e-4, first }
        }
    }
}

fn overheads(dice: &mut Dice, level: Level) -> Overheads {
    let buses = level >= Level::OnBus;
    let seldom = |dice: &mut Dice, most: u64| if dice.percent(15) { us(dice, 1, most) } else { Span::ZERO };
    Overheads {
        read: after(dice, 20, 900),
        hit: after(dice, 5, 500),
        write: after(dice, 20, 900),
        buffered: after(dice, 5, 500),
        queued: (level >= Level::Queued && dice.percent(40)).then(|| us(dice, 5, 300)),
        done: if level >= Level::Queued || dice.percent(30) { after(dice, 3, 300) } else { After::default() },
        reselect: if buses { seldom(dice, 400) } else { Span::ZERO },
        least_seek: seldom(dice, 1500),
        disconnect: (buses && dice.percent(10)).then(|| Disconnect {
            command: us(dice, 10, 500),
            seek: us(dice, 0, 500),
            data: us(dice, 0, 700),
            ..Disconnect::default()
        }),
        large: None,
        stages: stages(&mut Dice(dice.0 ^ 0x5374_6167_6573), level),
        ..Overheads::default()
    }
}

/// Drawn apart: scenes that are named by their seed stay as they were.
fn stages(apart: &mut Dice, level: Level) -> Option<WriteStages> {
    (level >= Level::Writes && apart.percent(25)).then(|| WriteStages {
        fast: apart.one_of(&[0, 8, 200, 1000]),
        mid: us(apart, 0, 100),
        between: apart.one_of(&[0, 1, 50, 400]),
        slow: us(apart, 0, 15_000),
        rest: us(apart, 0, 20_000),
    })
}

fn cache(dice: &mut Dice, level: Level) -> Cache {
    let reads = level >= Level::Reads && dice.percent(90);
    let writes = level >= Level::Writes && dice.percent(80);
    let segment = dice.one_of(&[16, 64, 150, 256, 700, 2048]);
    let aheads = [Ahead::Nowhere, Ahead::Track, Ahead::Cylinder, Ahead::Most, Ahead::Most, Ahead::NextTrack];
    Cache {
        segments: if reads { dice.one_of(&[1, 2, 3, 8, 32]) } else { 0 },
        segment: if reads { segment } else { 0 },
        ahead: dice.one_of(&aheads),
        read_ahead: if reads { dice.from(0, u64::from(segment)) as u32 } else { 0 },
        least_ahead: if dice.percent(30) { dice.from(1, 200) as u32 } else { 0 },
        resumes: dice.percent(30),
        almost_hits: dice.percent(70),
        forgets: dice.percent(20),
        written_hits: dice.percent(75),
        hits_wait: dice.percent(15),
        stops_in_sector: dice.percent(15),
        write_buffer: if writes { dice.one_of(&[64, 300, 1024, 4096, 20_000]) } else { 0 },
        write_extents: if dice.percent(30) { dice.from(1, 12) as u32 } else { 0 },
        joins_writes: dice.percent(70),
        shared: dice.percent(15),
        drain: dice.one_of(&[Drain::Soonest, Drain::Soonest, Drain::AllSoonest, Drain::InOrder]),
        ..Cache::default()
    }
}
