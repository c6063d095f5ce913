//! A virtual machine with a disk, as far as the disk is concerned: memory, queues and their driver, by virtio 1.2.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use vhost::vhost_user::message::{VhostUserConfigFlags, VhostUserInflight, VhostUserProtocolFeatures};
use vhost::vhost_user::{Frontend, VhostUserFrontend};
use vhost::{VhostBackend, VhostUserMemoryRegionInfo, VringConfigData};
use vm_memory::{Bytes, FileOffset, GuestAddress, GuestMemoryBackend, GuestMemoryMmap};
use vmm_sys_util::eventfd::{EFD_NONBLOCK, EventFd};

pub const IN: u32 = 0;
pub const OUT: u32 = 1;
pub const FLUSH: u32 = 4;
pub const GET_ID: u32 = 8;
pub const DISCARD: u32 = 11;
pub const WRITE_ZEROES: u32 = 13;

pub const HAS_FLUSH: u64 = 1 << 9;
pub const EVENT_IDX: u64 = 1 << 29;
const PROTOCOL: u64 = 1 << 30;
const PATIENCE: Duration = Duration::from_secs(20);

/// Memory in all; a queue's rings take so much at its beginning, and each request so much behind them.
const MEMORY: usize = 96 << 20;
const RINGS: u64 = 0x1_0000;
const SLOT: u64 = 128 << 10;
const SLOTS: u64 = 4 << 20;

/// A descriptor: where, how long, its flags (1: there is a next; 2: for the device to write; 4: a table) and the next.
pub type Descriptor = (u64, u32, u16, u16);

struct Vring {
    kick: EventFd,
    call: EventFd,
    available: u16,
    used: u16,
}

/// A machine that is up.
pub struct VirtualMachine {
    frontend: Frontend,
    pub memory: GuestMemoryMmap,
    pub entries: u16,
    vrings: Vec<Vring>,
    inflight: Option<(VhostUserInflight, File)>,
    pub features: u64,
}

impl VirtualMachine {
    /// Connects with so many queues of so many entries, and uses so much of what is offered.
    pub fn up(socket: &Path, queues: usize, entries: u16, uses: u64) -> VirtualMachine {
        let memory = tempfile(MEMORY as u64);
        let range = (GuestAddress(0), MEMORY, Some(FileOffset::new(memory, 0)));
        let memory = GuestMemoryMmap::from_ranges_with_files([range]).expect("memory");
        let vring = || Vring {
            kick: EventFd::new(EFD_NONBLOCK).expect("a bell"),
            call: EventFd::new(EFD_NONBLOCK).expect("a bell"),
            available: 0,
            used: 0,
        };
        let vrings = (0..queues).map(|_| vring()).collect();
        let frontend = Frontend::connect(socket, queues as u64).expect("a connection");
        let mut machine = VirtualMachine { frontend, memory, entries, vrings, inflight: None, features: 0 };
        machine.set_up(uses);
        machine
    }

    /// Connects anew, as after the service or the connection has gone; what was in flight it does over.
    pub fn again(mut self, socket: &Path) -> VirtualMachine {
        let uses = self.features;
        drop(self.frontend);
        self.frontend = Frontend::connect(socket, self.vrings.len() as u64).expect("a connection");
        let mut machine = VirtualMachine { features: 0, ..self };
        machine.set_up(uses);
        machine
    }

    fn set_up(&mut self, uses: u64) {
        let frontend = &mut self.frontend;
        frontend.set_owner().expect("owned");
        let offered = frontend.get_features().expect("features");
        self.features = offered & (uses | PROTOCOL);
        frontend.set_features(self.features).expect("agreed");
        let protocol = frontend.get_protocol_features().expect("features of the protocol");
        let wanted = VhostUserProtocolFeatures::MQ
            | VhostUserProtocolFeatures::CONFIG
            | VhostUserProtocolFeatures::INFLIGHT_SHMFD
            | VhostUserProtocolFeatures::REPLY_ACK;
        let used = protocol & wanted;
        frontend.set_protocol_features(used).expect("agreed");
        if used.contains(VhostUserProtocolFeatures::REPLY_ACK) {
            frontend.set_hdr_flags(vhost::vhost_user::message::VhostUserHeaderFlag::NEED_REPLY);
        }
        assert!(frontend.get_queue_num().expect("queues") >= self.vrings.len() as u64);
        // Others know nothing of that.
        if used.contains(VhostUserProtocolFeatures::INFLIGHT_SHMFD) {
            let told = VhostUserInflight::new(0, 0, self.vrings.len() as u16, self.entries);
            let inflight = self.inflight.take().unwrap_or_else(|| frontend.get_inflight_fd(&told).expect("memory"));
            frontend.set_inflight_fd(&inflight.0, inflight.1.as_raw_fd()).expect("taken");
            self.inflight = Some(inflight);
        }
        let region = self.memory.iter().next().expect("a region");
        let region = VhostUserMemoryRegionInfo::from_guest_region(region).expect("shared");
        frontend.set_mem_table(&[region]).expect("mapped");
        for number in 0..self.vrings.len() {
            self.start(number).expect("it starts");
        }
    }

