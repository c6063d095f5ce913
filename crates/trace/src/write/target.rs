//! The formats that can be written, by name and by the ending of a file.

use std::path::Path;
use std::str::FromStr;

/// A format that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// DiskSim's ASCII.
    DiskSim,
    /// fio's iolog, version 3.
    Iolog,
    /// Parquet, where this build has it.
    Parquet,
}

impl Target {
    /// Every one.
    pub const ALL: [Target; 3] = [Target::DiskSim, Target::Iolog, Target::Parquet];

    /// Its word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Target::DiskSim => "disksim",
            Target::Iolog => "iolog",
            Target::Parquet => "parquet",
        }
    }

    /// The one a file's ending stands for: `.trace` and `.disksim`, `.iolog`, `.parquet`.
    #[must_use]
    pub fn of(path: &Path) -> Option<Target> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        if ending == "trace" { Some(Target::DiskSim) } else { Target::ALL.into_iter().find(|it| it.word() == ending) }
    }
}

impl FromStr for Target {
    type Err = String;

    /// Parses its word.
    fn from_str(word: &str) -> Result<Target, String> {
        let found = Target::ALL.into_iter().find(|target| target.word().eq_ignore_ascii_case(word));
        let words = Target::ALL.map(Target::word);
        found.ok_or_else(|| {
            let meant =
                block::nearest(word, words).map_or_else(String::new, |meant| format!(", did you mean '{meant}'?"));
            format!("'{word}' is no format to write{meant} (formats: {})", words.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_endings_name_a_format() {
        for target in Target::ALL {
            assert_eq!(target.word().parse(), Ok(target));
            assert_eq!(Target::of(Path::new(&format!("a/b.{}", target.word()))), Some(target));
        }
        assert_eq!(Target::of(Path::new("A.TRACE")), Some(Target::DiskSim));
        assert_eq!((Target::of(Path::new("a.gz")), Target::of(Path::new("trace"))), (None, None));
        assert!("iolg".parse::<Target>().unwrap_err().contains("did you mean 'iolog'?"));
    }
}
