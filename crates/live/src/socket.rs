//! A UNIX socket by its name: made only where nothing is in the way, and taken away only by who made it.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with};
use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Clients that may knock at once before they are let in; Linux bounds it by `net.core.somaxconn`.
pub(crate) const KNOCKING: i32 = 4096;
/// How often, and after which while, it is looked again whether others still make a socket in a folder.
const LOOKS: u32 = 50;
const LOOK: Duration = Duration::from_millis(20);

/// The name of a socket that was made here. It goes when this does, unless it names something else by then.
#[derive(Debug)]
pub struct SocketName {
    path: PathBuf,
    /// Device and inode: a name alone may have come to be another's.
    file: (u64, u64),
}

impl SocketName {
    /// The path of the socket.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SocketName {
    fn drop(&mut self) {
        if self.path.symlink_metadata().is_ok_and(|about| (about.dev(), about.ino()) == self.file) {
            // Nothing more can be done about it.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Whether the other end of a pair was closed, over which nothing is sent.
pub(crate) fn is_closed(end: &OwnedFd) -> bool {
    let mut watched = [PollFd::new(end, PollFlags::IN)];
    match poll(&mut watched, Some(&Timespec::default())) {
        Ok(_) => !watched[0].revents().is_empty(),
        // What cannot be waited for is taken to be.
        Err(error) => error != Errno::INTR,
    }
}

/// Listens on a UNIX socket that only its owner may use. One left by a server that is gone is taken over; whatever else is there
/// stays, and is an error.
///
/// # Errors
/// When it cannot be made, another server has it, or something else is there.
pub fn private(path: &Path) -> io::Result<(UnixListener, SocketName)> {
    let _alone = alone(path)?;
    if is_left_over(path)? {
        fs::remove_file(path)?;
    }
    let socket = stream(SocketFlags::CLOEXEC)?;
    bind(&socket, &SocketAddrUnix::new(path)?)?;
    let about = path.symlink_metadata()?;
    let place = SocketName { path: path.to_owned(), file: (about.dev(), about.ino()) };
    // Nobody can knock before it listens.
    fs::set_permissions(path, Permissions::from_mode(0o600))?;
    listen(&socket, KNOCKING)?;
    Ok((socket.into(), place))
}

fn stream(flags: SocketFlags) -> rustix::io::Result<OwnedFd> {
    socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
}

/// The folder of a path, locked: between looking and listening, nobody else of us makes a socket there. Who keeps it locked for
/// long does something else.
fn alone(path: &Path) -> io::Result<OwnedFd> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = open(folder, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    for _ in 0..LOOKS {
        if flock(&folder, FlockOperation::NonBlockingLockExclusive) != Err(Errno::WOULDBLOCK) {
            break;
        }
        std::thread::sleep(LOOK);
    }
    Ok(folder)
}

/// Whether a socket is there that nobody listens to any more; an error, if there is anything else.
fn is_left_over(path: &Path) -> io::Result<bool> {
    let about = match path.symlink_metadata() {
        Ok(about) => about,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    let taken = |what| Err(io::Error::new(ErrorKind::AddrInUse, what));
    if !about.file_type().is_socket() {
        return taken("something is there that is no socket");
    }
    // Without waiting: a server whose queue is full is there all the same.
    let socket = stream(SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)?;
    match connect(&socket, &SocketAddrUnix::new(path)?) {
        Err(Errno::CONNREFUSED) => Ok(true),
        Ok(()) | Err(Errno::AGAIN) => taken("another server has it"),
        Err(Errno::PROTOTYPE) => taken("it is a socket of another kind"),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::{UnixDatagram, UnixStream};

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("halfturn-socket-{name}-{}", std::process::id()));
            fs::create_dir(&path).expect("a folder");
            Folder(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn refused(path: &Path) -> String {
        private(path).expect_err("it is refused").to_string()
    }

    #[test]
    fn what_is_no_socket_of_a_dead_server_stays() {
        let folder = Folder::new("stays");
        let [file, link, datagram] = ["file", "link", "datagram"].map(|name| folder.0.join(name));
        fs::write(&file, "precious").expect("a file");
        assert_eq!(refused(&file), "something is there that is no socket");
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        assert_eq!(refused(&link), "something is there that is no socket");
        assert_eq!(refused(&folder.0), "something is there that is no socket");
        let _bound = UnixDatagram::bind(&datagram).expect("a socket");
        assert_eq!(refused(&datagram), "it is a socket of another kind");
        assert_eq!(fs::read_to_string(&file).expect("it is there"), "precious");
        assert!(link.symlink_metadata().is_ok() && datagram.exists());
    }

    #[test]
    fn a_server_keeps_its_socket_and_one_that_is_gone_does_not() {
        let folder = Folder::new("keeps");
        let path = folder.0.join("nbd");
        let (listener, place) = private(&path).expect("a socket");
        assert_eq!(path.metadata().expect("it is there").mode() & 0o777, 0o600);
        assert_eq!(refused(&path), "another server has it");
        let _client = UnixStream::connect(&path).expect("it is still served");
        // As of one that was killed: the name is left.
        drop(listener);
        std::mem::forget(place);
        let (_listener, place) = private(&path).expect("it is taken over");
        assert_eq!(place.path(), path);
        drop(place);
        assert!(!path.exists());
    }

    #[test]
    fn a_name_that_is_anothers_by_now_is_not_taken_away() {
        let folder = Folder::new("anothers");
        let path = folder.0.join("nbd");
        let (_listener, place) = private(&path).expect("a socket");
        fs::remove_file(&path).expect("the name");
        fs::write(&path, "precious").expect("a file");
        drop(place);
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "precious");
    }

    #[test]
    fn of_many_who_come_at_once_one_has_it() {
        let folder = Folder::new("many");
        for round in 0..100 {
            let path = folder.0.join(format!("nbd{round}"));
            drop(UnixListener::bind(&path).expect("one that is gone"));
            let begin = std::sync::Barrier::new(8);
            let come = || {
                begin.wait();
                private(&path)
            };
            let made: Vec<_> = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..8).map(|_| scope.spawn(come)).collect();
                threads.into_iter().filter_map(|thread| thread.join().expect("no panic").ok()).collect()
            });
            assert_eq!(made.len(), 1, "in round {round}");
            assert!(UnixStream::connect(&path).is_ok(), "the one who has it is the one who is found");
        }
    }
}
