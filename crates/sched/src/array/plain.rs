//! The hot path of an array: a read of what lies in one stripe unit, and a command that ended one.
//!
//! An array is *plain* where copies are all that it keeps, its disks' cores are plain, and nothing has ever become of a disk. In
//! such a one a disk is told what came from where that is, and what it decides goes on to the world at once. What is more than
//! that is gathered, with all that follows it, and carried out as everywhere: the order of what is decided is the same.

use super::buffer::NOBODY;
use super::children::{ChildRequest, Owner, offset};
use super::placement::LEAST_PART;
use super::{Array, Migration, Task};
use crate::core::Core;
use crate::event::{Action, ActionSink, Input};
use crate::job::JobState;
use crate::overlap::Overlap;
use crate::predict::Predictor;
use crate::slab::Slab;
use crate::{Job, Jobs};
use block::{Command, DiskId, Ending, Op, Place, Request, RequestId, Span, Tag, Time};

impl<P: Predictor> Array<P> {
    /// The same array, of which it is settled whether it is plain. Nothing has happened to it yet.
    pub(super) fn settle_plain(self) -> Array<P> {
        let copies_only = !self.geometry.has_parity() && !self.geometry.is_growing();
        let keeps = self.buffer.is_some() || self.cache.is_some() || self.journal.is_some();
        let divides = self.parts.is_some() || self.rivals.is_some() || self.joined.is_some();
        let moves = self.plan.migration != Migration::Never;
        let aside = keeps || divides || moves || self.rules.tells;
        Array { plain: copies_only && !aside && self.disks.iter().all(Core::is_plain), ..self }
    }

    /// Takes what happens most in a plain array; false where it is something else. Then nothing happened.
    #[inline(always)]
    pub(super) fn handle_at_once(&mut self, now: Time, input: Input, out: &mut impl ActionSink) -> bool {
        if !self.plain {
            return false;
        }
        match input {
            Input::Done(disk, ..) => {
                self.now = now;
                self.tell_at_once(now, disk, input, out);
            }
            Input::Submit(request) => {
                let Some((disk, child, spot)) = self.take_read(now, &request) else { return false };
                let (core, mut member) = self.member(disk, out);
                core.submit_plain(now, &child, spot, &mut member);
                let wake = core.wake_at();
                self.carry_out_rest(disk, wake, out);
            }
            _ => return false,
        }
        if !self.posts.is_empty() {
            out.gather(|out| self.settle(now, out));
        }
        true
    }

    /// Keeps a read that waits for no one and lies in one stripe unit; the disk to be told, what it is asked, and where that lies.
    #[inline(always)]
    fn take_read(&mut self, now: Time, request: &Request) -> Option<(DiskId, Request, P::Spot)> {
        let at = request.at;
        if request.op != Op::Read || at.blocks == 0 || at.end().0 > self.geometry.blocks() {
            return None;
        }
        let piece = self.geometry.only_piece(at)?;
        if at.blocks >= 2 * LEAST_PART && self.rules.class(request.qos.class).splits {
            return None;
        }
        let mut task = Task::at(Place::Request(request.id, 0));
        task.left = 1;
        let mut job = Job::new(request, now, self.sequence + 1, task);
        if self.overlap.blocker(&job).is_some() {
            return None;
        }
        self.now = now;
        let on_disk = self.geometry.on_disk(piece.row, piece.within, piece.blocks);
        let disk = self.place(self.geometry.copies_of(piece.row, piece.column), on_disk)?;
        self.sequence += 1;
        job.state = JobState::Serving;
        let id = self.tasks.insert(job);
        self.overlap.add(id, &job, &self.tasks);
        let belief = self.disks[usize::from(disk.0)].belief();
        let spot = belief.spot(on_disk);
        let takes =
            if self.geometry.copies() > 1 { self.positioning + belief.transfer(on_disk, spot) } else { Span::ZERO };
        self.loads[usize::from(disk.0)] += takes;
        self.born += 1;
        let child = self.children.insert(ChildRequest {
            task: id,
            owner: Owner::Task,
            disk,
            op: Op::Read,
            at: on_disk,
            place: job.spot.base,
            tried: 0,
            takes,
            generation: 0,
            number: self.born,
        });
        Some((disk, Request { id: RequestId(child), at: on_disk, ..*request }, spot))
    }

