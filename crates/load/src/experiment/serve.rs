//! `[serve]`: where clients find the volumes, and how much of everything they get.

use block::{BLOCK_BYTES, BadInput, Span};
use config::Section;
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
    /// Requests of one client in flight.
    pub requests: u32,
    /// Bytes of one client's requests in flight.
    pub bytes: u64,
    /// Bytes of all requests in flight.
    pub total: u64,
}

/// Where metrics are to be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exposed {
    /// A TCP port of loopback.
    Tcp(SocketAddr),
    /// A UNIX socket.
    Unix(PathBuf),
}

impl Default for ServePlan {
    fn default() -> ServePlan {
        ServePlan {
            socket: None,
            control: None,
            connections: 64,
            handshake: Span(10_000_000_000),
            timeout: Span(30_000_000_000),
            ending: Span(5_000_000_000),
            unheard: Span(60_000_000_000),
            metrics: None,
            requests: 128,
            bytes: 64 << 20,
            total: 256 << 20,
        }
    }
}

/// The longest request a client may make, in bytes: whatever the bounds are, one of these fits.
pub const LONGEST: u64 = 64 << 20;

pub(super) fn read(root: &Section, folder: &Path) -> Result<ServePlan, BadInput> {
    let usual = ServePlan::default();
    let Some(section) = root.section("serve")? else { return Ok(usual) };
    let path = |key| Ok(section.string(key)?.map(|path| folder.join(path)));
    let bytes = |key: &str, usual: u64| -> Result<u64, BadInput> {
        let bytes = section.size(key)?.map_or(usual, |blocks| blocks * BLOCK_BYTES);
        if bytes < LONGEST {
            let what = format!("`{key}` is less than a request may have, 64 MiB");
            return Err(section.error(key, what, "give 64MiB or more"));
        }
        Ok(bytes)
    };
    let plan = ServePlan {
        socket: path("socket")?,
        control: path("control")?,
        connections: section.within("connections", 1, 10_000)?.unwrap_or(usual.connections),
        handshake: section.span("handshake")?.unwrap_or(usual.handshake),
        timeout: section.span("timeout")?.unwrap_or(usual.timeout),
        ending: section.span("ending")?.unwrap_or(usual.ending),
        unheard: unheard(&section)?.unwrap_or(usual.unheard),
        metrics: metrics(&section, folder)?,
        requests: section.within("requests", 1, 4096)?.unwrap_or(usual.requests),
        bytes: bytes("bytes", usual.bytes)?,
        total: bytes("total", usual.total)?,
    };
    section.close()?;
    Ok(plan)
}

fn unheard(section: &Section) -> Result<Option<Span>, BadInput> {
    let unheard = section.span("unheard")?;
    match unheard {
        Some(Span(0..4)) => Err(section.error("unheard", "nobody hears at once", "give a time such as 60s")),
        _ => Ok(unheard),
    }
}

/// A port of loopback, or the path of a socket.
fn metrics(section: &Section, folder: &Path) -> Result<Option<Exposed>, BadInput> {
    let Some(place) = section.string("metrics")? else { return Ok(None) };
    match place.parse::<SocketAddr>() {
        Ok(address) if address.ip().is_loopback() => Ok(Some(Exposed::Tcp(address))),
        Ok(_) => {
            let what = format!("metrics for anybody at {place}");
            Err(section.error(
                "metrics",
                what,
                "give an address of loopback, such as 127.0.0.1:9123, or a socket's path",
            ))
        }
        Err(_) => Ok(Some(Exposed::Unix(folder.join(place)))),
    }
}
