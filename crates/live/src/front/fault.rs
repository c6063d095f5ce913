//! What is to be wrong with a volume, as the control socket is told of it.

use super::ServedVolume;
use crate::unit::Fault;
use crate::world::Hands;
use block::DiskId;
use serde_json::Value;

/// What a fault is of.
#[derive(Clone, Debug, PartialEq)]
enum FaultyThing {
    Volume(String),
    /// A disk of the array.
    Disk(DiskId),
}

/// A fault of a volume or of a disk of an array, and what it is drawn by; or none.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultSetting {
    of: FaultyThing,
    fault: Option<(Fault, u64)>,
    /// As `volume list` shows it.
    shown: Option<String>,
}

impl FaultSetting {
    /// As the control socket is told of it: `volume`, or `disk` of an array by its number, `fault` (slow, stall, error, torn, cut or back), of `slow` the `factor`, of
    /// `error` `one_of` how many, and a `seed`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(told: &Value) -> Result<FaultSetting, String> {
        let of = match (told["volume"].as_str(), told["disk"].as_u64()) {
            (Some(volume), None) => FaultyThing::Volume(volume.to_owned()),
            (None, Some(disk)) => FaultyThing::Disk(DiskId(disk.try_into().map_err(|_| format!("no disk {disk}"))?)),
            _ => return Err("`volume` is missing, or, of an array, the number of a `disk`".into()),
        };
        let (factor, one_of) = (told["factor"].as_f64().unwrap_or(10.0), told["one_of"].as_u64().unwrap_or(1));
        let seed = told["seed"].as_u64().unwrap_or(1);
        let name = told["fault"].as_str().unwrap_or_default();
        let fault = match name {
            "slow" if (1.0..=1e6).contains(&factor) => Some(Fault::Slow(factor)),
            "slow" => return Err(format!("{factor} times as long; give a factor from 1 to 1000000")),
            "stall" => Some(Fault::Stall),
            "error" => match u32::try_from(one_of).ok().filter(|of| *of > 0) {
                Some(of) => Some(Fault::Error(of)),
                None => return Err(format!("one of {one_of} commands; give a number from 1 on")),
            },
            "torn" => Some(Fault::Torn),
            "cut" => Some(Fault::Cut),
            "back" => None,
            _ => return Err(format!("there is no fault '{name}'; name one of slow, stall, error, torn, cut, back")),
        };
        let shown = fault.map(|fault| match fault {
            Fault::Slow(factor) => format!("slow {factor}"),
            Fault::Error(of) => format!("error 1 of {of}"),
            _ => name.to_owned(),
        });
        Ok(FaultSetting { of, fault: fault.map(|fault| (fault, seed)), shown })
    }

    pub(super) fn apply(&self, volumes: &mut [ServedVolume], hands: &mut Hands) -> Result<(), String> {
        let now = hands.kernel.now();
        let name = match &self.of {
            FaultyThing::Volume(name) => name,
            FaultyThing::Disk(disk) => return hands.unit.fault_disk(now, *disk, self.fault, hands.kernel),
        };
        let volume = ServedVolume::find_volume(volumes, name)?;
        hands.unit.fault(now, volume.blocks(), self.fault, hands.kernel)?;
        volume.fault.clone_from(&self.shown);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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
            json!({ "volume": "a", "fault": "fire" }),
            json!({ "volume": "a", "fault": "slow", "factor": 0.5 }),
            json!({ "volume": "a", "fault": "error", "one_of": 0 }),
            json!({ "volume": "a", "fault": "error", "one_of": 1_u64 << 40 }),
        ] {
            assert!(parse(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
