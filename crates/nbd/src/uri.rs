//! NBD URIs: `nbd://HOST:PORT/EXPORT` and `nbd+unix:///EXPORT?socket=PATH`; with TLS, `nbds` in place of `nbd`.
//!
//! The form is that of <https://github.com/NetworkBlockDevice/nbd/blob/master/doc/uri.md>.

use std::fmt;
use std::str::FromStr;

/// The port of NBD.
const PORT: u16 = 10809;

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A host and port.
    Tcp {
        /// A name or an address, without brackets.
        host: String,
        /// The port; 10809 where the URI names none.
        port: u16,
    },
    /// The path of a UNIX socket.
    Unix(String),
}

/// An export of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uri {
    /// Where the server listens.
    pub address: Address,
    /// The name of the export; the default one if it is empty.
    pub export: String,
    /// Whether, and how, TLS is spoken.
    pub tls: Option<UriTls>,
}

/// What a URI says of TLS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UriTls {
    /// The folder of the client's certificates; libnbd's parameter `tls-certificates`.
    pub certificates: Option<String>,
}

/// What is wrong with a URI, and the mend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadUri {
    /// What is wrong, as a clause without a full stop.
    pub what: String,
    /// What to do about it.
    pub mend: &'static str,
}

const FORM: &str = "write nbd://HOST:PORT/EXPORT or nbd+unix:///EXPORT?socket=PATH; nbds and nbds+unix for TLS";

fn bad(what: impl Into<String>, mend: &'static str) -> BadUri {
    BadUri { what: what.into(), mend }
}

impl fmt::Display for BadUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n  mend: {}", self.what, self.mend)
    }
}

impl std::error::Error for BadUri {}

impl FromStr for Uri {
    type Err = BadUri;

    fn from_str(text: &str) -> Result<Uri, BadUri> {
        let (scheme, rest) = text.split_once("://").ok_or_else(|| bad(format!("'{text}' is no NBD URI"), FORM))?;
        let rest = rest.split_once('#').map_or(rest, |(before, _)| before);
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = place.split_once('/').unwrap_or((place, ""));
        let export = decode(path)?;
        let Parameters { socket, certificates } = Parameters::read(query)?;
        let (plain, tls) = match scheme.strip_prefix("nbds") {
            Some(rest) => (rest, Some(UriTls { certificates: certificates.clone() })),
            None => (scheme.strip_prefix("nbd").unwrap_or("no scheme"), None),
        };
        if tls.is_none() && certificates.is_some() {
            return Err(bad("certificates without TLS", "write nbds:// or nbds+unix://"));
        }
        let address = match (plain, socket) {
            ("", None) => tcp(authority)?,
            ("", Some(_)) => return Err(bad("a socket's path with nbd://", "write nbd+unix:///EXPORT?socket=PATH")),
            ("+unix", Some(path)) if authority.is_empty() && !path.is_empty() => Address::Unix(path),
            ("+unix", Some(_)) if !authority.is_empty() => {
                return Err(bad(
                    format!("a host '{authority}' with a UNIX socket"),
                    "write three slashes: nbd+unix:///",
                ));
            }
            ("+unix", _) => return Err(bad("no socket's path", "add ?socket=PATH")),
            _ => return Err(bad(format!("'{scheme}' is no scheme of NBD"), FORM)),
        };
        Ok(Uri { address, export, tls })
    }
}

/// `HOST`, `HOST:PORT`, `[IPv6]:PORT`; without a host, this machine.
fn tcp(authority: &str) -> Result<Address, BadUri> {
    if authority.contains('@') {
        return Err(bad("a user's name, which only keys that are shared beforehand use", "take it out, with its @"));
    }
    let (host, port, letters) = match authority.strip_prefix('[') {
        Some(bracketed) => {
            let (host, after) =
                bracketed.split_once(']').ok_or_else(|| bad("a bracket is not closed", "write [ADDRESS]:PORT"))?;
            (host, after.strip_prefix(':').or(after.is_empty().then_some("")), ":.")
        }
        None => {
            let (host, port) = authority.split_once(':').unwrap_or((authority, ""));
            (host, Some(port), "-._~")
        }
    };
    if !host.chars().all(|c| c.is_ascii_alphanumeric() || letters.contains(c)) || authority.starts_with("[]") {
        return Err(bad(format!("'{host}' is no host"), FORM));
    }
    let port = match port {
        Some("") => Some(PORT),
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            digits.parse().ok().filter(|port| *port > 0)
        }
        _ => None,
    };
    let port = port.ok_or_else(|| bad(format!("'{authority}' has no port that is a number up to 65535"), FORM))?;
    let host = if host.is_empty() { "localhost" } else { host };
    Ok(Address::Tcp { host: host.into(), port })
}

/// What stands behind the question mark.
#[derive(Default)]
struct Parameters {
    socket: Option<String>,
    certificates: Option<String>,
}

