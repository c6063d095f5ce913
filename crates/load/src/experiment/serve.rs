//! `[serve]`: where clients find the volumes, and how much of everything they get.

use block::{BLOCK_BYTES, BadInput, Span};
use config::{Document, Key, Section, Word, Words};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Where and within which bounds volumes are served.
#[derive(Clone, Debug, PartialEq)]
pub struct ServePlan {
    /// The UNIX socket; where the file does not say, the command line does.
    pub socket: Option<PathBuf>,
    /// The UNIX socket of `halfturn volume`.
    pub control: Option<PathBuf>,
    /// Clients at once, those in their handshake apart.
    pub connections: u32,
    /// How long a handshake may take.
    pub handshake: Span,
    /// When a command takes longer the device is taken to hang, and requests fail until that has come back.
    pub timeout: Span,
    /// At the end: so long after nothing comes back any more, what is outstanding is given up.
    pub ending: Span,
    /// How long a client may take nothing of its answers, or leave a request half said, before it is let go.
    pub unheard: Span,
    /// Where metrics are to be had.
    pub metrics: Option<Exposed>,
    /// Whether volumes may be told to be slow, sick or cut off.
    pub faults: bool,
    /// Whether io_uring or threads do I/O.
    pub io: IoBackend,
    /// Requests of one client in flight.
    pub requests: u32,
    /// Bytes of one client's requests in flight.
    pub bytes: u64,
    /// Bytes of all requests in flight.
    pub total: u64,
}

/// Who does the I/O of a service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IoBackend {
    /// io_uring, or threads where that is not to be had.
    #[default]
    Auto,
    /// By io_uring, in the engine's own thread.
    Uring,
    /// Threads for files, and polling for sockets.
    Threads,
}

impl Words for IoBackend {
    const WORDS: &'static [Word<IoBackend>] = &[
        Word::new(
            "auto",
            IoBackend::Auto,
            "io_uring; threads where the kernel has none, or forbids it as containers do",
        ),
        Word::new("uring", IoBackend::Uring, "io_uring; without it, nothing is served"),
        Word::new("threads", IoBackend::Threads, "threads that wait for files, at most 32"),
    ];
}

/// Where metrics are to be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exposed {
    /// A TCP port of loopback.
    Tcp(SocketAddr),
    /// On a UNIX socket, at this path.
    Unix(PathBuf),
}

impl Default for ServePlan {
    fn default() -> ServePlan {
        let plan = Document::parse("[serve]", "").and_then(|document| plan(&document.root(), Path::new("")));
        plan.unwrap_or_else(|error| panic!("{error}"))
    }
}

/// The longest request a client may make, in bytes: whatever the bounds are, one of these fits.
pub const LONGEST: u64 = 64 << 20;

config::keys! {
    /// Where clients connect, and how much they may have outstanding.
    pub(super) fn serve() -> "[serve]";

    /// The UNIX socket on which NBD clients connect.
    SOCKET: String = text("socket").else_told("what `--socket` says");
    /// The UNIX socket on which `halfturn volume` talks to the service.
    CONTROL: String = text("control").else_told("none");
    /// Clients connected at once. Those in their handshake are counted apart.
    CONNECTIONS: u32 = within("connections", 1, 10_000).usually("64");
    /// How long a handshake may take.
    HANDSHAKE: Span = span("handshake").usually("10s");
    /// How long a drive command may take. After that the device is taken to hang: requests fail until it answers again.
    TIMEOUT: Span = span("timeout").usually("30s");
    /// After SIGTERM: when the device has completed nothing for this long, what is still outstanding is given up and named, and
    /// the exit code is 1. The last flush may take as long as `timeout`.
    ENDING: Span = span("ending").usually("5s");
    /// A client that reads nothing of an answer, or leaves a request half sent, for this long is disconnected.
    UNHEARD: Span = span("unheard").usually("60s");
    /// Where Prometheus finds `/metrics`: a port on loopback, or a UNIX socket.
    METRICS: String = form("metrics", "`127.0.0.1:PORT`, or the path of a UNIX socket", place).else_told("none");
    /// Whether `halfturn volume fault` may make volumes slow, sick or cut off, for tests. What is written is then read before, so
    /// that it can be lost.
    FAULTS: bool = bool("faults").usually("false");
    /// What reads and writes files, and sends and receives.
    IO: IoBackend = word("io").usually("auto");
    /// Requests that a client may have outstanding.
    REQUESTS: u32 = within("requests", 1, 4096).usually("128");
    /// Bytes that a client may have outstanding. Answers that it has not read yet count.
    BYTES: u64 = size("bytes").usually("64MiB");
    /// Bytes that all clients together may have outstanding. On top of that, requests of up to 1 MiB of clients that have none
    /// outstanding share 64 MiB, and one request of up to 64 KiB is always accepted.
    TOTAL: u64 = size("total").usually("256MiB");
}

fn place(section: &Section, about: &config::About) -> Result<Option<String>, BadInput> {
    section.string(about.name)
}

pub(super) fn read(root: &Section, folder: &Path) -> Result<ServePlan, BadInput> {
    root.section(serve().name())?.map_or_else(|| Ok(ServePlan::default()), |section| plan(&section, folder))
}

fn plan(section: &Section, folder: &Path) -> Result<ServePlan, BadInput> {
    let path = |key| Ok(section.get(key)?.map(|path| folder.join(path)));
    let bytes = |key: &Key<u64>| -> Result<u64, BadInput> {
        let bytes = section.value(key)? * BLOCK_BYTES;
        if bytes < LONGEST {
            let what = format!("`{}` is less than a request may have, 64 MiB", key.name());
            return Err(section.error(key.name(), what, "give 64MiB or more"));
        }
        Ok(bytes)
    };
    let plan = ServePlan {
        socket: path(&SOCKET)?,
        control: path(&CONTROL)?,
        connections: section.value(&CONNECTIONS)?,
        handshake: section.value(&HANDSHAKE)?,
        timeout: section.value(&TIMEOUT)?,
        ending: section.value(&ENDING)?,
        unheard: unheard(section)?,
        metrics: metrics(section, folder)?,
        faults: section.value(&FAULTS)?,
        io: section.value(&IO)?,
        requests: section.value(&REQUESTS)?,
        bytes: bytes(&BYTES)?,
        total: bytes(&TOTAL)?,
    };
    section.close()?;
    Ok(plan)
}

fn unheard(section: &Section) -> Result<Span, BadInput> {
    let unheard = section.value(&UNHEARD)?;
    match unheard {
        Span(0..4) => Err(section.error(UNHEARD.name(), "nobody hears at once", "give a time such as 60s")),
        _ => Ok(unheard),
    }
}

/// A port of loopback, or the path of a socket.
fn metrics(section: &Section, folder: &Path) -> Result<Option<Exposed>, BadInput> {
    let Some(place) = section.get(&METRICS)? else { return Ok(None) };
    match place.parse::<SocketAddr>() {
        Ok(address) if address.ip().is_loopback() => Ok(Some(Exposed::Tcp(address))),
        Ok(_) => {
            let what = format!("metrics for anybody at {place}");
            Err(section.error(
                METRICS.name(),
                what,
                "give an address of loopback, such as 127.0.0.1:9123, or a socket's path",
            ))
        }
        Err(_) => Ok(Some(Exposed::Unix(folder.join(place)))),
    }
}
