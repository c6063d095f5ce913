//! A device learned while it is used, from what every host sees: block numbers, and the times at which commands were given and
//! came back.
//!
//! It begins by distance alone. Reads of near blocks come back a whole number of revolutions apart, which tells whether anything
//! turns, and how fast ([`turning`]). From then on each read tells the angle at which it ended, and neighbouring ones at which
//! angles the blocks between them lie ([`chart`]). What a move of the arm takes is the least that its distance was seen to take
//! ([`reach`]). Costs count ([`Predictor::order_basis`]) from when they told the times of commands better than distance alone did,
//! and as long as they do: what has changed is noticed by that, forgotten and learned anew. Where nothing turns and times do not
//! rise with distance ([`slope`]), distance counts for nothing ([`arrival`]).
//!
//! Costs are in nanoseconds, angles in 2⁻³² revolutions.

mod arrival;
mod chart;
mod reach;
mod sample;
mod slope;
mod survey;
#[cfg(test)]
mod tests;
mod trial;
mod turning;
mod writes;

use super::{Grasp, Knowledge, Manual, OrderBasis, Predictor, Recipe, Tells};
use arrival::ArrivalTrial;
use block::{Command, Direction, Extent, Lbn, Outcome, Place, Span, Time, Verb};
use chart::{AngleChart, ChartDrawing};
use reach::ReachTimes;
use sample::{Allowance, LookMemory, Sample};
use slope::Stride;
use survey::{Survey, SurveyStep};
use trial::{Forecasts, ForecastsAre, OrderTrial};
use turning::{RateSearch, Turning};
use writes::WriteHabits;

/// Reads that are remembered.
const KEPT: usize = 16_384;

/// Of so many reads it is first asked what they tell; later of half as many again.
const FIRST_LOOK: u64 = 1024;

/// Where angles are off by so much of a revolution, of late, what was learned is of another device: by chance it is a quarter.
const ASTRAY: f32 = 0.18;

/// To learn what moves of the arm take, an idle device has the one of so many reads that is believed to begin soonest.
const CHOICE: usize = 32;

/// Where so many charts in a row came to nothing, it turns at another rate than was found.
const UNDRAWN: u32 = 5;

/// A command that ended within this share of a revolution of where its last block lies came from there, and not from memory.
const IN_PLACE: f32 = 1.0 / 64.0;

/// While nothing is known to turn, a read that took less, in ns, tells no angle: hardly any comes from a platter so soon, and all that the
/// drive had read ahead do.
const FROM_MEMORY: u64 = 800_000;

/// While it is not known where the arm is, the way from where it last was is no more than a hint: it counts for 2⁻ⁿ of itself.
const HINT: u32 = 4;

/// Where a request lies: its place in tracks, and the angles at which it begins and ends, where they are known.
#[derive(Clone, Copy, Debug)]
pub struct Station {
    block: u64,
    mark: Bearing,
}

/// The angle at which a request begins, if it is known, and its track.
#[derive(Clone, Copy, Debug)]
pub struct Bearing {
    track: u32,
    angle: u32,
    known: bool,
}

/// Where the head is: over which block and track, and where the platter is if that is known.
#[derive(Clone, Copy, Debug)]
pub struct HeadAim {
    block: u64,
    track: u32,
    phase: Option<u32>,
    reading: bool,
    /// What a read takes, in ns, while it is not known where the arm is.
    astray: Option<u64>,
}

/// The command in flight.
#[derive(Clone, Copy, Debug)]
struct WatchedCommand {
    at: Extent,
    issued: Time,
    verb: Verb,
    tracks: u32,
    /// By when it should begin, by its angle, and by distance alone.
    expected: Option<u64>,
    usual: u64,
    /// It goes on where the last one ended.
    follows: bool,
    alone: bool,
    /// It was not known where the arm was.
    astray: bool,
}

/// What is being found out from the reads of late: a bit with each read, for it takes up to a second.
#[derive(Clone, Copy, Debug)]
enum LookStage {
    /// Whether anything turns, and how fast.
    Rate(RateSearch),
    /// At which angles blocks lie.
    Chart(ChartDrawing),
}

