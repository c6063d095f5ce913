//! What is to be wrong with a volume, as the control socket is told of it.

use super::ServedVolume;
use crate::unit::{Fault, FaultReach};
use block::{BLOCK_BYTES, DiskId, Time};
use load::experiment::{FaultKind, MOST_SLOW};
use serde_json::{Value, json};

/// What a fault is of.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum FaultyThing {
    /// A volume, or so many blocks of it from one on.
    Volume(String, Option<(u64, Option<u64>)>),
    /// A disk of the array.
    Disk(DiskId),
}

impl FaultyThing {
    /// Which commands of a volume's a fault is of, on the device.
    ///
    /// # Errors
    /// When it has no such blocks.
    pub(super) fn reach(&self, volume: &ServedVolume) -> Result<FaultReach, String> {
        let (first, last) = volume.blocks();
        match self {
            FaultyThing::Volume(name, Some((from, blocks))) => {
                let from = first.saturating_add(*from);
                let end = blocks.map_or(last, |blocks| from.saturating_add(blocks));
                if from >= end || end > last {
                    return Err(format!("volume '{name}' has no such blocks; give an `offset` and a `size` within it"));
                }
                Ok(FaultReach::Blocks(from, end))
            }
            _ => Ok(FaultReach::All(first, last)),
        }
    }
}

/// What is wrong, and its words. Nothing: what was wrong is over.
pub(super) fn name_fault(kind: FaultKind, factor: f64, one_of: u32) -> Option<(Fault, String)> {
    let word = kind.name();
    let fault = match kind {
        FaultKind::Slow => Fault::Slow(factor),
        FaultKind::Stall => Fault::Stall,
        FaultKind::Error => Fault::Error(one_of),
        FaultKind::Torn => Fault::Torn,
        FaultKind::Lie => Fault::Lie,
        FaultKind::Cut => Fault::Cut,
        FaultKind::Back => return None,
    };
    let shown = match fault {
        Fault::Slow(factor) => format!("{word} {factor}"),
        Fault::Error(of) => format!("{word} 1 of {of}"),
        _ => word.to_owned(),
    };
    Some((fault, shown))
}

/// A fault that a volume has.
#[derive(Clone, Debug, PartialEq)]
pub struct VolumeFault {
    /// Its number in the service.
    pub(super) number: u64,
    pub(super) shown: String,
    /// Where it is, counted on the device.
    pub(super) reach: FaultReach,
    /// Bytes of the volume: where it begins, and how much has it.
    pub(super) bytes: (u64, u64),
    pub(super) since: Time,
    pub(super) until: Option<Time>,
    /// Which `[[fault]]` of the file it is, from 1.
    pub(super) table: Option<usize>,
}

impl VolumeFault {
    /// In the words of `halfturn volume fault`.
    #[must_use]
    pub fn words(&self) -> &str {
        &self.shown
    }

    /// As `volume list --format json` says it: times from the beginning of the service, on the device's clock.
    #[must_use]
    pub fn json(&self) -> Value {
        let seconds = |time: Time| time.0 as f64 / 1e9;
        json!({
            "fault": self.shown, "offset": self.bytes.0, "bytes": self.bytes.1, "since_s": seconds(self.since),
            "until_s": self.until.map(seconds), "table": self.table,
        })
    }
}

/// A fault of a volume or of a disk of an array, and what it is drawn by; or none.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultSetting {
    pub(super) of: FaultyThing,
    pub(super) fault: Option<(Fault, u64)>,
    /// As `volume list` shows it.
    pub(super) shown: Option<String>,
}

