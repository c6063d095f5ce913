//! A service with an emulated drive, its volume as a file (nbdfuse), that file as a disk (a loop device), and a file system on it.

use super::{Blackout, setting};
use crate::dice::Dice;
use crate::server::{Folder, patient};
use crate::tool::{find, have, output, run, skip};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

const HALFTURN: &str = env!("CARGO_BIN_EXE_halfturn");
pub const VOLUME: &str = "db";

/// A solid-state drive, whose contents outlive the service. XFS takes no less than 300 MiB.
const SERVICE: &str = r#"
    [drive]
    path = "emulated:flash-x25m"
    contents = "sparse"
    file = "contents"
    [scheduler]
    policy = "fcfs"
    [serve]
    socket = "nbd.sock"
    control = "control.sock"
    faults = true
    [[volume]]
    name = "db"
    size = "320MiB"
"#;

/// Whether such a thing can be had here.
pub fn can_stand() -> bool {
    if !std::fs::metadata("/proc/self").is_ok_and(|of| std::os::unix::fs::MetadataExt::uid(&of) == 0) {
        skip("only root can mount a file system");
        return false;
    }
    if let Some(device) = ["/dev/fuse", "/dev/loop-control"].into_iter().find(|device| !Path::new(device).exists()) {
        skip(&format!("{device} is not there"));
        return false;
    }
    let xfs = [("mkfs.xfs", "xfsprogs"), ("xfs_repair", "xfsprogs")];
    let own: &[(&str, &str)] =
        if file_system() == "xfs" { &xfs } else { &[("mkfs.ext4", "e2fsprogs"), ("e2fsck", "e2fsprogs")] };
    have(&[own, &[("nbdfuse", "libnbd-bin"), ("fusermount3", "fuse3"), ("losetup", "mount")]].concat())
}

fn file_system() -> String {
    setting("HALFTURN_FILE_SYSTEM", "ext4".to_owned())
}

/// All of it. It is taken apart in the other order, whatever happens.
pub struct MountedDrive {
    service: Option<Child>,
    fuse: Option<Child>,
    disk: Option<String>,
    /// How often the file system had to be repaired before it could be mounted.
    pub repairs: u32,
    folder: Folder,
}

impl MountedDrive {
    /// With an empty file system.
    pub fn new() -> MountedDrive {
        let mut drive = MountedDrive { service: None, fuse: None, disk: None, repairs: 0, folder: Folder::new() };
        for name in ["fuse", "mount"] {
            std::fs::create_dir(drive.path().join(name)).expect("a folder");
        }
        std::fs::write(drive.path().join("service.toml"), SERVICE).expect("a file in a new folder");
        drive.serve();
        drive.attach();
        let make: &[&str] = if file_system() == "xfs" { &["-q", "-f"] } else { &["-q", "-F"] };
        run(drive.path(), &format!("mkfs.{}", file_system()), &[make, &[drive.disk()]].concat());
        drive.mount().expect("a new file system is mounted");
        drive
    }

    pub fn path(&self) -> &Path {
        &self.folder.0
    }

    /// Where the file system is.
    pub fn place(&self) -> PathBuf {
        self.path().join("mount")
    }

    fn disk(&self) -> &str {
        self.disk.as_deref().expect("it is attached")
    }

    fn serve(&mut self) {
        let mut command = Command::new(HALFTURN);
        command.args(["serve", "service.toml"]).current_dir(self.path()).stdin(Stdio::null());
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the service starts");
        self.service = Some(child);
        // One that was killed leaves its sockets.
        patient("the service does not answer", || {
            output(self.path(), HALFTURN, &["volume", "list", "--control", "control.sock"]).status.success()
        });
    }

