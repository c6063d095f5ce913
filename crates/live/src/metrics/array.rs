//! What is told of an array: disks that are lacking, how far a rebuild or a scrub is, what was written anew.

use super::{DeviceMetrics, Family};
use serde_json::Value;
use std::fmt::Write as _;

/// What is found in an array's status under these keys; 0 where there is nothing.
fn figure(array: &Value, of: &str, key: &str) -> f64 {
    array[of][key].as_f64().unwrap_or(0.0)
}

/// Disks that do not hold all that they should.
fn lacking(array: &Value) -> f64 {
    let disks = array["disks"].as_array().map_or(&[][..], Vec::as_slice);
    disks.iter().filter(|disk| disk["state"] != "sound").count() as f64
}

type OfArray = fn(&Value) -> f64;

const SINGLE: [(Family, OfArray); 10] = [
    (
        Family("halfturn_array_disks_lacking", "gauge", "Of an array: disks that were given up or are being rebuilt."),
        lacking,
    ),
    (
        Family(
            "halfturn_array_rebuild_ratio",
            "gauge",
            "Of an array: share of what is being rebuilt that is; 0 while nothing is.",
        ),
        |array| figure(array, "rebuild", "done"),
    ),
    (
        Family(
            "halfturn_array_rebuild_bytes_per_second",
            "gauge",
            "Of an array: bytes a second that a rebuild has filled; 0 while there is none.",
        ),
        |array| figure(array, "rebuild", "mb_s") * 1e6,
    ),
    (
        Family(
            "halfturn_array_scrub_ratio",
            "gauge",
            "Of an array: share of a scrub that is done; 0 while there is none.",
        ),
        |array| figure(array, "scrub", "done"),
    ),
    (
        Family(
            "halfturn_array_grow_ratio",
            "gauge",
            "Of an array that grows by a disk: share of its rows that have moved; 0 while it does not grow.",
        ),
        |array| figure(array, "grow", "done"),
    ),
    (
        Family(
            "halfturn_array_grow_bytes_per_second",
            "gauge",
            "Of an array that grows by a disk: bytes a second that have moved; 0 while it does not grow.",
        ),
        |array| figure(array, "grow", "mb_s") * 1e6,
    ),
    (
        Family(
            "halfturn_array_written_bytes",
            "gauge",
            "Of an array: bytes of its regions that were ever written, which alone are rebuilt and scrubbed.",
        ),
        |array| array["written_bytes"].as_f64().unwrap_or(0.0),
    ),
    (
        Family(
            "halfturn_array_spoilt_blocks",
            "gauge",
            "Of an array with checksums: blocks that a disk brought otherwise than they were written, since the service began.",
        ),
        |array| array["spoilt_blocks"].as_f64().unwrap_or(0.0),
    ),
    (
        Family(
            "halfturn_array_log_used_bytes",
            "gauge",
            "Of an array whose write buffer has a log: bytes of it that are not on the disks yet.",
        ),
        |array| figure(array, "log", "used_bytes"),
    ),
    (
        Family(
            "halfturn_array_log_bytes",
            "gauge",
            "Of an array whose write buffer has a log: bytes of it that there are.",
        ),
        |array| figure(array, "log", "bytes"),
    ),
];

const MENDED: Family = Family(
    "halfturn_array_mended_blocks",
    "gauge",
    "Of an array: blocks that could not be read, or did not agree, since the last scrub began; they were written anew.",
);

/// In the text exposition format, of each device that is an array.
pub(super) fn write_arrays(all: &[DeviceMetrics], out: &mut String) {
    let arrays: Vec<(&DeviceMetrics, &Value)> =
        all.iter().filter_map(|one| Some((one, one.counted.as_ref()?.array.as_ref()?))).collect();
    if arrays.is_empty() {
        return;
    }
    for (family, of) in &SINGLE {
        family.head(out);
        for (one, array) in &arrays {
            let _ = writeln!(out, "{}{} {}", family.0, one.show_labels(""), of(array));
        }
    }
    MENDED.head(out);
    for (one, array) in &arrays {
        for (reason, key) in [("unreadable", "unreadable_blocks"), ("unlike", "unlike_blocks")] {
            let labels = one.show_labels(&format!("reason=\"{reason}\""));
            let _ = writeln!(out, "{}{labels} {}", MENDED.0, figure(array, "scrub", key));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::metrics::ServiceMetrics;
    use serde_json::json;

    #[test]
    fn what_is_told_is_what_the_array_is() {
        let array = json!({
            "disks": [{ "state": "sound" }, { "state": "rebuilding" }, { "state": "given up" }],
            "rebuild": { "done": 0.25, "mb_s": 1.5 }, "grow": { "done": 0.75, "mb_s": 2.5 },
            "written_bytes": 1_u64 << 40, "spoilt_blocks": 7,
            "scrub": { "state": "done", "unreadable_blocks": 8, "unlike_blocks": 128 },
        });
        let text = |array| ServiceMetrics { array, ..ServiceMetrics::default() }.text();
        let told = text(Some(array));
        for line in [
            "halfturn_array_disks_lacking 2",
            "halfturn_array_rebuild_ratio 0.25",
            "halfturn_array_rebuild_bytes_per_second 1500000",
            "halfturn_array_grow_ratio 0.75",
            "halfturn_array_grow_bytes_per_second 2500000",
            "halfturn_array_written_bytes 1099511627776",
            "halfturn_array_spoilt_blocks 7",
            "halfturn_array_mended_blocks{reason=\"unreadable\"} 8",
            "halfturn_array_mended_blocks{reason=\"unlike\"} 128",
        ] {
            assert!(told.lines().any(|other| other == line), "{line}: {told}");
        }
        assert!(!text(None).contains("halfturn_array"), "there is none");
    }
}
