//! What was written, and what was lost on the way.

/// Counts of what was written, and of what the format could not hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// How many requests were written.
    pub written: u64,
    /// Flushes left out, since the format has none.
    pub flushes: u64,
    /// Writes that no longer say that they must reach the medium (force unit access).
    pub fua: u64,
    /// Measured response times left out.
    pub responses: u64,
    /// Times rounded to whole microseconds.
    pub rounded: u64,
    /// Requests longer than 32 bits of bytes, which fio itself cannot read.
    pub long: u64,
    /// Requests at blocks of more than 31 bits, which DiskSim itself cannot read.
    pub far: u64,
    /// Requests that come before the one they follow, which who reads the format may refuse.
    pub backward: u64,
    /// Devices that got another name, and which.
    pub renamed: Vec<(String, String)>,
}

/// New names told one by one.
const TOLD: usize = 8;

impl Lost {
    /// A sentence on each thing that was lost.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let sentences = [
            (self.flushes, "flush", "flushes", "left out, for which the format has no word"),
            (self.fua, "write", "writes", "no longer marked to reach the medium (force unit access)"),
            (self.responses, "response time", "response times", "left out, for which the format has no place"),
            (self.rounded, "time", "times", "rounded to whole microseconds"),
            (self.long, "request", "requests", "of 4 GiB or more, which fio itself cannot read"),
            (self.far, "request", "requests", "at block 2^31 or beyond, which DiskSim itself cannot read"),
            (self.backward, "request", "requests", "earlier than the one before, as in the trace"),
        ];
        let told = sentences.into_iter().filter(|(count, ..)| *count > 0);
        let mut notes: Vec<String> = told
            .map(|(count, one, many, rest)| format!("{count} {} {rest}", if count == 1 { one } else { many }))
            .collect();
        let devices = self.renamed.iter().take(TOLD);
        notes.extend(devices.map(|(from, to)| format!("device '{}' is now called '{to}'", from.escape_debug())));
        if let Some(more @ 1..) = self.renamed.len().checked_sub(TOLD) {
            notes.push(format!("{more} more devices are called something else now"));
        }
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_name_only_what_happened() {
        assert!(Lost { written: 5, ..Lost::default() }.notes().is_empty());
        let renamed = (0..10).map(|at| (format!("disk {at}"), format!("disk_{at}"))).collect();
        let notes = Lost { flushes: 1, rounded: 2, renamed, ..Lost::default() }.notes();
        assert_eq!(notes[0], "1 flush left out, for which the format has no word");
        assert_eq!(notes[1], "2 times rounded to whole microseconds");
        assert_eq!(notes[2], "device 'disk 0' is now called 'disk_0'");
        assert_eq!((notes.len(), notes[10].as_str()), (11, "2 more devices are called something else now"));
    }
}
