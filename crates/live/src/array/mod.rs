//! Arrays that last: what their disks know of them, and how they are made, found and trusted.
//!
//! **A disk knows what it is.** On each stands of which array it is, the how manieth, of what layout, and what has become of the
//! others, so that disks in another order, of another array or of the past are refused, and nothing is guessed. Before anybody is
//! told that something is written which a disk that was given up does not hold, the others know that it was given up.
//!
//! **Before a row is written its region is marked.** When the power goes, copies and parities of what was under way may not agree.
//! Only marked regions are made to agree again when the array is next had, before it is trusted; a service that ends well leaves none.
//!
//! **What was never written is zeros.** A region is noted as written before it is first written. Until then each disk holds zeros there,
//! so that copies and parities agree, and nothing of it need be rebuilt or scrubbed. What clients discard becomes such again, when
//! nothing is asked for.

mod assembly;
#[cfg(test)]
mod cuts;
mod journal;
mod label;
mod notes;
mod orders;
mod regions;
mod resync;
mod sweep;
mod told;
mod upkeep;
pub(crate) mod write_log;

pub(crate) use assembly::FoundLayout;
pub use assembly::{ArrayStatus, Lacking, MemberState};
pub(crate) use journal::JOURNAL;
pub(crate) use label::{BEFORE, BEHIND, MOST_PATH};
pub(crate) use notes::ArrayNotes;
pub use orders::{ArrayOrder, Former, ScrubOrder};
pub(crate) use regions::{RegionBits, make_blank, part, regions_of};
pub(crate) use resync::is_same;
pub(crate) use told::{second_text, tell_second};
pub use upkeep::{Clients, PaceChange, RepairPace, Upkeep, UpkeepErrand};
pub(crate) use upkeep::{Durable, MOST_ERRANDS};
pub use write_log::WriteLog;
pub(crate) use write_log::{LOG_NUMBERS, LogName, OpenedLog};

use crate::kernel::Kernel;
use crate::memory::Slice;
use crate::unit::{Done, LiveDevice};
use assembly::{Said, judge, read_label};
use block::errno::EIO;
use block::{BLOCK_BYTES, Caps, Command, Extent, Outcome, Tag, Time};
use label::{Noted, Superblock};
use resync::Resync;
use sched::array::Geometry;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};

/// A disk of an array that was opened, or why it could not be.
pub(crate) type OpenedMember = Result<Box<dyn LiveDevice>, String>;

/// What the disks of an array say of it, which is to have this layout.
pub(crate) fn inspect(members: &mut [OpenedMember], geometry: &Geometry) -> ArrayStatus {
    let said = members.iter_mut().map(|member| match member {
        Ok(unit) => Ok(read_label(&mut **unit)),
        Err(why) => Err(why.clone()),
    });
    let mut status = judge(&said.collect::<Vec<Said>>(), geometry);
    let made = status.label.as_ref().map(|label| label.sums);
    for (member, state) in members.iter_mut().zip(&mut status.disks) {
        if let (Ok(unit), Some(made)) = (member, made.filter(|_| state.counts()))
            && unit.has_sums() != made
        {
            *state = MemberState::Unlike(if made { "with checksums".into() } else { "without checksums".into() });
        }
    }
    status.journal = journal::find(members, &status, geometry);
    status
}

/// How the array was made, or has grown, that most of these disks are of; nothing where they are of none.
pub(crate) fn find_layout(members: &mut [OpenedMember]) -> Option<FoundLayout> {
    let said = members.iter_mut().map(|member| match member {
        Ok(unit) => Ok(read_label(&mut **unit)),
        Err(why) => Err(why.clone()),
    });
    FoundLayout::of(&said.collect::<Vec<Said>>())
}

/// What to do about the disks by which an array grows, or has grown: so many.
pub(crate) fn name_as_last(disks: u16) -> String {
    format!("name {} in the service file, as the last of its disks", if disks == 1 { "it" } else { "them" })
}

/// Makes copies and parities agree in the regions that may have been written; how many units did not.
///
/// # Errors
/// When a disk cannot be read or written.
pub(crate) fn resync(units: &mut [Box<dyn LiveDevice>], geometry: Geometry, status: &ArrayStatus) -> io::Result<u64> {
    let Some(label) = &status.label else { return Ok(0) };
    for ((unit, state), name) in units.iter_mut().zip(&status.disks).zip(&label.names) {
        unit.set_sum_key(label.sum_key(*name));
        // What they knew there may be of the past.
        let marked = label.dirty.list().filter(|_| state.counts());
        marked.filter_map(|region| regions::part(&geometry, region)).for_each(|at| unit.sum_anew(at));
    }
    let held = status.disks.iter().map(MemberState::rows_held).collect();
    let mut resync = Resync { geometry, units, held };
    let mut mended = 0;
    if let Some(growth) = label.growth.filter(|growth| growth.grown.copied) {
        if label.traded_level().is_some() {
            resync.write_traded(growth.grown.rows)?;
        } else {
            let from = status.copy_disk(&geometry).ok_or_else(|| io::Error::other("no disk has the copy of a row"))?;
            resync.write_copied(growth.grown.rows, from)?;
        }
        resync.sync()?;
    }
    for record in &status.journal.records {
        // A region is marked, and no more blank, before any of its rows is written: of others no record is needed.
        let may_be_torn = |region| label.dirty.has(region) && !label.blank.has(region);
        if regions::regions_of(&geometry, record.at).any(may_be_torn) {
            mended += resync.replay(record)?;
        }
    }
    for row in label.dirty.list().flat_map(|region| regions::rows(&geometry, region)) {
        mended += resync.row(row)?;
    }
    if status.dirty > 0 {
        // From now on nothing is marked: the checksums on the disks are of what they hold, and what a service that was killed had not
        // flushed is on the media.
        resync.units.iter_mut().try_for_each(|unit| unit.keep_sums())?;
        resync.sync()?;
    }
    Ok(mended)
}

