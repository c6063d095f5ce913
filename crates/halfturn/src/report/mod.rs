//! What people read: tables, sketches and sheets, as text of fixed bytes. No colour, no clock, no terminal width.

mod bars;
mod catalogue;
mod compare;
mod figures;
mod notes;
mod number;
mod plot;
mod setting;
mod sheet;
mod survey;
mod sustained;
mod table;

pub use catalogue::catalogue;
pub use compare::comparison;
pub use sheet::data_sheet;
pub use survey::TraceReport;
