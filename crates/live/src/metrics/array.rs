//! What is told of an array: disks that are lacking, how far a rebuild or a scrub is, what was written anew.

use super::{Family, ServiceMetrics};
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

impl ServiceMetrics {
    /// In the text exposition format, where there is an array.
    pub(super) fn write_array(&self, out: &mut String) {
        let Some(array) = &self.array else { return };
        let rebuild = "Of an array: share of what is being rebuilt that is; 0 while nothing is.";
        let pace = "Of an array: bytes a second that a rebuild has filled; 0 while there is none.";
        let single = [
            (
                Family(
                    "halfturn_array_disks_lacking",
                    "gauge",
                    "Of an array: disks that were given up or are being rebuilt.",
                ),
                lacking(array),
            ),
            (Family("halfturn_array_rebuild_ratio", "gauge", rebuild), figure(array, "rebuild", "done")),
            (Family("halfturn_array_rebuild_bytes_per_second", "gauge", pace), figure(array, "rebuild", "mb_s") * 1e6),
            (
                Family(
                    "halfturn_array_scrub_ratio",
                    "gauge",
                    "Of an array: share of a scrub that is done; 0 while there is none.",
                ),
                figure(array, "scrub", "done"),
            ),
        ];
        for (family, value) in single {
            family.head(out);
            let _ = writeln!(out, "{} {value}", family.0);
        }
        let mended = Family(
            "halfturn_array_mended_blocks",
            "gauge",
            "Of an array: blocks that could not be read, or did not agree, since the last scrub began; they were written anew.",
        );
        mended.head(out);
        for (reason, key) in [("unreadable", "unreadable_blocks"), ("unlike", "unlike_blocks")] {
            let _ = writeln!(out, "{}{{reason=\"{reason}\"}} {}", mended.0, figure(array, "scrub", key));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_told_is_what_the_array_is() {
        let array = json!({
            "disks": [{ "state": "sound" }, { "state": "rebuilding" }, { "state": "given up" }],
            "rebuild": { "done": 0.25, "mb_s": 1.5 },
            "scrub": { "state": "done", "unreadable_blocks": 8, "unlike_blocks": 128 },
        });
        let text = |array| ServiceMetrics { array, ..ServiceMetrics::default() }.text();
        let told = text(Some(array));
        for line in [
            "halfturn_array_disks_lacking 2",
            "halfturn_array_rebuild_ratio 0.25",
            "halfturn_array_rebuild_bytes_per_second 1500000",
            "halfturn_array_mended_blocks{reason=\"unreadable\"} 8",
            "halfturn_array_mended_blocks{reason=\"unlike\"} 128",
        ] {
            assert!(told.lines().any(|other| other == line), "{line}: {told}");
        }
        assert!(!text(None).contains("halfturn_array"), "there is none");
    }
}
