//! Databases on a file system on a served drive, through power cuts and kills of the service: what was acknowledged is there
//! afterwards, and with syncs left out, or a drive that lies of them, it is not. That loss is the proof that a cut loses anything.
//!
//! When a cut comes is drawn from a seed, which is printed, but what the host is at by then is its own affair. `HALFTURN_CUTS=N` cuts
//! the power, and kills the service, so often in each case that should lose nothing; `HALFTURN_FILE_SYSTEM=xfs` has that in place of
//! ext4; `HALFTURN_SEED=N` has other moments.

mod mounted_drive;
mod postgres;
mod sqlite;

use crate::dice::Dice;
use crate::tool::{have, say, setting, skip};
use Blackout::{Cut, CutOfLiar, Kill};
use Promise::{Broken, Kept, KeptUpTo};
use mounted_drive::MountedDrive;
use postgres::Postgres;
use sqlite::Sqlite;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How often something is lost at the least where it has to be, at one of so many cuts.
const LOST_WITHIN: u32 = 20;
/// Up to how long after it began to write a database is cut off, in milliseconds.
const LONGEST_LIFE_MS: usize = 400;

/// What ends a life of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blackout {
    /// The power of the drive, and of the host.
    Cut,
    /// The same, of a drive that lies of flushes.
    CutOfLiar,
    /// The service is killed; its file stays.
    Kill,
}

/// Whether what was acknowledged has to be there afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Promise {
    Kept,
    /// But for so many of the last.
    KeptUpTo(u64),
    Broken,
}

/// Something that writes, and notes outside what was acknowledged.
trait Database {
    /// Makes it, and has all of it flushed.
    fn make(&mut self, drive: &MountedDrive);
    /// Opens what is there, and goes on writing.
    ///
    /// # Errors
    /// What was acknowledged and is not there, or what is broken.
    fn open(&mut self, drive: &MountedDrive) -> Result<(), String>;
    /// Notes what was acknowledged by now.
    fn note(&mut self);
    /// How much was acknowledged in all its lives, and what came of it that may.
    fn describe(&self) -> String;
    /// Ends it without a word.
    fn kill(&mut self);
}

/// A case that is tried: what it is, and what comes of it.
struct DatabaseCase<'a> {
    name: &'a str,
    blackout: Blackout,
    promise: Promise,
}

impl DatabaseCase<'_> {
    /// Has a database live until it has lost something, or as often as it should not.
    fn try_out(&self, database: &mut dyn Database) {
        let (seed, lives) = (
            setting("HALFTURN_SEED", 1),
            if self.promise == Promise::Broken { LOST_WITHIN } else { setting("HALFTURN_CUTS", 10) },
        );
        let (since, mut dice) = (Instant::now(), Dice(seed));
        let mut drive = MountedDrive::new();
        database.make(&drive);
        if self.blackout == Blackout::CutOfLiar {
            drive.tell(&["fault", mounted_drive::VOLUME, "lie"]);
        }
        let lost = self.live(lives, database, &mut drive, &mut dice);
        database.kill();
        let (acknowledged, took) = (database.describe(), since.elapsed().as_secs());
        let what = match &lost {
            None => format!("nothing lost in {lives} times"),
            Some((life, what)) => format!("{what} after {life}"),
        };
        let repairs = drive.repairs;
        say(format!("{}: seed {seed}: {acknowledged}, {what}; {repairs} repairs, {took} s", self.name));
        match (self.promise, lost) {
            (Promise::Broken, None) => {
                panic!("{}: nothing was lost in {lives} times: the cut loses nothing", self.name)
            }
            (Promise::Broken, Some(_)) => {}
            (_, Some((life, what))) => panic!("{}: seed {seed}, time {life}: {what}", self.name),
            (_, None) => drive.check(),
        }
    }

    /// When it had lost something, and what.
    fn live(
        &self,
        lives: u32,
        database: &mut dyn Database,
        drive: &mut MountedDrive,
        dice: &mut Dice,
    ) -> Option<(u32, String)> {
        for life in 0..=lives {
            match database.open(drive) {
                Err(what) if life == 0 => panic!("{}: nothing was cut yet: {what}", self.name),
                Err(what) => return Some((life, what)),
                Ok(()) => {}
            }
            if life < lives {
                std::thread::sleep(Duration::from_millis(dice.below(LONGEST_LIFE_MS) as u64));
                database.note();
                drive.strike(self.blackout, dice);
                if self.promise != Promise::Broken {
                    // What is acknowledged after the cut has to be there as well; where syncs are left out it cannot be.
                    database.note();
                }
                database.kill();
                if let Err(what) = drive.recover() {
                    return Some((life + 1, what));
                }
                if self.blackout == Blackout::CutOfLiar {
                    drive.tell(&["fault", mounted_drive::VOLUME, "lie"]);
                }
            }
        }
        None
    }
}

