//! A disk of shingled tracks whose zones the host manages, as its file describes it.
//!
//! The words are those of the standard, Zoned Block Commands (INCITS 536; for ATA, Zoned Device ATA Commands): conventional zones take
//! writes anywhere; a zone that requires sequential writes takes one only at its write pointer, and nothing anew until it is reset.

use super::{Form, Kind};
use crate::Drive;
use block::{BadInput, units};
use config::Section;
use std::path::Path;

config::keys! {
    /// The disk with the same mechanics: a name of the catalogue, or the path of a drive file.
    ON: String = text("on").required();
    /// Size of a zone. What is left of the disk at its end is not used.
    ZONE: u64 = size("zone").usually("256MiB");
    /// Zones at the beginning that take writes anywhere.
    CONVENTIONAL: u64 = whole("conventional", 0, u64::MAX).usually("0");
    /// The most zones that are open at once: a write that opens one more has the drive close the one that was not written to for longest.
    OPEN_ZONES: u32 = within("open_zones", 1, 1 << 20).usually("128");
}

pub(super) static FORM: Form = Form {
    word: "host-managed",
    what: "a drive of shingled tracks that the host manages",
    keys: &[ON.about, ZONE.about, CONVENTIONAL.about, OPEN_ZONES.about],
    example: "kind = \"host-managed\"
title = \"shingled, and managed by the host\"
on = \"ultrastar-hc530\"
zone = \"256MiB\"
conventional = 522
open_zones = 128",
    text: "Shingled tracks in zones that the host manages (ZBC, ZAC): a write begins at the write pointer of its zone and ends within it, in whole sectors, or fails with EIO and changes nothing; a discard of whole zones resets them. The first zones may take writes anywhere. Reads may be of anything. One command at a time, in the order they come.",
    least_depth: 1,
    read,
};

/// A drive whose zones the host manages; sizes in blocks.
#[derive(Clone, Debug)]
pub struct HostManaged {
    /// The disk, without regard to zones.
    pub drive: Drive,
    /// Size of a zone, in whole sectors.
    pub zone: u64,
    /// How many zones at the beginning take writes anywhere.
    pub conventional: u64,
    /// The most zones that are open at once; at least 1.
    pub open_zones: u32,
}

impl HostManaged {
    /// How many zones there are; at least 1.
    #[must_use]
    pub fn zones(&self) -> u64 {
        self.drive.sheet.mechanics.layout.blocks() / self.zone
    }
}

fn read(root: &Section, folder: &Path) -> Result<Kind, BadInput> {
    let drive = super::inner(root, &ON, folder)?;
    let (zone, conventional) = (root.value(&ZONE)?, root.value(&CONVENTIONAL)?);
    let layout = &drive.sheet.mechanics.layout;
    let sector = 1 << layout.sector_shift();
    // Zones are counted, and commands are of less than 2³² blocks.
    let least = (layout.blocks() >> 24).max(sector);
    if !(least..=1 << 31).contains(&zone) || !zone.is_multiple_of(sector) || zone > layout.blocks() {
        let what = format!("no zone of this disk has {}", units::show_blocks(zone));
        return Err(root.error("zone", what, "give whole sectors, no more than the disk has, e.g. 256MiB"));
    }
    let zones = layout.blocks() / zone;
    if conventional > zones {
        let what = format!("{conventional} conventional zones of {zones}");
        return Err(root.error("conventional", what, format!("give at most {zones}")));
    }
    let open_zones = root.value(&OPEN_ZONES)?;
    Ok(Kind::HostManaged(Box::new(HostManaged { drive, zone, conventional, open_zones })))
}
