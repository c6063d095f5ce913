//! The formats that can be written, by name and by the ending of a file.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use crate::format::FormatEntry;
use crate::formats::ALL;
use crate::write::Writing;
use block::{At, BadInput};

/// A format that can be written.
#[derive(Clone, Copy)]
pub struct WritableFormat {
    pub(super) entry: &'static FormatEntry,
    pub(super) writing: &'static Writing,
}

/// Every format that can be written.
pub fn targets() -> impl Iterator<Item = WritableFormat> {
    ALL.iter().filter_map(|entry| Some(WritableFormat { entry, writing: entry.write.as_ref()? }))
}

/// The endings that stand for a format, for a message: `.a, .b or .c`.
#[must_use]
pub fn endings() -> String {
    let all: Vec<String> =
        targets().flat_map(|target| target.writing.endings).map(|ending| format!(".{ending}")).collect();
    all.split_last().map_or_else(String::new, |(last, rest)| format!("{} or {last}", rest.join(", ")))
}

impl WritableFormat {
    /// The name that a user writes.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.entry.name
    }

    /// The one of this name; without one, that which the file's ending stands for.
    ///
    /// # Errors
    /// When there is none.
    pub fn choose(path: &Path, name: Option<&str>) -> Result<WritableFormat, BadInput> {
        if let Some(name) = name {
            let bad =
                |what| BadInput::new("--to", At::File, what, "or leave it out: the ending of OUT shows the format");
            return name.parse().map_err(bad);
        }
        let mend = format!("end it in {}, or name the format with --to", endings());
        let what = "its ending stands for no format";
        WritableFormat::of(path).ok_or_else(|| BadInput::new(path.display().to_string(), At::File, what, mend))
    }

    /// The one a file's ending stands for.
    #[must_use]
    pub fn of(path: &Path) -> Option<WritableFormat> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        targets().find(|target| target.writing.endings.contains(&ending.as_str()))
    }
}

impl PartialEq for WritableFormat {
    fn eq(&self, other: &WritableFormat) -> bool {
        self.name() == other.name()
    }
}

impl Eq for WritableFormat {}

impl fmt::Debug for WritableFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Target({})", self.name())
    }
}

impl FromStr for WritableFormat {
    type Err = String;

    /// Parses the name of a format.
    fn from_str(name: &str) -> Result<WritableFormat, String> {
        let found = targets().find(|target| target.name().eq_ignore_ascii_case(name));
        found.ok_or_else(|| {
            let names: Vec<&str> = targets().map(WritableFormat::name).collect();
            let meant = block::nearest(name, names.iter().copied())
                .map_or_else(String::new, |meant| format!(", did you mean '{meant}'?"));
            format!("'{name}' is no format to write{meant} (formats: {})", names.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_endings_stand_for_one_format_each() {
        for target in targets() {
            assert_eq!(target.name().parse(), Ok(target));
            assert_eq!(WritableFormat::of(Path::new(&format!("a/b.{}", target.name()))), Some(target));
            for ending in target.writing.endings {
                assert_eq!(WritableFormat::of(Path::new(&format!("a.{}", ending.to_uppercase()))), Some(target));
            }
        }
        assert_eq!(WritableFormat::of(Path::new("A.TRACE")), "disksim".parse().ok());
        assert_eq!((WritableFormat::of(Path::new("a.gz")), WritableFormat::of(Path::new("trace"))), (None, None));
        assert!("iolg".parse::<WritableFormat>().unwrap_err().contains("did you mean 'iolog'?"));
        assert!(endings().starts_with(".trace, .disksim") && endings().contains(" or ."), "{}", endings());
    }
}