/// A name that nothing else has.
pub(crate) fn draw_name<const BYTES: usize>() -> io::Result<[u8; BYTES]> {
    let mut name = [0; BYTES];
    File::open("/dev/urandom")?.read_exact(&mut name)?;
    Ok(name)
}

/// A disk is none of an array's any more.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn clear_label(unit: &mut dyn LiveDevice) -> io::Result<()> {
    notes::write_copies(unit, None)
}

/// Whether a disk that is to take a place in an array of this layout may: what is wrong with it, for users.
pub(crate) fn refuse(unit: &mut dyn LiveDevice, geometry: &Geometry, former: Former) -> Result<(), String> {
    let (blocks, needed) = (unit.bytes() / BLOCK_BYTES, geometry.rows_on_disk().1 + BEHIND);
    if blocks < needed {
        let show = block::units::show_blocks;
        return Err(format!("is too small: it has {}, and {} are needed", show(blocks), show(needed)));
    }
    if !unit.peek(Extent::new(0, BEHIND as u32), &Slice::new(label::LABEL_BYTES)) {
        return Err("cannot be read".into());
    }
    match read_label(unit).filter(|_| former == Former::Kept) {
        None => Ok(()),
        Some(label) => Err(format!(
            "is disk {} of an array, {}; if what is on it is not needed, say --force",
            label.index,
            label.name()
        )),
    }
}

/// Makes zeros of each region, where that takes no time; where it does, of what can be read copies and parities are made to agree. The
/// regions that are zeros.
fn blank_out(members: &mut [Box<dyn LiveDevice>], geometry: Geometry) -> io::Result<RegionBits> {
    let mut blank = RegionBits::default();
    for region in 0..regions::count(&geometry) {
        let is_made = |unit: &mut Box<dyn LiveDevice>, at| regions::make_blank(&mut **unit, at);
        if regions::part(&geometry, region).is_some_and(|at| members.iter_mut().all(|unit| is_made(unit, at))) {
            blank.add(region);
        }
    }
    let mut resync = Resync { geometry, units: members, held: vec![u64::MAX; geometry.disks().into()] };
    for region in (0..regions::count(&geometry)).filter(|region| !blank.has(*region)).collect::<Vec<_>>() {
        let mut is_zeros = true;
        for row in regions::rows(&geometry, region) {
            if !resync.is_zeros(row)? {
                is_zeros = false;
                resync.row(row)?;
            }
        }
        if is_zeros {
            blank.add(region);
        }
    }
    resync.sync()?;
    Ok(blank)
}

/// Makes an array of disks, whatever they hold: its name. What is on them is the array's from then on.
///
/// # Errors
/// When a disk cannot be read or written.
pub(crate) fn create(members: &mut [Box<dyn LiveDevice>], geometry: Geometry) -> io::Result<String> {
    let array = draw_name()?;
    // Who is stopped in the middle leaves no array, or part of one, which is refused.
    for unit in members.iter_mut() {
        notes::write_copies(&mut **unit, None)?;
    }
    let sums = members.iter().all(|unit| unit.has_sums());
    let label = |index, blank: &RegionBits| Superblock {
        array,
        level: geometry.level(),
        unit: geometry.unit(),
        rows: geometry.rows(),
        index,
        events: 1,
        sequence: 0,
        disks: vec![Noted::Sound; geometry.disks().into()],
        names: vec![0; geometry.disks().into()],
        own_name: 0,
        filled: 0,
        dirty: RegionBits::default(),
        blank: blank.clone(),
        journal: 0,
        sums,
        service: 0,
        former_service: 0,
        log: None,
        growth: None,
        former_copies: 0,
        joined: Vec::new(),
    };
    let key = label(0, &RegionBits::default()).sum_key(0);
    members.iter_mut().for_each(|unit| unit.set_sum_key(key));
    let blank = blank_out(members, geometry)?;
    members.iter_mut().try_for_each(|unit| unit.keep_sums())?;
    for (index, unit) in (0..).zip(members.iter_mut()) {
        notes::write_copies(&mut **unit, Some(&label(index, &blank)))?;
    }
    Ok(label(0, &blank).name())
}

/// What stands for a disk that cannot be had, and that could do this: it fails what it is asked.
pub(crate) struct Absent {
    caps: Caps,
    done: VecDeque<Done>,
}

impl Absent {
    pub(crate) fn new(caps: Caps) -> Absent {
        Absent { caps, done: VecDeque::new() }
    }
}

impl LiveDevice for Absent {
    fn caps(&self) -> Caps {
        self.caps
    }

    fn issue(&mut self, now: Time, tag: Tag, _: &Command, _: Option<Slice>, _: &mut dyn Kernel) -> io::Result<()> {
        self.done.push_back(Done::now(now, tag, Outcome::Failed(EIO)));
        Ok(())
    }

    fn next_completion(&mut self, _: Time) -> Option<Done> {
        self.done.pop_front()
    }
}
