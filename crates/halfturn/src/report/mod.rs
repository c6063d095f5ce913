//! What people read: tables, sketches and sheets, as text of fixed bytes. No colour, no clock, no terminal width.

mod advice;
mod answer;
mod bars;
mod bills;
mod catalogue;
mod chart;
mod compare;
mod conversion;
mod device;
mod exported;
mod figure;
mod figures;
mod import_report;
#[cfg(feature = "linux")]
mod lateness;
mod manual;
mod mimic_report;
mod notes;
mod number;
mod over_time;
mod page;
mod panorama;
mod plot;
mod profile;
mod recorded;
#[cfg(feature = "linux")]
mod replay_report;
mod reproduce;
mod rows;
mod schema;
mod service;
mod setting;
mod sheet;
mod sheet_report;
mod summary;
mod survey;
mod sustained;
mod system;
mod table;
mod timeline;
#[cfg(feature = "linux")]
mod top;
mod turns;
mod validate;
#[cfg(feature = "linux")]
mod volumes;

pub use advice::advice;
pub use catalogue::catalogue;
pub use compare::comparison;
pub use conversion::{conversion, recording};
pub use exported::{MeasuredDrive, MeasuredRate, ScrubChoice, for_ceph, for_fio, for_iocost, for_nbdkit, for_zfs};
pub use import_report::import_report;
#[cfg(feature = "linux")]
pub use lateness::lateness;
pub use manual::{drive_keys_page, explain, keys_json, keys_page, listed_keys, topics};
pub use mimic_report::mimic_report;
pub use panorama::{Panoramas, Pictured, panorama, recorded_picture};
pub use profile::{profile_page, profile_report};
pub use recorded::RecordedReport;
#[cfg(feature = "linux")]
pub use replay_report::{replay_report, replayed_json};
pub use reproduce::{Verdicts, list, list_targets};
pub use schema::schema;
pub use sheet::data_sheet;
pub use sheet_report::sheet_report;
pub use summary::RunsSummary;
pub use survey::{TraceReport, TraceSamples};
pub use timeline::Diagram;
#[cfg(feature = "linux")]
pub use top::{activity, top};
pub use validate::{Agreement, ValidationReport};
#[cfg(feature = "linux")]
pub use volumes::{listed_volumes, volumes};
