//! Certificates made by OpenSSL, in folders as libnbd, nbdkit and QEMU have them.

use crate::server::Folder;
use crate::tool::run;
use std::fs;
use std::path::{Path, PathBuf};

/// An authority, another that nobody trusts, a server and some clients, each client in a folder of its own.
pub struct Certificates(Folder);

impl Certificates {
    pub fn make() -> Certificates {
        let certificates = Certificates(Folder::new());
        certificates.authority("ca");
        certificates.authority("other");
        certificates.issue("ca", "server", "/CN=localhost", "subjectAltName=DNS:localhost,IP:127.0.0.1", "3650");
        certificates
    }

    pub fn folder(&self) -> &Path {
        &self.0.0
    }

    fn authority(&self, name: &str) {
        let (key, shown, subject) = (format!("{name}-key.pem"), format!("{name}-cert.pem"), format!("/CN={name}"));
        let constraints = "basicConstraints=critical,CA:TRUE";
        let mut told = vec!["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
        told.extend(["-keyout", &key, "-out", &shown, "-days", "3650", "-subj", &subject, "-addext", constraints]);
        told.extend(["-addext", "keyUsage=critical,keyCertSign,cRLSign"]);
        run(self.folder(), "openssl", &told);
    }

    /// A certificate of an authority, good for so many days.
    fn issue(&self, authority: &str, name: &str, subject: &str, more: &str, days: &str) {
        let file = |end: &str| format!("{name}{end}");
        let (key, request, about, shown) = (file("-key.pem"), file(".csr"), file(".ext"), file("-cert.pem"));
        let mut told = vec!["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
        told.extend(["-keyout", &key, "-out", &request, "-subj", subject]);
        run(self.folder(), "openssl", &told);
        fs::write(self.folder().join(&about), format!("basicConstraints=CA:FALSE\n{more}\n")).expect("a file");
        let (by, by_key) = (format!("{authority}-cert.pem"), format!("{authority}-key.pem"));
        let mut told = vec!["x509", "-req", "-in", &request, "-CA", &by, "-CAkey", &by_key, "-CAcreateserial"];
        told.extend(["-days", days, "-extfile", &about, "-out", &shown]);
        run(self.folder(), "openssl", &told);
    }

    /// The folder of a client: whom it trusts, and what it shows, if anything.
    fn client(&self, name: &str, trusts: &str, shows: bool) -> PathBuf {
        let (from, to) = (self.folder(), self.folder().join(format!("client-{name}")));
        fs::create_dir(&to).expect("a folder");
        fs::copy(from.join(format!("{trusts}-cert.pem")), to.join("ca-cert.pem")).expect("a certificate");
        if shows {
            fs::copy(from.join(format!("{name}-cert.pem")), to.join("client-cert.pem")).expect("a certificate");
            fs::copy(from.join(format!("{name}-key.pem")), to.join("client-key.pem")).expect("a key");
        }
        to
    }

    /// A client that the authority knows, by this subject and these alternative names.
    pub fn known(&self, name: &str, subject: &str, more: &str) -> PathBuf {
        self.issue("ca", name, subject, more, "3650");
        self.client(name, "ca", true)
    }

    /// One whose certificate has run out.
    pub fn expired(&self, name: &str) -> PathBuf {
        self.issue("ca", name, "/CN=alice", "", "-1");
        self.client(name, "ca", true)
    }

    /// One that another authority knows.
    pub fn unknown(&self, name: &str) -> PathBuf {
        self.issue("other", name, "/CN=alice", "", "3650");
        self.client(name, "ca", true)
    }

    /// From now on this is what the server shows.
    pub fn show(&self, name: &str) {
        for end in ["cert", "key"] {
            let (from, to) = (format!("{name}-{end}.pem"), format!("server-{end}.pem"));
            fs::copy(self.folder().join(from), self.folder().join(to)).expect("a file");
        }
    }

    /// One that shows nothing.
    pub fn nameless(&self) -> PathBuf {
        self.client("nameless", "ca", false)
    }

    /// One that trusts another authority than the server's.
    pub fn distrustful(&self) -> PathBuf {
        self.client("distrustful", "other", false)
    }

    /// From now on this client's certificate is not good any more.
    pub fn revoke(&self, name: &str) {
        let settings = "[ca]\ndefault_ca=us\n[us]\ndatabase=index\ndefault_md=sha256\ncrlnumber=number\n\
                        certificate=ca-cert.pem\nprivate_key=ca-key.pem\ndefault_crl_days=30\n";
        fs::write(self.folder().join("ca.conf"), settings).expect("a file");
        fs::write(self.folder().join("index"), "").expect("a file");
        fs::write(self.folder().join("number"), "01\n").expect("a file");
        let shown = format!("{name}-cert.pem");
        run(self.folder(), "openssl", &["ca", "-config", "ca.conf", "-revoke", &shown]);
        run(self.folder(), "openssl", &["ca", "-config", "ca.conf", "-gencrl", "-out", "ca-crl.pem"]);
    }
}
