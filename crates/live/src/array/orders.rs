//! What an array that is served can be told, over the control socket.

use super::PaceChange;
use block::DiskId;
use serde_json::Value;
use std::path::PathBuf;

/// Whether what is on a disk is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Former {
    /// A disk of an array is refused.
    Kept,
    /// What is on it is not needed.
    Overwritten,
}

/// What becomes of a scrub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScrubOrder {
    /// All is read and compared, once.
    Start,
    /// No more of it is read.
    Stop,
}

/// What an array is told.
#[derive(Clone, Debug, PartialEq)]
pub enum ArrayOrder {
    /// Nothing: who asks wants to know what it is.
    Tell,
    /// To go on without a disk.
    Fail(DiskId),
    /// To have another disk take the place of one, and fill it.
    Replace(DiskId, PathBuf, Former),
    /// To take another disk as a spare, which takes the place of the next that is given up.
    Add(PathBuf, Former),
    /// To grow by another disk, or with copies by one for each.
    Grow(Vec<PathBuf>, Former),
    /// To be a RAID 6, by another disk with the second parity.
    Raise(PathBuf, Former),
    /// To be a RAID 5: of a RAID 6 without the disk that has the second parity, of mirrored stripes with parity in place of copies.
    BecomeRaid5,
    /// To be scrubbed, or no more.
    Scrub(ScrubOrder),
    /// To repair at another pace.
    Pace(PaceChange),
}

impl ArrayOrder {
    /// Reads what was asked for over the control socket.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(told: &Value) -> Result<ArrayOrder, String> {
        let disk = |number: &Value| {
            let number = number.as_u64().and_then(|number| number.try_into().ok());
            number.map(DiskId).ok_or_else(|| "no disk has this number".to_owned())
        };
        let path = |path: &Value| path.as_str().map(PathBuf::from).ok_or("`path` is missing");
        let former = if told["force"] == true { Former::Overwritten } else { Former::Kept };
        if !told["fail"].is_null() {
            return Ok(ArrayOrder::Fail(disk(&told["fail"])?));
        }
        if !told["replace"].is_null() {
            return Ok(ArrayOrder::Replace(disk(&told["replace"])?, path(&told["path"])?, former));
        }
        if !told["add"].is_null() {
            return Ok(ArrayOrder::Add(path(&told["add"])?, former));
        }
        if !told["grow"].is_null() {
            let paths = told["grow"].as_array().map_or(std::slice::from_ref(&told["grow"]), |all| all.as_slice());
            return Ok(ArrayOrder::Grow(paths.iter().map(path).collect::<Result<_, _>>()?, former));
        }
        match told["level"].as_str() {
            Some("6") => return Ok(ArrayOrder::Raise(path(&told["path"])?, former)),
            Some("5") => return Ok(ArrayOrder::BecomeRaid5),
            Some(level) => {
                return Err(format!("an array that is served cannot come to be of level {level}; give 5 or 6"));
            }
            None => {}
        }
        match told["scrub"].as_str() {
            Some("start") => return Ok(ArrayOrder::Scrub(ScrubOrder::Start)),
            Some("stop") => return Ok(ArrayOrder::Scrub(ScrubOrder::Stop)),
            Some(_) => return Err("a scrub can be told to \"start\" or to \"stop\"".into()),
            None => {}
        }
        let change = PaceChange { floor: told["floor"].as_f64(), rate: told["rate"].as_f64() };
        if change == PaceChange::default() {
            return Ok(ArrayOrder::Tell);
        }
        if change.floor.is_some_and(|floor| !(0.0..=1.0).contains(&floor)) {
            return Err("a floor is a part of the time; give one from 0 to 1".into());
        }
        if change.rate.is_some_and(|rate| !(0.0..=1e6).contains(&rate)) {
            return Err("give a rate of 0 to 1,000,000 requests a second; 0 is no cap".into());
        }
        Ok(ArrayOrder::Pace(change))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_told_is_understood_or_said_to_be_wrong() {
        let parse = |told: Value| ArrayOrder::parse(&told);
        assert_eq!(parse(json!({ "verb": "array" })), Ok(ArrayOrder::Tell));
        assert_eq!(parse(json!({ "fail": 3 })), Ok(ArrayOrder::Fail(DiskId(3))));
        let replace = |former| Ok(ArrayOrder::Replace(DiskId(1), "/a".into(), former));
        assert_eq!(parse(json!({ "replace": 1, "path": "/a" })), replace(Former::Kept));
        assert_eq!(parse(json!({ "replace": 1, "path": "/a", "force": true })), replace(Former::Overwritten));
        assert_eq!(parse(json!({ "add": "/b" })), Ok(ArrayOrder::Add("/b".into(), Former::Kept)));
        assert_eq!(parse(json!({ "grow": "/c" })), Ok(ArrayOrder::Grow(vec!["/c".into()], Former::Kept)));
        let pair = vec!["/c".into(), "/d".into()];
        assert_eq!(parse(json!({ "grow": ["/c", "/d"] })), Ok(ArrayOrder::Grow(pair, Former::Kept)));
        let raise = Ok(ArrayOrder::Raise("/e".into(), Former::Overwritten));
        assert_eq!(parse(json!({ "level": "6", "path": "/e", "force": true })), raise);
        assert_eq!(parse(json!({ "level": "5" })), Ok(ArrayOrder::BecomeRaid5));
        assert_eq!(parse(json!({ "scrub": "stop" })), Ok(ArrayOrder::Scrub(ScrubOrder::Stop)));
        let pace = PaceChange { floor: Some(0.5), rate: None };
        assert_eq!(parse(json!({ "floor": 0.5 })), Ok(ArrayOrder::Pace(pace)));
        for wrong in [
            json!({ "fail": -1 }),
            json!({ "fail": 1 << 20 }),
            json!({ "replace": 1 }),
            json!({ "add": 5 }),
            json!({ "grow": ["/c", 5] }),
            json!({ "level": "6" }),
            json!({ "level": "0/1", "path": "/e" }),
            json!({ "scrub": "now" }),
            json!({ "floor": 1.5 }),
            json!({ "rate": -3 }),
        ] {
            assert!(parse(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
