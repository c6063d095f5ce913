//! Where the time of each request goes, while the run goes on.
//!
//! A moment in which commands of a request are in flight counts for the one of them that comes back last; any other moment
//! counts for what the request waits for then. So each moment of a request counts once, and its record adds up.

use super::{CommandNote, DEVICE, PARTS, Record, Records};
use crate::meter::Served;
use block::{BadInput, DiskId, Ending, Extent, Op, Request, RequestId, Span, Tag, Time};
use sched::{Found, Wait};

/// A command that came back.
#[derive(Clone, Copy, Debug)]
struct Leg {
    issued: Time,
    ended: Time,
    parts: [Span; PARTS],
}

/// A request that has not ended.
#[derive(Clone, Debug)]
struct Life {
    number: u64,
    class: u8,
    op: Op,
    at: Extent,
    submitted: Time,
    /// Up to then, each moment has been counted.
    until: Time,
    waiting: Wait,
    waits: [Span; Wait::KINDS],
    parts: [Span; PARTS],
    /// Commands in flight, and those that came back since there were none.
    flying: u32,
    legs: Vec<Leg>,
    commands: u64,
}

impl Life {
    /// What it waits for ends, or becomes something else.
    fn end_wait(&mut self, now: Time) {
        if self.flying == 0 {
            self.waits[self.waiting as usize] += now.since(self.until);
            self.until = now;
        }
    }

    /// None of its commands is in flight any more: backwards from the last that came back, each counts from when it was issued.
    fn land_commands(&mut self, now: Time) {
        let mut to = now;
        for leg in self.legs.drain(..).rev() {
            if leg.issued >= to {
                continue;
            }
            self.parts[DEVICE] += to.since(leg.ended);
            to = to.min(leg.ended);
            // Of what another outlasted, the beginning counts: parts are in the order in which a command passes through them.
            let mut left = to.since(leg.issued);
            for (part, span) in self.parts.iter_mut().zip(leg.parts) {
                *part += span.min(left);
                left = left.less(span);
            }
            self.parts[DEVICE] += left;
            to = leg.issued;
        }
        self.parts[DEVICE] += to.since(self.until);
        self.until = now;
    }
}

/// A command in flight: of which request, by its slot, its number and its class, if of any, and since when.
#[derive(Clone, Copy, Debug)]
struct Flying {
    disk: DiskId,
    tag: Tag,
    of: Option<(RequestId, u64, u8)>,
    issued: Time,
}

/// Follows the requests of one run, and puts down a record of each when it ends.
pub struct Ledger {
    case: String,
    replication: u32,
    device: String,
    classes: Vec<String>,
    out: Box<dyn Records>,
    /// The requests under way, by slot.
    lives: Vec<Option<Life>>,
    submitted: u64,
    flying: Vec<Flying>,
    /// Whose the command is that is issued next, where its bytes do not tell.
    credit: Option<RequestId>,
    failed: Option<BadInput>,
}

impl std::fmt::Debug for Ledger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ledger").field("lives", &self.lives).finish_non_exhaustive()
    }
}

impl Ledger {
    /// One of a run: its case, its replication from 1 on, its device and the names of its classes.
    #[must_use]
    pub fn new(case: String, replication: u32, device: String, classes: Vec<String>, out: Box<dyn Records>) -> Ledger {
        let (lives, flying) = (Vec::new(), Vec::new());
        Ledger { case, replication, device, classes, out, lives, submitted: 0, flying, credit: None, failed: None }
    }

    fn life(&mut self, id: RequestId) -> Option<&mut Life> {
        self.lives.get_mut(id.0 as usize)?.as_mut()
    }

    /// A request was submitted.
    pub fn submit(&mut self, now: Time, request: &Request) {
        let slot = request.id.0 as usize;
        if self.lives.len() <= slot {
            self.lives.resize(slot + 1, None);
        }
        self.submitted += 1;
        self.lives[slot] = Some(Life {
            number: self.submitted,
            class: request.qos.class,
            op: request.op,
            at: request.at,
            submitted: now,
            until: now,
            waiting: Wait::default(),
            waits: [Span::ZERO; Wait::KINDS],
            parts: [Span::ZERO; PARTS],
            flying: 0,
            legs: Vec::new(),
            commands: 0,
        });
    }

