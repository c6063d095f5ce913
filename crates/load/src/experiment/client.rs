//! `[[client]]`: how those are served who ask for a volume, by who they are.

use super::asker;
use super::{TlsPlan, Volume};
use block::{BadInput, Span};
use config::Section;

config::keys! {
    /// How some of a volume's clients are served: those of a user, a process, a control group or a certificate. The first table that
    /// fits a client is its own; who fits none is served as the volume is. Who it is, is looked up when it connects.
    pub(super) fn client() -> "[[client]]";

    /// The volume that it asks for.
    VOLUME: String = text("volume").else_told("any");
    /// The user that it runs as, by name or number. It must connect on the UNIX socket.
    USER: String = text("user").else_told("any");
    /// The name of its process, as `ps -o comm` shows it. It must connect on the UNIX socket. Any process can call itself so.
    PROCESS: String = text("process").else_told("any");
    /// Its control group or one above that, such as `/system.slice/backup.service`. It must connect on the UNIX socket.
    CGROUP: String = text("cgroup").else_told("any");
    /// A name in the certificate that it shows: the common name, or an alternative name that is a DNS name, a mail address or a URI.
    CERTIFICATE: String = text("certificate").else_told("any, or none");
    /// The service class of its requests.
    CLASS: String = text("class").else_told("the volume's");
    /// Priority of its requests. Larger is more urgent.
    PRIORITY: u32 = within("priority", 0, 255).else_told("the volume's");
    /// Deadline of its requests, from their arrival. A request that is still waiting then fails.
    DEADLINE: Span = span("deadline").else_told("the volume's");
}

/// Who is meant: whoever fits all that is given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientMatch {
    /// The user, by name or number.
    pub user: Option<String>,
    /// The name of the process.
    pub process: Option<String>,
    /// The control group, or one above it.
    pub cgroup: Option<String>,
    /// A name in the certificate.
    pub certificate: Option<String>,
}

impl ClientMatch {
    /// Whether it is said at all who is meant.
    #[must_use]
    pub fn is_anyone(&self) -> bool {
        *self == ClientMatch::default()
    }
}

/// How some of the clients are served.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientRule {
    /// The volume that they ask for; nothing: any.
    pub volume: Option<String>,
    /// Who they are, as far as it matters.
    pub who: ClientMatch,
    /// The service class of their requests, where it is not the volume's.
    pub class: Option<String>,
    /// Their priority, where it is not the volume's.
    pub priority: Option<u8>,
    /// Their deadline, where it is not the volume's.
    pub deadline: Option<Span>,
}

pub(super) fn read_all(root: &Section, volumes: &[Volume]) -> Result<Vec<ClientRule>, BadInput> {
    root.sections(client().name())?.iter().map(|section| read(section, volumes)).collect()
}

/// Without TLS no client has a name.
pub(super) fn check_tls(root: &Section, tls: Option<&TlsPlan>) -> Result<(), BadInput> {
    for section in root.sections(client().name())? {
        if section.has(CERTIFICATE.name()) && tls.is_none() {
            let mend = "give `certificates` in [serve], or take it out";
            return Err(section.error(CERTIFICATE.name(), "without TLS no client shows a certificate", mend));
        }
    }
    Ok(())
}

fn read(section: &Section, volumes: &[Volume]) -> Result<ClientRule, BadInput> {
    let volume = section.get(&VOLUME)?;
    if let Some(name) = volume.as_ref().filter(|name| volumes.iter().all(|volume| volume.name != **name)) {
        let names: Vec<&str> = volumes.iter().map(|volume| volume.name.as_str()).collect();
        let mend = format!("name one of the [[volume]]: {}", names.join(", "));
        return Err(section.error(VOLUME.name(), format!("there is no volume '{name}'"), mend));
    }
    let who = ClientMatch {
        user: section.get(&USER)?,
        process: section.get(&PROCESS)?,
        cgroup: section.get(&CGROUP)?,
        certificate: section.get(&CERTIFICATE)?,
    };
    let rule = ClientRule {
        volume,
        who,
        class: section.get(&CLASS)?.filter(|class| !class.is_empty()),
        priority: section.get(&PRIORITY)?.map(|priority| priority as u8),
        deadline: asker::deadline(section, &DEADLINE)?,
    };
    section.close()?;
    if rule.who.is_anyone() {
        let mend = "give `user`, `process`, `cgroup` or `certificate`; what is of all clients stands in [[volume]]";
        return Err(section.here("it is not said which clients are meant", mend));
    }
    if (&rule.class, rule.priority, rule.deadline) == (&None, None, None) {
        return Err(section.here("they are served as others are", "give `class`, `priority` or `deadline`"));
    }
    Ok(rule)
}
