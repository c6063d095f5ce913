//! The disks of an array that a service file asks for: opened, found to be of the array, and made to agree.

use super::logs::{self, open_log};
use super::{Made, device};
use crate::Rates;
use crate::array::{
    self, Absent, ArrayNotes, ArrayStatus, BEFORE, BEHIND, FoundLayout, Lacking, OpenedMember, RepairPace,
};
use crate::claim::Use;
use crate::unit::{Faulty, LiveDevice, MemberOpener, Members, Summed};
use block::{At, BLOCK_BYTES, BadInput, Caps, DiskId, Qos, Span, units};
use load::experiment::{ArrayChoice, DriveChoice, Experiment, Held, Live};
use load::workload::Kind;
use sched::array::{Geometry, Level};
use std::path::Path;

/// By how much the seeds of two disks of an array differ, of which each has a phase and noise of its own.
const APART: u64 = 0x9E37_79B9_7F4A_7C15;

/// Whether an array can be had in real time: what is not there yet would be taken for done.
pub(super) fn check(experiment: &Experiment, array: &ArrayChoice) -> Result<(), BadInput> {
    let bad = |what: &str, mend: &str| Err(BadInput::new(experiment.file.clone(), At::File, what, mend));
    let all = |holds: &dyn Fn(&DriveChoice) -> bool| {
        (0..usize::from(array.disks)).map(|disk| holds(array.member(disk, &experiment.drive))).collect::<Vec<bool>>()
    };
    let mixed = |all: Vec<bool>| all.contains(&true) && all.contains(&false);
    if array.plan.buffer > 0 && array.log.is_none() {
        let mend = "name what keeps it: `log`, a file or a block device; or take `buffer` out";
        return bad("a write buffer keeps what it holds without power, and nothing does that here", mend);
    }
    if array.log.is_some() && !all(&keeps).contains(&true) {
        let mend = "give each disk a file or a device, or take `log` and `buffer` out";
        return bad("the disks of the array hold nothing when the service ends: a log of it is of no use", mend);
    }
    if !array.fails.is_empty() {
        return bad("the disks of an array that is served fail by themselves", "take [[array.fails]] out");
    }
    if mixed(all(&|choice| !choice.model.is_empty())) {
        return bad(
            "of some disks of the array it is said what drive they are, of others not",
            "give each its `model`",
        );
    }
    if array.checksums && !all(&keeps).contains(&true) {
        let mend = "give each disk a file or a device, or take `checksums` out";
        return bad("the disks of the array hold nothing when the service ends: their checksums are of no use", mend);
    }
    if mixed(all(&keeps)) {
        let mend = "give each a file or a device, or, of emulated ones, contents = \"sparse\"";
        return bad("some disks of the array forget what they hold when the service ends, others do not", mend);
    }
    Ok(())
}

/// Whether a drive holds what was written when the service ends.
fn keeps(choice: &DriveChoice) -> bool {
    matches!(choice.live, Some(Live::File(_) | Live::Emulated(Held::Sparse(_))))
}

/// Whether the disks of an array are to know of it: what holds nothing is made anew each time.
pub(super) fn lasts(experiment: &Experiment) -> bool {
    let array = experiment.array.as_ref();
    array.is_some_and(|array| keeps(array.member(0, &experiment.drive)))
}

/// What of each disk of an array is not the array's to fill, before its data and behind it.
pub(super) fn find_margins(experiment: &Experiment) -> (u64, u64) {
    if lasts(experiment) { (BEFORE, BEHIND) } else { (0, 0) }
}

/// The disks of an array, opened, and what they are together.
struct Opened {
    members: Vec<OpenedMember>,
    geometry: Geometry,
    rotational: bool,
    notes: Vec<String>,
}

