//! The loop that carries events to the core and its actions to the devices.

use crate::array::CacheTally;
use crate::fill::Fill;
use crate::predict::Predictor;
use crate::{Action, ActionSink, Core, Input, Pulse, Tally};
use block::{Command, DiskId, Outcome, Span, Tag, Time};

/// Everything outside a core: devices, clients and the clock.
pub trait World {
    /// The next thing that happens, at the latest `wake`; submissions only while `room` is above zero.
    /// Nothing means the end. Times never go back; at one instant, completions come first, then amendments,
    /// submissions and the wake.
    fn next(&mut self, wake: Option<Time>, room: u32) -> Option<(Time, Input)>;

    /// Carries out an action the core decided on at `now`.
    fn act(&mut self, now: Time, action: Action);

    /// Whether requests and completions are all that happens in it, apart from what is rare, so that `step` is worth a try.
    fn is_plain(&self) -> bool {
        false
    }

    /// The next thing happens, if it is a request or a completion and both are plain: it goes to the core by value, and what
    /// the core decides is carried out at once, without a stop in memory. False where it is something else; then nothing happened.
    fn step(&mut self, core: &mut impl Scheduler, rest: &mut Vec<Action>) -> bool {
        let _ = (core, rest);
        false
    }

    /// Whether a command that comes back while nothing else is due may be answered by [`World::give`].
    fn is_steady(&self) -> bool {
        false
    }

    /// The command that is alone in the one device comes back next, if that is before all else: when, and how. Nothing where
    /// something else is first, or nobody may be told in this way; then nothing happened that a core is told of.
    fn next_done(&mut self, room: u32) -> Option<(Time, Tag, Outcome)> {
        let _ = room;
        None
    }

    /// Gives the device the command that follows the one which [`World::next_done`] told of.
    fn give(&mut self, now: Time, tag: Tag, command: Command) {
        self.act(now, Action::Issue(DiskId(0), tag, command));
    }
}

/// What decides: the core of one disk, or of an array of them.
pub trait Scheduler {
    /// Takes an input and appends what follows from it. `now` never goes back.
    fn handle(&mut self, now: Time, input: Input, out: &mut Vec<Action>);

    /// Whether `World::step` is worth a try: where it seldom has to be woken. Settled when it is built.
    fn is_plain(&self) -> bool {
        false
    }

    /// Whether it is of one disk: known where the loop is made.
    fn has_one_disk(&self) -> bool
    where
        Self: Sized,
    {
        false
    }

    /// The same as `handle`, of one that is plain.
    fn handle_plain(&mut self, now: Time, input: Input, out: &mut impl ActionSink)
    where
        Self: Sized,
    {
        out.gather(|out| self.handle(now, input, out));
    }

    /// Whether all that follows the command in flight, if it comes back well, is the next of its request; until then it need not be
    /// woken.
    fn goes_further(&self) -> bool {
        false
    }

    /// What goes further has come back: the command that follows. Nothing where more follows; then nothing was done.
    fn next_further(&mut self, now: Time, outcome: Outcome) -> Option<(Tag, Command)> {
        let _ = (now, outcome);
        None
    }

    /// When it wants to be woken, if nothing else happens before.
    fn wake_at(&self) -> Option<Time>;

    /// How many more requests it takes.
    fn room(&self) -> u32;

    /// From `from` on things count for the tally.
    fn count_from(&mut self, from: Time);

    /// What the read cache of an array came to, where there is one.
    fn cache_tally(&self) -> Option<CacheTally> {
        None
    }

    /// What serving in short commands came to; nothing where requests are served whole.
    fn tally(&self) -> Option<Tally>;

    /// The counts of the tally that tell how it fares, at once and at no cost.
    fn pulse(&self) -> Pulse {
        Pulse::default()
    }

    /// By how much what a write is worth counts now: where there is a write buffer, by what room in it is worth.
    fn weight(&self) -> f64 {
        1.0
    }

    /// When the arm is believed to be there for the command issued just now, where its seek was timed and there is one disk.
    fn arrival(&self) -> Option<Time> {
        None
    }

    /// How often a floor that was owed went before a higher priority.
    fn floors(&self) -> u64 {
        0
    }

    /// By class: how long it kept a device without a command until its seek was due; nothing where the arm is not shared out.
    fn time_kept(&self) -> &[Span] {
        &[]
    }

    /// How full the write buffer was; nothing where there is none.
    fn fill(&self) -> Option<Fill> {
        None
    }

    /// Requests that failed because no disk holds any more what they asked for.
    fn requests_lost(&self) -> u64 {
        0
    }

    /// Decisions taken and candidates examined for them: what scheduling costs.
    fn effort(&self) -> (u64, u64);

    /// Things it remembers of its devices, and their memory in bytes; nothing where it does not learn.
    fn memory(&self) -> Option<(usize, usize)>;

    /// How far the times it believed are from those commands took, as distributions. Several disks tell nothing, nor who does
    /// not compare them.
    fn demerit(&self) -> Option<Span> {
        None
    }
}

impl<P: Predictor> Scheduler for Core<P> {
    #[inline(always)]
    fn handle(&mut self, now: Time, input: Input, out: &mut Vec<Action>) {
        Core::handle(self, now, input, out);
    }

