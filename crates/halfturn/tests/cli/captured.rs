//! Captured drives: those that were contributed, and what becomes of one that is damaged.

use crate::{root, run_in, said};
use std::fs;

#[test]
fn every_capture_in_drives_does_as_well_as_it_says() {
    let entries = fs::read_dir(root().join("drives")).expect("the folder is there");
    let files: Vec<_> = entries.map(|entry| entry.expect("a readable entry").path()).collect();
    let captures: Vec<_> = files.iter().filter(|path| path.extension().is_some_and(|end| end == "capture")).collect();
    assert!(!captures.is_empty(), "one is shipped");
    for file in captures {
        said(&["drive", "validate", file.to_str().expect("a name in UTF-8")]);
    }
}

#[test]
fn a_capture_that_was_edited_is_refused() {
    let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("captured");
    fs::create_dir_all(&folder).expect("a folder");
    let text = fs::read_to_string(root().join("drives/emulated-st318437lw.capture")).expect("it is shipped");
    fs::write(folder.join("edited.capture"), text.replacen(",r,", ",r,1", 1)).expect("a file");
    let output = run_in(&folder, &["drive", "validate", "edited.capture"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.code() == Some(2) && told.starts_with("error: edited.capture:4: 'trace', from line "),
        "{told}"
    );
}
