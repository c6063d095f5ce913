//! All workloads of an experiment together, and the slots of the requests they have outstanding.

use crate::cascades::{CascadedOperation, Cascades};
use crate::draw::Draw;
use crate::experiment::Experiment;
use crate::meter::{Meter, Served};
use crate::workload::{Draft, Workload};
use block::{BadInput, Ending, Extent, Qos, Request, RequestId, Span, Time};
use sched::{Found, Input};

/// Something that asks a core for I/O and is told how it ended.
pub trait Load {
    /// Whether something goes on in it where there is no room for a request.
    const GOES_ON: bool = false;

    /// When something is due next.
    fn due(&self) -> Option<Time>;

    /// What is due, while so much is `left` of the command in progress: a request, whose arrival counts from when it was
    /// due, even if there was no room for it then; a change of one; or nothing that a core need know of.
    ///
    /// # Errors
    /// Bad input, where requests are read from a file.
    fn fire(&mut self, now: Time, left: Span) -> Result<Option<Input>, BadInput>;

    /// When a request is due next, as far as is known: where there is no room for it, it waits.
    fn request_due(&self) -> Option<Time> {
        self.due()
    }

    /// When something is due next that needs no room: what goes on by itself, or a change of a request.
    fn due_crowded(&self) -> Option<Time> {
        None
    }

    /// What is due then.
    fn fire_crowded(&mut self, now: Time) -> Option<Input> {
        let _ = now;
        None
    }

    /// The first command of a request was issued.
    fn begin_request(&mut self, now: Time, id: RequestId);

    /// A command of a request waited so long for the drive's own work.
    fn add_wait(&mut self, id: RequestId, external: Span);

    /// What is to be counted of a request that ends now.
    fn take_served(&mut self, now: Time, id: RequestId) -> Option<Served>;

    /// A request has ended.
    fn end_request(&mut self, now: Time, id: RequestId, how: Ending);

    /// Blocks that are wanted in any order were read.
    fn hand_on(&mut self, now: Time, at: Extent, found: Found) {
        let _ = (now, at, found);
    }

    /// Whether blocks are still wanted in any order.
    fn scans(&self) -> bool {
        false
    }

    /// What has been measured.
    fn meter(&self) -> &Meter;

    /// What has been measured, for writing.
    fn meter_mut(&mut self) -> &mut Meter;
}

/// A request outstanding, kept as it will be counted: when it ends, only the time is missing.
#[derive(Clone, Copy, Debug)]
struct Slot {
    source: u16,
    served: Served,
}

struct Source {
    workload: Box<dyn Workload>,
    class: u8,
    priority: u8,
    deadline: Option<Span>,
    /// Whether its requests come when others have ended: then what they find in progress says nothing.
    closed: bool,
    /// When its next request arrives. Only making one and ending one change that.
    due: Option<Time>,
}

/// The workloads of an experiment.
pub struct Mix {
    sources: Vec<Source>,
    slots: Vec<Slot>,
    free: Vec<RequestId>,
    /// The source that is due first, if any is.
    first: usize,
    meter: Meter,
    /// Operations of several requests, where there are such.
    cascades: Option<Box<Cascades>>,
    /// Requests to end before the closed loops have settled.
    settles: u64,
    /// Whether blocks are still wanted in any order.
    scans: bool,
}

/// A closed loop begins with all its requests at once. Where the experiment does not say what to leave out, it runs until each
/// of them was followed by so many others before anything counts.
const SETTLES: u64 = 10;

impl Mix {
    /// The workloads of `experiment` in the replication with this seed, on a drive of `blocks` blocks.
    ///
    /// # Errors
    /// When a workload does not fit the drive, or a trace cannot be read.
    pub fn new(experiment: &Experiment, seed: u64, blocks: u64) -> Result<Mix, BadInput> {
        let mut sources = Vec::new();
        for (i, what) in experiment.workloads.iter().enumerate() {
            let workload = what.kind.build(&what.name, blocks, Draw::new(seed, i as u64));
            let workload = workload.map_err(|error| what.place(&experiment.file, error))?;
            sources.push(Source {
                due: workload.due(),
                workload,
                class: experiment.class_of(what),
                priority: what.priority,
                deadline: what.deadline,
                closed: what.kind.outstanding().is_some(),
            });
        }
        let worth = |class| experiment.scheduler.rules.class(class).worth;
        let classes = experiment.classes().into_iter().zip(0..).map(|(name, class)| (name.into(), worth(class)));
        let mut meter = Meter::new(classes, Time::ZERO + experiment.run.warmup);
        let loops = experiment.workloads.iter().filter_map(|what| what.kind.outstanding()).map(u64::from);
        let settles = if experiment.run.settles { SETTLES * loops.sum::<u64>() } else { 0 };
        let scan = experiment.scan();
        if let Some((plan, workload)) = scan {
            let (from, until) = plan.region.on(blocks);
            meter.begin_scan(experiment.class_of(workload), until - from, plan.unit);
        }
        let scans = scan.is_some();
        let cascades = Cascades::of(experiment, &mut meter).map(Box::new);
        let mut mix = Mix { sources, slots: Vec::new(), free: Vec::new(), first: 0, meter, cascades, settles, scans };
        mix.find_first();
        Ok(mix)
    }