    /// Tells a disk of a plain array something, and carries out what it decides.
    #[inline(always)]
    pub(super) fn tell_at_once(&mut self, now: Time, disk: DiskId, input: Input, out: &mut impl ActionSink) {
        let (core, mut member) = self.member(disk, out);
        core.handle_plain(now, input, &mut member);
        let wake = core.wake_at();
        self.carry_out_rest(disk, wake, out);
    }

    /// The core of a disk of a plain array, and what carries out what that decides.
    #[inline(always)]
    fn member<'a, S>(&'a mut self, disk: DiskId, out: &'a mut S) -> (&'a mut Core<P>, PlainMember<'a, S>) {
        let Array { disks, children, tasks, overlap, loads, told, .. } = self;
        let load = &mut loads[usize::from(disk.0)];
        (&mut disks[usize::from(disk.0)], PlainMember { disk, children, tasks, overlap, load, rest: told, out })
    }

    /// Carries out what a disk decided that was not carried out at once, and notes when it wants to be woken.
    #[inline(always)]
    fn carry_out_rest(&mut self, disk: DiskId, wake: Option<Time>, out: &mut impl ActionSink) {
        self.note_wake(disk, wake.unwrap_or(Time::NEVER));
        if !self.told.is_empty() {
            out.gather(|out| self.carry_out_told(disk, out));
        }
    }
}

/// Carries out what a disk of a plain array decides, until that is more than a command or the good end of a child.
struct PlainMember<'a, S> {
    disk: DiskId,
    children: &'a mut Slab<ChildRequest>,
    tasks: &'a mut Jobs<Task>,
    overlap: &'a mut Overlap,
    load: &'a mut Span,
    /// From the first that is more on, what was decided.
    rest: &'a mut Vec<Action>,
    out: &'a mut S,
}

impl<S: ActionSink> PlainMember<'_, S> {
    #[inline(always)]
    fn issue(&mut self, tag: Tag, command: Command) {
        let place = match command.place {
            Place::Request(child, into) => {
                self.children.get(child.0).map_or(Place::Nowhere, |child| offset(child.place, into))
            }
            other => return self.rest.push(Action::Issue(self.disk, tag, Command { place: other, ..command })),
        };
        self.out.push(Action::Issue(self.disk, tag, Command { place, ..command }));
    }

    /// Ends a child that ended well, and its task with the last of them; false where more follows from that.
    #[inline(always)]
    fn end(&mut self, id: u32) -> bool {
        let Some(child) = self.children.get(id) else { return false };
        let Some(job) = self.tasks.get_mut(child.task) else { return false };
        let Task { left, trouble, again, .. } = job.spot;
        let is_simple = matches!(job.op, Op::Read | Op::Write { .. }) && child.is_of_task() && job.request != NOBODY;
        let is_well = trouble.is_none() && !again && job.first_held.is_none();
        if !is_simple || !is_well {
            return false;
        }
        *self.load = self.load.less(child.takes);
        if left > 1 {
            job.spot.left -= 1;
            self.children.clear(id);
            return true;
        }
        self.overlap.remove(job);
        let request = job.request;
        self.tasks.free(child.task);
        self.children.clear(id);
        self.out.push(Action::Finish(request, Ending::Finished));
        true
    }
}

