//! A mirrored pair, as its file describes it.

use super::{Form, Kind};
use block::BadInput;
use config::Section;
use std::path::Path;

config::keys! {
    /// The disk of which it has two: a name of the catalogue, or the path of a drive file.
    OF: String = text("of").required();
}

pub(super) static FORM: Form = Form {
    word: "mirror",
    what: "a mirrored pair",
    keys: &[OF.about],
    example: "kind = \"mirror\"
title = \"two of a kind\"
of = \"atlas10k\"",
    text: "Two disks that hold the same, each with an arm and a phase of its own; a read goes to the one that is free, of two that are to the one whose arm is nearer, a write to both; with `queue = 2` in `[drive]` both arms work at once.",
    // With fewer than two one of its arms would never have work.
    least_depth: 2,
    read,
};

/// Reads the drive of which it has two.
fn read(root: &Section, folder: &Path) -> Result<Kind, BadInput> {
    Ok(Kind::Mirror(Box::new(super::inner(root, &OF, folder)?)))
}
