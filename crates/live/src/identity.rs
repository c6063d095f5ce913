//! Who is at the other end of a connection, as far as the kernel and their certificate say.

use load::experiment::ClientMatch;
use rustix::net::AddressFamily;
use rustix::net::sockopt::{socket_domain, socket_peercred};
use std::fs;
use std::os::fd::OwnedFd;

/// Who a client is. What is not known fits no rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// The number of the user it ran as when it connected.
    pub user: Option<u32>,
    /// The name of its process then.
    pub process: Option<String>,
    /// The control group of its process then, as a path.
    pub cgroup: Option<String>,
    /// The names in its certificate.
    pub names: Vec<String>,
}

impl Identity {
    /// Who is at the other end of a socket, and has shown a certificate with these names.
    #[must_use]
    pub fn of(socket: &OwnedFd, names: Vec<String>) -> Identity {
        let local = socket_domain(socket).is_ok_and(|domain| domain == AddressFamily::UNIX);
        let Some(peer) = local.then(|| socket_peercred(socket).ok()).flatten() else {
            return Identity { names, ..Identity::default() };
        };
        let told = |file: &str| fs::read_to_string(format!("/proc/{}/{file}", peer.pid.as_raw_nonzero())).ok();
        Identity {
            user: Some(peer.uid.as_raw()),
            process: told("comm").map(|name| name.trim_end_matches('\n').to_owned()),
            cgroup: told("cgroup").and_then(|lines| find_group(&lines)),
            names,
        }
    }
}

/// Who is meant by a rule: whoever fits all that is given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PeerMatch {
    user: Option<u32>,
    process: Option<String>,
    cgroup: Option<String>,
    certificate: Option<String>,
}

impl PeerMatch {
    /// Whom a file or a command means, whose user is looked up.
    ///
    /// # Errors
    /// When there is no such user.
    pub fn new(who: &ClientMatch) -> Result<PeerMatch, String> {
        let number = |user: &String| {
            user_number(user)
                .ok_or_else(|| format!("there is no user '{user}'; name one of this machine, or give a number"))
        };
        let ClientMatch { user, process, cgroup, certificate } = who.clone();
        Ok(PeerMatch { user: user.as_ref().map(number).transpose()?, process, cgroup, certificate })
    }

    /// Whether a client is meant.
    #[must_use]
    pub fn is(&self, client: &Identity) -> bool {
        self.user.is_none_or(|wanted| client.user == Some(wanted))
            && self.process.as_ref().is_none_or(|wanted| client.process.as_ref() == Some(wanted))
            && self
                .cgroup
                .as_ref()
                .is_none_or(|wanted| client.cgroup.as_deref().is_some_and(|own| is_under(own, wanted)))
            && self.certificate.as_ref().is_none_or(|wanted| client.names.contains(wanted))
    }
}

/// The group in the hierarchy of control groups version 2: `0::PATH`.
fn find_group(lines: &str) -> Option<String> {
    lines.lines().find_map(|line| line.strip_prefix("0::")).map(Into::into)
}

/// Whether a group is another one, or lies in it.
fn is_under(own: &str, wanted: &str) -> bool {
    let wanted = wanted.trim_end_matches('/');
    own.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The number of a user, by name or number.
fn user_number(user: &str) -> Option<u32> {
    let of_line = |line: &str| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (name == user).then(|| fields.nth(1)?.parse().ok()).flatten()
    };
    user.parse().ok().or_else(|| fs::read_to_string("/etc/passwd").ok()?.lines().find_map(of_line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    #[test]
    fn who_is_at_the_other_end_is_this_process() {
        let (here, there) = UnixStream::pair().expect("sockets");
        let identity = Identity::of(&here.into(), vec!["vm1".into()]);
        assert_eq!(identity.user, Some(rustix::process::geteuid().as_raw()));
        let comm = fs::read_to_string("/proc/self/comm").expect("it is there");
        assert_eq!(identity.process.as_deref(), Some(comm.trim_end()));
        assert_eq!(identity.names, ["vm1"]);
        drop(there);
    }

    #[test]
    fn whoever_comes_over_tcp_is_known_by_its_certificate_alone() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let there = std::net::TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
        let identity = Identity::of(&there.into(), vec!["vm1".into()]);
        assert_eq!(identity, Identity { names: vec!["vm1".into()], ..Identity::default() });
        let of = |who: ClientMatch| PeerMatch::new(&who).expect("a user").is(&identity);
        assert!(of(ClientMatch { certificate: Some("vm1".into()), ..ClientMatch::default() }));
        assert!(!of(ClientMatch { user: Some("0".into()), ..ClientMatch::default() }));
    }

    #[test]
    fn all_that_is_given_must_fit() {
        let identity = Identity {
            user: Some(0),
            process: Some("backup".into()),
            cgroup: Some("/system.slice/backup.service".into()),
            names: vec!["vm1".into()],
        };
        let some = |text: &str| Some(text.to_owned());
        let any = ClientMatch::default;
        for (who, fits) in [
            (ClientMatch { user: some("root"), ..any() }, true),
            (ClientMatch { user: some("0"), process: some("backup"), ..any() }, true),
            (ClientMatch { user: some("1"), ..any() }, false),
            (ClientMatch { user: some("0"), process: some("back"), ..any() }, false),
            (ClientMatch { cgroup: some("/system.slice"), ..any() }, true),
            (ClientMatch { cgroup: some("/system.slice/"), ..any() }, true),
            (ClientMatch { cgroup: some("/"), ..any() }, true),
            (ClientMatch { cgroup: some("/system"), ..any() }, false),
            (ClientMatch { cgroup: some("/system.slice/backup.service/x"), ..any() }, false),
            (ClientMatch { certificate: some("vm2"), ..any() }, false),
        ] {
            assert_eq!(PeerMatch::new(&who).expect("a user").is(&identity), fits, "{who:?}");
        }
        let nobody = ClientMatch { user: some("nobody-of-this-name"), ..any() };
        assert!(PeerMatch::new(&nobody).is_err_and(|why| why.contains("nobody-of-this-name")));
    }

    #[test]
    fn the_group_is_that_of_the_second_version() {
        assert_eq!(find_group("4:memory:/old\n0::/user.slice\n").as_deref(), Some("/user.slice"));
        assert_eq!(find_group("4:memory:/old\n"), None);
    }
}