    /// From now on a request waits for this, whenever no command of it is in flight.
    pub fn wait(&mut self, now: Time, id: RequestId, wait: Wait) {
        if let Some(life) = self.life(id) {
            life.end_wait(now);
            life.waiting = wait;
        }
    }

    /// The command issued next is for this request.
    pub fn credit(&mut self, id: RequestId) {
        self.credit = Some(id);
    }

    /// A command was issued, which moves bytes of this request, if of any.
    pub fn issue(&mut self, now: Time, disk: DiskId, tag: Tag, of: Option<RequestId>) {
        let slot = self.credit.take().or(of);
        let of = slot.and_then(|slot| Some((slot, self.life(slot)?))).map(|(slot, life)| {
            life.end_wait(now);
            life.flying += 1;
            life.commands += 1;
            (slot, life.number, life.class)
        });
        self.flying.push(Flying { disk, tag, of, issued: now });
        self.out.begin_command(now, disk, of.map(|(.., class)| class));
    }

    /// A command came back, which spent its time on these parts.
    pub fn end_command(&mut self, now: Time, disk: DiskId, tag: Tag, parts: [Span; PARTS]) {
        let Some(at) = self.flying.iter().position(|it| (it.disk, it.tag) == (disk, tag)) else { return };
        let Flying { of, issued, .. } = self.flying.swap_remove(at);
        let command = CommandNote { disk, class: of.map(|(.., class)| class), issued, parts };
        self.try_to(|out| out.end_command(now, &command));
        let Some((slot, number, _)) = of else { return };
        // A command may outlive its request, whose slot may be another's by then.
        let Some(life) = self.life(slot).filter(|life| life.number == number) else { return };
        life.legs.push(Leg { issued, ended: now, parts });
        life.flying -= 1;
        if life.flying == 0 {
            life.land_commands(now);
        }
    }

    /// A request has ended; or, without an ending, is followed no further.
    pub fn end(&mut self, id: RequestId, served: &Served, ending: Option<Ending>) {
        let Some(mut life) = self.lives.get_mut(id.0 as usize).and_then(Option::take) else { return };
        let end = served.ended;
        life.end_wait(end);
        if life.flying > 0 {
            life.land_commands(end);
        }
        life.waits[Wait::Admission as usize] += life.submitted.since(served.arrived);
        let record = Record {
            case: &self.case,
            replication: self.replication,
            request: life.number,
            device: &self.device,
            class: self.classes.get(usize::from(served.qos.class)).map_or("", String::as_str),
            qos: served.qos,
            op: life.op,
            at: life.at,
            ending,
            counted: served.counts,
            arrival: served.arrived,
            start: served.began.min(end),
            end,
            commands: life.commands,
            waits: life.waits,
            parts: life.parts,
        };
        if self.failed.is_none() {
            self.failed = self.out.put(&record).err();
        }
    }

    /// Blocks wanted in any order were handed on: those that could be read were read for free.
    pub fn hand_on(&mut self, now: Time, at: Extent, found: Found) {
        if found != Found::Unreadable {
            self.try_to(|out| out.add_free(now, at.bytes()));
        }
    }

    fn try_to(&mut self, write: impl FnOnce(&mut dyn Records) -> Result<(), BadInput>) {
        if self.failed.is_none() {
            self.failed = write(&mut *self.out).err();
        }
    }

