//! The one way a TOML file of this project is read: a [`Document`] is a parsed file whose nodes remember
//! their line, and a [`Section`] is a table of it that hands out typed values.
//!
//! It promises that every error names the file, the line (or the `--set` it came from), what is wrong and
//! the mend, and that a key nobody asked for is an error. It knows nothing of what any key means.

mod document;
mod drawn;
mod key;
mod section;
mod sweep;
mod table;
mod tree;
mod written;

pub use document::Document;
pub use key::{About, Key, Missing, NamedBy, Takes, Word, Words};
pub use section::Section;
pub use sweep::Swept;
pub use table::{Table, trim_doc};
pub use tree::Scalar;
pub use written::quote;
