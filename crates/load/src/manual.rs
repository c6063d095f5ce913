//! All that an experiment file may say, from the declarations that it is read by: the one source of help, reference pages, the
//! list of keys and the schema.

use crate::experiment::{changeable, tables};
use crate::workload;
use config::About;
use disk::other::FORMS;
use sched::{policy, predict, preemption};

/// A key, and where it stands.
#[derive(Clone, Copy, Debug)]
pub struct Declared {
    /// The heading of its table, as `[scheduler]`; nothing at the top of a file.
    pub heading: &'static str,
    /// The word that it belongs to, and the key that takes that word: `policy` and `asatf`. Nothing: it is always of use.
    pub of: Option<(&'static str, &'static str)>,
    /// What is said of it.
    pub about: About,
    /// The document that the key belongs to.
    pub whose: Whose,
}

/// What declares a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// The file of an experiment.
    Experiment,
    /// A drive file; in `[drive]` of an experiment it stands for what that file says.
    Drive,
}

/// A word that may bring keys of its own: a policy, a predictor, a rule of preemption, or a kind of workload.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    /// What it is one of, for people: `policy`.
    pub what: &'static str,
    /// The heading of the table where it is asked for, and the key there.
    pub place: (&'static str, &'static str),
    /// The word that chooses it in a file.
    pub name: &'static str,
    /// What it does, in one paragraph.
    pub text: &'static str,
    /// The keys that it alone reads.
    pub keys: &'static [About],
    /// Lines of that table that ask for it.
    pub example: &'static str,
}

/// Every policy, predictor, rule of preemption and kind of workload, in the order in which they are explained.
#[must_use]
pub fn list_all() -> Vec<Named> {
    let policies = policy::ALL.iter().map(|manual| Named {
        what: "policy",
        place: ("[scheduler]", "policy"),
        name: manual.name,
        text: manual.text,
        keys: manual.keys,
        example: manual.example,
    });
    let predictors = predict::ALL.iter().map(|manual| Named {
        what: "predictor",
        place: ("[scheduler]", "predictor"),
        name: manual.name,
        text: manual.text,
        keys: manual.keys,
        example: manual.example,
    });
    let rules = preemption::ALL.iter().map(|manual| Named {
        what: "rule of preemption",
        place: ("[scheduler]", "preemption"),
        name: manual.name,
        text: manual.text,
        keys: manual.keys,
        example: manual.example,
    });
    let kinds = FORMS.iter().map(|form| Named {
        what: "kind of device",
        place: ("a drive file", "kind"),
        name: form.word,
        text: form.text,
        keys: form.keys,
        example: form.example,
    });
    let workloads = workload::manuals().map(|manual| Named {
        what: "kind of workload",
        place: ("[[workload]]", "kind"),
        name: manual.name,
        text: manual.text,
        keys: manual.keys,
        example: manual.example,
    });
    policies.chain(predictors).chain(rules).chain(workloads).chain(kinds).collect()
}

/// Every key of a drive file that `[drive]` may change, table by table; behind them those that may stand in `[drive]` itself, which
/// are those of kinds of device that are no disk and those that one table alone has.
#[must_use]
pub fn drive_keys() -> Vec<Declared> {
    let whose = Whose::Drive;
    let inside = changeable().iter().flat_map(|table| {
        table.keys.iter().map(move |about| Declared { heading: table.heading, of: None, about: *about, whose })
    });
    inside.chain(in_drive()).collect()
}

/// Those that may stand in `[drive]` itself.
fn in_drive() -> impl Iterator<Item = Declared> {
    let (heading, whose) = ("[drive]", Whose::Drive);
    let kinds = FORMS.iter().flat_map(move |form| {
        let of = Some(("kind", form.word));
        form.keys.iter().map(move |about| Declared { heading, of, about: *about, whose })
    });
    let own: Vec<&str> = tables()
        .iter()
        .filter(|table| table.heading == heading)
        .flat_map(|it| it.keys.iter().map(|it| it.name))
        .collect();
    let alone = disk::change::alone().into_iter().filter(move |(about, _)| !own.contains(&about.name));
    kinds.chain(alone.map(move |(about, _)| Declared { heading, of: None, about, whose }))
}

/// Every key, table by table; behind those of a table the keys of the words that it may hold.
#[must_use]
pub fn keys() -> Vec<Declared> {
    let named = list_all();
    let tables = tables();
    let mut keys = Vec::new();
    for (i, table) in tables.iter().enumerate() {
        keys.extend(table.keys.iter().map(|about| Declared {
            heading: table.heading,
            of: None,
            about: *about,
            whose: Whose::Experiment,
        }));
        // Some tables are declared in several parts.
        if tables[i + 1..].iter().any(|later| later.heading == table.heading) {
            continue;
        }
        for word in named.iter().filter(|word| word.place.0 == table.heading) {
            let of = Some((word.place.1, word.name));
            keys.extend(word.keys.iter().map(|about| Declared {
                heading: table.heading,
                of,
                about: *about,
                whose: Whose::Experiment,
            }));
        }
    }
    keys
}
