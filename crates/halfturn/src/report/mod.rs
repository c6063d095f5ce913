//! What people read: tables, sketches and sheets, as text of fixed bytes. No colour, no clock, no terminal width.

mod bars;
mod catalogue;
mod chart;
mod compare;
mod converted;
mod device;
mod figure;
mod figures;
mod imported;
#[cfg(feature = "linux")]
mod lateness;
mod manual;
mod mimicked;
mod notes;
mod number;
mod page;
mod panorama;
mod plot;
mod profile;
mod recorded;
#[cfg(feature = "linux")]
mod replayed;
mod reproduce;
mod schema;
mod service;
mod setting;
mod sheet;
mod survey;
mod sustained;
mod system;
mod table;
mod timeline;
mod turns;
mod validate;
#[cfg(feature = "linux")]
mod volumes;

pub use catalogue::catalogue;
pub use compare::comparison;
pub use converted::{captured, converted};
pub use imported::imported;
#[cfg(feature = "linux")]
pub use lateness::lateness;
pub use manual::{drive_keys_page, explained, keys_json, keys_page, listed_keys, topics};
pub use mimicked::mimicked;
pub use panorama::{Panoramas, Pictured, panorama, recorded_picture};
pub use profile::{profile_page, profiled};
pub use recorded::RecordedReport;
#[cfg(feature = "linux")]
pub use replayed::{replayed, replayed_json};
pub use reproduce::{Verdicts, list, listed};
pub use schema::schema;
pub use sheet::data_sheet;
pub use survey::TraceReport;
pub use timeline::Diagram;
pub use validate::Validation;
#[cfg(feature = "linux")]
pub use volumes::{listed_volumes, volumes};
