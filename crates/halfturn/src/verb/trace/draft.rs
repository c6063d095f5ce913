//! A file written under another name first, so that whatever goes wrong, what was there before still is.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// A file being written. Unless it is kept, it goes away again.
pub struct Draft {
    file: File,
    draft: PathBuf,
    path: PathBuf,
    kept: bool,
}

impl Draft {
    /// Will become `path`; until then it stands beside it, its name with `.part` and a number at its end.
    pub fn new(path: &Path) -> io::Result<Draft> {
        // A link stays one: what it points to is written.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let mut draft = path.clone().into_os_string();
        draft.push(format!(".part{}", std::process::id()));
        let draft = PathBuf::from(draft);
        Ok(Draft { file: File::create_new(&draft)?, draft, path, kept: false })
    }

    /// Where to write.
    pub fn file(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Gives it its name, once all of it is on the disk.
    pub fn keep(mut self) -> io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.draft, &self.path)?;
        self.kept = true;
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.kept {
            // Nothing more can be done about it.
            let _ = fs::remove_file(&self.draft);
        }
    }
}
