//! A recorded machine, written small.

use crate::failure::VerbFailure;
use block::BadInput;
use std::fs::File;
use std::io;
use std::path::Path;
use trace::ftrace::Recording;
use trace::ftrace::compact::CompactWriter;

/// What went wrong with a recording that is written anew.
pub enum Wrong {
    Read(BadInput),
    Write(io::Error),
}

impl Wrong {
    /// Of a file to be written.
    pub fn of(self, out: &Path) -> VerbFailure {
        match self {
            Wrong::Read(error) => error.into(),
            Wrong::Write(error) => VerbFailure::unwritable(out, &error),
        }
    }
}

/// Writes a recording small; how many events there were, and how many were lost, besides so many.
pub fn write(from: &Path, out: File, command: Option<(u32, &str)>, lost: u64) -> Result<(u64, u64), Wrong> {
    let mut recording = Recording::open(from).map_err(Wrong::Read)?;
    let mut writer = CompactWriter::new(io::BufWriter::new(out), command).map_err(Wrong::Write)?;
    while let Some(event) = recording.next_event().map_err(Wrong::Read)? {
        writer.put(&event, &recording.names).map_err(Wrong::Write)?;
    }
    let (events, lost) = (writer.events, recording.lost + lost);
    let out = writer.finish(lost).map_err(Wrong::Write)?;
    out.into_inner().map_err(|error| Wrong::Write(error.into_error()))?;
    Ok((events, lost))
}