/// Opens the disks of an array; those that cannot be had are lacking. Where the array on them is kept, a disk that is too small for it
/// cannot be had either.
fn open(
    experiment: &Experiment,
    array: &ArrayChoice,
    existing: Existing,
    how: Use,
    seed: u64,
) -> Result<Opened, BadInput> {
    let short = experiment.scheduler.rules.plan.is_some();
    let how = if lasts(experiment) { Use::Writes } else { how };
    let (mut members, mut rotational, mut notes) = (Vec::<OpenedMember>::new(), true, Vec::new());
    let mut first = None;
    for disk in 0..usize::from(array.disks) {
        let choice = array.member(disk, &experiment.drive);
        match device(choice, how, short, seed.wrapping_add((disk as u64).wrapping_mul(APART))) {
            Ok(made) => {
                rotational &= made.rotational;
                notes.extend(made.notes);
                members.push(Ok(wrap(experiment, made.unit)));
            }
            Err(error) if lasts(experiment) => {
                members.push(Err(format!("{}: {}", error.file, error.what)));
                first.get_or_insert(error);
            }
            Err(error) => return Err(error),
        }
    }
    if lasts(experiment) && existing == Existing::Kept {
        refuse_short(&mut members);
    }
    // Of no disk at all, as where another service has them, nothing can be told.
    if members.iter().all(Result::is_err)
        && let Some(Err(why)) = members.first()
    {
        let what = format!("no disk can be had: {why}");
        let small = BadInput::new(experiment.file.clone(), At::File, what, "bring them back");
        return Err(first.unwrap_or(small));
    }
    let least = members.iter().flatten().map(|unit| unit.bytes() / BLOCK_BYTES).min().unwrap_or(0);
    let bad = |(what, mend): (String, String)| BadInput::new(experiment.file.clone(), At::File, what, mend);
    let geometry = Geometry::within(array.level, array.disks, array.unit, least, find_margins(experiment));
    let geometry = geometry.map_err(bad)?;
    Ok(Opened { members, geometry, rotational, notes })
}

impl Opened {
    /// The same, as the array was made, or has grown: the smallest disk may be lacking, or a larger one have taken its place; and one by
    /// which it grew may not be in the file yet, or one by which it is to grow be there already. Then also what to set there.
    fn fit(mut self, experiment: &Experiment, array: &ArrayChoice, seed: u64) -> (Opened, Option<String>) {
        let Some(found) = array::find_layout(&mut self.members) else { return (self, None) };
        let named = array.disks;
        let level = match (found.level(), array.level) {
            (Level::SecondOnLast, Level::Parity | Level::DoubleParity) => Level::SecondOnLast,
            (Level::Parity, Level::DoubleParity) if found.disks() + 1 == named => Level::Parity,
            (level, Level::Mirrored { copies }) if found.former_copies() == copies => level,
            (_, level) => level,
        };
        let step = level.copies();
        let mut advice = tell_level(&found, array);
        let paths = found.paths_of_growth();
        if found.disks() == named + step && paths.len() == usize::from(step) {
            let open = opener(experiment, array, seed);
            self.members.extend((named..).map(DiskId).zip(paths).map(|(disk, path)| open(disk, Path::new(path))));
            let paths = paths.join(" and ");
            let name = array::name_as_last(step);
            advice = Some(match advice {
                Some(advice) if level == Level::Parity => format!("{advice}; it has grown by {paths}: {name}"),
                Some(advice) => format!("{advice}; it has the second parity on {paths}: {name}"),
                None => format!("the array has grown by {paths}: {name}"),
            });
        } else if array.level == Level::DoubleParity && level == Level::Parity {
            if self.members.last_mut().is_some_and(|last| last.is_err() || found.lacks(last)) {
                self.members.pop();
            }
        } else if found.disks() + step == named {
            let joined = &mut self.members[usize::from(found.disks())..];
            if joined.iter_mut().all(|member| found.lacks(member)) {
                self.members.truncate(found.disks().into());
                let numbers = (found.disks()..named).map(|disk| disk.to_string()).collect::<Vec<_>>().join(" and ");
                let what = match step {
                    1 => format!("disk {numbers} is not of the array yet: take it"),
                    _ => format!("disks {numbers} are not of the array yet: take them"),
                };
                advice = Some(format!("{what} out of the service file, serve it, and tell it to grow"));
            }
        }
        let rows = found.rows().min(self.geometry.rows());
        let least = BEFORE + rows * u64::from(array.unit) + BEHIND;
        let disks = self.members.len() as u16;
        let made = Geometry::within(level, disks, array.unit, least, (BEFORE, BEHIND));
        self.geometry = made.map_or(self.geometry, |geometry| found.fit(&geometry));
        (self, advice)
    }
}

/// What to set in a file that has an array as it was before its level changed.
fn tell_level(found: &FoundLayout, array: &ArrayChoice) -> Option<String> {
    match (found.level(), array.level) {
        (Level::SecondOnLast, Level::Parity) => {
            Some("the array is a RAID 6 by now: give it `level = \"6\"` in the service file".into())
        }
        (level, Level::Mirrored { copies }) if found.former_copies() == copies && level != array.level => {
            let number = level.number();
            Some(format!("the array is a RAID {number} by now: give it `level = \"{number}\"` in the service file"))
        }
        (Level::Parity, Level::DoubleParity) if found.disks() + 1 == array.disks => Some(format!(
            "the array is a RAID 5 of {} disks: give it `level = \"5\"`, and take disk {} out of the service file",
            found.disks(),
            found.disks()
        )),
        _ => None,
    }
}

