//! SQLite, by one process that commits and says of each commit that it is done.

use super::mounted_drive::MountedDrive;
use super::{Database, Promise, Writer};
use crate::tool::{PYTHON, run};
use std::process::Command;

/// Each transaction adds a row, removes an old one and counts. What is there must be the rows of the last 200, and their count.
const COMMITS: &str = r#"
import hashlib, sqlite3, sys
journal, synchronous = sys.argv[1:]
text = lambda n: hashlib.sha256(str(n).encode()).hexdigest() * (1 + n % 40)
def begin():
    base = sqlite3.connect("rows.db", isolation_level=None)
    found = base.execute("pragma integrity_check").fetchone()[0]
    assert found == "ok", found
    base.execute(f"pragma journal_mode = {journal}")
    base.execute(f"pragma synchronous = {synchronous}")
    base.execute("pragma wal_autocheckpoint = 30")
    base.execute("create table if not exists row (number integer primary key, text text)")
    base.execute("create table if not exists total (one integer primary key, value integer)")
    base.execute("insert or ignore into total values (1, 0)")
    last = base.execute("select value from total").fetchone()[0]
    rows = base.execute("select number, text from row order by number").fetchall()
    assert rows == [(n, text(n)) for n in range(max(1, last - 199), last + 1)], f"{len(rows)} other rows than up to {last}"
    return base, last
try:
    base, number = begin()
except (AssertionError, sqlite3.Error) as error:
    print("broken", " ".join(str(error).split()), flush=True)
    sys.exit()
print("found", number, flush=True)
while True:
    number += 1
    base.execute("begin immediate")
    base.execute("insert into row values (?, ?)", (number, text(number)))
    base.execute("delete from row where number = ?", (number - 200,))
    base.execute("update total set value = ?", (number,))
    base.execute("commit")
    print(number, flush=True)
"#;

pub struct Sqlite {
    journal: &'static str,
    synchronous: &'static str,
    /// How many of the last may be lost.
    may_lose: u64,
    writer: Option<Writer>,
    /// The last commit that was acknowledged, of those that are there as far as is known, and how many were in all.
    last: u64,
    count: u64,
    /// How often some of the last were lost that may be.
    losses: u32,
}

impl Sqlite {
    pub fn new(journal: &'static str, synchronous: &'static str, promise: Promise) -> Sqlite {
        let may_lose = if let Promise::KeptUpTo(most) = promise { most } else { 0 };
        Sqlite { journal, synchronous, may_lose, writer: None, last: 0, count: 0, losses: 0 }
    }
}

impl Database for Sqlite {
    fn make(&mut self, drive: &MountedDrive) {
        self.open(drive).expect("a new database opens");
        let first = self.writer.as_ref().and_then(Writer::line);
        assert_eq!(first.as_deref(), Some("1"));
        self.kill();
        run(drive.path(), "sync", &["-f", "mount"]);
    }

    fn open(&mut self, drive: &MountedDrive) -> Result<(), String> {
        let mut command = Command::new(PYTHON);
        command.args(["-B", "-c", COMMITS, self.journal, self.synchronous]).current_dir(drive.place());
        let writer = Writer::start(&mut command);
        let first = writer.line().ok_or("it does not open")?;
        self.writer = Some(writer);
        let Some(found) = first.strip_prefix("found ").and_then(|found| found.parse::<u64>().ok()) else {
            return Err(first);
        };
        if found + self.may_lose < self.last {
            return Err(format!("{} commits lost", self.last - found));
        }
        self.losses += u32::from(found < self.last);
        self.last = found;
        Ok(())
    }

    fn note(&mut self) {
        let lines = self.writer.iter().flat_map(|writer| writer.lines.try_iter());
        for line in lines {
            self.last = line.parse().expect("the number of a commit");
            self.count += 1;
        }
    }

    fn describe(&self) -> String {
        match self.may_lose {
            0 => format!("{} acknowledged", self.count),
            most => format!("{} acknowledged, up to {most} of the last lost {} times", self.count, self.losses),
        }
    }

    fn kill(&mut self) {
        self.writer = None;
    }
}
