//! PostgreSQL, with clients that commit one row at a time and note the numbers of those they are told of.

use super::mounted_drive::{MountedDrive, quote};
use super::{Database, Writer};
use crate::tool::{output, run};
use std::collections::BTreeSet;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const WRITERS: usize = 3;
/// Commits a writer asks for in one life, which is more than it comes to.
const COMMITS: usize = 20_000;

/// How long it may take to recover.
const PATIENCE: Duration = Duration::from_secs(30);

const TABLES: &str = "
    create extension amcheck;
    create table kept (n bigserial primary key, writer integer, text text);
    create table total (writer integer primary key, value bigint);
    insert into total select writer, 0 from generate_series(0, 9) writer;
";

/// The folder of its newest programs, and the user they run as.
pub fn find() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?.flatten();
    let folders = versions.map(|version| version.path().join("bin")).filter(|folder| folder.join("initdb").is_file());
    let user = Command::new("id").args(["-u", "postgres"]).output().ok()?;
    folders.max().filter(|_| user.status.success())
}

pub struct Postgres<'a> {
    programs: &'a Path,
    fsync: &'static str,
    server: Option<Child>,
    writers: Vec<Writer>,
    /// The numbers of the rows that were said to be there.
    kept: BTreeSet<u64>,
}

impl<'a> Postgres<'a> {
    pub fn new(programs: &'a Path, fsync: &'static str) -> Postgres<'a> {
        Postgres { programs, fsync, server: None, writers: Vec::new(), kept: BTreeSet::new() }
    }

    fn program(&self, name: &str) -> String {
        self.programs.join(name).display().to_string()
    }

    /// Starts the server in name spaces of its own: all of it goes when it is killed, and it leaves no memory.
    fn start(&mut self, drive: &MountedDrive) {
        let mut command = Command::new("unshare");
        command.args(["--fork", "--pid", "--ipc", "--kill-child=KILL"]);
        command.args(["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]);
        command.arg(self.program("postgres")).arg("-D").arg(drive.place().join("data"));
        for set in [
            "listen_addresses=",
            "shared_buffers=16MB",
            "max_wal_size=8MB",
            "min_wal_size=2MB",
            "checkpoint_timeout=30s",
            &format!("unix_socket_directories={}", drive.path().join("clients").display()),
            &format!("fsync={}", self.fsync),
        ] {
            command.args(["-c", set]);
        }
        command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.server = Some(command.spawn().expect("the server starts"));
    }

    fn psql(&self, drive: &MountedDrive, arguments: &[&str]) -> Result<String, String> {
        let clients = drive.path().join("clients").display().to_string();
        let usual =
            ["-X", "-q", "-A", "-t", "-U", "postgres", "-d", "postgres", "-v", "ON_ERROR_STOP=1", "-h", &clients];
        let done = output(drive.path(), &self.program("psql"), &[&usual, arguments].concat());
        if done.status.success() { Ok(String::from_utf8_lossy(&done.stdout).into_owned()) } else { Err(quote(&done)) }
    }

    /// Waits until it has recovered.
    fn answer(&mut self, drive: &MountedDrive) -> Result<(), String> {
        let since = Instant::now();
        loop {
            if self.server.as_mut().is_none_or(|server| server.try_wait().is_ok_and(|ended| ended.is_some())) {
                return Err("PostgreSQL does not start".into());
            }
            match self.psql(drive, &["-c", "select 1"]) {
                Ok(_) => return Ok(()),
                Err(why) if since.elapsed() > PATIENCE => return Err(format!("PostgreSQL does not answer: {why}")),
                Err(_) => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }

    fn check(&self, drive: &MountedDrive) -> Result<(), String> {
        let rows = self.psql(drive, &["-c", "set enable_indexscan = off; select n from kept"])?;
        let found: BTreeSet<u64> = rows.lines().filter_map(|line| line.parse().ok()).collect();
        let lost = self.kept.difference(&found).count();
        if lost > 0 {
            return Err(format!("{lost} commits lost"));
        }
        let counted = self.psql(drive, &["-c", "select sum(value) from total"])?;
        if counted.trim() != found.len().to_string() {
            return Err(format!("{} rows, and {} counted", found.len(), counted.trim()));
        }
        let clients = drive.path().join("clients").display().to_string();
        let check = ["-U", "postgres", "-d", "postgres", "-h", &clients, "--heapallindexed"];
        let checked = output(drive.path(), &self.program("pg_amcheck"), &check);
        if checked.status.success() { Ok(()) } else { Err(format!("broken: {}", quote(&checked))) }
    }

    fn write(&mut self, drive: &MountedDrive) {
        for writer in 0..WRITERS {
            let file = drive.path().join(format!("commits-{writer}"));
            let mut command = Command::new(self.program("psql"));
            command.args(["-X", "-q", "-A", "-t", "-U", "postgres", "-d", "postgres", "-v", "ON_ERROR_STOP=1", "-h"]);
            command.arg(drive.path().join("clients")).arg("-f").arg(file).current_dir("/");
            self.writers.push(Writer::start(&mut command));
        }
    }
}

impl Database for Postgres<'_> {
    fn make(&mut self, drive: &MountedDrive) {
        let owner = run(drive.path(), "id", &["-u", "postgres"]).trim().parse().expect("a number");
        for folder in [drive.place().join("data"), drive.path().join("clients")] {
            std::fs::create_dir(&folder).and_then(|()| chown(&folder, Some(owner), None)).expect("a folder");
        }
        for writer in 0..WRITERS {
            let commit = format!(
                "with one as (insert into kept (writer, text) values ({writer}, repeat(md5(random()::text), 20)) returning n), \
                 two as (update total set value = value + 1 where writer = {writer}) select n from one;\n"
            );
            let commits = drive.path().join(format!("commits-{writer}"));
            std::fs::write(commits, commit.repeat(COMMITS)).expect("a file in a new folder");
        }
        let data = drive.place().join("data").display().to_string();
        let initdb = self.program("initdb");
        let as_owner = ["--reuid=postgres", "--regid=postgres", "--clear-groups", &initdb];
        let how = ["-D", &data, "-A", "trust", "-k", "--wal-segsize=1", "-E", "UTF8", "--locale=C"];
        run(Path::new("/"), "setpriv", &[&as_owner[..], &how].concat());
        self.start(drive);
        self.answer(drive).expect("a new server starts");
        self.psql(drive, &["-c", TABLES]).expect("tables are made");
        self.kill();
        run(drive.path(), "sync", &["-f", "mount"]);
    }

    fn open(&mut self, drive: &MountedDrive) -> Result<(), String> {
        self.start(drive);
        self.answer(drive)?;
        self.check(drive)?;
        self.write(drive);
        Ok(())
    }

    fn note(&mut self) {
        let lines = self.writers.iter().flat_map(|writer| writer.lines.try_iter());
        self.kept.extend(lines.map(|line| line.parse::<u64>().expect("the number of a row")));
    }

    fn describe(&self) -> String {
        format!("{} acknowledged", self.kept.len())
    }

    fn kill(&mut self) {
        self.writers.clear();
        if let Some(mut server) = self.server.take() {
            // The first process of the name space: `unshare` ends once all of them are gone.
            let first = format!("/proc/{0}/task/{0}/children", server.id());
            for process in std::fs::read_to_string(first).unwrap_or_default().split_whitespace() {
                output(Path::new("/"), "kill", &["-KILL", process]);
            }
            let _ = server.wait();
        }
    }
}

impl Drop for Postgres<'_> {
    fn drop(&mut self) {
        self.kill();
    }
}
