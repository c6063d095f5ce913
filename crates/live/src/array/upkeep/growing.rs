//! Growing by a disk, as an array that is served asks for it: some of the next rows at a time, at the pace of a rebuild.

use super::{Clients, MOVE, TRIED_AGAIN, Upkeep, UpkeepErrand, tell};
use block::{BLOCK_BYTES, Ending, Op, Time};
use sched::array::{Geometry, Level};
use serde_json::{Value, json};

/// What is known of an array that grows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Growing {
    geometry: Geometry,
    /// When it was begun, and with how many rows that had moved.
    began: (Time, u64),
    /// From when on what failed is tried again, and how often it did in a row.
    retry_at: Time,
    failed: u32,
}

impl Growing {
    /// Why it is not scrubbed meanwhile.
    pub(super) fn refuse_scrub(&self) -> &'static str {
        match self.geometry.traded_level() {
            None => "the array is growing; scrub it when it has grown",
            Some(_) => "the array is changing its level; scrub it when it has",
        }
    }
}

impl Upkeep {
    /// Where blocks lie now: rows move where it grows, and nothing else is to be done where it does not any more.
    pub(crate) fn set_growth(&mut self, geometry: &Geometry) {
        self.geometry = geometry.widest();
        let moved = geometry.growth().map(|(_, rows)| rows);
        self.growing = moved.map(|rows| match self.growing {
            Some(growing) => Growing { geometry: *geometry, failed: 0, ..growing },
            None => Growing { geometry: *geometry, began: (self.now, rows), retry_at: Time::ZERO, failed: 0 },
        });
    }

    /// Whether rows are being moved: nothing else is asked for until they have.
    pub(crate) fn is_moving(&self) -> bool {
        self.flying.iter().flatten().any(|errand| errand.pass == MOVE)
    }

    /// When the next rows may be moved; nothing where that depends on what is in flight.
    pub(crate) fn move_due(&self, clients: Clients) -> Option<Time> {
        let growing = self.growing.as_ref()?;
        if self.sweep.is_some() || !self.is_idle() {
            return None;
        }
        let paced = self.last.map_or(Time::ZERO, |last| last + self.rebuild.apart);
        Some(paced.max(self.due_beside(&self.rebuild, clients)?).max(growing.retry_at))
    }

    /// The next rows to be moved now, if any are: as many as a request of a rebuild is long, and as may be overwritten at once.
    pub(crate) fn take_move(&mut self, now: Time, clients: Clients) -> Option<UpkeepErrand> {
        self.now = now;
        if self.move_due(clients)? > now {
            return None;
        }
        let geometry = self.growing?.geometry;
        self.last = Some(now);
        let number = self.fly(now, Some((0, 0)), 0, clients);
        self.flying[number as usize].iter_mut().for_each(|errand| errand.pass = MOVE);
        Some(UpkeepErrand { number, op: Op::Move, at: geometry.next_move(self.rebuild.blocks), qos: self.rebuild.qos })
    }

    /// Rows have moved, or could not.
    pub(super) fn end_move(&mut self, now: Time, how: Ending) {
        if let Some(growing) = self.growing.as_mut().filter(|_| how != Ending::Finished) {
            growing.failed += 1;
            growing.retry_at = now + TRIED_AGAIN;
        }
    }

    /// How far it has grown, as JSON for programs; nothing where it does not grow; with what it waits for, if it does.
    pub(crate) fn growing_json(&self, waits: Option<&str>) -> Value {
        let Some(growing) = &self.growing else { return Value::Null };
        let (rows, moved) = (growing.geometry.rows(), growing.geometry.moved_rows());
        let row = self.geometry.row_blocks() * BLOCK_BYTES;
        let took = self.now.since(growing.began.0).as_secs().max(1e-9);
        let pace = ((moved - growing.began.1.min(moved)) * row) as f64 / took;
        let left = if pace > 0.0 { json!(((rows - moved) * row) as f64 / pace) } else { Value::Null };
        let state = match growing.failed {
            0 => waits.unwrap_or("running"),
            _ => waits.unwrap_or("rows could not be moved, and are tried again"),
        };
        json!({
            "state": state, "done": moved as f64 / rows.max(1) as f64, "mb_s": pace / 1e6, "seconds_left": left,
            "disks": self.geometry.disks(), "level": self.geometry.level().number(),
            "former_level": growing.geometry.traded_level().map(Level::number),
        })
    }

    /// The same in a line for users.
    pub(crate) fn growing_text(&self, waits: Option<&str>) -> String {
        let growing = self.growing_json(waits);
        if growing.is_null() {
            return String::new();
        }
        let state = growing["state"].as_str().filter(|state| *state != "running");
        let state = state.map(|state| format!("; {state}")).unwrap_or_default();
        let what = match growing["former_level"].as_str() {
            Some(former) => format!("becoming a RAID {} of a RAID {former}", self.geometry.level().number()),
            None => format!("growing to {} disks", growing["disks"]),
        };
        format!("{what}: {}{state}\n", tell(&growing))
    }
}