impl FaultSetting {
    /// As the control socket is told of it: `volume`, with `offset` and `size` in bytes for part of it, or `disk` of an array by its
    /// number; `fault` (slow, stall, error, torn, lie, cut or back), of `slow` the `factor`, of `error` `one_of` how many, and a `seed`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(told: &Value) -> Result<FaultSetting, String> {
        let (factor, one_of) = (told["factor"].as_f64().unwrap_or(10.0), told["one_of"].as_u64().unwrap_or(1));
        let seed = told["seed"].as_u64().unwrap_or(1);
        let name = told["fault"].as_str().unwrap_or_default();
        let Some(kind) = FaultKind::find(name) else {
            return Err(format!("there is no fault '{name}'; name one of {}", FaultKind::names().join(", ")));
        };
        if kind == FaultKind::Slow && !(1.0..=MOST_SLOW).contains(&factor) {
            return Err(format!("{factor} times as long; give a factor from 1 to {MOST_SLOW}"));
        }
        let Some(one_of) = u32::try_from(one_of).ok().filter(|of| *of > 0) else {
            return Err(format!("one of {one_of} commands; give a number from 1 to {}", u32::MAX));
        };
        let of = match (told["volume"].as_str(), told["disk"].as_u64(), range(told)) {
            (Some(volume), None, range) => match kind.refuse_part() {
                Some(why) if range.is_some() => return Err(format!("{why}; leave `offset` and `size` out")),
                _ => FaultyThing::Volume(volume.to_owned(), range),
            },
            (None, Some(_), Some(_)) => return Err("all of a disk has the fault; leave `offset` and `size` out".into()),
            (None, Some(disk), None) => {
                FaultyThing::Disk(DiskId(disk.try_into().map_err(|_| format!("no disk {disk}"))?))
            }
            _ => return Err("`volume` is missing, or, of an array, the number of a `disk`".into()),
        };
        let (fault, shown) = name_fault(kind, factor, one_of).unzip();
        Ok(FaultSetting { of, fault: fault.map(|fault| (fault, seed)), shown })
    }
}

/// The blocks of a volume that are told of, if some are: from one on, so many or all.
fn range(told: &Value) -> Option<(u64, Option<u64>)> {
    let (offset, size) = (told["offset"].as_u64(), told["size"].as_u64());
    if (offset, size) == (None, None) {
        return None;
    }
    let from = offset.unwrap_or(0);
    let blocks = |size: u64| from.saturating_add(size).div_ceil(BLOCK_BYTES) - from / BLOCK_BYTES;
    Some((from / BLOCK_BYTES, size.map(blocks)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_fault_is_said() {
        let parse = |told: Value| FaultSetting::parse(&told).map(|setting| (setting.fault, setting.shown));
        assert_eq!(
            parse(json!({ "volume": "a", "fault": "slow", "factor": 2.5, "seed": 9 })),
            Ok((Some((Fault::Slow(2.5), 9)), Some("slow 2.5".into())))
        );
        assert_eq!(parse(json!({ "volume": "a", "fault": "back" })), Ok((None, None)));
        for wrong in [
            json!({ "fault": "cut" }),
            json!({ "volume": "a" }),
            json!({ "volume": "a", "disk": 1, "fault": "cut" }),
            json!({ "disk": 65536, "fault": "cut" }),
            json!({ "disk": 1, "fault": "stall", "offset": 4096 }),
            json!({ "volume": "a", "fault": "cut", "size": 4096 }),
            json!({ "volume": "a", "fault": "lie", "offset": 4096 }),
            json!({ "volume": "a", "fault": "fire" }),
            json!({ "volume": "a", "fault": "slow", "factor": 0.5 }),
            json!({ "volume": "a", "fault": "error", "one_of": 0 }),
            json!({ "volume": "a", "fault": "error", "one_of": 1_u64 << 40 }),
        ] {
            assert!(parse(wrong.clone()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_range_of_bytes_is_of_every_block_that_it_touches() {
        for (told, blocks) in [
            (json!({}), None),
            (json!({ "offset": 1024 }), Some((2, None))),
            (json!({ "size": 1 }), Some((0, Some(1)))),
            (json!({ "offset": 1000, "size": 100 }), Some((1, Some(2)))),
            (json!({ "offset": 512, "size": 512 }), Some((1, Some(1)))),
        ] {
            assert_eq!(range(&told), blocks, "{told}");
        }
    }
}