/// A predictor that knows nothing beforehand.
#[derive(Clone, Debug)]
pub struct InUse {
    blocks: u64,
    arm: Lbn,
    /// Where the head is believed to be, and whether it read last.
    head: u64,
    reading: bool,
    /// Where it was before the command in flight.
    before: (u64, bool),
    flights: Vec<WatchedCommand>,
    quiet_since: Time,
    samples: Vec<Sample>,
    seen: u64,
    look_at: u64,
    look: Option<LookStage>,
    turning: Turning,
    chart: AngleChart,
    /// The next one, while it is drawn.
    fresh: AngleChart,
    scratch: LookMemory,
    /// Blocks to a track, about, where the chart does not say.
    usual_track: u64,
    /// For reads, and for writes to the medium.
    reach: [ReachTimes; 2],
    forecasts: Forecasts,
    trial: OrderTrial,
    arrival: ArrivalTrial,
    /// The block after the last command that came back.
    ended: Lbn,
    /// Of a thousand blocks, those whose angles were known when it was last looked.
    known: u16,
    writes: WriteHabits,
    /// Reads of the idle device, where they are allowed.
    survey: Option<Survey>,
    /// Charts in a row on which nothing was drawn.
    undrawn: u32,
}

impl InUse {
    /// Knows nothing of a device of so many blocks.
    #[must_use]
    pub fn new(blocks: u64) -> InUse {
        InUse {
            blocks,
            arm: Lbn(0),
            head: 0,
            reading: false,
            before: (0, false),
            flights: Vec::with_capacity(64),
            quiet_since: Time::ZERO,
            samples: Vec::with_capacity(KEPT),
            seen: 0,
            look_at: FIRST_LOOK,
            look: None,
            turning: Turning::default(),
            chart: AngleChart::new(KEPT),
            fresh: AngleChart::new(KEPT),
            scratch: LookMemory::new(KEPT),
            usual_track: (blocks >> 20).max(256),
            reach: [ReachTimes::default(), ReachTimes::default()],
            forecasts: Forecasts::default(),
            trial: OrderTrial::default(),
            arrival: ArrivalTrial::default(),
            ended: Lbn(0),
            known: 0,
            writes: WriteHabits::default(),
            survey: None,
            undrawn: 0,
        }
    }

    /// The same, which has the device read once it was left alone for so long.
    fn probing_after(self, after: Option<Span>) -> InUse {
        InUse { survey: after.map(|after| Survey::new(after, self.blocks)), ..self }
    }

    #[inline]
    fn track(&self, block: u64) -> u32 {
        // A chart changes how far apart blocks are, not how far apart the ends of the stroke are.
        match self.chart.along(block) {
            Some(along) => ((along * (self.blocks / self.usual_track)) >> 32) as u32,
            None => (block / self.usual_track) as u32,
        }
    }

    /// The time until a command may begin, by its distance and angle.
    #[inline(always)]
    fn begin(&self, head: &HeadAim, mark: Bearing, direction: Direction) -> u64 {
        let moved = self.reach[direction as usize].time(head.track.abs_diff(mark.track));
        let Some(phase) = head.phase.filter(|_| mark.known && self.turning.rate != 0) else {
            return moved + self.turning.period() / 2;
        };
        let there = phase.wrapping_add((moved.wrapping_mul(self.turning.rate) >> 32) as u32);
        let wait = mark.angle.wrapping_sub(there);
        moved + ((u64::from(wait) * self.turning.period()) >> 32)
    }

    /// What passes of a revolution while these blocks do, in ns.
    fn passing(&self, at: Extent) -> u64 {
        let width = self.chart.piece(at.start.0).map_or(0, |piece| self.chart.pieces[piece].width());
        (((u64::from(width) * u64::from(at.blocks)) >> 8) * self.turning.period()) >> 24
    }

    /// A read came back from the medium.
    fn keep(&mut self, happened: Time, at: Extent) {
        let sample = Sample { block: at.end().0 - 1, at: happened.0, angle: self.turning.at(happened) };
        if self.samples.len() < KEPT {
            self.samples.push(sample);
        } else {
            self.samples[(self.seen % KEPT as u64) as usize] = sample;
        }
        self.seen += 1;
        if self.turning.astray > ASTRAY {
            self.forget();
            return;
        }
        if let Some((off, known)) = self.chart.check(sample.block, sample.angle)
            && !(known && self.turning.seek_phase(happened, off))
        {
            self.turning.note(off);
            if known {
                self.turning.correct(happened, off);
            }
        }
        if self.look.is_some() {
            self.look_on();
        } else if self.seen >= self.look_at {
            // What has told nothing so far tells it ever less likely.
            let tells = self.turning.rate != 0 && !self.chart.pieces.is_empty();
            let most = if tells { KEPT as u64 / 2 } else { u64::MAX };
            self.look_at = self.seen + (self.seen / 2).min(most);
            self.begin_look();
        }
    }

