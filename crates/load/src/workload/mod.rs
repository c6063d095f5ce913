//! Workloads: who asks for what, and when. One file each, which also reads the keys of its kind.

mod kind;
pub(crate) mod pace;
pub(crate) mod pattern;
mod replay;
mod times;
mod week;

pub use self::trace::{Fit, TraceChoice};
pub use closed::ClosedPlan;
pub use coded_repair::{CodedRepairPlan, ErasureCode};
pub use compression::CompressionPlan;
pub use grow::GrowPlan;
pub use kind::{Manual, Only, Recipe};
pub use made_up::{Like, MadeUpPlan};
pub use open::{Arrivals, OpenPlan};
pub use pace::{Pace, ReplayTiming};
pub use pattern::{AddressPattern, Addresses, Bound, PAGE, Pattern, Region, Sizes};
pub use process_flow::RecordedPlan;
pub use processes::ProcessPlan;
pub use scan::ScanPlan;
pub use streams::StreamsPlan;
pub use sweep::RepairPlan;
pub use times::Times;
pub use zones::ZoneWrites;

use crate::draw::Draw;
use block::{At, BadInput, Extent, Op, Span, Time};
use config::Section;
use sched::array::Level;
use std::path::{Path, PathBuf};

/// Makes of the files of kinds one type, [`Kind`], and the list of all.
macro_rules! kinds {
    ($($file:ident: $kind:ident($plan:ty),)*) => {
        $(pub(crate) mod $file;)*

        /// What a workload asks, and when.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Kind {
            $(#[doc = concat!("See `workload/", stringify!($file), ".rs`.")] $kind($plan),)*
        }

        /// What users are told of each kind, in the order in which they are explained.
        pub fn manuals() -> impl Iterator<Item = &'static Manual> {
            [$(<$plan>::MANUALS),*].into_iter().flatten()
        }

        impl Kind {
            /// The workload of the kind of this name, its keys read from `[[workload]]`; nothing if there is none.
            ///
            /// # Errors
            /// Bad input with file, line and mend.
            pub fn read(name: &str, section: &Section, folder: &Path) -> Result<Option<Kind>, BadInput> {
                $(if <$plan>::MANUALS.iter().any(|manual| manual.name == name) {
                    return <$plan>::read(name, section, folder).map(|plan| Some(Kind::$kind(plan)));
                })*
                Ok(None)
            }

            /// See [`Recipe::build`].
            ///
            /// # Errors
            /// As there.
            pub fn build(&self, name: &str, blocks: u64, draw: Draw) -> Result<Box<dyn Workload>, BadInput> {
                match self { $(Kind::$kind(plan) => plan.build(name, blocks, draw),)* }
            }

            /// Whether it is processes that ask.
            #[must_use]
            pub fn has_processes(&self) -> bool {
                match self { $(Kind::$kind(_) => <$plan>::MANUALS.iter().any(|manual| manual.processes),)* }
            }

            /// See [`Recipe::scan`].
            #[must_use]
            pub fn scan(&self) -> Option<&ScanPlan> {
                match self { $(Kind::$kind(plan) => plan.scan(),)* }
            }

            /// See [`Recipe::confine`].
            pub fn confine(&mut self, region: Region) {
                match self { $(Kind::$kind(plan) => plan.confine(region),)* }
            }

            /// See [`Recipe::lie_on`].
            pub fn lie_on(&mut self, level: Level, disks: u16, unit: u32) {
                match self { $(Kind::$kind(plan) => plan.lie_on(level, disks, unit),)* }
            }

            told! {
                $($kind)*;
                longest -> u32, length -> Option<u32>, cascade -> u32, deadline -> Option<Span>, is_endless -> bool, is_open -> bool, outstanding -> Option<u32>,
                renewal -> Option<(u32, Span)>,
                repairs -> bool, grows -> bool, is_machine -> bool, files -> Vec<PathBuf>
            }
        }
    };
}

/// Methods of [`Kind`] that hand on what its recipe tells.
macro_rules! told {
    ($($kind:ident)*; $($method:ident -> $value:ty),*) => { told! { @each [$($kind)*] $($method -> $value),* } };
    (@each $kinds:tt $($method:ident -> $value:ty),*) => { $(told! { @one $kinds $method -> $value })* };
    (@one [$($kind:ident)*] $method:ident -> $value:ty) => {
        #[doc = concat!("See [`Recipe::", stringify!($method), "`].")]
        #[must_use]
        pub fn $method(&self) -> $value {
            match self { $(Kind::$kind(plan) => plan.$method(),)* }
        }
    };
}

kinds! {
    open: Open(OpenPlan),
    closed: Closed(ClosedPlan),
    streams: Streams(StreamsPlan),
    trace: Trace(TraceChoice),
    made_up: MadeUp(MadeUpPlan),
    sweep: Repair(RepairPlan),
    grow: Grow(GrowPlan),
    scan: Scan(ScanPlan),
    zones: Zones(ZoneWrites),
    coded_repair: CodedRepair(CodedRepairPlan),
    processes: Processes(ProcessPlan),
    compression: Compression(CompressionPlan),
    process_flow: Recorded(RecordedPlan),
}

/// What a workload asks for does not fit the drive. The line is put in by [`crate::experiment::Workload::place`].
#[must_use]
pub fn misfit(name: &str, what: impl Into<String>, mend: &str) -> BadInput {
    BadInput::new(format!("workload '{name}'"), At::File, what, mend)
}

/// A request about to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draft {
    /// The time of its arrival.
    pub arrives: Time,
    /// Whether it reads or writes.
    pub op: Op,
    /// The blocks it asks for.
    pub at: Extent,
}

/// A source of requests.
pub trait Workload {
    /// When its next request arrives; nothing if that depends on one that has not ended, or never.
    fn due(&self) -> Option<Time>;

    /// The request that is due. The caller guarantees that one is.
    ///
    /// # Errors
    /// Bad input, where requests are read from a file; nothing more is due then.
    fn make(&mut self) -> Result<Draft, BadInput>;

    /// A request it made has ended; where it was part of an operation, all of that.
    fn end_request(&mut self, now: Time, at: Extent);

    /// The next request of an operation that it began, where its kind has such.
    fn follow(&mut self) -> Option<(Op, Extent)> {
        None
    }

    /// The request that is due, and when the next one arrives: one call where each costs a look-up of the kind.
    ///
    /// # Errors
    /// As `make`.
    fn make_due(&mut self) -> Result<(Draft, Option<Time>), BadInput> {
        let draft = self.make()?;
        Ok((draft, self.due()))
    }

    /// A request it made has ended; when its next one arrives from now on.
    fn ended_due(&mut self, now: Time, at: Extent) -> Option<Time> {
        self.end_request(now, at);
        self.due()
    }

    /// A request that it was told has ended did not end well.
    fn note_failed(&mut self, at: Extent) {
        let _ = at;
    }

    /// What a reader of the results must know.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}
