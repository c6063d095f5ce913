//! The loop.

use crate::predict::Predictor;
use crate::{Action, Core, Input};
use block::Time;

/// Everything outside a core: devices, clients and the clock.
pub trait World {
    /// The next thing that happens, at the latest `wake`; submissions only while `room` is above zero.
    /// Nothing means the end. Times never go back; at one instant, completions come first, then amendments,
    /// submissions and the wake.
    fn next(&mut self, wake: Option<Time>, room: u32) -> Option<(Time, Input)>;

    /// Carries out an action the core decided on at `now`.
    fn act(&mut self, now: Time, action: Action);
}

/// Runs a core in a world until nothing more happens.
pub fn run<P: Predictor>(core: &mut Core<P>, world: &mut impl World) {
    let mut actions = Vec::with_capacity(64);
    while let Some((now, input)) = world.next(core.wake_at(), core.room()) {
        core.handle(now, input, &mut actions);
        for action in actions.drain(..) {
            world.act(now, action);
        }
    }
}
