//! What is told of an array that is served.

use super::Members;
use crate::array::{self, WriteLog};
use crate::unit::LiveDevice;
use block::DiskId;
use serde_json::{Value, json};

impl Members {
    /// What the array is, as JSON for programs.
    pub(super) fn json(&self) -> Value {
        let lacking = self.lacking();
        let filling = self.filling_disks();
        let state = |disk: u16| match DiskId(disk) {
            disk if lacking.contains(&disk) => "given up",
            // Only once no row is being written.
            disk if self.successors.iter().any(|(other, _)| *other == disk) => "being replaced",
            disk if self.leaving.contains(&disk) => "being given up",
            disk if filling.iter().any(|(other, _)| *other == disk) => "rebuilding",
            _ => "sound",
        };
        let disks = (0..self.geometry.disks()).map(|disk| json!({ "disk": disk, "state": state(disk) }));
        let disks: Vec<Value> = disks.collect();
        let known = self.notes.as_ref().map(|notes| notes.json(&self.geometry)).unwrap_or_default();
        let waits = (!lacking.is_empty() || !filling.is_empty()).then_some("waits until all disks are sound");
        let (rebuild, scrub) = self.upkeep.json();
        let log = self.log.as_ref().map_or(Value::Null, WriteLog::json);
        let log_text = self.log.as_ref().map(WriteLog::text).unwrap_or_default();
        json!({
            "array": known["array"], "level": self.geometry.level().number(),
            "second_parity": array::tell_second(self.geometry.level()), "events": known["events"], "dirty_regions": known["dirty"],
            "written_bytes": known["written"], "bytes": known["bytes"], "disks": disks,
            "grow": self.upkeep.growing_json(waits),
            "spoilt_blocks": self.spoilt, "spares": self.spares.len(), "rebuild": rebuild, "scrub": scrub, "log": log,
            "upkeep": array::second_text(&self.geometry) + &self.written_text() + &self.spoilt_text() + &log_text + &self.upkeep.growing_text(waits)
                + &self.upkeep.text(),
        })
    }
}
