//! Databases on a file system on a served drive, through power cuts and kills of the service: what was acknowledged is there
//! afterwards, and with syncs left out, or a drive that lies of them, it is not. That loss is the proof that a cut loses anything.
//!
//! When a cut comes is drawn from a seed, which is printed, but what the host is at by then is its own affair. `HALFTURN_CUTS=N` cuts
//! the power, and kills the service, so often in each case that should lose nothing; `HALFTURN_FILE_SYSTEM=xfs` has that in place of
//! ext4; `HALFTURN_SEED=N` has other moments.

mod postgres;
mod sqlite;
mod stack;

use crate::dice::Dice;
use crate::tool::{have, skip};
use postgres::Postgres;
use sqlite::Sqlite;
use stack::Stack;
use std::fmt::Display;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How often something is lost at the least where it has to be, at one of so many cuts.
const LOST_WITHIN: u32 = 20;
/// Up to how long after it began to write a database is cut off, in milliseconds.
const LONGEST_LIFE_MS: usize = 400;

/// A setting from outside.
fn setting<T: std::str::FromStr>(name: &str, usual: T) -> T {
    let parse = |text: String| text.parse().unwrap_or_else(|_| panic!("{name} cannot be '{text}'"));
    std::env::var(name).map_or(usual, parse)
}

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
    fn make(&mut self, stack: &Stack);
    /// Opens what is there, and goes on writing.
    ///
    /// # Errors
    /// What was acknowledged and is not there, or what is broken.
    fn open(&mut self, stack: &Stack) -> Result<(), String>;
    /// Notes what was acknowledged by now.
    fn note(&mut self);
    /// How much was acknowledged in all its lives.
    fn acknowledged(&self) -> u64;
    /// Ends it without a word.
    fn kill(&mut self);
}

/// A case that is tried: what it is, and what comes of it.
struct Case<'a> {
    name: &'a str,
    blackout: Blackout,
    promise: Promise,
}

impl Case<'_> {
    /// Has a database live until it has lost something, or as often as it should not.
    fn tried(&self, database: &mut dyn Database) {
        let (seed, lives) = (
            setting("HALFTURN_SEED", 1),
            if self.promise == Promise::Broken { LOST_WITHIN } else { setting("HALFTURN_CUTS", 10) },
        );
        let (since, mut dice) = (Instant::now(), Dice(seed));
        let mut stack = Stack::new();
        database.make(&stack);
        if self.blackout == Blackout::CutOfLiar {
            stack.tell(&["fault", stack::VOLUME, "lie"]);
        }
        let lost = self.live(lives, database, &mut stack, &mut dice);
        database.kill();
        let (count, took) = (database.acknowledged(), since.elapsed().as_secs());
        let what = match &lost {
            None => format!("nothing lost in {lives} times"),
            Some((life, what)) => format!("{what} after {life}"),
        };
        let repairs = stack.repairs;
        say(format!("{}: seed {seed}: {count} acknowledged, {what}; {repairs} repairs, {took} s", self.name));
        match (self.promise, lost) {
            (Promise::Broken, None) => {
                panic!("{}: nothing was lost in {lives} times: the cut loses nothing", self.name)
            }
            (Promise::Broken, Some(_)) => {}
            (_, Some((life, what))) => panic!("{}: seed {seed}, time {life}: {what}", self.name),
            (_, None) => stack.check(),
        }
    }

    /// When it had lost something, and what.
    fn live(
        &self,
        lives: u32,
        database: &mut dyn Database,
        stack: &mut Stack,
        dice: &mut Dice,
    ) -> Option<(u32, String)> {
        for life in 0..=lives {
            if let Err(what) = database.open(stack) {
                return Some((life, what));
            }
            if life < lives {
                std::thread::sleep(Duration::from_millis(dice.below(LONGEST_LIFE_MS) as u64));
                database.note();
                stack.strike(self.blackout, dice);
                if self.promise != Promise::Broken {
                    // What is acknowledged after the cut has to be there as well; where syncs are left out it cannot be.
                    database.note();
                }
                database.kill();
                if let Err(what) = stack.recover() {
                    return Some((life + 1, what));
                }
                if self.blackout == Blackout::CutOfLiar {
                    stack.tell(&["fault", stack::VOLUME, "lie"]);
                }
            }
        }
        None
    }
}

/// A line for whoever looks on; tests that pass show nothing they print in the usual way.
fn say(what: impl Display) {
    let _ = writeln!(std::io::stderr(), "{what}");
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

#[test]
#[ignore = "two minutes; prints what was lost"]
fn databases_sqlite_keeps_what_it_acknowledged() {
    if !stack::can_stand() {
        return;
    }
    use Blackout::{Cut, CutOfLiar, Kill};
    for (journal, synchronous, blackout, promise) in [
        ("wal", "full", Cut, Promise::Kept),
        ("delete", "extra", Cut, Promise::Kept),
        // The journal's removal is the commit, and only `extra` syncs that.
        ("delete", "full", Cut, Promise::KeptUpTo(1)),
        ("wal", "full", Kill, Promise::Kept),
        ("delete", "full", Kill, Promise::KeptUpTo(1)),
        ("wal", "off", Cut, Promise::Broken),
        ("delete", "off", Cut, Promise::Broken),
        ("wal", "full", CutOfLiar, Promise::Broken),
        ("delete", "extra", CutOfLiar, Promise::Broken),
    ] {
        let name = format!("sqlite {journal}, synchronous {synchronous}, {blackout:?}");
        Case { name: &name, blackout, promise }.tried(&mut Sqlite::new(journal, synchronous, promise));
    }
}

#[test]
#[ignore = "two minutes; prints what was lost"]
fn databases_postgresql_keeps_what_it_acknowledged() {
    if !stack::can_stand() || !have(&[("setpriv", "util-linux"), ("unshare", "util-linux")]) {
        return;
    }
    let Some(programs) = postgres::find() else {
        return skip("apt-get install postgresql");
    };
    use Blackout::{Cut, CutOfLiar, Kill};
    for (fsync, blackout, promise) in [
        ("on", Cut, Promise::Kept),
        ("on", Kill, Promise::Kept),
        ("off", Cut, Promise::Broken),
        ("on", CutOfLiar, Promise::Broken),
    ] {
        let name = format!("postgresql, fsync {fsync}, {blackout:?}");
        Case { name: &name, blackout, promise }.tried(&mut Postgres::new(&programs, fsync));
    }
}
