//! A disk for tests whose sectors are where a map has them: it has no memory, and nothing of it varies.

use crate::bench::ProbeBench;
use crate::clock::PhaseClock;
use crate::estimate::fraction;
use crate::eye::Eye;
use crate::map::{Arrangement, MapRegion, PatternLevel, TrackGeometry, TrackMap};
use block::{Caps, Command, Device, Outcome, Tag, Time, Verb};

/// The time of a revolution, ns.
pub(crate) const PERIOD: f64 = 6_000_011.0;

/// A disk at its own time.
#[derive(Debug)]
pub(crate) struct Platter {
    pub(crate) geometry: TrackGeometry,
    sectors: u64,
    now: Time,
    flying: Option<(Time, Tag)>,
    /// Where the arm is.
    track: (u64, u64),
    /// Commands of more blocks than this take longer by this share.
    pub(crate) large: Option<(u32, f64)>,
    /// What a write takes longer before it may begin, ms.
    pub(crate) settle: f64,
    /// Of so many commands one is noticed late, by this share of a revolution.
    pub(crate) late: Option<(usize, f64)>,
    /// Every command, in order.
    pub(crate) log: Vec<Command>,
}

impl Platter {
    pub(crate) fn new(geometry: TrackGeometry) -> Platter {
        let sectors = geometry.map.regions.last().map_or(0, MapRegion::end);
        let (now, flying, track) = (Time::ZERO, None, (0, 0));
        Platter { geometry, sectors, now, flying, track, large: None, settle: 0.0, late: None, log: Vec::new() }
    }

    /// One of heads-first cylinders: of each region so many cylinders of tracks of so many sectors.
    pub(crate) fn of_zones(heads: u64, zones: &[(u64, u32)]) -> Platter {
        let mut regions: Vec<MapRegion> = Vec::new();
        for (cylinders, round) in zones {
            let (track, first) = (u64::from(*round), regions.last().map_or(0, MapRegion::end));
            let skew = |ms: f64| fraction(libm::ceil(ms * 1e6 / PERIOD * track as f64) / track as f64);
            let turn = skew(1.0);
            let level = PatternLevel { sectors: heads * track, turn: fraction((heads - 1) as f64 * turn + skew(1.6)) };
            regions.push(MapRegion {
                first,
                sectors: cylinders * heads * track,
                skip: 0,
                round: *round,
                track,
                turn,
                runs: Vec::new(),
                levels: vec![level],
                angle: fraction(first as f64 * 0.617),
                slips: Vec::new(),
                bends: Vec::new(),
            });
        }
        let map = TrackMap { regions, remaps: Vec::new(), guessed: None };
        Platter::new(TrackGeometry::new(map, heads, Arrangement::Heads))
    }

    /// What goes by before the arm is where it should be, ns: overhead, seek and switch.
    pub(crate) fn move_ns(&self, from: (u64, u64), to: (u64, u64)) -> f64 {
        let distance = from.0.abs_diff(to.0) as f64;
        let seek = if distance > 0.0 { 0.9e6 + 0.05e6 * distance.sqrt() } else { 0.0 };
        let switch = if from.1 == to.1 { 0.0 } else { 0.6e6 };
        0.2e6 + f64::max(seek, switch)
    }

    fn address(&self, sector: u64) -> (u64, u64) {
        let address = self.geometry.address_of(sector);
        (address.cylinder, address.head)
    }

