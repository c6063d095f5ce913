//! What is asked and told of the array that is served, and what becomes of requests when a disk of it is given up.

use super::Front;
use crate::memory::Pool;
use crate::world::{Hands, Remaining};
use block::{DiskId, RequestId};
use sched::{Health, Input};
use serde_json::{Value, json};

impl Front {
    /// What the array is, and that it goes on without a disk.
    pub(super) fn tell_array(&mut self, fail: Option<DiskId>, hands: &mut Hands) -> Result<Value, String> {
        let disks = hands.unit.members().len();
        let lacking = hands.unit.lacking();
        let array = hands.unit.array_json().ok_or("the service has no array")?;
        match fail {
            Some(disk) if usize::from(disk.0) >= disks => {
                return Err(format!("there is no disk {}; name one from 0 to {}", disk.0, disks - 1));
            }
            Some(disk) if !lacking.contains(&disk) => {
                let without: Vec<DiskId> = lacking.into_iter().chain([disk]).collect();
                if !hands.unit.is_whole_without(&without) {
                    return Err(format!("without disk {} some blocks are lost; see to the others first", disk.0));
                }
                self.ready.push_back(Input::Disk(disk, Health::Failed));
            }
            _ => {}
        }
        let lines = array["disks"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|disk| format!("disk {}  {}\n", disk["disk"], disk["state"].as_str().unwrap_or_default()));
        let text: String = lines.collect();
        Ok(json!({ "array": array, "text": text }))
    }

    /// What a request's bytes are read into is another buffer from now on, which holds the same.
    pub(super) fn renew_read(&mut self, id: RequestId, pool: &mut Pool) {
        let Some(work) = self.works.get_mut(id.0) else { return };
        if let Some(held) = work.whole.as_mut().or(work.data.as_mut()) {
            let fresh = pool.take(held.buffer.bytes());
            fresh.copy(0, &held.buffer, 0, held.buffer.bytes());
            held.buffer = fresh;
        }
    }
}

/// Says to whoever runs the service that the array has a disk less.
pub(super) fn tell_given_up(disk: DiskId, left: Remaining) {
    let so = match left {
        Remaining::All => "the array goes on without it",
        Remaining::Part => "the array has lost data: no flush succeeds",
    };
    eprintln!("disk {} is given up: {so}", disk.0);
}
