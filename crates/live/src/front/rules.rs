//! How clients are served who are not served as their volume is.

use super::{ServedVolume, Setting};
use crate::identity::{Identity, PeerMatch};
use block::{Qos, Span, Time};
use load::experiment::ClientRule;
use serde_json::{Value, json};

/// The most rules: a command a minute for hours.
const MOST: usize = 1024;

/// What of a client's service is not its volume's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ServedAs {
    class: Option<u8>,
    priority: Option<u8>,
    deadline: Option<Option<Span>>,
}

impl ServedAs {
    /// What holds of a request that arrived then.
    pub(super) fn qos(&self, volume: &ServedVolume, arrived: Time) -> Qos {
        let deadline = self.deadline.unwrap_or(volume.deadline);
        Qos {
            class: self.class(volume),
            priority: self.priority.unwrap_or(volume.priority),
            deadline: deadline.map(|within| arrived + within),
        }
    }

    pub(super) fn class(&self, volume: &ServedVolume) -> u8 {
        self.class.unwrap_or(volume.class)
    }
}

/// A client that is connected, and how it is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectedClient {
    identity: Identity,
    class: String,
    priority: u8,
    deadline: Option<Span>,
}

impl ConnectedClient {
    /// As `volume list --format json` says it.
    #[must_use]
    pub fn json(&self) -> Value {
        let Identity { user, process, cgroup, names } = &self.identity;
        json!({
            "user": user, "process": process, "cgroup": cgroup, "certificate": names, "class": self.class,
            "priority": self.priority, "deadline_ms": self.deadline.map(Span::as_ms),
        })
    }
}

impl ServedAs {
    /// Who is served so by a volume.
    pub(super) fn tell(&self, identity: &Identity, volume: &ServedVolume) -> ConnectedClient {
        ConnectedClient {
            identity: identity.clone(),
            class: volume.class_name(self.class(volume)).to_owned(),
            priority: self.priority.unwrap_or(volume.priority),
            deadline: self.deadline.unwrap_or(volume.deadline),
        }
    }
}

impl Setting {
    /// How clients of a volume are to be served, and the volume's place.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn serve_as(&self, volumes: &mut [ServedVolume]) -> Result<(usize, ServedAs), String> {
        if self.shares != [None; 3] {
            return Err("shares of the arm's time are of a class; give these clients a `class` that has them".into());
        }
        let name = ServedVolume::find_volume(volumes, &self.volume)?.name().to_owned();
        let place = volumes.iter().position(|volume| volume.name() == name).unwrap_or(0);
        let class = self.class_of(&volumes[place])?;
        let served = ServedAs { class, priority: self.priority, deadline: self.deadline };
        if served == ServedAs::default() {
            return Err("it is not said how these clients are served; give a class, a priority or a deadline".into());
        }
        Ok((place, served))
    }
}

/// A rule: whoever is meant, and asks for a volume or any, is served so.
struct ServedRule {
    volume: Option<usize>,
    who: PeerMatch,
    served: ServedAs,
}

/// The rules of a service, of which the first that fits counts.
#[derive(Default)]
pub(super) struct ClientRules(Vec<ServedRule>);

impl ClientRules {
    /// The rules of a file.
    ///
    /// # Errors
    /// When one names a user whom nobody knows.
    pub(super) fn new(rules: &[ClientRule], volumes: &[ServedVolume]) -> Result<ClientRules, String> {
        let rule = |rule: &ClientRule| {
            let served = ServedAs {
                class: rule.class.as_ref().and_then(|class| volumes.first()?.class_named(class)),
                priority: rule.priority,
                deadline: rule.deadline.map(Some),
            };
            let volume = rule.volume.as_ref().and_then(|name| volumes.iter().position(|it| it.name() == name));
            Ok(ServedRule { volume, who: PeerMatch::new(&rule.who)?, served })
        };
        rules.iter().map(rule).collect::<Result<_, _>>().map(ClientRules)
    }

    /// How a client of a volume is served.
    pub(super) fn find(&self, client: &Identity, volume: usize) -> ServedAs {
        let fits = |rule: &&ServedRule| rule.volume.is_none_or(|wanted| wanted == volume) && rule.who.is(client);
        self.0.iter().find(fits).map_or(ServedAs::default(), |rule| rule.served)
    }

    /// From now on whoever is meant is served so by a volume: the last word counts first, and takes the place of one of the same.
    pub(super) fn set(&mut self, volume: usize, who: PeerMatch, served: ServedAs) -> Result<(), String> {
        self.0.retain(|rule| (rule.volume, &rule.who) != (Some(volume), &who));
        if self.0.len() >= MOST {
            return Err(format!(
                "there are {MOST} rules of clients; start the service anew with those that are needed"
            ));
        }
        self.0.insert(0, ServedRule { volume: Some(volume), who, served });
        Ok(())
    }
}
