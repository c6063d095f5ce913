//! Who is who: certificates in a folder, by the names that nbdkit, QEMU and libnbd use.

use super::{Reloaded, TlsSession};
use block::{At, BadInput};
use load::experiment::TlsPlan;
use nbd::{Address, Uri};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_cert_signed_by_trust_anchor};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::{NoServerSessionStorage, ParsedCertificate, WebPkiClientVerifier};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, ServerConfig,
    ServerConnection, SignatureScheme,
};
use std::io::{Error, ErrorKind};
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const AUTHORITY: &str = "ca-cert.pem";
const SHOWN: &str = "server-cert.pem";
const KEY: &str = "server-key.pem";
const REVOKED: &str = "ca-crl.pem";
const MEND: &str =
    "put ca-cert.pem, server-cert.pem and server-key.pem there, in PEM, as nbdkit's manual says how to make them";

const RENEWAL: &str = "make server-cert.pem anew, for a server and good from now on, and send SIGHUP";

/// What a service shows its clients, and wants of them.
pub(crate) struct TlsServer {
    plan: TlsPlan,
    /// As it is for whoever comes now.
    current: Mutex<ServerSide>,
}

/// What the files of a folder come to.
struct ServerSide {
    /// What they hold, of those that are there.
    files: [Option<Vec<u8>>; 4],
    config: Arc<ServerConfig>,
    /// What is shown, and whose authority clients have.
    shown: Vec<CertificateDer<'static>>,
    roots: Arc<RootCertStore>,
}

impl TlsServer {
    /// Reads the certificates of a folder.
    pub(crate) fn load(plan: &TlsPlan) -> Result<TlsServer, BadInput> {
        let current = ServerSide::load(plan, read_files(&plan.certificates))?;
        Ok(TlsServer { plan: plan.clone(), current: Mutex::new(current) })
    }

    /// Reads them again, for those who come from now on; where they are of no use all stays as it is.
    pub(crate) fn reload(&self) -> Result<Reloaded, BadInput> {
        let files = read_files(&self.plan.certificates);
        if self.current().files == files {
            return Ok(Reloaded::Alike);
        }
        let new = ServerSide::load(&self.plan, files)?;
        *self.current() = new;
        Ok(Reloaded::Changed)
    }

    /// Begins with a client.
    pub(crate) fn begin(&self) -> Result<TlsSession, String> {
        let config = Arc::clone(&self.current().config);
        let session = ServerConnection::new(config).map_err(|error| error.to_string())?;
        Ok(TlsSession::new(session.into()))
    }

    /// Why clients refuse what they are shown now, where they do.
    pub(crate) fn find_refusal(&self) -> Option<BadInput> {
        let current = self.current();
        let error = check_shown(&current.shown, &current.roots).err()?;
        let why = match error {
            // Clients may trust another authority than the service does.
            rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer) => return None,
            rustls::Error::InvalidCertificate(error) => name_fault(&error),
            error => error.to_string(),
        };
        let file = self.plan.certificates.join(SHOWN).display().to_string();
        Some(BadInput::new(file, At::File, format!("clients refuse it: {why}"), RENEWAL))
    }

    fn current(&self) -> MutexGuard<'_, ServerSide> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What each of the files of a folder holds that a service reads.
fn read_files(folder: &Path) -> [Option<Vec<u8>>; 4] {
    [AUTHORITY, SHOWN, KEY, REVOKED].map(|file| std::fs::read(folder.join(file)).ok())
}

impl ServerSide {
    /// Makes of the files of a folder, which hold this, what a service needs. Should they change meanwhile, they differ when they are
    /// read again.
    fn load(plan: &TlsPlan, files: [Option<Vec<u8>>; 4]) -> Result<ServerSide, BadInput> {
        let folder = &plan.certificates;
        let bad =
            |file: &str, what: String| BadInput::new(folder.join(file).display().to_string(), At::File, what, MEND);
        let roots = roots(folder).map_err(|what| bad(AUTHORITY, what))?;
        let chain = chain(&folder.join(SHOWN)).map_err(|what| bad(SHOWN, what))?;
        let key = key(&folder.join(KEY)).map_err(|what| bad(KEY, what))?;
        let provider = Arc::new(ring::default_provider());
        let revoked = read_revocations(folder).map_err(|what| bad(REVOKED, what))?;
        let (shown, roots) = (chain.clone(), Arc::new(roots));
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider));
        let verifier = verifier.with_crls(revoked).only_check_end_entity_revocation().allow_unknown_revocation_status();
        // A certificate that is shown counts; without it, no volume that names its clients is opened.
        let verifier = if plan.verify_clients { verifier } else { verifier.allow_unauthenticated() };
        let verifier = verifier.build().map_err(|error| bad(AUTHORITY, error.to_string()))?;
        let versions = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let builder = versions.map_err(|error| bad(SHOWN, error.to_string()))?;
        let mut config = builder
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain, key)
            .map_err(|error| bad(KEY, error.to_string()))?;
        // A session that is resumed shows no certificate again, though it may have been revoked meanwhile.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(ServerSide { files, config: Arc::new(config), shown, roots })
    }
}

