//! Choices that decide which other keys are of use, over the whole sweep; and values that are still to come.

use super::{array, workload};
use crate::workload::pace::REPLAY;
use block::BadInput;
use config::{Document, Key, Missing, Section, Takes};
use std::collections::BTreeSet;

/// Every value that `policy`, `preemption`, `kind` and `replay` take somewhere in a sweep. A key is of use where any of them uses
/// it: `age_weight` beside `policy = ["satf", "asatf"]` is no mistake.
pub(super) struct Varied(BTreeSet<(Scope, &'static str, String)>);

/// The table a choice stands in: a workload by its index, or the scheduler.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Scope {
    Array,
    Scheduler,
    Workload(usize),
}

/// A key whose value decides which others are of use.
#[derive(Clone, Copy)]
struct Choice {
    key: &'static str,
    /// The key that it is another of.
    stands_for: &'static str,
}

impl Choice {
    fn of(key: &'static str) -> Choice {
        Choice { key, stands_for: key }
    }
}

/// The value that a key usually has.
fn usual<T>(key: &Key<T>) -> Option<&'static str> {
    if let Missing::Value(value) = key.about.missing { Some(value) } else { None }
}

impl Varied {
    /// Collects them; what cannot be read is left for the checks of its own document.
    pub(super) fn of<'a>(documents: impl Iterator<Item = &'a Document>) -> Varied {
        let mut values = BTreeSet::new();
        let mut note = |scope, section: &Section, choice: Choice, default: Option<&str>| {
            let value = section.string(choice.key).ok().flatten().or(default.map(Into::into));
            values.extend(value.map(|value| (scope, choice.stands_for, value)));
        };
        for document in documents {
            let root = document.root();
            if let Ok(Some(array)) = root.section(array::array().name()) {
                note(Scope::Array, &array, Choice::of(array::LEVEL.name()), None);
            }
            if let Ok(Some(scheduler)) = root.section("scheduler") {
                note(Scope::Scheduler, &scheduler, Choice::of("policy"), None);
                note(Scope::Scheduler, &scheduler, Choice::of("preemption"), None);
                // A class that is ordered by a policy of its own uses the keys of that.
                let classes = scheduler.section("class").ok().flatten();
                let classes = classes.iter().flat_map(|classes| classes.keys().map(|name| classes.section(name)));
                let order = Choice { key: "order", stands_for: "policy" };
                classes.flatten().flatten().for_each(|class| note(Scope::Scheduler, &class, order, None));
            }
            for (index, section) in root.sections(workload::workload().name()).into_iter().flatten().enumerate() {
                note(Scope::Workload(index), &section, Choice::of(workload::KIND.name()), None);
                note(Scope::Workload(index), &section, Choice::of(REPLAY.name()), usual(&REPLAY));
            }
        }
        Varied(values)
    }

    /// An error if `key` is there though none of the values of `choice` that use it is, in the whole sweep.
    pub(super) fn belongs(
        &self,
        scope: Scope,
        section: &Section,
        key: &str,
        choice: &'static str,
        users: &[&str],
    ) -> Result<(), BadInput> {
        if !section.keys().any(|there| there == key) {
            return Ok(());
        }
        if users.iter().any(|user| self.0.contains(&(scope, choice, (*user).into()))) {
            // Its users read it; where this run is none of them, it is known all the same.
            section.has(key);
            return Ok(());
        }
        let users = users.iter().map(|user| format!("{choice} = \"{user}\"")).collect::<Vec<_>>().join(" or ");
        Err(section.error(key, format!("`{key}` is of use only with {users}"), "take it out"))
    }
}

/// An error where a word is given that comes with a later feature.
pub(super) fn refuse_later<T>(section: &Section, key: &Key<T>, later: &[(&str, &str)]) -> Result<(), BadInput> {
    let name = key.name();
    match section.string(name)?.and_then(|given| later.iter().find(|(word, _)| *word == given)) {
        Some((word, feature)) => {
            let Takes::Word(words) = key.about.takes else { return Ok(()) };
            let now = words().iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
            Err(section.error(name, format!("{name} '{word}' comes with {feature}"), format!("use {now}")))
        }
        None => Ok(()),
    }
}