    /// So many requests are to end before anything counts.
    #[must_use]
    pub fn settles(&self) -> u64 {
        self.settles
    }

    /// Ends the run: what was measured, and what a reader of it must know.
    #[must_use]
    pub fn finish(self) -> (Meter, Vec<String>) {
        let notes = self.sources.iter().flat_map(|source| source.workload.notes());
        let notes = notes.chain(self.meter.scan_notes()).collect();
        (self.meter, notes)
    }

    /// Requests that came by now and belong to the sample, but were not asked for, since there was no room: from now on they are
    /// outstanding.
    ///
    /// # Errors
    /// When a trace cannot be read.
    pub fn take_crowded(&mut self, now: Time) -> Result<Vec<Request>, BadInput> {
        let mut crowded = Vec::new();
        while self.due().is_some_and(|due| due <= now && self.meter.is_open_at(due)) {
            if let Some(Input::Submit(request)) = self.fire(now, Span::ZERO)? {
                crowded.push(request);
            }
        }
        Ok(crowded)
    }

    /// Whatever of the sample is outstanding is followed no further; what that was.
    pub fn give_up(&mut self, now: Time) -> Vec<(RequestId, Served)> {
        let left = (0..).map(RequestId).zip(&self.slots).filter(|(_, slot)| slot.served.counts);
        let left: Vec<_> = left.map(|(id, slot)| (id, Served { ended: now, ..slot.served })).collect();
        left.iter().for_each(|(_, it)| self.meter.give_up(it));
        if let Some(cascades) = &mut self.cascades {
            cascades.give_up(now, &mut self.meter);
        }
        left
    }

    #[inline(always)]
    fn find_first(&mut self) {
        // Of one it is always that.
        if self.sources.len() > 1 {
            self.compare_dues();
        }
    }

    /// Gives a request that arrives a slot.
    #[inline(always)]
    fn enter(&mut self, index: usize, draft: Draft, deadline: Option<Time>) -> Request {
        let source = &self.sources[index];
        let qos = Qos { class: source.class, priority: source.priority, deadline };
        let served = Served {
            at: draft.at,
            arrived: draft.arrives,
            began: Time::NEVER,
            ended: Time::NEVER,
            external: Span::ZERO,
            counts: self.meter.joins(source.class, draft.arrives),
            qos,
        };
        let slot = Slot { source: index as u16, served };
        let id = match self.free.pop() {
            Some(id) => {
                self.slots[id.0 as usize] = slot;
                id
            }
            None => {
                self.slots.push(slot);
                RequestId(self.slots.len() as u32 - 1)
            }
        };
        self.find_first();
        Request { id, op: draft.op, at: draft.at, qos }
    }

    /// What is due, where some requests are parts of operations: the next of one, or what a workload asks by itself.
    #[inline(never)]
    fn fire_in_cascade(&mut self, left: Span) -> Result<Option<Input>, BadInput> {
        let index = self.first;
        let source = &mut self.sources[index];
        let due = source.due.expect("a request is due");
        let Some(cascades) = &mut self.cascades else { return Ok(None) };
        let going_on = cascades.take_due(index, due);
        let (draft, operation) = match going_on.and_then(|operation| Some((source.workload.follow()?, operation))) {
            Some(((op, at), operation)) => (Draft { arrives: operation.due(), op, at }, Some(operation)),
            None => {
                if !source.closed {
                    self.meter.add_arrival(source.class, due, left);
                }
                let draft = source.workload.make()?;
                (draft, cascades.begin(index, draft.arrives))
            }
        };
        source.due = earlier(source.workload.due(), cascades.due(index));
        let alone = source.deadline.map(|within| draft.arrives + within);
        let request = self.enter(index, draft, operation.as_ref().map_or(alone, CascadedOperation::deadline));
        let served = &self.slots[request.id.0 as usize].served;
        if let Some(cascades) = &mut self.cascades {
            cascades.note_asked(request.id, operation, served, &mut self.meter);
        }
        Ok(Some(Input::Submit(request)))
    }

