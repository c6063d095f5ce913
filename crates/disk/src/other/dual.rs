//! A drive with two actuators, as its file describes it.

use super::{Form, Kind};
use block::BadInput;
use config::Section;
use std::path::Path;

config::keys! {
    /// The disk that one actuator serves, which holds half of the blocks: a name of the catalogue, or the path of a drive file.
    HALF: String = text("half").required();
}

pub(super) static FORM: Form = Form {
    word: "dual-actuator",
    what: "a drive with two actuators",
    keys: &[HALF.about],
    example: "kind = \"dual-actuator\"
title = \"two actuators on one spindle\"
half = \"exos-x18\"
depth = 32",
    text: "Two arms on one spindle, each with half of the blocks, the first with the lower ones: with more than one command in it both work at once, each with a queue of its own; what lies in both halves is two commands.",
    least_depth: 2,
    read,
};

/// Reads the disk that one actuator serves.
fn read(root: &Section, folder: &Path) -> Result<Kind, BadInput> {
    let half = super::inner(root, &HALF, folder)?;
    Ok(Kind::Dual(Box::new(half)))
}