    /// Whether records cannot be written any more.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// The run is over.
    ///
    /// # Errors
    /// When a record could not be written.
    pub fn close(mut self, end: Time) -> Result<(), BadInput> {
        self.out.end_run(end);
        self.failed.take().map_or_else(|| self.out.close(), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::Qos;
    use std::sync::{Arc, Mutex};

    /// Waits and parts of each record.
    type Kept = Arc<Mutex<Vec<(Vec<u64>, Vec<u64>)>>>;

    struct Keep(Kept);

    impl Records for Keep {
        fn put(&mut self, it: &Record) -> Result<(), BadInput> {
            let spans = |spans: &[Span]| spans.iter().map(|span| span.0).collect::<Vec<u64>>();
            let all: u64 = it.waits.iter().chain(&it.parts).map(|span| span.0).sum();
            assert_eq!(all, it.end.0 - it.arrival.0);
            self.0.lock().unwrap().push((spans(&it.waits), spans(&it.parts)));
            Ok(())
        }

        fn close(&mut self) -> Result<(), BadInput> {
            Ok(())
        }
    }

    const ID: RequestId = RequestId(3);

    /// What is recorded of a request that arrived at 10, was submitted at 15 and ended at `end`.
    fn of(end: u64, play: impl FnOnce(&mut Ledger)) -> (Vec<u64>, Vec<u64>) {
        let kept = Kept::default();
        let mut ledger = Ledger::new(String::new(), 1, String::new(), Vec::new(), Box::new(Keep(Arc::clone(&kept))));
        let at = Extent::new(0, 8);
        ledger.submit(Time(15), &Request { id: ID, op: Op::Read, at, qos: Qos::default() });
        play(&mut ledger);
        let (arrived, began, ended) = (Time(10), Time::NEVER, Time(end));
        let served = Served { at, arrived, began, ended, external: Span::ZERO, counts: true, qos: Qos::default() };
        ledger.end(ID, &served, Some(Ending::Finished));
        ledger.close(Time(end)).unwrap();
        let kept = kept.lock().unwrap();
        kept[0].clone()
    }

    /// So long in the drive's queue, so long seeking.
    fn parts(queued: u64, seek: u64) -> [Span; PARTS] {
        let mut parts = [Span::ZERO; PARTS];
        (parts[0], parts[3]) = (Span(queued), Span(seek));
        parts
    }

    #[test]
    fn time_without_a_command_counts_for_what_is_waited_for_then() {
        let (waits, parts) = of(100, |it| {
            it.wait(Time(20), ID, Wait::Overlap);
            it.wait(Time(26), ID, Wait::Queue);
            it.wait(Time(33), ID, Wait::Slack);
            it.issue(Time(40), DiskId(0), Tag(0), Some(ID));
            it.end_command(Time(60), DiskId(0), Tag(0), parts(0, 20));
            it.wait(Time(60), ID, Wait::Preempted);
            it.issue(Time(90), DiskId(0), Tag(0), Some(ID));
            it.end_command(Time(100), DiskId(0), Tag(0), parts(4, 6));
        });
        assert_eq!(waits, [5, 6, 5 + 7, 7, 30]);
        assert_eq!(parts, [4, 0, 0, 26, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn of_commands_side_by_side_the_one_that_comes_back_last_counts() {
        let (waits, parts) = of(60, |it| {
            it.issue(Time(20), DiskId(0), Tag(0), Some(ID));
            it.issue(Time(30), DiskId(1), Tag(0), Some(ID));
            it.issue(Time(32), DiskId(2), Tag(0), None);
            it.end_command(Time(35), DiskId(2), Tag(0), parts(0, 3));
            it.end_command(Time(45), DiskId(0), Tag(0), parts(8, 17));
            it.end_command(Time(60), DiskId(1), Tag(0), parts(1, 29));
        });
        // The first counts up to 30, when the one was issued that came back last.
        assert_eq!((waits[2], &parts[..4]), (5, &[8 + 1, 0, 0, 2 + 29][..]));
    }

    #[test]
    fn a_command_whose_bytes_are_elsewhere_counts_where_it_is_credited() {
        let (waits, parts) = of(60, |it| {
            it.credit(ID);
            it.issue(Time(20), DiskId(0), Tag(0), None);
            it.issue(Time(21), DiskId(1), Tag(0), None);
            it.end_command(Time(50), DiskId(0), Tag(0), parts(0, 30));
        });
        assert_eq!((waits[2], parts[3]), (5 + 10, 30));
    }

    #[test]
    fn a_command_that_outlives_its_request_counts_for_no_other_in_its_slot() {
        let (_, parts) = of(90, |it| {
            it.issue(Time(15), DiskId(0), Tag(0), Some(ID));
            let qos = Qos::default();
            it.submit(Time(30), &Request { id: ID, op: Op::Read, at: Extent::new(64, 8), qos });
            it.issue(Time(30), DiskId(0), Tag(1), Some(ID));
            it.end_command(Time(50), DiskId(0), Tag(0), parts(0, 35));
            it.end_command(Time(90), DiskId(0), Tag(1), parts(20, 40));
        });
        assert_eq!((parts[0], parts[3]), (20, 40));
    }

    #[test]
    fn what_a_device_does_not_tell_apart_is_the_devices() {
        let (_, parts) = of(60, |it| {
            it.issue(Time(15), DiskId(0), Tag(0), Some(ID));
            it.end_command(Time(40), DiskId(0), Tag(0), parts(0, 5));
            it.issue(Time(40), DiskId(0), Tag(1), Some(ID));
        });
        assert_eq!((parts[3], parts[DEVICE]), (5, 20 + 20));
    }

    /// A command of the request on a disk of its own: when it was issued and came back, if it did, and the parts it told.
    type Flight = (u64, Option<u64>, [u64; 3]);

    /// What each moment counts for: of the commands in flight, for the part that the one that comes back last is at, or the
    /// device's where it told of none; without one, for what is waited for.
    fn by_moment(flights: &[Flight], waits: &[(u64, Wait)], end: u64) -> (Vec<u64>, Vec<u64>) {
        let (mut waited, mut parts) = (vec![0; Wait::KINDS], vec![0; PARTS]);
        waited[Wait::Admission as usize] += 5;
        for now in 15..end {
            let flying = flights.iter().filter(|(issued, ended, _)| *issued <= now && ended.is_none_or(|it| it > now));
            if flying.clone().next().is_none() {
                let wait = waits.iter().rfind(|(from, _)| *from <= now).map_or(Wait::default(), |(_, wait)| *wait);
                waited[wait as usize] += 1;
                continue;
            }
            let last = flying.filter(|(_, ended, _)| ended.is_some()).max_by_key(|(_, ended, _)| *ended);
            let mut into = last.map_or(u64::MAX, |(issued, ..)| now - issued);
            let part = last.iter().flat_map(|(.., told)| told.iter().enumerate()).find(|(_, took)| {
                let here = into < **took;
                into = into.saturating_sub(**took);
                here
            });
            parts[part.map_or(DEVICE, |(part, _)| part)] += 1;
        }
        (waited, parts)
    }

    #[test]
    fn every_moment_counts_once_and_for_what_went_on_then() {
        let given = std::env::var("HALFTURN_SEED").ok().and_then(|seed| seed.parse::<u64>().ok());
        for seed in given.map_or(0..3_000, |seed| seed..seed + 1) {
            println!("HALFTURN_SEED={seed}");
            let mut draw = crate::Draw::new(seed, 3);
            let end = 60 + draw.below(60);
            // No two commands come back at once, and each tells of no more than it took.
            let mut flights: Vec<Flight> = Vec::new();
            for _ in 0..draw.below(7) {
                let issued = 15 + draw.below(end - 20);
                let ended = issued + 1 + draw.below(end - issued);
                if flights.iter().all(|(_, other, _)| *other != Some(ended)) {
                    let parts = [0, 1, 2].map(|_| draw.below(1 + (ended - issued) / 3));
                    let back = draw.below(12) > 0 && ended <= end;
                    flights.push((issued, Some(ended).filter(|_| back), parts));
                }
            }
            let kinds = [Wait::Overlap, Wait::Queue, Wait::Slack, Wait::Preempted];
            let mut waits: Vec<(u64, Wait)> =
                (0..draw.below(5)).map(|i| (16 + draw.below(end - 20), kinds[i as usize % 4])).collect();
            waits.sort_by_key(|(from, _)| *from);
            let found = of(end, |ledger| {
                for now in 15..=end {
                    for (disk, (_, _, told)) in (0..).zip(&flights).filter(|(_, (_, ended, _))| *ended == Some(now)) {
                        let mut parts = [Span::ZERO; PARTS];
                        parts.iter_mut().zip(told).for_each(|(part, took)| *part = Span(*took));
                        ledger.end_command(Time(now), DiskId(disk), Tag(0), parts);
                    }
                    waits
                        .iter()
                        .filter(|(from, _)| *from == now)
                        .for_each(|(_, wait)| ledger.wait(Time(now), ID, *wait));
                    for (disk, _) in (0..).zip(&flights).filter(|(_, (issued, ..))| *issued == now) {
                        ledger.issue(Time(now), DiskId(disk), Tag(0), Some(ID));
                    }
                }
            });
            assert_eq!(found, by_moment(&flights, &waits, end), "{flights:?} {waits:?}");
        }
    }
}
