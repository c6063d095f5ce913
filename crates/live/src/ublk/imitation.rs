//! A driver as tests have it: a file laid out like that of a device.

use super::line::BlockQueue;
use super::protocol::{DESCRIPTOR, DiskShape, data_at, descriptors_at};
use super::shared::page_bytes;
use std::fs::{File, OpenOptions};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

/// Tags of a queue; the codes of its commands, and the result of those that wait when the device is stopped.
pub(crate) const TAGS: u16 = 8;
pub(crate) const FETCH: u32 = 0xC010_7520;
pub(crate) const COMMIT: u32 = 0xC010_7521;
pub(crate) const STOPPED: i32 = -19;

pub(crate) struct Driver {
    file: File,
    sender: Option<Sender<()>>,
    /// Who set the device up: what it is told of the queues.
    pub(crate) told: Receiver<()>,
}

impl Driver {
    /// With queues up to this number.
    pub(crate) fn new(last: u16) -> Driver {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("halfturn-ublk-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path).expect("a file");
        std::fs::remove_file(&path).expect("it has no name any more");
        file.set_len(descriptors_at(last + 1, page_bytes())).expect("room");
        let (sender, told) = channel();
        Driver { file, sender: Some(sender), told }
    }

    /// A queue of a disk of 320 sectors, which is this volume; the last one, by which the driver is told that it is gone.
    pub(crate) fn queue(&mut self, number: u16, volume: usize) -> BlockQueue {
        let file: OwnedFd = self.file.try_clone().expect("a descriptor").into();
        let disk = DiskShape { sectors: 320, read_only: false, rotational: false };
        let told = self.sender.take().unwrap_or_else(|| channel().0);
        BlockQueue { number, volume, disk, file, depth: TAGS, told, others: Vec::new(), places: None }
    }

    /// Something is asked for: operation and flags, sectors, the first of them; what it is to write.
    pub(crate) fn ask(&self, queue: u16, tag: u16, (what, count, first): (u32, u32, u64), data: &[u8]) {
        let mut descriptor = [0; DESCRIPTOR];
        descriptor[..4].copy_from_slice(&what.to_ne_bytes());
        descriptor[4..8].copy_from_slice(&count.to_ne_bytes());
        descriptor[8..16].copy_from_slice(&first.to_ne_bytes());
        let at = descriptors_at(queue, page_bytes()) + u64::from(tag) * DESCRIPTOR as u64;
        self.file.write_all_at(&descriptor, at).expect("a descriptor");
        if what & 0xff == 1 {
            self.file.write_all_at(data, data_at(queue, tag)).expect("its data");
        }
    }

    /// What a request has been given.
    pub(crate) fn data(&self, queue: u16, tag: u16, bytes: usize) -> Vec<u8> {
        let mut data = vec![0; bytes];
        self.file.read_exact_at(&mut data, data_at(queue, tag)).expect("its data");
        data
    }
}
