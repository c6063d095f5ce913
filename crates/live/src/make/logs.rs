//! The log of an array's write buffer, as a service file asks for it.

use super::disks::Existing;
use super::open_error;
use crate::array::{ArrayStatus, OpenedLog, WriteLog};
use crate::claim::Use;
use crate::unit::{PageCache, ServedFile};
use block::{At, BadInput};
use load::experiment::{ArrayChoice, Experiment, Held, Live};
use std::path::Path;

fn bad(experiment: &Experiment, (what, mend): (String, String)) -> BadInput {
    BadInput::new(experiment.file.clone(), At::File, what, mend)
}

/// Opens the device that is to be the log, if there is to be one.
fn open_device(experiment: &Experiment, array: &ArrayChoice) -> Result<Option<OpenedLog>, BadInput> {
    let Some(path) = &array.log else { return Ok(None) };
    let is_same = |other: &Path| path.canonicalize().is_ok_and(|path| other.canonicalize().is_ok_and(|it| it == path));
    let is_disk = experiment.disks().any(|disk| match &disk.live {
        Some(Live::File(other) | Live::Emulated(Held::Sparse(other))) => is_same(other),
        _ => false,
    });
    if is_disk {
        let mend = "name a file or a device of its own";
        return Err(bad(
            experiment,
            (format!("{} is a disk of the array, and its log, too", path.display()), mend.into()),
        ));
    }
    // One batch is under way at a time.
    let unit = ServedFile::open(path, 1, Use::Writes, PageCache::Past)
        .map_err(|error| open_error(path, Use::Writes, &error))?;
    Ok(Some(OpenedLog { unit: Box::new(unit), path: path.display().to_string() }))
}

/// Whether an array that was found so can be had without a log: what is lost by that, or why not.
fn without(array: &ArrayChoice, status: &ArrayStatus) -> Result<Option<String>, (String, String)> {
    if status.names().is_none_or(|(_, log)| log.is_none()) {
        return Ok(None);
    }
    if array.without_log {
        return Ok(Some("the log of the array is left out: what was written last may be lost, though clients were told that it was there".into()));
    }
    let what = "the array was last served with a log, and what was written last may be there alone";
    Err((
        what.into(),
        "name it, `log` and `buffer` as they were; or `without_log = true` goes on without what is there".into(),
    ))
}

/// The log of an array that was found so; what a reader must know is added to the notes.
pub(super) fn open_log(
    experiment: &Experiment,
    array: &ArrayChoice,
    status: &ArrayStatus,
    notes: &mut Vec<String>,
) -> Result<Option<WriteLog>, BadInput> {
    let bad = |wrong| bad(experiment, wrong);
    let (Some(opened), Some(names)) = (open_device(experiment, array)?, status.names()) else {
        notes.extend(without(array, status).map_err(bad)?);
        return Ok(None);
    };
    let log = opened.open(names, array.plan.buffer).map_err(bad)?;
    if log.replays() {
        notes.push(format!("what is on the log {} is written again", log.path()));
    }
    Ok(Some(log))
}

/// Whether the log of an array that was found so can be had; nothing is changed.
pub(super) fn check(experiment: &Experiment, array: &ArrayChoice, status: &ArrayStatus) -> Result<(), BadInput> {
    let bad = |wrong| bad(experiment, wrong);
    match (open_device(experiment, array)?, status.names()) {
        (Some(opened), Some(names)) => opened.check(names, array.plan.buffer).map_err(bad),
        _ => without(array, status).map(|_| ()).map_err(bad),
    }
}

/// Sees to it that a device can be the log of an array that is about to be made. That of one which is not needed any more is emptied.
pub(super) fn prepare(
    experiment: &Experiment,
    array: &ArrayChoice,
    former: Option<[u8; 16]>,
    existing: Existing,
) -> Result<(), BadInput> {
    let Some(mut opened) = open_device(experiment, array)? else { return Ok(()) };
    if let Some(former) = former.filter(|_| existing == Existing::Overwritten) {
        opened.clear(former).map_err(|error| {
            let what = format!("{} cannot be written: {error}", opened.path);
            bad(experiment, (what, "see to the device".into()))
        })?;
    }
    // No array has this name.
    opened.check(([0; 16], None), array.plan.buffer).map_err(|wrong| bad(experiment, wrong))
}

#[cfg(test)]
mod tests;
