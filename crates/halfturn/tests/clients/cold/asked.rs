//! The files that a stranger has: traces of the same made-up requests, as the programs of others write them, and programs.

use crate::dice::Dice;
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Requests of 4 to 32 KiB all over 100 GB, two thirds reads, 9 ms apart.
pub struct Loads(Vec<(u64, u64, u64, bool)>);

impl Loads {
    pub const REQUESTS: usize = 240;

    pub fn new(seed: u64) -> Loads {
        let mut dice = Dice(seed);
        let draw = |place: usize| {
            (place as u64 * 9_000, dice.below(26_000_000) as u64 * 8, 8 << dice.below(4), dice.below(3) > 0)
        };
        Loads((0..Loads::REQUESTS).map(draw).collect())
    }

    /// A line for each request, of microseconds, first byte, bytes and whether it reads.
    fn lines(&self, line: impl Fn(&mut String, u64, u64, u64, bool)) -> Vec<u8> {
        let mut text = String::new();
        self.0.iter().for_each(|(us, block, blocks, read)| line(&mut text, *us, block * 512, blocks * 512, *read));
        text.into_bytes()
    }

    /// As `fio --write_iolog` has it.
    pub fn iolog(&self) -> Vec<u8> {
        let lines = self.lines(|text, us, offset, bytes, read| {
            let _ = writeln!(text, "{us} /dev/sdb {} {offset} {bytes}", if read { "read" } else { "write" });
        });
        [b"fio version 3 iolog\n0 /dev/sdb add\n0 /dev/sdb open\n".to_vec(), lines].concat()
    }

    pub fn csv(&self) -> Vec<u8> {
        let lines = self.lines(|text, us, offset, bytes, read| {
            let _ = writeln!(text, "{us},{},{offset},{bytes}", if read { "Read" } else { "Write" });
        });
        [b"Timestamp,IOType,Offset,Bytes\n".to_vec(), lines].concat()
    }

    /// Times are those of Windows, in 100 ns.
    pub fn msr(&self) -> Vec<u8> {
        self.lines(|text, us, offset, bytes, read| {
            let time = 128_166_372_003_061_629 + us * 10;
            let _ = writeln!(text, "{time},web,0,{},{offset},{bytes},70000", if read { "Read" } else { "Write" });
        })
    }

    /// Version 1, records of 32 bytes.
    pub fn vscsi(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (us, block, blocks, read) in &self.0 {
            let command: u16 = if *read { 0x28 } else { 0x2a };
            let [serial, length, entries] = [9, *blocks as u32 * 512, 1].map(u32::to_le_bytes);
            bytes.extend([serial, length, entries].concat());
            bytes.extend([command.to_le_bytes(), 0x0100_u16.to_le_bytes()].concat());
            bytes.extend([block.to_le_bytes(), us.to_le_bytes()].concat());
        }
        bytes
    }

    /// Version 1 of `blktrace_api.h`, what two processors queued in turn.
    pub fn blktrace(&self) -> [Vec<u8>; 2] {
        let mut files = [Vec::new(), Vec::new()];
        for (place, (us, block, blocks, read)) in self.0.iter().enumerate() {
            let file = &mut files[place % 2];
            // Queued, of the category of reads or of writes.
            let action: u32 = 1 | if *read { 1 << 16 } else { 1 << 17 };
            file.extend([0x6561_7407_u32.to_le_bytes(), (place as u32 + 1).to_le_bytes()].concat());
            file.extend([(us * 1_000).to_le_bytes(), block.to_le_bytes()].concat());
            let device = 8 << 20 | 16;
            let words = [*blocks as u32 * 512, action, 77, device, place as u32 % 2, 0];
            file.extend(words.map(u32::to_le_bytes).concat());
        }
        files
    }
}

pub fn write(folder: &Path, name: &str, bytes: &[u8]) {
    std::fs::write(folder.join(name), bytes).expect("there is room");
}

/// A script of one's own.
pub fn my_program(folder: &Path, name: &str, commands: &str) {
    write(folder, name, format!("#!/bin/sh\nset -e\n{commands}\n").as_bytes());
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.join(name), executable).expect("it was just written");
}
