//! Policies: in which order waiting jobs are served. One file each.

mod age;
mod arms;
mod base;
mod by_angle;
mod cylinders;
mod greedy;
mod in_service;
mod kind;
mod outside;
mod priority;
mod walk;

pub use base::{BaseOrder, Learn};
pub(crate) use fcfs::Fcfs;
pub use kind::{Beside, IopsClaim, Kind, Manual, Needs};
pub use outside::{Chooses, Outside, WaitingJob};
pub(crate) use yielding::{Yield, pace, yielding};

use crate::predict::Predictor;
use crate::{Job, JobId, Jobs};
use block::{BadInput, Time};
use config::{Document, Section};

/// Makes of the files of policies one type, [`Chosen`], and the list of all.
macro_rules! policies {
    ($($file:ident)*) => {
        $(mod $file;)*

        /// A policy and the values of its keys.
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[allow(non_camel_case_types)]
        pub enum Chosen {
            $(#[doc = concat!("See `policy/", stringify!($file), ".rs`.")] $file($file::Settings),)*
            /// One that no file names.
            Outside(Outside),
        }

        /// What users are told of each policy, in the order in which they are explained.
        pub const ALL: &[Manual] = &[$($file::Settings::MANUAL),*];

        impl Chosen {
            /// What users are told of it.
            #[must_use]
            pub fn manual(&self) -> Manual {
                match self {
                    $(Chosen::$file(_) => $file::Settings::MANUAL,)*
                    Chosen::Outside(_) => Outside::MANUAL,
                }
            }

            /// Whether it shares out the device among classes by itself.
            #[must_use]
            pub fn shares_out(&self) -> bool {
                match self {
                    $(Chosen::$file(_) => $file::Settings::SHARES_OUT,)*
                    Chosen::Outside(_) => false,
                }
            }

            /// Whether the priority of requests has a say in its order, whoever interrupts.
            #[must_use]
            pub fn heeds_priority(&self) -> bool {
                match self {
                    $(Chosen::$file(_) => $file::Settings::HEEDS_PRIORITY,)*
                    Chosen::Outside(_) => true,
                }
            }

            /// The policy itself, which holds no requests yet.
            #[must_use]
            pub fn make<P: Predictor + 'static>(&self, beside: &Beside) -> Box<dyn Policy<P>> {
                match self {
                    $(Chosen::$file(settings) => settings.make(beside),)*
                    Chosen::Outside(outside) => outside.make(),
                }
            }
        }

        /// The policy of this name, its keys read from `[scheduler]`; nothing if there is none.
        ///
        /// # Errors
        /// Bad input with file, line and mend.
        pub fn read(name: &str, scheduler: &Section) -> Result<Option<Chosen>, BadInput> {
            $(if name == $file::Settings::MANUAL.name {
                return $file::Settings::read(scheduler).map(|settings| Some(Chosen::$file(settings)));
            })*
            Ok(None)
        }
    };
}

policies! {
    fcfs look c_look sstf satf asatf smtf lookahead yielding batch_look look_cyl c_look_cyl sstf_cyl priority_1 priority_2
    three_queues edf mq_deadline bfq kyber dmclock zfs auto
}

/// The policy of this name, as lines of `[scheduler]` have it.
///
/// # Errors
/// When there is none of the name, or the lines are none.
pub fn choose(name: &str, lines: &str) -> Result<Chosen, BadInput> {
    let document = Document::parse("[scheduler]", lines)?;
    let root = document.root();
    let mend = format!("there are {}", names().collect::<Vec<_>>().join(", "));
    let chosen = read(name, &root)?.ok_or_else(|| root.here(format!("there is no policy '{name}'"), mend))?;
    root.close()?;
    Ok(chosen)
}

/// The policy of this name with the usual settings.
///
/// # Panics
/// When there is none of the name.
#[must_use]
pub fn usual(name: &str) -> Chosen {
    choose(name, "").unwrap_or_else(|error| panic!("{error}"))
}

/// The policy of this name, with those of the values, as a file has them, that it has keys for.
///
/// # Panics
/// When there is none of the name, or a value is none that its key takes.
#[must_use]
pub fn with(name: &str, values: &[(&str, String)]) -> Chosen {
    let manual = usual(name).manual();
    let has = |key: &str| manual.keys.iter().any(|its| its.name == key);
    let lines: Vec<String> =
        values.iter().filter(|(key, _)| has(key)).map(|(key, value)| format!("{key} = {value}")).collect();
    choose(name, &lines.join("\n")).unwrap_or_else(|error| panic!("{error}"))
}

/// The names of all policies.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|manual| manual.name)
}

/// The order in which waiting jobs are served.
pub trait Policy<P: Predictor> {
    /// Takes a job in. The caller guarantees that it is not held.
    fn add(&mut self, id: JobId, job: &Job<P::Spot>, belief: &P);

    /// Gives a job up. The caller guarantees that it is held.
    fn remove(&mut self, id: JobId, job: &Job<P::Spot>, belief: &P);

    /// Chooses the job to serve now and gives it up; nothing only when it holds none, or follows what is in the device and waits
    /// for that. Ties go to the job submitted first.
    fn take(&mut self, now: Time, jobs: &Jobs<P::Spot>, belief: &P) -> Option<JobId>;

    /// A job comes that would be chosen at once, since none is held: whether it may go to the device as it is. Where it may, the policy
    /// is left as it would be had it taken the job in and given it up.
    fn pass(&mut self, job: &Job<P::Spot>, belief: &P) -> bool {
        let _ = (job, belief);
        false
    }

    /// A job that is held counts for another part of what its class says that it is worth; of use to those that go by worth.
    fn weigh_part(&mut self, id: JobId, job: &Job<P::Spot>, belief: &P) {
        let _ = (id, job, belief);
    }

    /// From now on a write is worth so many times what it is worth by its class; of use to those that go by worth.
    fn weigh_writes(&mut self, weight: f64) {
        let _ = weight;
    }

    /// Whether what requests are worth has a say in the order.
    fn goes_by_worth(&self) -> bool {
        false
    }

    /// Whether it goes by what is in the device, and is to be told of its end; then it may hold jobs back until something ends.
    fn follows_service(&self) -> bool {
        false
    }

    /// A job that it gave up ends.
    fn end(&mut self, now: Time, job: &Job<P::Spot>) {
        let _ = (now, job);
    }

    /// Until when it holds back what waits, at most, though nothing is in the device; it is asked again then.
    fn idles_until(&self) -> Option<Time> {
        None
    }

    /// Candidates examined so far, where the policy weighs candidates.
    fn candidates(&self) -> u64 {
        0
    }
}

/// How a policy that orders by block number files a job.
fn by_lbn<S>(id: JobId, job: &Job<S>) -> crate::ordered::Entry {
    crate::ordered::Entry { key: job.rest().start.0, sequence: job.sequence, id, item: () }
}

#[cfg(test)]
mod tests;