/// Begins with the server of a URI, as a client whose certificates are in the folder that it names, or in `~/.pki/libnbd`.
pub(crate) fn connect(uri: &Uri) -> std::io::Result<TlsSession> {
    let named = uri.tls.as_ref().and_then(|tls| tls.certificates.as_ref()).map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".pki/libnbd"));
    let bad = |what: String| Error::new(ErrorKind::InvalidInput, what);
    let folder = named.or_else(home).filter(|folder| folder.join(AUTHORITY).exists());
    let folder = folder
        .ok_or_else(|| bad("there is no ca-cert.pem to know the server by; add tls-certificates=FOLDER".into()))?;
    let in_folder = |file: &str, what: String| bad(format!("{}: {what}", folder.join(file).display()));
    let provider = Arc::new(ring::default_provider());
    let roots = Arc::new(roots(&folder).map_err(|what| in_folder(AUTHORITY, what))?);
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| bad(error.to_string()))?;
    let (builder, name) = match &uri.address {
        Address::Tcp { host, .. } => {
            let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider).build();
            let verifier = verifier.map_err(|error| in_folder(AUTHORITY, error.to_string()))?;
            let name = ServerName::try_from(host.clone()).map_err(|error| bad(error.to_string()))?;
            (builder.with_webpki_verifier(verifier), name)
        }
        Address::Unix(_) => {
            let verifier = Arc::new(OfTheAuthority { roots, provider });
            (
                builder.dangerous().with_custom_certificate_verifier(verifier),
                ServerName::from(IpAddr::V4(Ipv4Addr::LOCALHOST)),
            )
        }
    };
    let shown = folder.join("client-cert.pem");
    let mut config = if shown.exists() {
        let chain = chain(&shown).map_err(|what| in_folder("client-cert.pem", what))?;
        let key = key(&folder.join("client-key.pem")).map_err(|what| in_folder("client-key.pem", what))?;
        builder.with_client_auth_cert(chain, key).map_err(|error| in_folder("client-key.pem", error.to_string()))?
    } else {
        builder.with_no_client_auth()
    };
    config.enable_sni = matches!(uri.address, Address::Tcp { .. });
    let session = ClientConnection::new(Arc::new(config), name).map_err(|error| bad(error.to_string()))?;
    Ok(TlsSession::new(session.into()))
}

/// Whoever the authority knows, whatever its name is: who has the path of a UNIX socket has no name of a host.
#[derive(Debug)]
struct OfTheAuthority {
    roots: Arc<RootCertStore>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for OfTheAuthority {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let shown = ParsedCertificate::try_from(shown)?;
        let algorithms = self.provider.signature_verification_algorithms.all;
        verify_server_cert_signed_by_trust_anchor(&shown, &self.roots, between, now, algorithms)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, shown, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, shown, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Whether a client whose authorities these are takes what it is shown, whatever the name of the host.
fn check_shown(shown: &[CertificateDer<'_>], roots: &RootCertStore) -> Result<(), rustls::Error> {
    let Some((first, between)) = shown.split_first() else { return Ok(()) };
    let algorithms = ring::default_provider().signature_verification_algorithms.all;
    let first = ParsedCertificate::try_from(first)?;
    verify_server_cert_signed_by_trust_anchor(&first, roots, between, UnixTime::now(), algorithms)
}

/// What is wrong with a certificate, in words.
fn name_fault(error: &CertificateError) -> String {
    match error {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "it has expired".into(),
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => "it is not valid yet".into(),
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "it is not for a server".into()
        }
        error => error.to_string(),
    }
}

fn roots(folder: &Path) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in chain(&folder.join(AUTHORITY))? {
        roots.add(certificate).map_err(|error| error.to_string())?;
    }
    Ok(roots)
}

/// The certificates of a file, at least one.
fn chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let certificates = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match certificates.map_err(|error| unread(&error))? {
        none if none.is_empty() => Err("has no certificate".into()),
        certificates => Ok(certificates),
    }
}

fn key(path: &Path) -> Result<PrivateKeyDer<'static>, String> {
    PrivateKeyDer::from_pem_file(path).map_err(|error| unread(&error))
}

/// What was revoked; a file that is not there revokes nothing.
fn read_revocations(folder: &Path) -> Result<Vec<CertificateRevocationListDer<'static>>, String> {
    let path = folder.join(REVOKED);
    if !path.exists() {
        return Ok(Vec::new());
    }
    let lists = CertificateRevocationListDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    lists.map_err(|error| unread(&error))
}

fn unread(error: &pem::Error) -> String {
    match error {
        pem::Error::Io(error) => format!("cannot be read: {error}"),
        pem::Error::NoItemsFound => "has nothing of what it should".into(),
        error => format!("is not PEM: {error}"),
    }
}
