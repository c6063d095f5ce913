//! What a world shows to whatever looks on, kept out of the way of runs at which nothing does.

use super::{Drives, Measured};
use crate::camera::Camera;
use block::{BadInput, Command, Ending, RequestId, Tag, Time};
use drive::{Machine, Parts};

impl<M: Machine, L: Measured> Drives<'_, M, L> {
    /// Whether only a piece of the run is looked at.
    pub(super) fn is_brief(&self) -> bool {
        self.camera.as_ref().is_some_and(Camera::is_brief)
    }

    /// Whether whatever looks on has seen all it wants.
    #[cold]
    pub(super) fn has_seen_all(&self) -> bool {
        self.camera.as_ref().is_some_and(|camera| camera.is_over(self.now, self.load.pictured_until()))
    }

    /// A command is about to be issued.
    #[cold]
    pub(super) fn show_issue(&mut self, now: Time, disk: usize, tag: Tag, command: Command) {
        if let Some(moves) = self.moves.as_mut().filter(|_| disk == 0 && self.measures.is_none()) {
            moves.begin_command(tag, command);
        }
        if let Some(arms) = &mut self.arms {
            arms.begin_command(now, &command);
        }
        let Some(camera) = &mut self.camera else { return };
        // Who looks at requests need not have the drive worked out.
        let own_until = if camera.is_brief() { self.lanes[disk].machine.own_until(now) } else { Time::ZERO };
        camera.begin_command(now, disk, tag, command, own_until);
    }

    /// A command that was issued then has come back.
    #[cold]
    pub(super) fn show_done(&mut self, now: Time, disk: usize, tag: Tag, issued: Time, parts: Parts) {
        if let Some(moves) = self.moves.as_mut().filter(|_| disk == 0 && self.measures.is_none()) {
            moves.end_command(tag, parts);
        }
        if let Some(camera) = &mut self.camera {
            camera.end_command(now, disk, tag, parts);
        }
        if let Some(error) = self.arms.as_mut().and_then(|arms| arms.end_command(&parts)) {
            self.load.meter_mut().arm(issued, error);
        }
    }

    /// A request has ended: the load is told, after what it still knows of it was put down.
    #[cold]
    pub(super) fn end_and_show(&mut self, now: Time, id: RequestId, how: Ending) {
        if let Some(Camera::Ledger(ledger)) = &mut self.camera
            && let Some(served) = self.load.take_served(now, id)
        {
            ledger.end(id, &served, Some(how));
        }
        self.load.end_request(now, id, how);
        if let Some(camera) = &mut self.camera {
            camera.end_request(now, id, self.load.meter().last_worth(), self.ended);
        }
    }

    /// What is outstanding at the end is followed no further, nor what came and still has no room.
    pub(super) fn give_up(&mut self) -> Result<(), BadInput> {
        for request in self.load.take_crowded(self.now)? {
            if let Some(camera) = &mut self.camera {
                camera.note_request(self.now, &request);
            }
        }
        let left = self.load.give_up(self.now);
        if let Some(Camera::Ledger(ledger)) = &mut self.camera {
            left.iter().for_each(|(id, served)| ledger.end(*id, served, None));
        }
        Ok(())
    }
}
