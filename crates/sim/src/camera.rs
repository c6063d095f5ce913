//! What is recorded of a run while it goes on: nothing, as a rule.

use crate::film::Film;
use crate::reel::Reel;
use block::{Command, DiskId, Place, Request, RequestId, Tag, Time};
use drive::Parts;
use load::requests::{self, Ledger};
use sched::Action;

/// Who looks on while the simulation runs.
#[derive(Debug)]
pub(crate) enum Camera {
    /// At some commands of one disk.
    Film(Film),
    /// At all disks and what asks them, for a while.
    Reel(Reel),
    /// At every request of a whole run.
    Ledger(Box<Ledger>),
}

impl Camera {
    /// Whether it looks at a piece of a run only, which then need not settle or come to its end.
    pub(crate) fn is_brief(&self) -> bool {
        !matches!(self, Camera::Ledger(_))
    }

    /// A request was submitted.
    #[cold]
    pub(crate) fn note_request(&mut self, now: Time, request: &Request) {
        match self {
            Camera::Film(_) => {}
            Camera::Reel(reel) => reel.note_request(request.id),
            Camera::Ledger(ledger) => ledger.submit(now, request),
        }
    }

    /// The core says something of a request that no device need know.
    #[cold]
    pub(crate) fn note_action(&mut self, now: Time, action: Action) {
        match (self, action) {
            (Camera::Film(film), Action::Begin(id)) => film.begin_request(now, id),
            (Camera::Ledger(ledger), Action::Begin(id)) => ledger.wait(now, id, sched::Wait::Slack),
            (Camera::Ledger(ledger), Action::Wait(id, wait)) => ledger.wait(now, id, wait),
            (Camera::Ledger(ledger), Action::Credit(id)) => ledger.credit(id),
            (Camera::Ledger(ledger), Action::HandOn(at, found)) => ledger.hand_on(now, at, found),
            _ => {}
        }
    }

    /// A command is about to be issued to a drive that was at work of its own until `own_until`.
    #[cold]
    pub(crate) fn begin_command(&mut self, now: Time, disk: usize, tag: Tag, command: Command, own_until: Time) {
        match self {
            Camera::Film(film) if film.is_of(disk) => film.begin_command(now, tag, command, own_until),
            Camera::Film(_) => {}
            Camera::Reel(reel) => reel.begin_command(now, disk, tag, command, own_until),
            Camera::Ledger(ledger) => {
                let of = if let Place::Request(id, _) = command.place { Some(id) } else { None };
                ledger.issue(now, DiskId(disk as u16), tag, of);
            }
        }
    }

    /// A command has ended.
    #[cold]
    pub(crate) fn end_command(&mut self, now: Time, disk: usize, tag: Tag, parts: Parts) {
        match self {
            Camera::Film(film) if film.is_of(disk) => film.end_command(now, tag, parts),
            Camera::Film(_) => {}
            Camera::Reel(reel) => reel.end_command(now, disk, tag, parts),
            Camera::Ledger(ledger) => {
                ledger.end_command(now, DiskId(disk as u16), tag, requests::parts(parts.name_parts()))
            }
        }
    }

    /// A request has ended, the last of so many, and was worth so much.
    #[cold]
    pub(crate) fn end_request(&mut self, now: Time, id: RequestId, worth: f64, requests: u64) {
        if let Camera::Film(film) = self {
            film.end_request(now, id, worth, requests);
        }
    }

    /// Whether all was seen that it is to show, or nothing more can be put down; what asks the disks is shown until then.
    #[cold]
    pub(crate) fn is_over(&self, now: Time, until: Option<Time>) -> bool {
        match self {
            Camera::Film(film) => film.over,
            Camera::Reel(reel) => reel.is_over(now, until),
            Camera::Ledger(ledger) => ledger.has_failed(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::requests::{COLUMNS, DEVICE, PARTS};
    use sched::Wait;

    #[test]
    fn a_record_names_the_parts_as_a_drive_does() {
        let first = COLUMNS.len() - PARTS;
        let columns = COLUMNS.iter().skip(first).map(|column| column.name.to_owned());
        let named = Parts::default().name_parts().map(|(name, _)| format!("{name}_ns"));
        assert_eq!(columns.take(DEVICE).collect::<Vec<_>>(), named);
        assert_eq!(COLUMNS[first - Wait::KINDS].name, "wait_admission_ns");
    }
}
