//! What is asked and told of the array that is served, and what becomes of requests when a disk of it is given up.

use super::Front;
use crate::array::ArrayOrder;
use crate::memory::Pool;
use crate::world::{Hands, Remaining};
use block::{DiskId, RequestId};
use sched::{Health, Input};
use serde_json::{Value, json};

impl Front {
    /// Tells the array something; what it is then.
    pub(super) fn tell_array(&mut self, order: &ArrayOrder, hands: &mut Hands) -> Result<Value, String> {
        let disks = hands.unit.geometry().map_or(0, |geometry| usize::from(geometry.disks()));
        if hands.unit.array_json().is_none() {
            return Err("the service has no array".into());
        }
        match order {
            ArrayOrder::Fail(disk) if usize::from(disk.0) >= disks => {
                return Err(format!("there is no disk {}; name one from 0 to {}", disk.0, disks - 1));
            }
            ArrayOrder::Fail(disk) if !hands.unit.lacking().contains(disk) => {
                let filling = hands.unit.filling().into_iter().map(|(disk, _)| disk);
                let without: Vec<DiskId> = hands.unit.lacking().into_iter().chain(filling).chain([*disk]).collect();
                if !hands.unit.is_whole_without(&without) {
                    return Err(format!("without disk {} some blocks are lost; see to the others first", disk.0));
                }
                hands.unit.order(order)?;
                self.ready.push_back(Input::Disk(*disk, Health::Failed));
            }
            order => hands.unit.order(order)?,
        }
        let mut array = hands.unit.array_json().unwrap_or_default();
        let lines = array["disks"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|disk| format!("disk {}  {}\n", disk["disk"], disk["state"].as_str().unwrap_or_default()));
        let mut text: String = lines.collect();
        let upkeep = array.as_object_mut().and_then(|array| array.remove("upkeep"));
        text += upkeep.as_ref().and_then(Value::as_str).unwrap_or_default();
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
