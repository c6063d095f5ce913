//! The systems whose days are made up, each as plain numbers.

use super::{DAY, GROUP, Train};

/// What a system asks of its busiest disk.
#[derive(Debug)]
pub(super) struct System {
    /// The load of each day of the week and of each hour, their means 1.
    pub(super) days: [f64; 7],
    pub(super) hours: [f64; 24],
    /// Bursts of people's a day, and the share of their requests that write.
    pub(super) bursts: f64,
    pub(super) writes: f64,
    /// Requests of a burst, and of what is written at once from the system's buffers.
    pub(super) burst: Train,
    pub(super) flushed: Train,
    /// How often buffers that are looked at hold something; nothing: always, the more the busier the hour is.
    pub(super) dirty: Option<f64>,
    /// When the backup begins, and how many requests it makes.
    pub(super) backup: Option<(u64, u32)>,
    /// Share of requests that go on where the last one of their kind ended, and of those that stay near the last one; how
    /// near, in blocks.
    pub(super) sequential_reads: f64,
    pub(super) sequential_writes: f64,
    pub(super) near: f64,
    pub(super) nearby: u64,
    /// Sizes in blocks, and how many requests of 100 have them or one before them.
    pub(super) sizes: [(u32, u64); 4],
    /// Blocks of the disk; and of a piece of it, of which some are busier than others (Zipf). Only those are used that begin
    /// among the first `used` blocks of a cylinder group.
    pub(super) blocks: u64,
    pub(super) unit: u64,
    pub(super) used: u64,
    /// Blocks at the front of a piece, where inodes and directories lie; and the share of its requests that go there.
    pub(super) front: u64,
    pub(super) hot: f64,
}

/// A timesharing system. Some 150,000 requests a day (the Disk Mimic), 57 % of them writes, 18 to 33 % of reads and 8 to 12 %
/// of writes going on where the last one ended, most of 8 KiB (Ruemmler and Wilkes); half of them to the busiest twentieth
/// of the blocks. People come at nine and leave after six; every 30 s up to 90 writes at once; at night a backup, in
/// sequence. All else is assumed.
pub(super) static CELLO: System = System {
    days: [1.0; 7],
    hours: [
        0.6, 0.5, 0.5, 0.4, 0.4, 0.4, 0.5, 0.6, 0.9, 1.4, 1.7, 1.7, 1.4, 1.5, 1.8, 1.8, 1.7, 1.5, 1.1, 0.9, 0.8, 0.7,
        0.6, 0.6,
    ],
    bursts: 19_500.0,
    writes: 0.51,
    burst: Train { most: 200.0, exponent: 0.9, gap_ns: 20e6 },
    flushed: Train { most: 90.0, exponent: 0.5, gap_ns: 0.2e6 },
    dirty: None,
    backup: Some((2 * DAY / 24, 7_500)),
    sequential_reads: 0.12,
    sequential_writes: 0.09,
    near: 0.2,
    nearby: 1024,
    sizes: [(16, 60), (8, 65), (4, 87), (2, 100)],
    blocks: 1_300_000_000 / 512,
    unit: GROUP,
    used: GROUP,
    front: 1024,
    hot: 0.5,
};

/// A workstation of one user, the week from Saturday, 30 May 1992: that of the Disk Mimic, of a quieter machine. 42,252
/// requests to the first of its disks, 38 % of them what is written at once from buffers, of the rest 54 % writes; 60 % of
/// 8 KiB, 21 % of 2 KiB, 11 % of 1 KiB; nearly half of all on one day; three quarters to a hundredth of the blocks, by
/// Zipf's law over some 3,900 pieces of 8 KiB. Each number here is a rounded one of its trace.
pub(super) static HPLAJW: System = System {
    days: [0.03, 0.07, 0.8, 3.33, 1.2, 0.77, 0.8],
    hours: [
        0.04, 0.03, 0.07, 0.1, 0.12, 0.04, 0.04, 0.28, 0.16, 0.7, 0.77, 2.22, 0.92, 2.54, 1.38, 1.02, 1.91, 2.45, 1.11,
        4.79, 2.9, 0.22, 0.03, 0.15,
    ],
    bursts: 274.0,
    writes: 0.54,
    burst: Train { most: 600.0, exponent: 0.7, gap_ns: 45e6 },
    flushed: Train { most: 60.0, exponent: 0.45, gap_ns: 1e6 },
    dirty: Some(0.096),
    backup: None,
    sequential_reads: 0.01,
    sequential_writes: 0.03,
    near: 0.2,
    nearby: 256,
    sizes: [(16, 60), (4, 81), (2, 93), (8, 100)],
    blocks: 335_000_000 / 512,
    unit: 16,
    used: 1600,
    front: 16,
    hot: 1.0,
};