    fn attach(&mut self) {
        let uri = format!("nbd+unix:///{VOLUME}?socket={}", self.path().join("nbd.sock").display());
        let mut command = Command::new(find("nbdfuse").expect("it was looked for"));
        command.arg(self.path().join("fuse")).arg(uri).stdin(Stdio::null());
        self.fuse = Some(command.stderr(Stdio::null()).spawn().expect("nbdfuse starts"));
        let file = self.path().join("fuse/nbd");
        patient("nbdfuse shows no file", || file.exists());
        let disk = run(self.path(), "losetup", &["-f", "--show", "--direct-io=on", "fuse/nbd"]);
        self.disk = Some(disk.trim().to_owned());
    }

    fn mount(&self) -> Result<(), String> {
        let done = output(self.path(), "mount", &["-t", &file_system(), self.disk(), "mount"]);
        if done.status.success() { Ok(()) } else { Err(format!("it cannot be mounted: {}", quote(&done))) }
    }

    /// Tells the service something of its volume.
    pub fn tell(&self, words: &[&str]) {
        run(self.path(), HALFTURN, &[&["volume"], words, &["--control", "control.sock"]].concat());
    }

    /// Has the power go, or kills the service. What the host has in memory goes, too, with the way to the drive.
    pub fn strike(&mut self, blackout: Blackout, dice: &mut Dice) {
        match blackout {
            Blackout::Kill => {
                let mut service = self.service.take().expect("it runs");
                service.kill().and_then(|()| service.wait()).expect("it is killed");
            }
            Blackout::Cut | Blackout::CutOfLiar => {
                self.tell(&["fault", VOLUME, "cut", "--seed", &dice.roll().to_string()]);
            }
        }
        self.unplug();
    }

    /// From now on nothing comes through from above, and what waits has failed.
    fn unplug(&mut self) {
        if let Some(mut fuse) = self.fuse.take() {
            let _ = fuse.kill();
            let _ = fuse.wait();
        }
    }

    /// Takes away what stood on the drive, as if the host had gone; then all comes back, and the file system reads its journal.
    ///
    /// # Errors
    /// The file system cannot be mounted.
    pub fn recover(&mut self) -> Result<(), String> {
        patient("the file system is still in use", || output(self.path(), "umount", &["mount"]).status.success());
        run(self.path(), "losetup", &["-d", self.disk()]);
        self.disk = None;
        output(self.path(), "fusermount3", &["-u", "-z", "fuse"]);
        if self.service.is_some() {
            self.tell(&["fault", VOLUME, "back"]);
            self.tell(&["resume", VOLUME]);
        } else {
            self.serve();
        }
        self.attach();
        self.mount().or_else(|why| self.repair(&why))
    }

    /// As a host does that starts again: ext4 writes its first block's 1024 bytes past its journal, and does not mount where a cut tore
    /// them; a copy of them is elsewhere.
    fn repair(&mut self, why: &str) -> Result<(), String> {
        if file_system() != "ext4" {
            return Err(why.to_owned());
        }
        self.repairs += 1;
        let done = output(self.path(), "e2fsck", &["-y", self.disk()]);
        if done.status.code().is_none_or(|code| code > 1) {
            return Err(format!("{why}; {}", quote(&done)));
        }
        self.mount()
    }

    /// Unmounts it, so that all is written, and holds that nothing is wrong with the file system.
    pub fn check(&self) {
        patient("the file system is still in use", || output(self.path(), "umount", &["mount"]).status.success());
        match file_system().as_str() {
            "xfs" => run(self.path(), "xfs_repair", &["-n", self.disk()]),
            _ => run(self.path(), "e2fsck", &["-f", "-n", self.disk()]),
        };
    }
}

impl Drop for MountedDrive {
    fn drop(&mut self) {
        self.unplug();
        output(self.path(), "umount", &["-l", "mount"]);
        if let Some(disk) = &self.disk {
            output(self.path(), "losetup", &["-d", disk]);
        }
        output(self.path(), "fusermount3", &["-u", "-z", "fuse"]);
        if let Some(service) = &mut self.service {
            let _ = service.kill();
            let _ = service.wait();
        }
    }
}

/// What a program said, in one line.
pub fn quote(of: &Output) -> String {
    let text = [&of.stdout, &of.stderr].map(|text| String::from_utf8_lossy(text).into_owned()).concat();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
