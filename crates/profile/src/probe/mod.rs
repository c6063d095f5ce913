//! The probes, one a file: each asks one question of a device.

pub mod arm;
pub mod borders;
pub mod buffer;
pub mod cache;
pub mod chunk;
pub mod delivery;
pub mod field;
pub mod heads;
pub mod large;
pub mod late;
pub mod map;
pub mod memory;
pub mod queue;
pub mod rotation;
pub mod runs;
pub mod sector;
pub mod seek;
pub mod shared;
pub mod stages;
pub mod transfer;
pub mod write;