impl<S: ActionSink> ActionSink for PlainMember<'_, S> {
    #[inline(always)]
    fn push(&mut self, action: Action) {
        match action {
            Action::Issue(_, tag, command) if self.rest.is_empty() => self.issue(tag, command),
            Action::Finish(child, Ending::Finished) if self.rest.is_empty() && self.end(child.0) => {}
            other => self.rest.push(other),
        }
    }

    #[inline(always)]
    fn gather<T>(&mut self, decide: impl FnOnce(&mut Vec<Action>) -> T) -> T {
        decide(self.rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::{ArrayPlan, Geometry, Level, Placement};
    use crate::plan::Rules;
    use crate::policy::{self, Beside};
    use crate::predict::Profile;
    use crate::{Health, Scheduler};
    use block::errno::EIO;
    use block::{Caps, Change, Extent, Outcome, Qos, SeekBy, Verb};
    use disk::Sheet;

    /// Two arrays that are told the same, of which one takes the way of all inputs, always.
    struct Twins {
        arrays: [Array<Profile>; 2],
        flying: Vec<(DiskId, Tag, Verb)>,
        outstanding: Vec<u32>,
        now: Time,
    }

    impl Twins {
        fn new(sheet: &Sheet, level: Level, placement: Placement) -> Twins {
            let blocks = sheet.mechanics.layout.blocks();
            let caps = Caps { blocks, depth: 1, seek: SeekBy::Nothing, arms: 1 };
            let policy = || policy::usual("satf").make(&Beside::default());
            let core = || Core::new(caps, u32::MAX, Profile::new(sheet), Rules::default(), Box::new(policy));
            let geometry = Geometry::new(level, 4, 128, blocks).expect("an array");
            let plan = ArrayPlan { placement, ..ArrayPlan::default() };
            let array = || Array::new(geometry, plan, Rules::default(), 64, (0..4).map(|_| core()).collect());
            let arrays = [array(), Array { plain: false, ..array() }];
            assert!(arrays[0].plain);
            Twins { arrays, flying: Vec::new(), outstanding: Vec::new(), now: Time::ZERO }
        }

        fn hear(&mut self, input: Input) {
            let [told, other] = self.arrays.each_mut().map(|array| {
                let mut out = Vec::new();
                array.handle(self.now, input, &mut out);
                out
            });
            assert_eq!(told, other, "at {:?}, after {input:?}", self.now);
            assert_eq!(self.arrays[0].loads, self.arrays[1].loads);
            assert_eq!(self.arrays[0].wake_at(), self.arrays[1].wake_at());
            for action in told {
                match action {
                    Action::Issue(disk, tag, command) => self.flying.push((disk, tag, command.verb)),
                    Action::Finish(request, _) => self.outstanding.retain(|other| *other != request.0),
                    _ => {}
                }
            }
        }
    }

    #[test]
    fn a_plain_array_decides_what_any_does() {
        let sheet = disk::catalogue::find("atlas10k").expect("it is in the catalogue").sheet;
        let mut state = 7u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        let mirrored = Level::Mirrored { copies: 2 };
        for level in [mirrored, Level::Striped, Level::Mirrored { copies: 4 }] {
            for placement in [Placement::LeastFinish, Placement::RoundRobin, Placement::Nearest] {
                let mut twins = Twins::new(&sheet, level, placement);
                let blocks = twins.arrays[0].geometry.blocks();
                for step in 0..3000 {
                    twins.now += Span(draw(2_000_000));
                    let free = (0..64).find(|id| !twins.outstanding.contains(id));
                    match (draw(100), free) {
                        (0..55, Some(id)) => {
                            // Writes come late, so that for long nobody has to wait for anybody.
                            let op = if step > 1000 && draw(4) == 0 { Op::Write { fua: false } } else { Op::Read };
                            let region = if draw(2) == 0 { 1000 } else { blocks - 400 };
                            let most = if draw(8) == 0 { 300 } else { 16 };
                            let at = Extent::new(draw(region), 1 + draw(most) as u32);
                            let deadline = (draw(10) == 0).then(|| twins.now + Span(draw(40_000_000)));
                            let qos = Qos { deadline, ..Qos::default() };
                            twins.outstanding.push(id);
                            twins.hear(Input::Submit(Request { id: RequestId(id), op, at, qos }));
                        }
                        (95, _) if !twins.outstanding.is_empty() => {
                            let id = twins.outstanding[draw(twins.outstanding.len() as u64) as usize];
                            twins.hear(Input::Amend(RequestId(id), Change::Cancel));
                        }
                        (96, _) => twins.hear(Input::Wake),
                        (97, _) if step > 2500 => twins.hear(Input::Disk(DiskId(draw(4) as u16), Health::Failed)),
                        _ if !twins.flying.is_empty() => {
                            let next = draw(twins.flying.len() as u64) as usize;
                            let (disk, tag, verb) = twins.flying.swap_remove(next);
                            // A disk that does not take what is written is given up, after which nothing is plain.
                            let failed = draw(40) == 0 && (step > 2500 || verb == Verb::Read);
                            let outcome = if failed { Outcome::Failed(EIO) } else { Outcome::Ok };
                            twins.hear(Input::Done(disk, tag, twins.now, outcome));
                        }
                        _ => {}
                    }
                }
                assert!(twins.arrays[0].sequence > 500);
            }
        }
    }
}