    /// What is there is another device than before: it is learned from the beginning.
    fn forget(&mut self) {
        self.samples.clear();
        (self.seen, self.look_at, self.look) = (0, FIRST_LOOK, None);
        (self.turning, self.forecasts, self.trial) = (Turning::default(), Forecasts::default(), OrderTrial::default());
        self.chart.pieces.clear();
        self.known = 0;
        self.reach = [ReachTimes::default(), ReachTimes::default()];
        self.writes = WriteHabits::default();
        if let Some(survey) = &mut self.survey {
            survey.forget();
        }
    }

    /// Begins to ask what the reads of late tell.
    fn begin_look(&mut self) {
        let sorted = &mut self.scratch.sorted;
        sorted.clear();
        sorted.extend_from_slice(&self.samples);
        sorted.sort_unstable_by_key(|sample| (sample.block, sample.at));
        self.look = match self.turning.rate {
            0 => RateSearch::begin(&mut self.scratch).map(LookStage::Rate),
            _ => ChartDrawing::begin(&mut self.fresh, &mut self.scratch).map(LookStage::Chart),
        };
    }

    /// Goes on with that.
    fn look_on(&mut self) {
        let mut allowance = Allowance::new();
        self.look = match self.look.take() {
            None => None,
            Some(LookStage::Rate(mut search)) => match search.go_on(&mut self.scratch, &mut allowance) {
                None => Some(LookStage::Rate(search)),
                Some(None) => None,
                Some(Some(turning)) => {
                    self.turning = turning;
                    for sample in self.samples.iter_mut().chain(&mut self.scratch.sorted) {
                        sample.angle = turning.at(Time(sample.at));
                    }
                    ChartDrawing::begin(&mut self.fresh, &mut self.scratch).map(LookStage::Chart)
                }
            },
            Some(LookStage::Chart(mut drawing)) => {
                let is_drawn = drawing.go_on(&mut self.fresh, &mut self.scratch, &mut allowance);
                if is_drawn {
                    self.take_chart();
                }
                (!is_drawn).then_some(LookStage::Chart(drawing))
            }
        };
    }

    /// A chart is drawn. One that knows much less than the last met what does not belong there; what the last knows better stays.
    fn take_chart(&mut self) {
        if self.fresh.count_known() >= self.chart.count_known() / 4 * 3 {
            self.fresh.take_better(&self.chart);
            self.fresh.finish(self.blocks);
            std::mem::swap(&mut self.chart, &mut self.fresh);
        }
        self.undrawn = if self.chart.pieces.is_empty() { self.undrawn + 1 } else { 0 };
        if self.undrawn == UNDRAWN {
            (self.turning, self.undrawn) = (Turning::default(), 0);
        }
        self.known = (u128::from(self.chart.count_known()) * 1000 / u128::from(self.blocks.max(1))) as u16;
    }
}

impl Recipe for InUse {
    const MANUAL: Manual = Manual {
        name: "in-use",
        text: "Learns the device while it serves: whether something turns and how fast, at which angles blocks lie and what moves of the arm take, all from the times at which commands complete. It needs to know nothing beforehand.",
        keys: &[],
        table: None,
        example: "predictor = \"in-use\"",
        tells: Tells::Order,
    };

    fn make(known: &Knowledge, blocks: u64) -> Option<InUse> {
        Some(InUse::new(blocks).probing_after(known.probe_after))
    }
}

impl Predictor for InUse {
    type Spot = Station;
    type Mark = Bearing;
    type Head = HeadAim;

    fn spot(&self, at: Extent) -> Station {
        let angles = if self.turning.rate == 0 { None } else { self.chart.angles(at.start.0) };
        let mark = Bearing {
            track: self.track(at.start.0),
            angle: angles.map_or(0, |(begin, _)| begin),
            known: angles.is_some(),
        };
        Station { block: at.start.0, mark }
    }

    fn key(&self, spot: Station) -> u64 {
        spot.block
    }

    fn mark(&self, spot: Station) -> Bearing {
        spot.mark
    }

    fn head(&self, now: Time) -> (HeadAim, u64) {
        self.head_behind(Lbn(self.head), now)
    }