    /// When a command given now has passed.
    fn serve(&mut self, command: &Command) -> Time {
        let at = command.at;
        if command.verb == Verb::Flush {
            return self.now;
        }
        let (first, to) = (at.start.0, self.address(at.start.0));
        let settle = if command.verb.writes() { self.settle * 1e6 } else { 0.0 };
        let begin = self.now.0 as f64 + self.move_ns(self.track, to) + settle;
        let place = self.geometry.map.place(first);
        let waits = fraction(place.angle - begin / PERIOD);
        let (mut passes, mut sector) = (0.0, first);
        while sector < at.end().0 {
            let here = self.geometry.map.place(sector);
            let count = here.left.clamp(1, at.end().0 - sector);
            if sector > first {
                passes += fraction(here.angle - place.angle - passes);
            }
            passes += count as f64 * here.width();
            sector += count;
        }
        let longer = self.large.filter(|(above, _)| at.blocks > *above).map_or(1.0, |(_, share)| 1.0 + share);
        self.track = self.address(sector - 1);
        let late = self.late.filter(|(of, _)| self.log.len().is_multiple_of(*of)).map_or(0.0, |(_, late)| late);
        Time((begin + (waits + passes * longer + late) * PERIOD) as u64)
    }
}

impl Device for Platter {
    fn caps(&self) -> Caps {
        Caps { blocks: self.sectors, depth: 1, seek: block::SeekBy::Nothing, arms: 1 }
    }

    fn now(&self) -> Time {
        self.now
    }

    fn issue(&mut self, tag: Tag, command: Command) -> Time {
        self.log.push(command);
        self.flying = Some((self.serve(&command), tag));
        self.now
    }

    fn next(&mut self, until: Time) -> Option<(Time, Tag, Outcome)> {
        match self.flying.take() {
            Some((end, tag)) if end <= until => {
                self.now = end;
                Some((end, tag, Outcome::Ok))
            }
            flying => {
                self.flying = flying;
                self.now = self.now.max(until);
                None
            }
        }
    }
}

/// Looks at a platter with a clock that is right.
pub(crate) fn with_eye<T>(platter: &mut Platter, look: impl FnOnce(&mut Eye<Platter>) -> T) -> T {
    let mut bench = ProbeBench::new("platter", platter, 1, None);
    look(&mut Eye::new(&mut bench, PhaseClock::new(PERIOD, 0.0, Time::ZERO)))
}

/// Profiles a platter, writing where that is allowed.
pub(crate) fn known(
    platter: &mut Platter,
    effort: crate::Thoroughness,
    scratch: Option<crate::Scratch>,
) -> crate::DriveKnowledge {
    let options = crate::ProfileOptions { name: "platter".into(), seed: 1, effort, scratch };
    match crate::profile(platter, &options, &mut ()).expect("it answers").outcome {
        crate::ProfileOutcome::Disk(known) => *known,
        other => panic!("it is a disk: {other:?}"),
    }
}

#[test]
fn a_platter_is_known_to_the_sector_and_to_the_microsecond() {
    let mut platter = Platter::of_zones(3, &[(100, 200), (80, 180)]);
    let known = known(&mut platter, crate::Thoroughness::Thorough, None);
    assert!((known.clock.mean_period() / PERIOD - 1.0).abs() < 1e-6);
    assert_eq!((known.geometry.heads, known.shift), (3, 0));
    let sector = 1.0 / 200.0;
    let zero = known.geometry.map.place(0).angle - platter.geometry.map.place(0).angle;
    for at in 0..platter.sectors {
        let (ours, theirs) = (known.geometry.map.place(at), platter.geometry.map.place(at));
        let off = crate::estimate::signed_fraction(ours.angle - theirs.angle - zero);
        assert!(off.abs() < 0.1 * sector && ours.left == theirs.left, "{at}: {ours:?} {theirs:?}");
        assert_eq!(known.geometry.address_of(at), platter.geometry.address_of(at), "{at}");
    }
    for (distance, ms) in known.moves.curve() {
        let real = platter.move_ns((0, 0), (u64::from(distance), 0)) - platter.move_ns((0, 0), (0, 0));
        assert!((ms - real / 1e6).abs() < 0.01, "{distance}: {ms} {real}");
    }
    assert!((known.moves.overhead() - 0.2).abs() < 0.01 && (known.head_switch() - 0.6).abs() < 0.01);
    assert_eq!((known.cache.segments, known.large), (0, None));
    assert!(known.validation.late < 0.01 && known.validation.rms_on_time_ms < 0.01, "{:?}", known.validation);
}