/// A disk that has less than the array's part of one cannot be had. How much that is, most of them tell.
fn refuse_short(members: &mut [OpenedMember]) {
    let Some(found) = array::find_layout(members) else { return };
    for member in members {
        let Ok(unit) = member else { continue };
        let (has, wanted) = (unit.bytes() / BLOCK_BYTES, found.blocks_of_a_disk());
        if has < wanted && unit.has_sums() == found.has_sums() {
            let (has, wanted) = (units::show_blocks(has), units::show_blocks(wanted));
            *member = Err(format!("it has {has}, and the array's part of a disk is {wanted}"));
        }
    }
}

/// How the array is repaired while it is served: as the workload of that kind in the file says, in front of a rebuild and of a scrub.
fn paces(experiment: &Experiment) -> [RepairPace; 2] {
    let of = |again: bool| {
        let found = experiment.workloads.iter().find_map(|workload| match &workload.kind {
            Kind::Repair(plan) if plan.again == again => Some((workload, plan)),
            _ => None,
        });
        found.map_or_else(RepairPace::default, |(workload, plan)| RepairPace {
            blocks: plan.blocks,
            depth: plan.depth,
            apart: plan.rate.map_or(Span::ZERO, |rate| Span((1e9 / rate) as u64)),
            floor: None,
            noted_every: RepairPace::default().noted_every,
            qos: Qos { class: experiment.class_of(workload), priority: workload.priority, deadline: None },
        })
    };
    [of(false), of(true)]
}

/// Opens a disk that is to take the place of one, in the way that the file has that one; where it is emulated, the path is that of
/// what it holds.
fn opener(experiment: &Experiment, array: &ArrayChoice, seed: u64) -> MemberOpener {
    let (experiment, array) = (experiment.clone(), array.clone());
    Box::new(move |disk: DiskId, path| {
        // One by which it grows is as the last that is named.
        let disk = DiskId(disk.0.min(array.disks - 1));
        let mut choice = array.member(disk.0.into(), &experiment.drive).clone();
        choice.live = match choice.live {
            Some(Live::Emulated(_)) => Some(Live::Emulated(Held::Sparse(path.into()))),
            _ => Some(Live::File(path.into())),
        };
        let short = experiment.scheduler.rules.plan.is_some();
        let seed = seed.wrapping_add(u64::from(disk.0).wrapping_mul(APART)).wrapping_add(1);
        let made =
            device(&choice, Use::Writes, short, seed).map_err(|error| format!("{}: {}", error.file, error.what))?;
        Ok(wrap(&experiment, made.unit))
    })
}

/// A disk of an array, with what may be wrong with it, and what finds that.
fn wrap(experiment: &Experiment, unit: Box<dyn LiveDevice>) -> Box<dyn LiveDevice> {
    let unit = if experiment.has_faults() { Box::new(Faulty::new(unit)) } else { unit };
    let sums = lasts(experiment) && experiment.array.as_ref().is_some_and(|array| array.checksums);
    if sums { Box::new(Summed::new(unit)) } else { unit }
}