    /// Tells the service where the rings of a queue lie, and to begin with it.
    pub fn start(&mut self, number: usize) -> vhost::Result<()> {
        let host = |at: u64| self.memory.get_host_address(GuestAddress(at)).expect("inside") as u64;
        let base = number as u64 * RINGS;
        let config = VringConfigData {
            queue_max_size: self.entries,
            queue_size: self.entries,
            flags: 0,
            desc_table_addr: host(base),
            avail_ring_addr: host(base + 0x4000),
            used_ring_addr: host(base + 0x8000),
            log_addr: None,
        };
        let vring = &self.vrings[number];
        self.frontend.set_vring_num(number, self.entries)?;
        self.frontend.set_vring_addr(number, &config)?;
        self.frontend.set_vring_base(number, vring.used)?;
        self.frontend.set_vring_call(number, &vring.call)?;
        self.frontend.set_vring_kick(number, &vring.kick)?;
        self.frontend.set_vring_enable(number, true)
    }

    /// Stops a queue: where its next request will lie.
    pub fn stop(&mut self, number: usize) -> u16 {
        self.frontend.get_vring_base(number).expect("it stops") as u16
    }

    /// The configuration of the disk.
    pub fn config(&mut self) -> Vec<u8> {
        let flags = VhostUserConfigFlags::WRITABLE;
        self.frontend.get_config(0, 60, flags, &[0; 60]).expect("a configuration").1
    }

    /// Writes a descriptor of a queue.
    pub fn describe(&self, queue: usize, number: u16, (at, bytes, flags, next): Descriptor) {
        self.describe_at(queue as u64 * RINGS, number, (at, bytes, flags, next));
    }

    fn describe_at(&self, table: u64, number: u16, (at, bytes, flags, next): Descriptor) {
        let place = GuestAddress(table + u64::from(number) * 16);
        let low = at.to_le_bytes().into_iter().chain(bytes.to_le_bytes());
        let all: Vec<u8> = low.chain(flags.to_le_bytes()).chain(next.to_le_bytes()).collect();
        self.memory.write_slice(&all, place).expect("inside");
    }

    /// Makes the chain that begins with a descriptor available, without a word to the device.
    pub fn offer(&mut self, queue: usize, head: u16) {
        let base = queue as u64 * RINGS + 0x4000;
        let vring = &mut self.vrings[queue];
        let place = base + 4 + u64::from(vring.available % self.entries) * 2;
        self.memory.write_obj(head, GuestAddress(place)).expect("inside");
        vring.available = vring.available.wrapping_add(1);
        self.memory.store(vring.available, GuestAddress(base + 2), Ordering::SeqCst).expect("inside");
    }

    /// Says that there are so many more than there are.
    pub fn boast(&mut self, queue: usize, by: u16) {
        let place = GuestAddress(queue as u64 * RINGS + 0x4002);
        let told = self.vrings[queue].available.wrapping_add(by);
        self.memory.store(told, place, Ordering::SeqCst).expect("inside");
    }

    /// Tells the device that there is something.
    pub fn kick(&self, queue: usize) {
        self.vrings[queue].kick.write(1).expect("a bell");
    }

    /// Tells it of the last that was made available, unless it has said that it need not hear; whether it was told.
    pub fn kick_where_heard(&self, queue: usize) -> bool {
        let used = queue as u64 * RINGS + 0x8000;
        let load = |at| -> u16 { self.memory.load(GuestAddress(at), Ordering::SeqCst).expect("inside") };
        std::sync::atomic::fence(Ordering::SeqCst);
        let hears = match self.features & EVENT_IDX != 0 {
            true => load(used + 4 + u64::from(self.entries) * 8) == self.vrings[queue].available.wrapping_sub(1),
            false => load(used) & 1 == 0,
        };
        if hears {
            self.kick(queue);
        }
        hears
    }

    /// Where the memory of a slot is: its header, then its data, then its status.
    pub fn data(queue: usize, slot: u16) -> u64 {
        SLOTS + (queue as u64 * 256 + u64::from(slot)) * SLOT
    }

