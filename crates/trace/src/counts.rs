//! What a reader met and what it left out.

/// Counts of what was met in a trace so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadCounts {
    /// Records (lines) in the file, of every kind.
    pub records: u64,
    /// Requests that the reader returned.
    pub requests: u64,
    /// Completions of what was never issued.
    pub orphan_completions: u64,
    /// Issues not followed because too many were open; more completions then look orphaned.
    pub untracked_issues: u64,
    /// Writes that asked for a flush first, handed out as a flush and a write.
    pub preflushes: u64,
    /// Discards (trim, unmap), left out.
    pub discards_skipped: u64,
    /// Requests for no blocks that are no flush, left out.
    pub empty: u64,
    /// Requests that were not on whole blocks, widened outward.
    pub unaligned: u64,
    /// Commands that are neither read, write nor flush, left out.
    pub other_commands: u64,
    /// Requests that a cache above the disk answered, left out.
    pub cached: u64,
    /// Requests of files, whose place on the disk the trace does not tell.
    pub placed: u64,
    /// Events of a kind unknown to the reader, left out.
    pub unknown_events: u64,
    /// Lines that belong to the format but are no records: headers, summaries.
    pub remarks: u64,
    /// A trace without times, but for the waits it has.
    pub untimed: bool,
    /// A DiskSim trace whose times are whole numbers, and so were read as nanoseconds.
    pub whole_ns: bool,
}

impl ReadCounts {
    /// A sentence on each thing worth knowing, the ordinary ones left out.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let sentences = [
            (self.orphan_completions, "completion", "without an issue"),
            (
                self.untracked_issues,
                "issue",
                "not followed, so many were open at once: too many completions look orphaned",
            ),
            (self.preflushes, "write", "with a flush before it, replayed as flush and write"),
            (self.discards_skipped, "discard", "left out"),
            (self.empty, "request", "for no blocks left out"),
            (self.unaligned, "request", "not on whole 512-byte blocks, widened outward"),
            (self.other_commands, "command", "neither read, write nor flush, left out"),
            (self.cached, "request", "answered by a cache above the disk, left out"),
            (self.placed, "request", "placed by file: each file begins where a hash of its name says"),
            (self.unknown_events, "event", "of unknown kind left out"),
        ];
        let mut notes: Vec<String> = sentences
            .into_iter()
            .filter(|(count, ..)| *count > 0)
            .map(|(count, noun, rest)| format!("{count} {noun}{} {rest}", if count == 1 { "" } else { "s" }))
            .collect();
        if self.whole_ns {
            notes.push("times are whole numbers, so they were read as nanoseconds, not milliseconds".into());
        }
        if self.untimed {
            notes.push("the trace has no times, only waits: requests between two waits arrive at once".into());
        }
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_name_only_what_happened() {
        assert!(ReadCounts { records: 5, requests: 5, ..ReadCounts::default() }.notes().is_empty());
        let counts = ReadCounts { orphan_completions: 1, empty: 2, ..ReadCounts::default() };
        assert_eq!(counts.notes(), ["1 completion without an issue", "2 requests for no blocks left out"]);
    }
}
