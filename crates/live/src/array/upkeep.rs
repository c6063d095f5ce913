//! What an array that is served asks for itself, behind its clients: the rebuild of a disk, and scrubbing.
//!
//! **It is asked of the core like anything else.** A rebuild is a row of `Op::Repair`, as in a simulation. Where the file has a
//! workload of `kind = "rebuild"` (or `"scrub"`), that says how long requests are, how many at once, at what rate and of what class,
//! and the scheduler decides what gives way. Where it has none, a request is asked for when no client has asked for anything for a
//! while, and besides so often that it has a least part of the time, however many clients there are.
//!
//! **A disk is trusted as far as it was filled and flushed.** Every so often the array is flushed, and how far it had come by then is
//! noted on the disk; after a power cut it goes on from there.

use super::sweep::{Repaired, Sweep};
use alone::TimesAlone;
use block::{BLOCK_BYTES, DiskId, Ending, Extent, Op, Qos, Span, Time};
use growing::Growing;
use sched::Mend;
use sched::array::Geometry;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::ops::Range;

mod alone;
mod growing;

/// Clients have been silent for so long: who asks again at once has done so.
const SILENCE: Span = Span(1_000_000);
/// Requests at once, at most, where it is behind its least part: beside many clients each takes long.
const MOST_BEHIND: usize = 16;
/// What is behind its least part catches up on no more than this.
const CATCH_UP: Span = Span(500_000_000);
/// How often is noted how far a rebuild has come.
const NOTED_EVERY: Span = Span(2_000_000_000);
/// What could not be repaired is tried again after so long.
const TRIED_AGAIN: Span = Span(10_000_000_000);
/// Requests at once, at most: each has a number.
pub(crate) const MOST_ERRANDS: u32 = 64;
/// What stands for the pass of what is of none.
const NO_PASS: u64 = u64::MAX;
/// And for that of what moves rows.
const MOVE: u64 = u64::MAX - 1;

/// How an array is repaired while it is served.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RepairPace {
    /// Blocks of a request, as far as rows can be cut.
    pub blocks: u32,
    /// Requests that it has outstanding at once.
    pub depth: u32,
    /// The least time between two of them.
    pub apart: Span,
    /// The least part of the time it has, 0 to 1, and all that clients leave; nothing where the scheduler decides who gives way.
    pub floor: Option<f64>,
    /// How far a rebuild has come is noted no more often than this.
    pub noted_every: Span,
    /// What the requests are worth.
    pub qos: Qos,
}

impl Default for RepairPace {
    /// 1 MiB at a time, a tenth of the time, and all that clients leave.
    fn default() -> RepairPace {
        RepairPace {
            blocks: 2048,
            depth: 1,
            apart: Span::ZERO,
            floor: Some(0.1),
            noted_every: NOTED_EVERY,
            qos: Qos::default(),
        }
    }
}

/// What is changed of a pace while it is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PaceChange {
    /// The least part of the time.
    pub floor: Option<f64>,
    /// Requests a second at most; 0 for no cap.
    pub rate: Option<f64>,
}

/// What a pass is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RepairAim {
    Rebuild,
    Scrub,
}

/// What clients have asked for.
#[derive(Clone, Copy, Debug)]
pub struct Clients {
    /// Requests that have not ended.
    pub outstanding: u32,
    /// When the last of them ended.
    pub silent_from: Time,
}

/// What is asked of the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpkeepErrand {
    /// Its number: small, and no other's until it has ended.
    pub number: u32,
    /// What is to be done to the array.
    pub op: Op,
    /// To which blocks of the array.
    pub at: Extent,
    /// What it is worth.
    pub qos: Qos,
}

/// What is in flight, by number.
#[derive(Clone, Copy, Debug)]
struct FlyingErrand {
    /// In which pass it was asked for.
    pass: u64,
    /// The part it stands for; of a flush nothing, but the rows it is of.
    part: Option<(u64, u64)>,
    rows: u64,
    asked: Time,
    /// Whether nobody waited for anything when it was asked for; what it was taken to cost then.
    alone: bool,
    charged: Span,
}

/// What is to be noted on the disks, after a flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durable {
    /// So many rows of what is being filled are.
    Rows(u64),
    /// All of this disk is.
    Disk(DiskId),
}

/// What came of a pass, so far or in the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Findings {
    /// Blocks that a disk did not bring, and that did not agree with the others; both are written anew.
    unreadable: u64,
    unlike: u64,
}

