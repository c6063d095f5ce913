//! A server in a folder of its own, both gone when the test is over.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How long a server may take until it listens, or until it is gone.
const PATIENCE: Duration = Duration::from_secs(20);

/// Waits until something is so, and complains if it is not in time.
#[track_caller]
pub fn patient(complaint: &str, mut is_so: impl FnMut() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < PATIENCE, "{complaint}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Bytes of the volume `fixed`.
const FIXED_BYTES: usize = 1 << 20;

/// A folder that is removed.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("halfturn-clients-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a temporary folder");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A server of two volumes in memory: `disk`, the default, and `fixed`, which nobody may write.
pub struct Server {
    child: Child,
    folder: Folder,
    bytes: usize,
}

impl Server {
    /// With a `disk` of so many bytes.
    pub fn start(bytes: usize) -> Server {
        Server::with(bytes, "")
    }

    /// The same, which serves long requests in short commands, and answers them in parts.
    pub fn in_short_commands(bytes: usize) -> Server {
        Server::started(bytes, "", &["--set", "scheduler.io=semi-preemptible"])
    }

    /// The same, with more lines in `[serve]`.
    pub fn with(bytes: usize, lines: &str) -> Server {
        Server::started(bytes, lines, &[])
    }

    /// The same, on another device: an emulated drive, or a file in the server's folder, which is made.
    pub fn on(bytes: usize, path: &str, more: &[&str]) -> Server {
        let folder = Folder::new();
        if !path.contains(':') {
            let file = std::fs::File::create(folder.0.join(path)).expect("a file in a new folder");
            file.set_len((bytes + FIXED_BYTES) as u64).expect("a sparse file");
        }
        let path = format!("drive.path={path}");
        Server::in_folder(folder, bytes, "", &[&["--set", &path], more].concat())
    }

    fn started(bytes: usize, lines: &str, more: &[&str]) -> Server {
        Server::in_folder(Folder::new(), bytes, lines, more)
    }

    fn in_folder(folder: Folder, bytes: usize, lines: &str, more: &[&str]) -> Server {
        let child = serve(&folder.0, bytes, lines, more);
        let mut server = Server { child, folder, bytes };
        patient("the server does not listen", || {
            let ended = server.child.try_wait().expect("a child can be asked");
            assert!(ended.is_none(), "the server ends at once: {ended:?}");
            // The control socket is there a little later.
            let control = server.folder.0.join("control.sock");
            UnixStream::connect(server.socket()).is_ok() && (!lines.contains("control.sock") || control.exists())
        });
        server
    }

    pub fn folder(&self) -> &Path {
        &self.folder.0
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.0.join("nbd.sock")
    }

    /// Bytes of the volume `disk`.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The URI of a volume.
    pub fn uri(&self, volume: &str) -> String {
        format!("nbd+unix:///{volume}?socket={}", self.socket().display())
    }

    /// Asks the server to end, and holds that it does so in good order.
    pub fn end(mut self) {
        let told = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        assert!(told.is_ok_and(|status| status.success()), "the server is still there");
        patient("the server does not end", || match self.child.try_wait().expect("a child can be asked") {
            Some(status) => {
                assert!(status.success(), "the server ends with {status}");
                true
            }
            None => false,
        });
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn serve(folder: &Path, bytes: usize, lines: &str, more: &[&str]) -> Child {
    let service = format!(
        r#"
        [drive]
        path = "ram:{}B"
        [scheduler]
        policy = "fcfs"
        [serve]
        socket = "nbd.sock"
        {lines}
        [[volume]]
        name = "disk"
        size = "{bytes}B"
        [[volume]]
        name = "fixed"
        read_only = true
        [[volume]]
        name = "view"
        of = "disk"
        "#,
        bytes + FIXED_BYTES
    );
    let file = folder.join("service.toml");
    std::fs::write(&file, service).expect("a file in a new folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_halfturn"));
    command.arg("serve").arg(file).args(more).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("the server starts")
}
