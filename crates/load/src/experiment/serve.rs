//! `[serve]`: where clients find the volumes, and how much of everything they get.

use super::{Volume, volume};
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
    /// A TCP address on which clients connect, too.
    pub tcp: Option<SocketAddr>,
    /// How TLS is spoken, where it is.
    pub tls: Option<TlsPlan>,
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

/// How a service speaks TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsPlan {
    /// The folder of `ca-cert.pem`, `server-cert.pem`, `server-key.pem` and, where some were revoked, `ca-crl.pem`.
    pub certificates: PathBuf,
    /// Who must speak it.
    pub needs: TlsNeed,
    /// Whether clients must show a certificate.
    pub verify_clients: bool,
}

/// Who must speak TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsNeed {
    /// Every client, whatever it asks for.
    #[default]
    Required,
    /// Who asks for a volume that names its clients.
    Offered,
}

impl Words for TlsNeed {
    const WORDS: &'static [Word<TlsNeed>] = &[
        Word::new("required", TlsNeed::Required, "every client must, whatever it asks for (FORCEDTLS)"),
        Word::new("offered", TlsNeed::Offered, "clients may; for a volume that has `clients` they must (SELECTIVETLS)"),
    ];
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
    /// A TCP address on which NBD clients connect, too: of loopback, or any where TLS is required.
    TCP: String = form("tcp", "`ADDRESS:PORT`", place).else_told("none");
    /// The folder of the service's certificates, by the names that nbdkit, QEMU and libnbd use: `ca-cert.pem`, `server-cert.pem`,
    /// `server-key.pem` and, if there is one, `ca-crl.pem`. With it the service speaks TLS 1.3.
    CERTIFICATES: String = text("certificates").else_told("none: TLS is not spoken");
    /// Who must speak TLS, where there are `certificates`.
    TLS: TlsNeed = word("tls").else_told("required, where there are `certificates`");
    /// Whether a client must show a certificate that is signed by `ca-cert.pem`.
    VERIFY_CLIENTS: bool = bool("verify_clients").else_told("true, where there are `certificates`");
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

pub(super) fn read(root: &Section, folder: &Path, volumes: &[Volume]) -> Result<ServePlan, BadInput> {
    let section = root.section(serve().name())?;
    let plan = section.map_or_else(|| Ok(ServePlan::default()), |section| plan(&section, folder))?;
    match volumes.iter().position(|volume| !volume.clients.is_empty()) {
        Some(number) if plan.tls.is_none() => {
            let what =
                format!("volume '{}' is for some clients, and without TLS none has a name", volumes[number].name);
            let sections = root.sections(volume::volume().name())?;
            let mend = "give `certificates` in [serve], or take `clients` out";
            Err(sections[number].error(volume::CLIENTS.name(), what, mend))
        }
        _ => Ok(plan),
    }
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
    let tls = tls(section, folder)?;
    let plan = ServePlan {
        socket: path(&SOCKET)?,
        control: path(&CONTROL)?,
        tcp: tcp(section, tls.as_ref())?,
        tls,
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

fn tls(section: &Section, folder: &Path) -> Result<Option<TlsPlan>, BadInput> {
    let Some(certificates) = section.get(&CERTIFICATES)? else {
        for name in [TLS.name(), VERIFY_CLIENTS.name()] {
            if section.has(name) {
                let what = format!("`{name}` without `certificates`: TLS is not spoken");
                return Err(section.error(name, what, "give `certificates`, or take it out"));
            }
        }
        return Ok(None);
    };
    let needs = section.get(&TLS)?.unwrap_or_default();
    let verify_clients = section.get(&VERIFY_CLIENTS)?.unwrap_or(true);
    Ok(Some(TlsPlan { certificates: folder.join(certificates), needs, verify_clients }))
}

/// Whoever is not on this machine speaks TLS.
fn tcp(section: &Section, tls: Option<&TlsPlan>) -> Result<Option<SocketAddr>, BadInput> {
    let Some(place) = section.get(&TCP)? else { return Ok(None) };
    let Ok(address) = place.parse::<SocketAddr>() else {
        let what = format!("'{place}' is no address and port");
        return Err(section.error(TCP.name(), what, "give one like 127.0.0.1:10809 or [::]:10809"));
    };
    let private = tls.is_some_and(|tls| tls.needs == TlsNeed::Required);
    if !address.ip().is_loopback() && !private {
        let what = format!("at {place} clients of other machines could connect without TLS");
        let mend = "give `certificates` and leave `tls` at \"required\", or give an address of loopback";
        return Err(section.error(TCP.name(), what, mend));
    }
    Ok(Some(address))
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