/// What an array is to ask for.
pub struct Upkeep {
    geometry: Geometry,
    rebuild: RepairPace,
    scrub: RepairPace,
    /// The pass that is under way, what for, since when, and with which share it began.
    sweep: Option<(RepairAim, Sweep)>,
    began: Time,
    began_at: f64,
    pass: u64,
    flying: Vec<Option<FlyingErrand>>,
    /// Whether a scrub is to follow; what the last one found, when it ended.
    scrub_wanted: bool,
    findings: Findings,
    scrubbed: Option<Time>,
    /// When the last request was asked for, from when on it is behind its least part, and what they take alone.
    last: Option<Time>,
    behind_from: Time,
    alone: TimesAlone,
    /// From when on what failed is tried again.
    retry_at: Option<Time>,
    /// Rows that are noted, and when they were.
    noted: (u64, Time),
    /// Disks that were filled, of which the others do not know yet; those of the flush in flight; from when on there may be one.
    complete: Vec<DiskId>,
    flushed: Vec<DiskId>,
    flush_from: Time,
    durable: VecDeque<Durable>,
    /// How far it has grown, while it does.
    growing: Option<Growing>,
    /// Parts of the array of which a disk did not bring what was written to it.
    spoilt: VecDeque<Extent>,
    now: Time,
}

impl Upkeep {
    /// Of an array of which nothing is to be repaired.
    #[must_use]
    pub fn new(geometry: Geometry, rebuild: RepairPace, scrub: RepairPace) -> Upkeep {
        Upkeep {
            // What is repaired is said by rows, as they lie when it has grown.
            geometry: geometry.widest(),
            rebuild,
            scrub,
            sweep: None,
            began: Time::ZERO,
            began_at: 0.0,
            pass: 0,
            flying: Vec::new(),
            scrub_wanted: false,
            findings: Findings::default(),
            scrubbed: None,
            last: None,
            behind_from: Time::ZERO,
            alone: TimesAlone::default(),
            retry_at: None,
            noted: (0, Time::ZERO),
            complete: Vec::new(),
            flushed: Vec::new(),
            flush_from: Time::ZERO,
            durable: VecDeque::new(),
            growing: None,
            spoilt: VecDeque::new(),
            now: Time::ZERO,
        }
    }

    fn begin(&mut self, aim: RepairAim, from_row: u64, over: &[Range<u64>]) {
        let pace = if aim == RepairAim::Rebuild { self.rebuild } else { self.scrub };
        let sweep = Sweep::new(self.geometry, pace.blocks, from_row, over);
        (self.began, self.began_at) = (self.now, sweep.share());
        (self.noted, self.retry_at) = ((from_row, self.now), None);
        self.sweep = Some((aim, sweep));
        self.pass += 1;
    }

    /// Disks are to be filled, of which so many rows are, and these besides; a scrub begins anew after it. What was filled of others, and
    /// only is to be flushed, stays so.
    pub(crate) fn begin_rebuild(&mut self, filled: u64, over: &[Range<u64>]) {
        self.scrub_wanted |= self.aim() == Some(RepairAim::Scrub);
        self.begin(RepairAim::Rebuild, filled, over);
    }