/// Makes the device that an experiment names, or those of its array, to be used so.
///
/// # Errors
/// As of [`device`], and when they do not make an array.
pub fn devices(experiment: &Experiment, how: Use, seed: u64) -> Result<Made, BadInput> {
    let short = experiment.scheduler.rules.plan.is_some();
    let Some(array) = &experiment.array else { return device(&experiment.drive, how, short, seed) };
    let opened = open(experiment, array, Existing::Kept, how, seed)?;
    let (opened, advice) = if lasts(experiment) { opened.fit(experiment, array, seed) } else { (opened, None) };
    let Opened { mut members, geometry, rotational, mut notes } = opened;
    let bad = |what: String, mend: String| BadInput::new(experiment.file.clone(), At::File, what, mend);
    let status = lasts(experiment).then(|| array::inspect(&mut members, &geometry));
    notes.extend(advice);
    if geometry.is_growing() && array.log.is_some() {
        let (what, mend) = match geometry.traded_level() {
            None => (
                "the array is growing, and one that grows has no log",
                "serve it without `log` and `buffer` until it has grown",
            ),
            Some(_) => (
                "the array is changing its level, and one that does has no log",
                "serve it without `log` and `buffer` until it has",
            ),
        };
        return Err(bad(what.into(), mend.into()));
    }
    if let Some(status) = &status {
        status.admit(&geometry, Lacking::of(array)).map_err(|(what, mend)| bad(what, mend))?;
    }
    let log = match &status {
        Some(status) => open_log(experiment, array, status, &mut notes)?,
        None => None,
    };
    let blocks = geometry.rows_on_disk().1 + find_margins(experiment).1;
    // Who takes the place of one that is lacking can do what the others can.
    let able = members.iter().flatten().map(|unit| unit.caps()).next();
    let able = Caps { blocks, ..able.unwrap_or(Caps { blocks, depth: 1, seek: block::SeekBy::Nothing, arms: 1 }) };
    let unit = |member: OpenedMember| member.unwrap_or_else(|_| Box::new(Absent::new(able)));
    let mut units: Vec<Box<dyn LiveDevice>> = members.into_iter().map(unit).collect();
    if let Some(status) = &status {
        let mended = array::resync(&mut units, geometry, status).map_err(|error| {
            bad(format!("copies and parities cannot be made to agree: {error}"), "see to the disk".into())
        })?;
        if status.dirty > 0 {
            notes.push(format!(
                "the array was not ended well: {} of its regions were looked through, and {mended} units mended",
                status.dirty
            ));
            if geometry.has_parity() && status.lost_unforeseen() {
                let what =
                    "disks went in the cut: what they held of rows that were being written then may be told wrong";
                notes.push(what.into());
            }
        }
    }
    let known = match &status {
        None => None,
        Some(status) => {
            let drawn = array::draw_name().map_err(|error| bad(error.to_string(), "see to /dev/urandom".into()))?;
            ArrayNotes::new(status, u64::from_le_bytes(drawn))
        }
    };
    let may_change = geometry.grow().is_ok() || geometry.raise().is_ok();
    if status.is_some() && log.is_none() && geometry.disks() == array.disks && may_change {
        // The places of disks by which it may grow, or come to have a second parity.
        units.extend((0..geometry.growth_step()).map(|_| -> Box<dyn LiveDevice> { Box::new(Absent::new(able)) }));
    }
    let members = Members::new(geometry, units).logging(log);
    let unit = members.repairing(paces(experiment), Some(opener(experiment, array, seed))).noting(known);
    Ok(Made { unit: Box::new(unit), rotational, rates: Rates::default(), notes })
}

fn array_of(experiment: &Experiment) -> Result<&ArrayChoice, BadInput> {
    let bad = |what: &str, mend: &str| BadInput::new(experiment.file.clone(), At::File, what, mend);
    let array = experiment.array.as_ref().ok_or_else(|| bad("there is no [array]", "add one with its `level`"))?;
    check(experiment, array)?;
    match lasts(experiment) {
        true => Ok(array),
        false => Err(bad("the disks of the array hold nothing when the service ends", "give each a file or a device")),
    }
}

/// What the disks of a file's array are to it, and whether it can be served.
///
/// # Errors
/// When there is none, or no disk can be had.
pub fn array_status(experiment: &Experiment) -> Result<(ArrayStatus, Result<(), BadInput>), BadInput> {
    let array = array_of(experiment)?;
    let (opened, advice) = open(experiment, array, Existing::Kept, Use::Writes, 0)?.fit(experiment, array, 0);
    let Opened { mut members, geometry, .. } = opened;
    let mut status = array::inspect(&mut members, &geometry);
    status.advice = advice;
    let admitted = status.admit(&geometry, Lacking::of(array));
    let bad = |(what, mend): (String, String)| BadInput::new(experiment.file.clone(), At::File, what, mend);
    let admitted = admitted.map_err(bad).and_then(|()| logs::check(experiment, array, &status));
    Ok((status, admitted))
}

/// What becomes of an array that is on disks already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It stays as it is.
    Kept,
    /// What is on them is not needed.
    Overwritten,
}

