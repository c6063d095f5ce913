//! A file system on a volume, by nbdfuse and a loop device: its files, a database and a repository survive it.

use crate::checker::Checker;
use crate::server::{Server, patient};
use crate::tool::{PYTHON, have, output, run, skip};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const PROGRAMS: [(&str, &str); 6] = [
    ("nbdfuse", "libnbd-bin"),
    ("fusermount3", "fuse3"),
    ("losetup", "mount"),
    ("mkfs.ext4", "e2fsprogs"),
    ("e2fsck", "e2fsprogs"),
    ("git", "git"),
];

/// 20,000 rows in a write-ahead log, in transactions of 100; a second run of it only looks.
const ROWS: &str = r#"
import hashlib, sqlite3, sys
base = sqlite3.connect(sys.argv[1])
assert base.execute("pragma journal_mode = wal").fetchone() == ("wal",)
base.execute("pragma synchronous = normal")
base.execute("create table if not exists row (number integer primary key, text text)")
if base.execute("select count(*) from row").fetchone() == (0,):
    for first in range(0, 20000, 100):
        with base:
            rows = ((n, hashlib.sha256(str(n).encode()).hexdigest()) for n in range(first, first + 100))
            base.executemany("insert into row values (?, ?)", rows)
assert base.execute("pragma integrity_check").fetchone() == ("ok",)
found = base.execute("select number, text from row order by number").fetchall()
assert found == [(n, hashlib.sha256(str(n).encode()).hexdigest()) for n in range(20000)]
"#;

/// A volume as a file, that file as a disk, and that disk's file system: taken apart in the other order, whatever
/// happens.
struct Mounted {
    folder: PathBuf,
    fuse: Child,
    disk: Option<String>,
}

impl Mounted {
    fn new(server: &Server) -> Mounted {
        let folder = server.folder().to_path_buf();
        for name in ["fuse", "mount"] {
            std::fs::create_dir(folder.join(name)).expect("a folder");
        }
        let mut command = Command::new("nbdfuse");
        command.arg(folder.join("fuse")).arg(server.uri("disk")).stdin(Stdio::null());
        let fuse = command.spawn().expect("nbdfuse starts");
        let mut mounted = Mounted { folder, fuse, disk: None };
        let file = mounted.folder.join("fuse/nbd");
        patient("nbdfuse shows no file", || file.exists());
        let disk = run(&mounted.folder, "losetup", &["-f", "--show", "--direct-io=on", "fuse/nbd"]);
        mounted.disk = Some(disk.trim().to_owned());
        mounted
    }

    fn disk(&self) -> &str {
        self.disk.as_deref().expect("set when it was made")
    }

    fn place(&self) -> PathBuf {
        self.folder.join("mount")
    }

    fn mount(&self) {
        run(&self.folder, "mount", &["-t", "ext4", self.disk(), "mount"]);
    }

    /// Unmounts it, so that all is written, and holds that nothing is wrong with it.
    fn checked(&self) {
        run(&self.folder, "umount", &["mount"]);
        run(&self.folder, "e2fsck", &["-f", "-n", self.disk()]);
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        output(&self.folder, "umount", &["-l", "mount"]);
        if let Some(disk) = &self.disk {
            output(&self.folder, "losetup", &["-d", disk]);
        }
        output(&self.folder, "fusermount3", &["-u", "-z", "fuse"]);
        let _ = self.fuse.kill();
        let _ = self.fuse.wait();
    }
}

/// Whether file systems can be mounted here.
fn can_mount() -> bool {
    let root = std::fs::metadata("/proc/self").is_ok_and(|of| std::os::unix::fs::MetadataExt::uid(&of) == 0);
    let devices = ["/dev/fuse", "/dev/loop-control"].into_iter().find(|device| !Path::new(device).exists());
    match (root, devices) {
        (false, _) => skip("only root can mount a file system"),
        (true, Some(device)) => skip(&format!("{device} is not there")),
        (true, None) => return have(&PROGRAMS),
    }
    false
}

fn exercise(place: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let files = [1, 2, 3].map(|seed| {
        let mut checker = Checker::new(&place.join(format!("random-{seed}")), seed);
        checker.exercise(2000);
        checker.close()
    });
    run(place, PYTHON, &["-B", "-c", ROWS, "rows.db"]);
    files.into()
}

fn commit(place: &Path) {
    let source = place.join("source");
    std::fs::create_dir(&source).expect("a folder");
    let mut dice = crate::dice::Dice(5);
    for name in 0..300 {
        let length = dice.below(20_000);
        std::fs::write(source.join(format!("file-{name}")), dice.bytes(length)).expect("a file");
    }
    let git = |arguments: &[&str]| {
        let who = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "safe.directory=*", "-c", "gc.auto=0"];
        run(place, "git", &[&who, arguments].concat())
    };
    git(&["init", "-q", "source"]);
    git(&["-C", "source", "add", "."]);
    git(&["-C", "source", "commit", "-q", "-m", "all"]);
    git(&["clone", "-q", "--no-local", "source", "clone"]);
    git(&["-C", "clone", "fsck", "--full", "--strict"]);
}

#[test]
fn a_file_system_on_a_volume_keeps_files_rows_and_commits() {
    if !can_mount() {
        return;
    }
    let server = Server::start(192 << 20);
    let mounted = Mounted::new(&server);
    run(&mounted.folder, "mkfs.ext4", &["-q", "-F", mounted.disk()]);
    mounted.mount();
    let files = exercise(&mounted.place());
    commit(&mounted.place());
    run(&mounted.folder, "fstrim", &["mount"]);
    mounted.checked();

    mounted.mount();
    for (path, model) in files {
        let held = std::fs::read(&path).expect("the file is there");
        assert!(held == model, "{} is not what was written", path.display());
    }
    run(&mounted.place(), PYTHON, &["-B", "-c", ROWS, "rows.db"]);
    run(&mounted.place(), "git", &["-c", "safe.directory=*", "-C", "clone", "fsck", "--full", "--strict"]);
    run(&mounted.place(), "git", &["-c", "safe.directory=*", "-C", "clone", "diff", "--exit-code", "HEAD"]);
    mounted.checked();
    drop(mounted);
    server.end();
}
