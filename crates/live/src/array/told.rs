//! What the disks of an array tell of it, for users and for programs.

use super::assembly::{ArrayStatus, MemberState};
use super::regions;
use block::units;
use sched::array::{Geometry, Level};
use serde_json::{Value, json};

/// A layout as users see it: level, blocks of a stripe unit, units of a disk, disks.
pub(super) fn show_layout((level, unit, rows, disks): (Level, u32, u64, usize)) -> String {
    let copies = if let Level::Mirrored { copies } = level { format!(" with {copies} copies") } else { String::new() };
    let second = if level == Level::SecondOnLast { ", its second parity on the last," } else { "" };
    let (level, unit) = (level.number(), units::show_blocks(unit.into()));
    format!("level {level}{copies}{second} of {disks} disks, {rows} stripe units of {unit} on each")
}

/// Where the second parities of an array lie, for programs; nothing where it has none.
pub(crate) fn tell_second(level: Level) -> Option<&'static str> {
    match level {
        Level::SecondOnLast => Some("last disk"),
        Level::DoubleParity => Some("rotated"),
        Level::Striped | Level::Mirrored { .. } | Level::Parity => None,
    }
}

/// The same in a line for users, where that is not usual.
pub(crate) fn second_text(geometry: &Geometry) -> String {
    match geometry.level() {
        Level::SecondOnLast => format!("level 6, with its second parity on disk {} alone\n", geometry.disks() - 1),
        _ => String::new(),
    }
}

impl ArrayStatus {
    /// The log without which it is not to be had, as users see it.
    fn log_name(&self) -> Option<String> {
        let (_, log) = self.names()?;
        log.map(|log| log.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Whether it is growing, and what part of it has moved: 0 to 1.
    fn growth(&self) -> Option<f64> {
        let label = self.label.as_ref()?;
        label.growth.map(|growth| growth.grown.rows as f64 / label.rows.max(1) as f64)
    }

    /// Where rows come to have parity in place of copies, the level that the array had.
    fn traded_level(&self) -> Option<&'static str> {
        self.label.as_ref()?.traded_level().map(Level::number)
    }

    /// What is wrong with a disk in this array. Where no disk has a superblock, none differs from the others by that.
    fn complaint(&self, disk: usize, state: &MemberState) -> Option<String> {
        let is_alike = self.name.is_none() && *state == MemberState::Unlabelled;
        state.complaint(disk).filter(|_| !is_alike).map(|(what, _)| what)
    }

    /// What is found, as JSON for programs.
    #[must_use]
    pub fn json(&self) -> Value {
        let disk = |(disk, state): (usize, &MemberState)| {
            let why = self.complaint(disk, state);
            json!({ "disk": disk, "state": state.word(), "why": why })
        };
        let disks: Vec<Value> = self.disks.iter().enumerate().map(disk).collect();
        json!({
            "array": self.name, "level": self.geometry.level().number(),
            "second_parity": tell_second(self.geometry.level()), "events": self.events, "dirty_regions": self.dirty, "written_bytes": self.written,
            "bytes": self.bytes, "disks": disks, "log": self.log_name(), "grown": self.growth(), "former_level": self.traded_level(), "advice": self.advice,
        })
    }

    /// As lines for users.
    #[must_use]
    pub fn text(&self) -> String {
        let name = self.name.as_deref().unwrap_or("not made yet");
        let mut text = format!("array {name}, {} events, {} dirty regions\n", self.events, self.dirty);
        if self.name.is_some() {
            text += &regions::show_written(self.written, self.bytes);
        }
        text += &second_text(&self.geometry);
        if let Some(log) = self.log_name() {
            text += &format!("what was written last may be on the log {log} alone\n");
        }
        if let Some(moved) = self.growth() {
            let what = match self.traded_level() {
                Some(former) => format!("becoming a RAID {} of a RAID {former}", self.geometry.level().number()),
                None => "growing".into(),
            };
            text += &format!("{what}: {:.1} % has moved; it goes on when the array is served\n", 100.0 * moved);
        }
        if let Some(advice) = &self.advice {
            text += &format!("{advice}\n");
        }
        for (disk, state) in self.disks.iter().enumerate() {
            let why = self.complaint(disk, state).map(|what| format!(": {what}")).unwrap_or_default();
            text += &format!("disk {disk}  {}{why}\n", state.word());
        }
        text
    }
}