/// A program whose lines are read as they come.
struct Writer {
    child: Child,
    lines: Receiver<String>,
}

impl Writer {
    fn start(command: &mut Command) -> Writer {
        let started = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut child = started.unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let lines = follow(child.stdout.take().expect("it is piped"));
        Writer { child, lines }
    }

    /// Its next line, unless it ends.
    fn line(&self) -> Option<String> {
        self.lines.recv_timeout(Duration::from_secs(60)).ok()
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Its lines as they come. One that it did not come to the end of is none.
fn follow(from: ChildStdout) -> Receiver<String> {
    let (give, take) = channel();
    std::thread::spawn(move || {
        let (mut from, mut line) = (BufReader::new(from), String::new());
        while from.read_line(&mut line).is_ok() && line.ends_with('\n') {
            if give.send(line.trim_end().to_owned()).is_err() {
                return;
            }
            line.clear();
        }
    });
    take
}

fn try_sqlite(cases: &[(&'static str, &'static str, Blackout, Promise)]) {
    if !mounted_drive::can_stand() {
        return;
    }
    for (journal, synchronous, blackout, promise) in cases.iter().copied() {
        let name = format!("sqlite {journal}, synchronous {synchronous}, {blackout:?}");
        DatabaseCase { name: &name, blackout, promise }.try_out(&mut Sqlite::new(journal, synchronous, promise));
    }
}

fn try_postgresql(cases: &[(&'static str, Blackout, Promise)]) {
    if !mounted_drive::can_stand() || !have(&[("setpriv", "util-linux"), ("unshare", "util-linux")]) {
        return;
    }
    let Some(programs) = postgres::find() else {
        return skip("apt-get install postgresql");
    };
    for (fsync, blackout, promise) in cases.iter().copied() {
        let name = format!("postgresql, fsync {fsync}, {blackout:?}");
        DatabaseCase { name: &name, blackout, promise }.try_out(&mut Postgres::new(&programs, fsync));
    }
}

#[test]
#[ignore = "half a minute; prints what was lost"]
fn databases_sqlite_keeps_what_it_acknowledged() {
    try_sqlite(&[("wal", "full", Cut, Kept), ("delete", "extra", Cut, Kept)]);
}

/// The removal of the journal is the commit, and `extra` alone syncs that.
#[test]
#[ignore = "half a minute; prints what was lost"]
fn databases_sqlite_that_does_not_sync_the_removal_of_its_journal_loses_one_commit_at_most() {
    try_sqlite(&[("delete", "full", Cut, KeptUpTo(1))]);
}

#[test]
#[ignore = "half a minute; prints what was lost"]
fn databases_sqlite_outlives_kills_of_the_service() {
    try_sqlite(&[("wal", "full", Kill, Kept), ("delete", "extra", Kill, Kept)]);
}

#[test]
#[ignore = "half a minute; prints what was lost"]
fn databases_sqlite_loses_what_is_not_on_the_medium() {
    try_sqlite(&[("wal", "off", Cut, Broken), ("delete", "off", Cut, Broken)]);
    try_sqlite(&[("wal", "full", CutOfLiar, Broken), ("delete", "extra", CutOfLiar, Broken)]);
}

#[test]
#[ignore = "a minute; prints what was lost"]
fn databases_postgresql_keeps_what_it_acknowledged() {
    try_postgresql(&[("on", Cut, Kept)]);
}

#[test]
#[ignore = "a minute; prints what was lost"]
fn databases_postgresql_outlives_kills_of_the_service() {
    try_postgresql(&[("on", Kill, Kept)]);
}

#[test]
#[ignore = "half a minute; prints what was lost"]
fn databases_postgresql_loses_what_is_not_on_the_medium() {
    try_postgresql(&[("off", Cut, Broken), ("on", CutOfLiar, Broken)]);
}
