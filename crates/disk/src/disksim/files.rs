//! Files that parameters name: regular ones, of bounded length, since a name may be of anything.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

/// Opens a regular file; a device or a pipe might never end.
pub(super) fn open(path: &Path) -> Result<File> {
    let told = |error: Error| match error.kind() {
        ErrorKind::NotFound => Error::new(ErrorKind::NotFound, "there is no such file"),
        _ => error,
    };
    if std::fs::metadata(path).map_err(told)?.is_file() {
        return File::open(path).map_err(told);
    }
    Err(Error::new(ErrorKind::InvalidInput, "it is no regular file"))
}

/// Reads a file of at most so many bytes.
pub(super) fn read(path: &Path, most: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(Error::new(ErrorKind::FileTooLarge, format!("it is longer than {most} bytes")));
    }
    Ok(bytes)
}