    /// Asks for something of so many bytes, in a slot that is free; every other one by a table of its own.
    pub fn ask(&mut self, queue: usize, slot: u16, kind: u32, sector: u64, bytes: u32) {
        let at = VirtualMachine::data(queue, slot);
        let (header, status) = (at + SLOT - 32, at + SLOT - 1);
        self.memory.write_obj(kind, GuestAddress(header)).expect("inside");
        self.memory.write_obj(sector, GuestAddress(header + 8)).expect("inside");
        self.memory.write_obj(0xff_u8, GuestAddress(status)).expect("inside");
        let writes = u16::from(matches!(kind, IN | GET_ID)) * 2;
        let (table, first) = if slot % 2 == 1 { (at + SLOT - 256, 0) } else { (queue as u64 * RINGS, slot * 4) };
        self.describe_at(table, first, (header, 16, 1, first + 1));
        // In two pieces where there is something to divide.
        let some = bytes / 2 / 4 * 4 + bytes % 4;
        let mut next = first + 1;
        for (from, bytes) in [(0, some), (some, bytes - some)] {
            if bytes > 0 {
                self.describe_at(table, next, (at + u64::from(from), bytes, 1 | writes, next + 1));
                next += 1;
            }
        }
        self.describe_at(table, next, (status, 1, 2, 0));
        if slot % 2 == 1 {
            self.describe(queue, slot * 4, (table, u32::from(next + 1) * 16, 4, 0));
        }
        self.offer(queue, slot * 4);
    }

    /// Asks to give up sectors, or to make them zero.
    pub fn ask_range(&mut self, queue: usize, slot: u16, kind: u32, sectors: (u64, u32), flags: u32) {
        let at = GuestAddress(VirtualMachine::data(queue, slot));
        let range = sectors.0.to_le_bytes().into_iter().chain(sectors.1.to_le_bytes()).chain(flags.to_le_bytes());
        self.memory.write_slice(&range.collect::<Vec<_>>(), at).expect("inside");
        self.ask(queue, slot, kind, 0, 16);
    }

    /// The slots that were answered meanwhile, and how.
    pub fn take_answers(&mut self, queue: usize) -> BTreeMap<u16, u8> {
        let base = queue as u64 * RINGS + 0x8000;
        let event = base - 0x8000 + 0x4004 + u64::from(self.entries) * 2;
        let mut slots = BTreeMap::new();
        loop {
            let used = self.vrings[queue].used;
            let told = || -> u16 { self.memory.load(GuestAddress(base + 2), Ordering::SeqCst).expect("inside") };
            if used == told() {
                // With an event index the next answer is to be told of; one that came before that is not.
                self.memory.store(used, GuestAddress(event), Ordering::SeqCst).expect("inside");
                if used == told() {
                    return slots;
                }
            }
            let place = base + 4 + u64::from(self.vrings[queue].used % self.entries) * 8;
            let head: u32 = self.memory.read_obj(GuestAddress(place)).expect("inside");
            let slot = head as u16 / 4;
            let status =
                self.memory.read_obj(GuestAddress(VirtualMachine::data(queue, slot) + SLOT - 1)).expect("inside");
            assert_eq!(slots.insert(slot, status), None, "answered twice");
            self.vrings[queue].used = self.vrings[queue].used.wrapping_add(1);
        }
    }

    /// Waits until so many are answered; it is called for that.
    pub fn wait(&mut self, queue: usize, count: usize) -> BTreeMap<u16, u8> {
        let (mut slots, until) = (self.take_answers(queue), Instant::now() + PATIENCE);
        while slots.len() < count {
            assert!(Instant::now() < until, "{} of {count} are answered", slots.len());
            if self.vrings[queue].call.read().is_err() {
                std::thread::sleep(Duration::from_micros(200));
                continue;
            }
            let more = self.take_answers(queue);
            more.into_iter().for_each(|(slot, status)| assert_eq!(slots.insert(slot, status), None, "answered twice"));
        }
        slots
    }

    /// One request, alone in its queue: how it was answered.
    pub fn one(&mut self, kind: u32, sector: u64, bytes: u32) -> u8 {
        self.ask(0, 0, kind, sector, bytes);
        self.kick(0);
        self.wait(0, 1)[&0]
    }

    /// The same of a range.
    pub fn one_range(&mut self, kind: u32, sectors: (u64, u32), flags: u32) -> u8 {
        self.ask_range(0, 0, kind, sectors, flags);
        self.kick(0);
        self.wait(0, 1)[&0]
    }

    pub fn put(&self, queue: usize, slot: u16, bytes: &[u8]) {
        self.memory.write_slice(bytes, GuestAddress(VirtualMachine::data(queue, slot))).expect("inside");
    }

    pub fn get(&self, queue: usize, slot: u16, bytes: usize) -> Vec<u8> {
        let mut got = vec![0; bytes];
        self.memory.read_slice(&mut got, GuestAddress(VirtualMachine::data(queue, slot))).expect("inside");
        got
    }
}

/// A file without a name, of so many bytes.
fn tempfile(bytes: u64) -> File {
    let file = File::from(rustix::fs::memfd_create("guest", rustix::fs::MemfdFlags::CLOEXEC).expect("a file"));
    file.set_len(bytes).expect("room");
    file
}