    fn head_behind(&self, Lbn(block): Lbn, now: Time) -> (HeadAim, u64) {
        let head = HeadAim {
            block,
            track: self.track(block),
            phase: Some(self.turning.at(now)),
            reading: self.reading,
            astray: self.writes.read_time(),
        };
        (head, block)
    }

    fn cost(&self, head: &HeadAim, key: u64, mark: Bearing, direction: Direction) -> u64 {
        if self.turning.rate == 0 {
            return head.block.abs_diff(key);
        }
        if key == head.block && head.reading != direction.writes() {
            return 0;
        }
        match head.astray {
            Some(usual) => usual + (self.reach[direction as usize].time(head.track.abs_diff(mark.track)) >> HINT),
            None => self.begin(head, mark, direction),
        }
    }

    fn least(&self, head: &HeadAim, from: u64, to: u64, direction: Direction) -> u64 {
        let nearest = head.block.clamp(from, to);
        if self.turning.rate == 0 {
            return head.block.abs_diff(nearest);
        }
        if nearest == head.block {
            return 0;
        }
        let least = self.reach[direction as usize].least(head.track.abs_diff(self.track(nearest)));
        head.astray.map_or(least, |usual| usual + (least >> HINT))
    }

    fn head_after(&self, _: &HeadAim, at: Extent, spot: Station, direction: Direction) -> (HeadAim, u64) {
        let phase = Some(spot.mark.angle);
        let block = at.end().0;
        let track = self.track(block);
        (HeadAim { block, track, phase, reading: !direction.writes(), astray: None }, block)
    }

    fn buffered_beside(&self) -> (HeadAim, u64) {
        let block = self.writes.beside();
        (HeadAim { block, track: self.track(block), phase: None, reading: false, astray: None }, block)
    }

    fn buffered_cost(&self, _: Time) -> Option<u64> {
        self.writes.cost()
    }

    fn order_basis(&self) -> OrderBasis {
        match self.basis() {
            // With others in the device it is not known where the head will be.
            OrderBasis::Forecasts if !self.flights.is_empty() => OrderBasis::Distance,
            basis => basis,
        }
    }

    fn grasp(&self) -> Option<Grasp> {
        let Forecasts { angles, distance, .. } = self.forecasts;
        let (off, usual) = (Span(angles as u64), Span(distance as u64));
        Some(Grasp { turn: Span(self.turning.period()), known: self.known, off, usual, basis: self.basis() })
    }

    fn memory(&self) -> Option<(usize, usize)> {
        let pieces = self.chart.pieces.len();
        Some((pieces, pieces * size_of::<chart::ChartPiece>() + self.samples.len() * size_of::<Sample>()))
    }

    fn ticks(&self, span: Span) -> u64 {
        span.0
    }

    fn arm(&self) -> Lbn {
        self.arm
    }

    fn turn(&self) -> Span {
        if self.turning.rate == 0 { Span(u64::MAX) } else { Span(self.turning.period()) }
    }

    fn patience(&self) -> Option<Span> {
        self.survey.map(|survey| survey.after)
    }

    fn probe(&mut self, now: Time) -> Option<Extent> {
        let survey = self.survey.as_mut()?;
        if self.turning.rate == 0 {
            return survey.seek_rate();
        }
        match survey.go_on() {
            SurveyStep::Spread(at) => Some(at),
            SurveyStep::Done => None,
            SurveyStep::Soonest => {
                let some: [Extent; CHOICE] = std::array::from_fn(|_| survey.anywhere());
                let (head, _) = self.head(now);
                some.into_iter().min_by_key(|at| {
                    let spot = self.spot(*at);
                    self.cost(&head, spot.block, spot.mark, Direction::Read)
                })
            }
        }
    }

    fn note_issue(&mut self, now: Time, command: &Command, spot: Station) {
        if !command.verb.transfers() {
            return;
        }
        let direction = command.verb.direction();
        let (head, _) = self.head(now);
        let tracks = head.track.abs_diff(spot.mark.track);
        let alone = self.flights.is_empty();
        let usual = self.reach[direction as usize].time(tracks) + self.turning.period() / 2;
        // Its angle is asked for anew: what is known of it may have changed since it came.
        let fresh = self.spot(command.at);
        let astray = head.astray.is_some();
        let expected = (fresh.mark.known && !astray).then(|| self.begin(&head, fresh.mark, direction));
        let follows = command.at.start == self.arm;
        if self.flights.len() < 64 {
            let (at, verb) = (command.at, command.verb);
            let issued = now;
            self.flights.push(WatchedCommand { at, issued, verb, tracks, expected, usual, follows, alone, astray });
        }
        self.arm = command.at.end();
        self.before = (self.head, self.reading);
        (self.head, self.reading) = (command.at.end().0, !direction.writes());
    }