    #[inline]
    fn is_plain(&self) -> bool {
        Core::is_plain(self)
    }

    #[inline(always)]
    fn has_one_disk(&self) -> bool {
        true
    }

    #[inline(always)]
    fn handle_plain(&mut self, now: Time, input: Input, out: &mut impl ActionSink) {
        Core::handle_plain(self, now, input, out);
    }

    #[inline]
    fn goes_further(&self) -> bool {
        Core::goes_further(self)
    }

    #[inline(always)]
    fn next_further(&mut self, now: Time, outcome: Outcome) -> Option<(Tag, Command)> {
        Core::next_further(self, now, outcome)
    }

    #[inline]
    fn wake_at(&self) -> Option<Time> {
        Core::wake_at(self)
    }

    #[inline]
    fn room(&self) -> u32 {
        Core::room(self)
    }

    fn count_from(&mut self, from: Time) {
        Core::count_from(self, from);
    }

    fn tally(&self) -> Option<Tally> {
        Core::tally(self).cloned()
    }

    fn pulse(&self) -> Pulse {
        Core::pulse(self)
    }

    fn arrival(&self) -> Option<Time> {
        Core::arrival(self)
    }

    fn floors(&self) -> u64 {
        Core::floors(self)
    }

    fn time_kept(&self) -> &[Span] {
        Core::time_kept(self)
    }

    fn effort(&self) -> (u64, u64) {
        Core::effort(self)
    }

    fn memory(&self) -> Option<(usize, usize)> {
        self.belief().memory()
    }

    fn demerit(&self) -> Option<Span> {
        self.belief().demerit()
    }
}

/// Of whichever type: the loop around it is made once for all.
impl Scheduler for Box<dyn Scheduler> {
    fn handle(&mut self, now: Time, input: Input, out: &mut Vec<Action>) {
        (**self).handle(now, input, out);
    }

    fn is_plain(&self) -> bool {
        (**self).is_plain()
    }

    fn wake_at(&self) -> Option<Time> {
        (**self).wake_at()
    }

    fn room(&self) -> u32 {
        (**self).room()
    }

    fn count_from(&mut self, from: Time) {
        (**self).count_from(from);
    }

    fn tally(&self) -> Option<Tally> {
        (**self).tally()
    }

    fn pulse(&self) -> Pulse {
        (**self).pulse()
    }

    fn weight(&self) -> f64 {
        (**self).weight()
    }

    fn arrival(&self) -> Option<Time> {
        (**self).arrival()
    }

    fn floors(&self) -> u64 {
        (**self).floors()
    }

    fn time_kept(&self) -> &[Span] {
        (**self).time_kept()
    }

    fn cache_tally(&self) -> Option<CacheTally> {
        (**self).cache_tally()
    }

    fn fill(&self) -> Option<Fill> {
        (**self).fill()
    }

    fn requests_lost(&self) -> u64 {
        (**self).requests_lost()
    }

    fn effort(&self) -> (u64, u64) {
        (**self).effort()
    }

    fn memory(&self) -> Option<(usize, usize)> {
        (**self).memory()
    }

    fn demerit(&self) -> Option<Span> {
        (**self).demerit()
    }
}

/// Runs a core in a world until nothing more happens.
pub fn run(core: &mut (impl Scheduler + ?Sized), world: &mut impl World) {
    run_told(core, world, |_| {});
}

/// The same, and says after each input how the core fares.
pub fn run_told<C: Scheduler + ?Sized>(core: &mut C, world: &mut impl World, mut tell: impl FnMut(&C)) {
    let mut actions = Vec::with_capacity(64);
    while let Some((now, input)) = world.next(core.wake_at(), core.room()) {
        core.handle(now, input, &mut actions);
        tell(core);
        for action in &actions {
            world.act(now, *action);
        }
        actions.clear();
    }
}

/// The same, by `World::step` wherever both are plain: then nobody is told.
pub fn play<C: Scheduler>(core: &mut C, world: &mut impl World, mut tell: impl FnMut(&C)) {
    let mut actions = Vec::with_capacity(64);
    let plain = core.is_plain() && world.is_plain();
    let steady = world.is_steady();
    loop {
        while plain && world.step(core, &mut actions) {}
        let done = if steady && core.goes_further() { go_further(core, world) } else { None };
        let next = if done.is_some() { done } else { world.next(core.wake_at(), core.room()) };
        let Some((now, input)) = next else { return };
        core.handle(now, input, &mut actions);
        tell(core);
        for action in &actions {
            world.act(now, *action);
        }
        actions.clear();
    }
}

/// Has commands go on by themselves as long as they do. Gives what ended that, if it is a command that came back.
#[inline(always)]
fn go_further<C: Scheduler>(core: &mut C, world: &mut impl World) -> Option<(Time, Input)> {
    while core.goes_further() {
        let (now, tag, outcome) = world.next_done(core.room())?;
        let Some((tag, command)) = core.next_further(now, outcome) else {
            return Some((now, Input::Done(DiskId(0), tag, now, outcome)));
        };
        world.give(now, tag, command);
    }
    None
}