    /// A request has ended, where some are parts of operations: unless its own goes on, its workload is told.
    #[inline(never)]
    fn end_in_cascade(&mut self, now: Time, id: RequestId, how: Ending) {
        let slot = &self.slots[id.0 as usize];
        let (index, at) = (usize::from(slot.source), slot.served.at);
        let source = &mut self.sources[index];
        let Some(cascades) = &mut self.cascades else { return };
        if !cascades.note_ended(index, (now, id, how), &mut self.meter) {
            source.workload.end_request(now, at);
        }
        source.due = earlier(source.workload.due(), cascades.due(index));
    }

    fn compare_dues(&mut self) {
        let dues = self.sources.iter().enumerate().filter_map(|(i, source)| Some((source.due?, i)));
        self.first = dues.min().map_or(0, |(_, first)| first);
    }
}

fn earlier(a: Option<Time>, b: Option<Time>) -> Option<Time> {
    a.into_iter().chain(b).min()
}

impl Load for Mix {
    #[inline(always)]
    fn due(&self) -> Option<Time> {
        self.sources.get(self.first).and_then(|source| source.due)
    }

    #[inline(always)]
    fn fire(&mut self, _: Time, left: Span) -> Result<Option<Input>, BadInput> {
        if self.cascades.is_some() {
            return self.fire_in_cascade(left);
        }
        let index = self.first;
        let source = &mut self.sources[index];
        let due = source.due.expect("a request is due");
        let (draft, due_next) = source.workload.make_due()?;
        source.due = due_next;
        if !source.closed {
            self.meter.add_arrival(source.class, due, left);
        }
        let deadline = source.deadline.map(|within| draft.arrives + within);
        Ok(Some(Input::Submit(self.enter(index, draft, deadline))))
    }

    #[inline(always)]
    fn begin_request(&mut self, now: Time, id: RequestId) {
        let began = &mut self.slots[id.0 as usize].served.began;
        *began = now.min(*began);
    }

    fn add_wait(&mut self, id: RequestId, external: Span) {
        self.slots[id.0 as usize].served.external += external;
    }

    fn take_served(&mut self, now: Time, id: RequestId) -> Option<Served> {
        self.slots.get(id.0 as usize).map(|slot| Served { ended: now, ..slot.served })
    }

    #[inline(always)]
    fn end_request(&mut self, now: Time, id: RequestId, how: Ending) {
        let slot = &mut self.slots[id.0 as usize];
        slot.served.ended = now;
        self.meter.add_ended(&slot.served, how);
        slot.served.counts = false;
        let (index, at) = (usize::from(slot.source), slot.served.at);
        if self.cascades.is_some() {
            self.end_in_cascade(now, id, how);
        } else {
            let source = &mut self.sources[index];
            source.due = source.workload.ended_due(now, at);
        }
        if how != Ending::Finished {
            self.sources[index].workload.note_failed(at);
        }
        self.free.push(id);
        self.find_first();
    }

    fn hand_on(&mut self, now: Time, at: Extent, found: Found) {
        self.scans &= !self.meter.add_scanned(now, at, found);
    }

    #[inline]
    fn scans(&self) -> bool {
        self.scans
    }

    #[inline]
    fn meter(&self) -> &Meter {
        &self.meter
    }