    fn note_completion(&mut self, happened: Time, command: &Command, outcome: Outcome) {
        let free = std::mem::replace(&mut self.quiet_since, happened);
        let Some(i) = self.flights.iter().position(|flight| flight.at == command.at) else { return };
        let flight = self.flights.swap_remove(i);
        if outcome != Outcome::Ok {
            return;
        }
        let took = happened.since(flight.issued.max(free)).0;
        let ended = std::mem::replace(&mut self.ended, flight.at.end());
        // What is read to learn was not chosen by the order that is on trial.
        let is_asked_for = command.place != Place::Nowhere;
        match self.turning.rate {
            0 if !is_asked_for => {}
            0 => {
                let distance = flight.at.start.0.abs_diff(ended.0);
                let stride = Stride::new(flight.verb, flight.at.blocks, distance, took);
                self.arrival.add(Stride { alone: flight.alone, ..stride });
            }
            _ => self.arrival.rule_out(),
        }
        if flight.alone && is_asked_for {
            let forecasts = if self.forecasts.counts { ForecastsAre::Good } else { ForecastsAre::Bad };
            self.trial.add(took, forecasts);
        }
        if flight.verb.writes() {
            self.end_write(happened, &flight, took);
            return;
        }
        if flight.follows {
            return;
        }
        let began = took.saturating_sub(self.passing(flight.at));
        let alone = flight.alone && self.flights.is_empty();
        if self.turning.rate != 0 && alone {
            let way = if flight.astray { self.reach[0].least(0) } else { self.reach[0].time(flight.tracks) };
            if began < way / 2 {
                // The drive had it in its cache.
                (self.head, self.reading) = self.before;
                return;
            }
            if let Some(expected) = flight.expected {
                self.forecasts.compare(began, expected, flight.usual);
            }
        }
        match (alone, flight.astray) {
            (true, true) => self.writes.note_stray_read(began),
            (true, false) => {
                self.writes.note_read(began);
                let expected = flight.expected.filter(|_| self.ended_in_place(flight.at, happened));
                self.reach[0].learn(flight.tracks, began, expected, self.turning.period().max(1));
            }
            (false, _) => {}
        }
        if self.turning.rate != 0 || !alone || took >= FROM_MEMORY {
            self.keep(happened, flight.at);
        }
    }
}

impl InUse {
    /// What requests are ordered by, while nothing is in the device.
    fn basis(&self) -> OrderBasis {
        match (self.trial.follows_costs(), self.arrival.follows_arrival()) {
            (true, _) => OrderBasis::Forecasts,
            (false, true) => OrderBasis::Arrival,
            (false, false) => OrderBasis::Distance,
        }
    }

    /// Whether a command came back when its last block had just passed, by the chart.
    fn ended_in_place(&self, at: Extent, happened: Time) -> bool {
        self.chart.off(at.end().0 - 1, self.turning.at(happened)).is_some_and(|off| off < IN_PLACE)
    }

    /// A write came back, after so long.
    fn end_write(&mut self, happened: Time, flight: &WatchedCommand, took: u64) {
        if !flight.alone {
            return;
        }
        let angle = self.turning.at(happened);
        let off = if self.turning.rate == 0 { None } else { self.chart.off(flight.at.end().0 - 1, angle) };
        let way = self.reach[0].time(flight.tracks);
        let may_wait = flight.verb == Verb::Write { fua: false };
        if may_wait && self.writes.note_write(flight.at.start.0, took, way, off) {
            // The arm is where it was, or it is not known where.
            if self.flights.is_empty() {
                (self.head, self.reading) = self.before;
            }
            return;
        }
        self.writes.find_arm();
        if flight.astray {
            return;
        }
        let began = took.saturating_sub(self.passing(flight.at));
        let expected = flight.expected.filter(|_| self.ended_in_place(flight.at, happened));
        self.reach[1].learn(flight.tracks, began, expected, self.turning.period().max(1));
    }
}
