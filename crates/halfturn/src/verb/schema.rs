//! `halfturn schema`: a JSON Schema of experiment files, for editors.

use super::json;
use crate::failure::{VerbFailure, print};
use crate::report;
use clap::Args;

/// Print a JSON Schema of experiment files, by which editors complete keys and check them.
///
/// Editors that know TOML, such as those with Taplo or Even Better TOML, take it from a comment at the top of a file:
/// #:schema halfturn.schema.json
#[derive(Args)]
#[command(after_help = "Example:\n  halfturn schema > halfturn.schema.json")]
pub struct Schema {}

pub fn run(_: &Schema) -> Result<(), VerbFailure> {
    print(&json(&report::schema()))
}