    #[inline]
    fn meter_mut(&mut self) -> &mut Meter {
        &mut self.meter
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment;

    fn of(workloads: &str) -> Experiment {
        let text = format!(
            "[drive]\nmodel = \"atlas10k\"\nqueue = 1\n[scheduler]\npolicy = \"satf\"\n{workloads}[run]\nduration = \"5s\"\n"
        );
        experiment::parse("it.toml", &text, &[], None).expect("it is in order").remove(0).experiment
    }

    #[test]
    fn a_scan_wants_blocks_until_the_last_of_them_was_read() {
        let scan = "[[workload]]\nname = \"scan\"\nkind = \"scan\"\nregion = \"0 blocks..8192 blocks\"\n";
        let reader = "[[workload]]\nname = \"reader\"\nkind = \"closed\"\ndepth = 1\nsize = \"4KiB\"\n";
        let mut mix = Mix::new(&of(&format!("{scan}{reader}")), 1, 1 << 20).expect("it fits");
        let mut draw = Draw::new(5, 5);
        let (mut at, all) = (0, (4 << 20) / 512);
        while at < all {
            assert!(mix.scans(), "{at} of {all}");
            let blocks = (1 + draw.below(500)).min(all - at);
            let found = if draw.below(9) == 0 { Found::Unreadable } else { Found::Between };
            mix.hand_on(Time(1_000_000 * at), Extent::new(at, blocks as u32), found);
            at += blocks;
        }
        assert!(!mix.scans());
        let progress = mix.meter().scan().expect("there is one");
        assert!(progress.is_done() && progress.time_until(1.0).is_some());
        assert!(!Mix::new(&of(reader), 1, 1 << 20).expect("it fits").scans());
    }

    #[test]
    fn what_does_not_fit_the_drive_is_told_with_file_and_line() {
        let fits = "[[workload]]\nname = \"a\"\nkind = \"closed\"\ndepth = 1\nsize = \"4KiB\"\n";
        let second = [
            "kind = \"closed\"\ndepth = 1\nsize = \"2GiB\"\n",
            "kind = \"open\"\nrate = \"1/s\"\nsize = \"4KiB\"\nregion = \"1GiB..\"\n",
            "kind = \"scan\"\nregion = \"1GiB..2GiB\"\n",
        ];
        for keys in second {
            let error = Mix::new(&of(&format!("{fits}[[workload]]\nname = \"b\"\n{keys}")), 1, 1 << 20).err();
            let error = error.expect("it does not fit");
            assert_eq!((error.file.as_str(), error.at), ("it.toml", block::At::Line(11)), "{error}");
            assert!(error.what.starts_with("workload 'b': ") && !error.mend.is_empty(), "{error}");
        }
    }

    /// Numbers are of one request at a time and are used again; requests come in the order in which they are due; each ends
    /// once, in its class; and closed loops have as many outstanding as they should.
    #[test]
    fn requests_of_a_mix_come_in_order_and_each_ends_once() {
        let text = "[[workload]]\nname = \"a\"\nkind = \"open\"\nrate = \"300/s\"\nsize = \"4KiB\"\npriority = 2\ndeadline = \"40ms\"\n\
                    [[workload]]\nname = \"b\"\nkind = \"closed\"\ndepth = 3\nsize = \"8KiB\"\n\
                    [[workload]]\nname = \"c\"\nkind = \"closed\"\ndepth = 2\nthink = \"7ms\"\nsize = \"64KiB\"\nclass = \"b\"\n";
        let experiment = of(text);
        for seed in 0..20 {
            println!("seed {seed}");
            let mut mix = Mix::new(&experiment, seed, 1 << 20).expect("it fits");
            let (mut draw, mut now, mut last) = (Draw::new(seed, 9), Time::ZERO, Time::ZERO);
            let mut open: Vec<Request> = Vec::new();
            let mut ended = [0u64; 2];
            mix.meter_mut().begin(Time::ZERO, None, None);
            while ended.iter().sum::<u64>() < 2_000 {
                let due = mix.due().filter(|due| *due <= now + Span(3_000_000));
                if let Some(due) = due.filter(|_| open.is_empty() || draw.below(2) == 0) {
                    assert!(due >= last, "{due:?} after {last:?}");
                    (last, now) = (due.min(now), now.max(due));
                    let Some(Input::Submit(request)) = mix.fire(now, Span::ZERO).expect("nothing is read") else {
                        panic!("a mix has nothing else to say")
                    };
                    assert!(open.iter().all(|other| other.id != request.id), "{request:?}");
                    let served = mix.take_served(now, request.id).expect("it is outstanding");
                    assert_eq!((served.at, served.qos, served.arrived), (request.at, request.qos, due));
                    let priority = experiment.workloads[0].priority * u8::from(request.at.blocks == 8);
                    assert_eq!((request.qos.priority, request.qos.class), (priority, u8::from(request.at.blocks != 8)));
                    assert_eq!(request.qos.deadline, (priority > 0).then(|| due + Span(40_000_000)));
                    open.push(request);
                    let loops = |blocks| open.iter().filter(|request| request.at.blocks == blocks).count();
                    assert!(loops(16) <= 3 && loops(128) <= 2);
                } else if !open.is_empty() {
                    let request = open.swap_remove(draw.below(open.len() as u64) as usize);
                    now += Span(draw.below(2_000_000));
                    let began = now;
                    mix.begin_request(began, request.id);
                    now += Span(draw.below(1_000));
                    mix.begin_request(now, request.id);
                    let served = mix.take_served(now, request.id).expect("it is outstanding");
                    assert_eq!((served.began, served.ended), (began, now), "the first command counts");
                    mix.end_request(now, request.id, Ending::Finished);
                    ended[usize::from(request.qos.class)] += 1;
                }
            }
            assert!(mix.slots.len() <= open.len() + 200, "numbers are used again: {}", mix.slots.len());
            let counted = |mix: &Mix| mix.meter().classes().map(|(_, class)| class.requests).collect::<Vec<u64>>();
            assert_eq!(counted(&mix), ended);
            assert_eq!(mix.give_up(now).len(), open.len());
            open.iter().for_each(|request| ended[usize::from(request.qos.class)] += 1);
            assert_eq!(counted(&mix), ended, "what is followed no further counts, too");
        }
    }
}
