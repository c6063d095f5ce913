//! What people read: tables, sketches and sheets, as text of fixed bytes. No colour, no clock, no terminal width.

mod bars;
mod catalogue;
mod compare;
mod converted;
mod device;
mod figures;
mod imported;
mod mimicked;
mod notes;
mod number;
mod page;
mod plot;
mod profile;
mod recorded;
mod reproduce;
mod service;
mod setting;
mod sheet;
mod survey;
mod sustained;
mod system;
mod table;
mod timeline;
mod validate;

pub use catalogue::catalogue;
pub use compare::comparison;
pub use converted::converted;
pub use imported::imported;
pub use mimicked::mimicked;
pub use profile::{profile_page, profiled};
pub use recorded::RecordedReport;
pub use reproduce::{Verdicts, list, listed};
pub use sheet::data_sheet;
pub use survey::TraceReport;
pub use timeline::Diagram;
pub use validate::Validation;