/// Makes the array of a file: its name. Whatever the disks hold, copies and parities agree from then on.
///
/// # Errors
/// When a disk cannot be had, or is of an array already and is not to be taken from that.
pub fn create_array(experiment: &Experiment, existing: Existing) -> Result<MadeArray, BadInput> {
    let array = array_of(experiment)?;
    let Opened { mut members, geometry, .. } = open(experiment, array, existing, Use::Writes, 0)?;
    let bad = |what: String, mend: &str| BadInput::new(experiment.file.clone(), At::File, what, mend);
    let status = array::inspect(&mut members, &geometry);
    let former = status.names().map(|(array, _)| array);
    if let Some(name) = status.name.filter(|_| existing == Existing::Kept) {
        let mend = "serve it; or, if what is on it is not needed: halfturn array create --force FILE";
        return Err(bad(format!("there are disks of an array among these, {name}"), mend));
    }
    logs::prepare(experiment, array, former, existing)?;
    let mut units: Vec<Box<dyn LiveDevice>> = Vec::new();
    for member in members {
        units.push(member.map_err(|why| bad(why, "an array is made of all its disks"))?);
    }
    let made = array::create(&mut units, geometry);
    let name = made.map_err(|error| bad(format!("cannot be made: {error}"), "see to the disk"))?;
    let sizes: Vec<u64> = units.iter().map(|unit| unit.caps().blocks).collect();
    Ok(MadeArray { name, unused: tell_unused(&sizes) })
}

/// An array that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MadeArray {
    /// The name that it keeps on each of its disks.
    pub name: String,
    /// What is not used of disks that are larger than others, where that is much.
    pub unused: Option<String>,
}

/// What an array of disks of so many blocks does not use of them, where that is more than a hundredth of all.
fn tell_unused(sizes: &[u64]) -> Option<String> {
    let (smallest, least) = sizes.iter().enumerate().min_by_key(|(_, blocks)| **blocks)?;
    let all: u64 = sizes.iter().sum();
    let unused: u64 = sizes.iter().map(|blocks| blocks - least).sum();
    (unused > all / 100).then(|| {
        let [unused, all, least] = [unused, all, *least].map(units::show_blocks);
        format!("{unused} of {all} are not used: disk {smallest} is the smallest, of {least}, and all have as much")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::experiment;
    use std::fs::{File, OpenOptions};

    #[test]
    fn what_larger_disks_have_beyond_the_smallest_is_told() {
        assert_eq!(
            [tell_unused(&[]), tell_unused(&[4096, 4096]), tell_unused(&[4096, 4100, 4096])],
            [None, None, None]
        );
        let told = tell_unused(&[1 << 16, 1 << 11, 1 << 16]).expect("it is told");
        assert_eq!(told, "62 MiB of 65 MiB are not used: disk 1 is the smallest, of 1 MiB, and all have as much");
    }

    #[test]
    fn a_disk_that_became_shorter_is_the_one_that_is_named() {
        let folder = std::env::temp_dir().join(format!("halfturn-short-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let path = |disk: u32| folder.join(format!("disk.{disk}"));
        let size = |file: File, bytes: u64| file.set_len(bytes).expect("a size");
        (0..3).for_each(|disk| size(File::create(path(disk)).expect("a file"), 8 << 20));
        let disks: String = (0..3).map(|disk| format!("[[disk]]\npath = \"disk.{disk}\"\n")).collect();
        let file = folder.join("a.toml").display().to_string();
        let read = |lines: &str| {
            let text = format!("{disks}[array]\nlevel = \"5\"\n{lines}\n[[volume]]\nname = \"a\"\n");
            experiment::parse_service(&file, &text, &[]).unwrap_or_else(|error| panic!("{error}"))
        };
        let (all, degraded) = (read(""), read("degraded = true"));
        create_array(&all, Existing::Kept).expect("an array");
        for left in [4 << 20, 100 << 10] {
            size(OpenOptions::new().write(true).open(path(2)).expect("a file"), left);
            let told = devices(&all, Use::Writes, 0).err().expect("it is refused").to_string();
            assert!(told.contains("disk 2 cannot be had: it has") && told.contains("is 8136 KiB"), "{told}");
            let (status, _) = array_status(&all).expect("a status");
            let words: Vec<&str> = status.disks.iter().map(array::MemberState::word).collect();
            assert_eq!(words, ["sound", "sound", "absent"]);
        }
        (0..2).for_each(|disk| size(OpenOptions::new().write(true).open(path(disk)).expect("a file"), 4 << 20));
        let told = devices(&all, Use::Writes, 0).err().expect("none has enough").to_string();
        assert!(told.contains("no disk can be had: it has 4 MiB"), "{told}");
        (0..2).for_each(|disk| size(OpenOptions::new().write(true).open(path(disk)).expect("a file"), 8 << 20));
        drop(devices(&degraded, Use::Writes, 0).expect("the others hold all of it"));
        size(OpenOptions::new().write(true).open(path(2)).expect("a file"), 4 << 20);
        create_array(&all, Existing::Overwritten).expect("a smaller array");
        drop(devices(&all, Use::Writes, 0).expect("it is served"));
        std::fs::remove_dir_all(&folder).expect("its folder");
    }
}
