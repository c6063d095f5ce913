//! All that an experiment file may say, from the declarations that it is read by: the one source of help, reference pages, the
//! list of keys and the schema.

use crate::experiment::tables;
use crate::workload;
use config::About;
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
}

/// A word that may bring keys of its own: a policy, a predictor, a rule of preemption, or a kind of workload.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    /// What it is one of, for people: `policy`.
    pub what: &'static str,
    /// The heading of the table where it is asked for, and the key there.
    pub place: (&'static str, &'static str),
    /// The word.
    pub name: &'static str,
    /// What it does.
    pub text: &'static str,
    /// Its own keys.
    pub keys: &'static [About],
    /// Lines of that table that ask for it.
    pub example: &'static str,
}

/// Every policy, predictor, rule of preemption and kind of workload, in the order in which they are explained.
#[must_use]
pub fn named() -> Vec<Named> {
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
    let workloads = workload::manuals().map(|manual| Named {
        what: "kind of workload",
        place: ("[[workload]]", "kind"),
        name: manual.name,
        text: manual.text,
        keys: manual.keys,
        example: manual.example,
    });
    policies.chain(predictors).chain(rules).chain(workloads).collect()
}

/// Every key, table by table; behind those of a table the keys of the words that it may hold.
#[must_use]
pub fn keys() -> Vec<Declared> {
    let named = named();
    let tables = tables();
    let mut keys = Vec::new();
    for (i, table) in tables.iter().enumerate() {
        keys.extend(table.keys.iter().map(|about| Declared { heading: table.heading, of: None, about: *about }));
        // Some tables are declared in several parts.
        if tables[i + 1..].iter().any(|later| later.heading == table.heading) {
            continue;
        }
        for word in named.iter().filter(|word| word.place.0 == table.heading) {
            let of = Some((word.place.1, word.name));
            keys.extend(word.keys.iter().map(|about| Declared { heading: table.heading, of, about: *about }));
        }
    }
    keys
}
