//! The probes, one a file: each asks one question of a device.

pub mod arm;
pub mod cache;
pub mod heads;
pub mod late;
pub mod map;
pub mod memory;
pub mod rotation;
pub mod sector;
pub mod seek;
pub mod transfer;