    /// Whether nothing that was asked for is under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.flying.iter().all(Option::is_none)
    }

    /// A disk is not the one any more that was filled.
    pub(crate) fn forget(&mut self, disk: DiskId) {
        [&mut self.complete, &mut self.flushed].into_iter().for_each(|disks| disks.retain(|other| *other != disk));
    }

    /// Disks that were filled, of which the others do not know yet.
    pub(crate) fn list_completed(&self) -> Vec<DiskId> {
        self.complete.iter().chain(&self.flushed).copied().collect()
    }

    /// All but these rows is to be read and compared, once.
    ///
    /// # Errors
    /// Where it is already.
    pub(crate) fn begin_scrub(&mut self, over: &[Range<u64>]) -> Result<(), String> {
        if self.is_scrubbing() {
            return Err("the array is being scrubbed".into());
        }
        if let Some(growing) = &self.growing {
            return Err(growing.refuse_scrub().into());
        }
        (self.findings, self.scrubbed) = (Findings::default(), None);
        match self.aim() {
            Some(RepairAim::Rebuild) => self.scrub_wanted = true,
            _ => self.begin(RepairAim::Scrub, 0, over),
        }
        Ok(())
    }

    /// Whether it is being scrubbed, or is to be.
    pub(crate) fn is_scrubbing(&self) -> bool {
        self.scrub_wanted || self.aim() == Some(RepairAim::Scrub)
    }

    /// No more of it is read.
    ///
    /// # Errors
    /// Where it is not being scrubbed.
    pub(crate) fn stop_scrub(&mut self) -> Result<(), String> {
        let scrubs = self.aim() == Some(RepairAim::Scrub);
        if !std::mem::take(&mut self.scrub_wanted) && !scrubs {
            return Err("the array is not being scrubbed".into());
        }
        if scrubs {
            self.sweep = None;
        }
        Ok(())
    }

    /// Keeps another pace from now on.
    pub(crate) fn change_pace(&mut self, change: PaceChange) {
        for pace in [&mut self.rebuild, &mut self.scrub] {
            pace.floor = change.floor.or(pace.floor);
            if let Some(rate) = change.rate {
                pace.apart = if rate > 0.0 { Span((1e9 / rate) as u64) } else { Span::ZERO };
            }
        }
        // What was given before is no debt.
        self.behind_from = self.behind_from.min(self.now);
    }

    /// What the pass under way is for.
    pub(crate) fn aim(&self) -> Option<RepairAim> {
        self.sweep.as_ref().map(|(aim, _)| *aim)
    }

    fn pace(&self) -> RepairPace {
        if self.aim() == Some(RepairAim::Scrub) { self.scrub } else { self.rebuild }
    }

    fn count_flying(&self) -> usize {
        self.flying.iter().flatten().count()
    }

    /// From when on something is to be noted on the disks, for which they have to be flushed first.
    fn flush_due(&self) -> Option<Time> {
        if self.flying.iter().flatten().any(|errand| errand.part.is_none()) {
            return None;
        }
        let more = match &self.sweep {
            Some((RepairAim::Rebuild, sweep)) if sweep.rows() > self.noted.0 => {
                Some(self.noted.1 + self.rebuild.noted_every)
            }
            _ => None,
        };
        let at = if self.complete.is_empty() { more } else { Some(Time::ZERO) };
        at.map(|at| at.max(self.flush_from))
    }

    /// A part of the array is to be repaired soon, once; of too many the rest is left to a scrub.
    pub(crate) fn want_repair(&mut self, at: Extent) {
        if self.spoilt.len() < MOST_ERRANDS as usize && !self.spoilt.contains(&at) {
            self.spoilt.push_back(at);
        }
    }

    /// Whether something was found to be spoilt, and its repair was not asked for yet.
    pub(crate) fn has_spoilt(&self) -> bool {
        !self.spoilt.is_empty()
    }

    /// From when on something is to be repaired that was found to be spoilt, one at a time.
    fn spoilt_due(&self) -> Option<Time> {
        let is_one = |errand: &FlyingErrand| errand.pass == NO_PASS;
        let waits = self.spoilt.is_empty() || self.flying.iter().flatten().any(is_one);
        (!waits).then_some(Time::ZERO)
    }

    /// When something may be asked for; nothing where that depends on what is in flight.
    pub(crate) fn due(&self, clients: Clients) -> Option<Time> {
        let repair = self.repair_due(clients);
        [self.flush_due(), self.spoilt_due(), repair].iter().flatten().min().copied()
    }

    fn repair_due(&self, clients: Clients) -> Option<Time> {
        let (_, sweep) = self.sweep.as_ref()?;
        let (pace, flying) = (self.pace(), self.count_flying());
        let has_room = flying < pace.depth.min(MOST_ERRANDS) as usize;
        if !sweep.has_more() {
            return self.retry_at.filter(|_| sweep.count_failed() > 0 && has_room);
        }
        let paced = self.last.map_or(Time::ZERO, |last| last + pace.apart);
        let beside = match has_room {
            true => self.due_beside(&pace, clients)?,
            false => pace.floor.filter(|floor| *floor > 0.0 && flying < MOST_BEHIND).map(|_| self.behind_from)?,
        };
        Some(paced.max(beside))
    }

    /// What is asked for now, if anything is.
    pub(crate) fn take(&mut self, now: Time, clients: Clients) -> Option<UpkeepErrand> {
        self.now = now;
        let qos = self.pace().qos;
        if self.flush_due().is_some_and(|at| at <= now) {
            let rows = match &self.sweep {
                Some((RepairAim::Rebuild, sweep)) => sweep.rows(),
                _ => 0,
            };
            self.flushed = std::mem::take(&mut self.complete);
            let number = self.fly(now, None, rows, clients);
            return Some(UpkeepErrand { number, op: Op::Flush, at: Extent::default(), qos });
        }
        if let Some(at) = self.spoilt_due().and_then(|_| self.spoilt.pop_front()) {
            let number = self.fly(now, Some((0, 0)), 0, clients);
            self.flying[number as usize].iter_mut().for_each(|errand| errand.pass = NO_PASS);
            return Some(UpkeepErrand { number, op: Op::Repair, at, qos });
        }
        if self.repair_due(clients)? > now {
            return None;
        }
        let (_, sweep) = self.sweep.as_mut()?;
        if !sweep.has_more() {
            sweep.retry();
            self.retry_at = None;
        }
        let (at, part) = sweep.take()?;
        self.last = Some(now);
        let number = self.fly(now, Some(part), 0, clients);
        Some(UpkeepErrand { number, op: Op::Repair, at, qos })
    }

    fn fly(&mut self, now: Time, part: Option<(u64, u64)>, rows: u64, clients: Clients) -> u32 {
        let alone = clients.outstanding == 0 && self.is_idle();
        let charged = self.alone.find(part.map_or(0, |(from, _)| from), self.geometry.blocks());
        if let Some(floor) = self.find_floor() {
            // What clients left it is no debt: it is behind again, beside those who come now, when this one is paid for.
            let from = self.behind_from.clamp(Time(now.0.saturating_sub(CATCH_UP.0)), now);
            self.behind_from = from + Span((charged.0 as f64 / floor) as u64);
        }
        let errand = Some(FlyingErrand { pass: self.pass, part, rows, asked: now, alone, charged });
        let free = self.flying.iter().position(Option::is_none);
        match free {
            Some(number) => self.flying[number] = errand,
            None => self.flying.push(errand),
        }
        free.unwrap_or(self.flying.len() - 1) as u32
    }

    /// What was asked for has ended.
    pub(crate) fn end(&mut self, now: Time, number: u32, how: Ending) {
        self.now = now;
        let Some(errand) = self.flying.get_mut(number as usize).and_then(Option::take) else { return };
        self.settle(now, &errand);
        match errand.part {
            None => self.end_flush(now, &errand, how),
            Some(_) if errand.pass == MOVE => self.end_move(now, how),
            Some(part) if errand.pass == self.pass => {
                let repaired = if how == Ending::Finished { Repaired::Yes } else { Repaired::No };
                self.sweep.iter_mut().for_each(|(_, sweep)| sweep.end(part, repaired));
                if repaired == Repaired::No {
                    self.retry_at = Some(now + TRIED_AGAIN);
                }
            }
            Some(_) => {}
        }
        // What a scrub cannot repair is not tried again.
        let is_over = |(aim, sweep): &(RepairAim, Sweep)| *aim == RepairAim::Scrub && !sweep.has_more();
        if self.sweep.as_ref().is_some_and(is_over) && self.is_idle() {
            self.sweep = None;
            self.scrubbed = Some(now);
        }
    }

    fn end_flush(&mut self, now: Time, errand: &FlyingErrand, how: Ending) {
        let flushed = std::mem::take(&mut self.flushed);
        if how != Ending::Finished {
            self.complete.extend(flushed);
            self.flush_from = now + TRIED_AGAIN;
            return;
        }
        self.durable.extend(flushed.into_iter().map(Durable::Disk));
        if errand.pass == self.pass && errand.rows > self.noted.0 {
            self.noted = (errand.rows, now);
            self.durable.push_back(Durable::Rows(errand.rows));
        }
    }

    /// The least part of the time, where it has one.
    fn find_floor(&self) -> Option<f64> {
        self.pace().floor.filter(|floor| *floor > 0.0)
    }

    /// What a request takes alone counts against its least part, where others were served meanwhile, too: it counts when it is asked for,
    /// so that those that take long are asked for side by side. One that took less counts for what it took.
    fn settle(&mut self, now: Time, errand: &FlyingErrand) {
        let took = now.since(errand.asked);
        if let Some((from, _)) = errand.part.filter(|_| errand.alone) {
            self.alone.note(from, self.geometry.blocks(), took);
        }
        if let Some(floor) = self.find_floor() {
            let less = errand.charged.0.saturating_sub(took.0) as f64;
            self.behind_from = Time(self.behind_from.0.saturating_sub((less / floor) as u64));
        }
    }

    /// A disk that was being filled holds what it should, though maybe not on its medium.
    pub(crate) fn note_complete(&mut self, disk: DiskId) {
        self.complete.push(disk);
    }

    /// So many blocks of a disk are written anew.
    pub(crate) fn note_mend(&mut self, blocks: u32, why: Mend) {
        match why {
            Mend::Unreadable => self.findings.unreadable += u64::from(blocks),
            Mend::Unlike => self.findings.unlike += u64::from(blocks),
            Mend::Doubtful => {}
        }
    }

    /// What is to be noted on the disks: it is on them.
    pub(crate) fn next_durable(&mut self) -> Option<Durable> {
        self.durable.pop_front()
    }

    /// No disk is being filled any more: what waits for that begins, and passes over these rows.
    pub(crate) fn end_rebuild(&mut self, over: &[Range<u64>]) {
        if self.aim() == Some(RepairAim::Rebuild) {
            self.sweep = None;
        }
        if self.sweep.is_none() && std::mem::take(&mut self.scrub_wanted) {
            self.begin(RepairAim::Scrub, 0, over);
        }
    }

    /// When something may be asked for by what has a least part of the time, and else what clients leave.
    fn due_beside(&self, pace: &RepairPace, clients: Clients) -> Option<Time> {
        match pace.floor {
            None => Some(Time::ZERO),
            Some(_) if clients.outstanding == 0 => Some(self.behind_from.min(clients.silent_from + SILENCE)),
            Some(floor) if floor > 0.0 => Some(self.behind_from),
            Some(_) => None,
        }
    }

    /// The pass under way, or the last scrub, as JSON for programs.
    pub(crate) fn json(&self) -> (Value, Value) {
        let pass = |wanted: RepairAim| {
            let (_, sweep) = self.sweep.as_ref().filter(|(aim, _)| *aim == wanted)?;
            let share = sweep.share();
            let took = self.now.since(self.began).as_secs().max(1e-9);
            let all = self.bytes_of(wanted) as f64;
            let pace = (share - self.began_at).max(0.0) * all / took;
            let left = if pace > 0.0 { json!((1.0 - share) * all / pace) } else { Value::Null };
            Some(
                json!({ "done": share, "mb_s": pace / 1e6, "seconds_left": left, "not_repaired": sweep.count_failed() }),
            )
        };
        let rebuild = pass(RepairAim::Rebuild).unwrap_or(Value::Null);
        let Findings { unreadable, unlike } = self.findings;
        let state = match (self.aim(), self.scrubbed) {
            (Some(RepairAim::Scrub), _) => "running",
            _ if self.scrub_wanted => "waits for the rebuild",
            (_, Some(_)) => "done",
            _ => "none",
        };
        let mut scrub = pass(RepairAim::Scrub).unwrap_or_else(|| json!({}));
        scrub["state"] = json!(state);
        scrub["unreadable_blocks"] = json!(unreadable);
        scrub["unlike_blocks"] = json!(unlike);
        (rebuild, scrub)
    }

    /// What a pass moves: of a rebuild what is written to one disk, of a scrub what is read of all.
    fn bytes_of(&self, aim: RepairAim) -> u64 {
        let disk = self.geometry.rows() * u64::from(self.geometry.unit()) * BLOCK_BYTES;
        let all = if aim == RepairAim::Rebuild { disk } else { disk * u64::from(self.geometry.disks()) };
        (all as f64 * self.sweep.as_ref().map_or(1.0, |(_, sweep)| sweep.looked_through())) as u64
    }

    /// A pass in a line for users; nothing where there is none.
    pub(crate) fn text(&self) -> String {
        let (rebuild, scrub) = self.json();
        let mut text = String::new();
        if !rebuild.is_null() {
            text += &format!("rebuilding: {}\n", tell(&rebuild));
        }
        let (unlike, unreadable) = (&scrub["unlike_blocks"], &scrub["unreadable_blocks"]);
        let found = format!("{unlike} blocks did not agree, {unreadable} could not be read; all were written anew");
        match scrub["state"].as_str() {
            Some("running") => text += &format!("scrubbing: {}; {found}\n", tell(&scrub)),
            Some("done") => text += &format!("scrubbed: {found}\n"),
            Some("waits for the rebuild") => text += "a scrub waits for the rebuild\n",
            _ => {}
        }
        text
    }
}

fn tell(pass: &Value) -> String {
    let number = |key: &str| pass[key].as_f64();
    let left = number("seconds_left").map_or_else(
        || "how long it takes is not known yet".to_owned(),
        |left| format!("{} to go", block::units::show_long(Span((left * 1e9) as u64))),
    );
    let lost = match pass["not_repaired"].as_u64() {
        Some(0) | None => String::new(),
        Some(parts) => format!("; {parts} parts could not be repaired and are tried again"),
    };
    let share = 100.0 * number("done").unwrap_or(0.0);
    format!("{share:.1} %, {:.1} MB/s, {left}{lost}", number("mb_s").unwrap_or(0.0))
}

#[cfg(test)]
mod tests;
