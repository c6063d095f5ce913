//! A recorded machine run again: with another drive, another scheduler, faster processors.

use super::LoadedRecording;
use super::programs::{Programs, making};
use crate::setup::MachineSetup;
use block::{At, BadInput};
use load::experiment::{RecordedPlan, SystemPlan};
use load::{Fitting, Footprint};

/// The machine that was recorded, its requests fitted to a drive of `blocks` blocks.
pub(crate) fn machine(choice: &RecordedPlan, plan: SystemPlan, blocks: u64) -> Result<MachineSetup, BadInput> {
    let tape = LoadedRecording::read(&choice.file)?;
    let bad = |what: String, mend: &str| BadInput::new(tape.file.clone(), At::File, what, mend);
    let none = || bad("there are no requests in it".into(), "record block events too");
    let device = choice.device.or(tape.busiest()).ok_or_else(none)?;
    let making = making(&tape, device);
    let mut footprint = Footprint::default();
    for request in &making.requests {
        footprint.add(request.io.at).map_err(|what| bad(what, "the recording is damaged: record it again"))?;
    }
    if making.requests.is_empty() {
        let what = format!("there are no requests to device {},{}", device.0, device.1);
        return Err(bad(what, "`halfturn trace info` lists its devices"));
    }
    let fitting = Fitting::new(choice.fit, footprint, blocks);
    let fitting = fitting.map_err(|what| bad(what, "use a larger drive, or fit = \"wrap\""))?;
    if let Some(beyond) = making.requests.iter().map(|it| it.io.at.end().0).find(|end| *end > blocks)
        && let Fitting::AsIs = fitting
    {
        let what = format!("a request ends at block {beyond}, beyond the {blocks} blocks of the drive");
        return Err(bad(what, "use a larger drive, or fit = \"scale\", \"wrap\" or \"compact\""));
    }
    let it = making.finish(&tape, &fitting);
    let plan = SystemPlan { cpus: plan.cpus.or(Some(it.cpus)), ..plan };
    Ok(MachineSetup { plan, notes: notes(&tape, device, &it), programs: it.programs })
}

/// What a reader of the results must know.
fn notes(tape: &LoadedRecording, (major, minor): (u32, u32), it: &Programs) -> Vec<String> {
    let unended = it.requests.iter().filter(|request| request.ended.is_none()).count() as u64;
    let counts = [
        (tape.lost, "events were lost: what they tell is missing".to_owned()),
        (tape.steps_back, "lines whose time went back, taken as of the line above".to_owned()),
        (
            it.unended as u64,
            "processes had not ended when the recording did, and are followed as far as it goes".into(),
        ),
        (unended, format!("requests to {major},{minor} were not seen to end; here they do")),
        (
            it.elsewhere,
            format!("requests to other devices, not passed on to {major},{minor}, take as long as recorded"),
        ),
    ];
    let told = counts.into_iter().filter(|(count, _)| *count > 0);
    told.map(|(count, what)| format!("{}: {count} {what}", tape.file)).collect()
}
