//! What a world asks of a load beside requests: when it counts, and what came of it.

use block::{BadInput, Request, RequestId, Time};
use flow::{Picture, PictureScope};
use load::{Load, Meter, Served};

/// A load whose measurements the world writes.
pub(crate) trait Measured: Load {
    /// So many requests are to end before anything counts.
    fn settles(&self) -> u64 {
        0
    }

    /// Requests of the sample that came, and for which there was no room: they are outstanding from now on.
    fn take_crowded(&mut self, _: Time) -> Result<Vec<Request>, BadInput> {
        Ok(Vec::new())
    }

    /// Whatever of the sample is outstanding is followed no further; what that was.
    fn give_up(&mut self, _: Time) -> Vec<(RequestId, Served)> {
        Vec::new()
    }

    /// The measured time is over: what the sample is followed for is no part of what is measured.
    fn close(&mut self, _: Time) {}

    /// Ends the run at a time: what was measured, what a reader must know, and what a system of processes came to.
    fn finish(self, end: Time) -> (Meter, Vec<String>, Option<flow::SystemAccount>);

    /// The same, where what goes on in it is to be kept.
    #[must_use]
    fn with_pictures(self, _: PictureScope) -> Self
    where
        Self: Sized,
    {
        self
    }

    /// Until when that is kept, as far as it is known.
    fn pictured_until(&self) -> Option<Time> {
        None
    }

    /// What was kept until now.
    fn take_picture(&mut self, _: Time) -> Option<Picture> {
        None
    }
}

impl Measured for load::Mix {
    fn settles(&self) -> u64 {
        load::Mix::settles(self)
    }

    fn take_crowded(&mut self, now: Time) -> Result<Vec<Request>, BadInput> {
        load::Mix::take_crowded(self, now)
    }

    fn give_up(&mut self, now: Time) -> Vec<(RequestId, Served)> {
        load::Mix::give_up(self, now)
    }

    fn finish(self, _: Time) -> (Meter, Vec<String>, Option<flow::SystemAccount>) {
        let (meter, notes) = load::Mix::finish(self);
        (meter, notes, None)
    }
}

impl Measured for flow::ProcessSystem {
    fn close(&mut self, end: Time) {
        flow::ProcessSystem::close(self, end);
    }

    fn take_crowded(&mut self, _: Time) -> Result<Vec<Request>, BadInput> {
        Ok(flow::ProcessSystem::take_crowded(self))
    }

    fn give_up(&mut self, now: Time) -> Vec<(RequestId, Served)> {
        flow::ProcessSystem::give_up(self, now)
    }

    fn finish(self, end: Time) -> (Meter, Vec<String>, Option<flow::SystemAccount>) {
        let (meter, account, notes) = flow::ProcessSystem::finish(self, end);
        (meter, notes, Some(account))
    }

    fn with_pictures(self, scope: PictureScope) -> flow::ProcessSystem {
        flow::ProcessSystem::keep_picture(self, scope)
    }

    fn pictured_until(&self) -> Option<Time> {
        flow::ProcessSystem::pictured_until(self)
    }

    fn take_picture(&mut self, now: Time) -> Option<Picture> {
        flow::ProcessSystem::take_picture(self, now)
    }
}
