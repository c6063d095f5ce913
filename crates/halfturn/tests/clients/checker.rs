//! A file that is written, read, shortened and lengthened at random, and compared with what it should hold.

use crate::dice::Dice;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The longest the file gets, in bytes.
const MOST: usize = 4 << 20;

/// A file, and what it should hold.
pub struct Checker {
    path: PathBuf,
    file: File,
    model: Vec<u8>,
    dice: Dice,
}

impl Checker {
    pub fn new(path: &Path, seed: u64) -> Checker {
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path).expect("a new file");
        Checker { path: path.into(), file, model: Vec::new(), dice: Dice(seed) }
    }

    /// Does so much to it.
    pub fn exercise(&mut self, steps: usize) {
        for step in 0..steps {
            let at = self.dice.below(MOST);
            let length = 1 + self.dice.below((64 << 10).min(MOST - at));
            match self.dice.below(10) {
                0..4 => self.write(at, length),
                4..8 => self.read(at, length, step),
                8 => self.resize(at),
                _ => self.file.sync_data().expect("what is written can be synced"),
            }
        }
        self.file.sync_all().expect("what is written can be synced");
    }

    fn write(&mut self, at: usize, length: usize) {
        let data = self.dice.bytes(length);
        self.file.write_all_at(&data, at as u64).expect("a write");
        self.model.resize(self.model.len().max(at + length), 0);
        self.model[at..at + length].copy_from_slice(&data);
    }

    fn read(&self, at: usize, length: usize, step: usize) {
        let (from, to) = (at.min(self.model.len()), (at + length).min(self.model.len()));
        let mut data = vec![0; to - from];
        self.file.read_exact_at(&mut data, from as u64).expect("a read");
        assert!(data == self.model[from..to], "{}: step {step}: {length} bytes at {at} differ", self.path.display());
    }

    fn resize(&mut self, length: usize) {
        self.file.set_len(length as u64).expect("a new length");
        self.model.resize(length, 0);
    }

    /// What the file should hold, and where; the file is closed.
    pub fn close(self) -> (PathBuf, Vec<u8>) {
        (self.path, self.model)
    }
}

#[test]
fn a_byte_that_changes_behind_its_back_is_seen() {
    let folder = crate::server::Folder::new();
    let mut checker = Checker::new(&folder.0.join("file"), 1);
    checker.exercise(500);
    let other = OpenOptions::new().write(true).open(folder.0.join("file")).unwrap();
    let at = checker.model.len() as u64 / 2;
    other.write_all_at(&[checker.model[at as usize] ^ 1], at).unwrap();
    let seen = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| checker.read(0, checker.model.len(), 0)));
    assert!(seen.is_err());
}
