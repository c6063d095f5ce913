//! What of a drive nobody measured. A profile by reads alone knows nothing of writes: its file says `unknown`, which is neither
//! "as reads" nor "no buffer".
//!
//! The numbers of the sheet are then those of reads, and no buffer. A simulated drive has these, a scheduler believes in
//! them, and both say so.

/// What of a drive nobody measured, by the keys of its file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unmeasured {
    /// `write_buffer` of `[cache]`: whether there is one, and what a write into it takes.
    pub write_buffer: bool,
    /// What `write` of `[overhead]` tells.
    pub write_overhead: bool,
    /// `write_settle` of `[switch]`: by how much moves before a write take longer.
    pub write_settle: bool,
}

impl Unmeasured {
    /// The word of a file for a value that nobody measured.
    pub const WORD: &'static str = "unknown";

    /// All that shows only by writing.
    pub const WRITES: Unmeasured = Unmeasured { write_buffer: true, write_overhead: true, write_settle: true };

    /// Whether nobody measured something.
    #[must_use]
    pub fn any(self) -> bool {
        self != Unmeasured::default()
    }

    /// What is not known, in words; nothing where all is.
    #[must_use]
    pub fn words(self) -> Option<String> {
        let all = [
            (self.write_buffer, "its write buffer"),
            (self.write_overhead, "the overhead of its writes"),
            (self.write_settle, "how long its arm settles before a write"),
        ];
        let words: Vec<&str> = all.into_iter().filter(|(unknown, _)| *unknown).map(|(_, words)| words).collect();
        let (last, rest) = words.split_last()?;
        Some(if rest.is_empty() { (*last).to_owned() } else { format!("{} and {last}", rest.join(", ")) })
    }

    /// What a simulated drive does in place of what is not known; nothing where all is known.
    #[must_use]
    pub fn assumption(self) -> Option<String> {
        let does = match (self.write_buffer, self.write_overhead || self.write_settle) {
            (true, true) => "it writes as it reads, without a buffer",
            (true, false) => "it has no write buffer",
            (false, _) => "it writes as it reads",
        };
        let words = self.words()?;
        Some(format!(
            "{words} are not known: {does}; give the keys that are `unknown` in its file, or profile it with a scratch"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_told_by_name_with_what_stands_for_it() {
        let only = |unmeasured: Unmeasured| (unmeasured.words().unwrap_or_default(), unmeasured.assumption());
        assert_eq!(only(Unmeasured::default()), (String::new(), None));
        let (words, assumed) = only(Unmeasured::WRITES);
        assert_eq!(words, "its write buffer, the overhead of its writes and how long its arm settles before a write");
        assert!(assumed.is_some_and(|text| text.contains("it writes as it reads, without a buffer; give the keys")));
        let (words, assumed) = only(Unmeasured { write_buffer: true, ..Unmeasured::default() });
        assert_eq!(words, "its write buffer");
        assert!(assumed.is_some_and(|text| text.contains("it has no write buffer;")));
        let (words, assumed) = only(Unmeasured { write_settle: true, ..Unmeasured::default() });
        assert_eq!(words, "how long its arm settles before a write");
        assert!(assumed.is_some_and(|text| text.contains("it writes as it reads;")));
    }
}
