//! Compiled into the instrumented copy: which of the planted bugs is on. It depends on nothing.
//!
//! `MUTANT=17` turns mutant 17 on. `MUTANTS_REACHED=FILE` turns none on and appends the number of each mutant, the first time
//! that a process passes it, to the file: 4 bytes, little-endian.

use std::env;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Of [`ACTIVE`]: the environment was not read yet.
const UNREAD: u32 = u32::MAX;
/// Of [`ACTIVE`]: what is passed is written down.
const RECORDS: u32 = u32::MAX - 1;
/// Numbers of mutants are below this.
pub const MOST: u32 = 8192;

static ACTIVE: AtomicU32 = AtomicU32::new(UNREAD);
static SEEN: [AtomicU64; MOST as usize / 64] = [const { AtomicU64::new(0) }; MOST as usize / 64];
static LOG: OnceLock<Option<File>> = OnceLock::new();

/// Whether this mutant is on. Mutants are counted from 1.
#[inline]
pub fn on(mutant: u32) -> bool {
    let active = ACTIVE.load(Ordering::Relaxed);
    if active < RECORDS { active == mutant } else { decide(mutant) }
}

#[cold]
fn decide(mutant: u32) -> bool {
    if ACTIVE.load(Ordering::Relaxed) == UNREAD {
        let log = env::var_os("MUTANTS_REACHED");
        let chosen = env::var("MUTANT").ok().and_then(|number| number.parse().ok()).unwrap_or(0);
        ACTIVE.store(if log.is_some() { RECORDS } else { chosen }, Ordering::Relaxed);
        if log.is_none() {
            return chosen == mutant;
        }
    }
    let bit = 1 << (mutant % 64);
    if SEEN[mutant as usize / 64].fetch_or(bit, Ordering::Relaxed) & bit == 0 {
        let open = || OpenOptions::new().append(true).create(true).open(env::var_os("MUTANTS_REACHED")?).ok();
        if let Some(mut file) = LOG.get_or_init(open).as_ref() {
            // A full disk leaves a mutant unreached, and that is a survivor: nothing is hidden.
            let _ = file.write_all(&mutant.to_le_bytes());
        }
    }
    false
}