impl Parameters {
    fn read(query: &str) -> Result<Parameters, BadUri> {
        let mut found = Parameters::default();
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let place = match name {
                "socket" => &mut found.socket,
                "tls-certificates" => &mut found.certificates,
                "tls-psk-file" => {
                    return Err(bad("keys that are shared beforehand are not known", "give tls-certificates=FOLDER"));
                }
                _ => {
                    let mend = "take it out; socket=PATH and tls-certificates=FOLDER are known";
                    return Err(bad(format!("an unknown parameter '{name}'"), mend));
                }
            };
            if place.replace(decode(value)?).is_some() {
                return Err(bad(format!("two of '{name}'"), "name one"));
            }
        }
        Ok(found)
    }
}

/// Text without its `%XX`.
fn decode(text: &str) -> Result<String, BadUri> {
    let wrong = || bad(format!("'{text}' has a % that is not followed by two hexadecimal digits"), "write %25 for %");
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let mut digit = || rest.next().and_then(|digit| char::from(digit).to_digit(16)).ok_or_else(wrong);
        bytes.push(if byte == b'%' { (digit()? * 16 + digit()?) as u8 } else { byte });
    }
    let text = String::from_utf8(bytes).map_err(|_| bad(format!("'{text}' is not UTF-8"), "name it in UTF-8"))?;
    if text.contains('\0') { Err(bad("a NUL in a name", "take the %00 out")) } else { Ok(text) }
}

/// Text with `%XX` for all that has a meaning in a URI.
fn encode(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for byte in text.bytes() {
        match byte {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                write!(f, "{}", char::from(byte))?
            }
            _ => write!(f, "%{byte:02X}")?,
        }
    }
    Ok(())
}

impl fmt::Display for Uri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = if self.tls.is_some() { "s" } else { "" };
        match &self.address {
            Address::Tcp { host, port } if host.contains(':') => write!(f, "nbd{s}://[{host}]:{port}/")?,
            Address::Tcp { host, port } => write!(f, "nbd{s}://{host}:{port}/")?,
            Address::Unix(_) => write!(f, "nbd{s}+unix:///")?,
        }
        encode(&self.export, f)?;
        let mut before = '?';
        if let Address::Unix(path) = &self.address {
            write!(f, "?socket=")?;
            encode(path, f)?;
            before = '&';
        }
        if let Some(UriTls { certificates: Some(folder) }) = &self.tls {
            write!(f, "{before}tls-certificates=")?;
            encode(folder, f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Uri, String> {
        text.parse().map_err(|bad: BadUri| bad.what)
    }

    fn tcp(host: &str, port: u16, export: &str) -> Result<Uri, String> {
        Ok(Uri { address: Address::Tcp { host: host.into(), port }, export: export.into(), tls: None })
    }

    #[test]
    fn names_of_the_protocols_document() {
        assert_eq!(read("nbd://example.com/disk"), tcp("example.com", 10809, "disk"));
        assert_eq!(read("nbd://example.com:7"), tcp("example.com", 7, ""));
        assert_eq!(read("nbd://example.com//disk"), tcp("example.com", 10809, "/disk"));
        assert_eq!(read("nbd://[::1]:1234/hello%20world"), tcp("::1", 1234, "hello world"));
        assert_eq!(read("nbd:///x"), tcp("localhost", 10809, "x"));
        let unix = Uri { address: Address::Unix("/tmp/a b".into()), export: "disk".into(), tls: None };
        assert_eq!(read("nbd+unix:///disk?socket=/tmp/a%20b"), Ok(unix));
    }

    #[test]
    fn what_is_written_is_read_again() {
        for text in [
            "nbd://h:1/a%25%3F%26b",
            "nbd://[::1]:10809/",
            "nbd+unix:///v%C3%BC?socket=/run/a%20%23.sock",
            "nbds://h:1/a",
            "nbds://h:1/?tls-certificates=/pki",
            "nbds+unix:///a?socket=/s&tls-certificates=/a%20b",
        ] {
            assert_eq!(read(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, part) in [
            ("disk", "no NBD URI"),
            ("http://x/", "no scheme"),
            ("nbds://x/?tls-psk-file=/p", "shared beforehand"),
            ("nbd://x/?tls-certificates=/p", "certificates without TLS"),
            ("nbdx://x/", "no scheme"),
            ("nbd+unix:///x", "no socket"),
            ("nbd+unix:///x?socket=", "no socket"),
            ("nbd+unix://h/x?socket=/s", "a host 'h'"),
            ("nbd://x/?socket=/s", "a socket's path"),
            ("nbd://x/?tls-type=x509", "unknown parameter 'tls-type'"),
            ("nbd+unix:///?socket=/a&socket=/b", "two of 'socket'"),
            ("nbd://x:99999/", "no port"),
            ("nbd://x:+1/", "no port"),
            ("nbd://[::1/", "bracket"),
            ("nbd://[::1]x/", "no port"),
            ("nbd://u@x/", "user's name"),
            ("nbd://a%40b/", "no host"),
            ("nbd://[a%b]/", "no host"),
            ("nbd://[]/", "no host"),
            ("nbd://x/%4", "hexadecimal"),
            ("nbd://x/%ff", "UTF-8"),
            ("nbd+unix:///?socket=%00a", "NUL"),
        ] {
            let what = read(text).unwrap_err();
            assert!(what.contains(part), "{text}: {what}");
        }
    }
}
