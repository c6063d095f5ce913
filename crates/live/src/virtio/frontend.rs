//! What a frontend says of a disk's queues: the messages of vhost-user, and what the engine is told of each.

use super::disk::{CONFIG, VirtualDisk};
use super::inflight::InflightMemory;
use super::port::{EngineLine, QueueOrder};
use super::queue::{GuestQueue, LONGEST_QUEUE, Rings, rings};
use crate::front::EngineMessage;
use crate::identity::Identity;
use rustix::io::ioctl_fionbio;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use vhost::vhost_user::message::{
    VhostTransferStateDirection, VhostTransferStatePhase, VhostUserConfigFlags, VhostUserInflight, VhostUserLog,
    VhostUserMemoryRegion, VhostUserProtocolFeatures, VhostUserShMemConfig, VhostUserSharedMsg,
    VhostUserSingleMemoryRegion, VhostUserVirtioFeatures, VhostUserVringAddrFlags, VhostUserVringState,
};
use vhost::vhost_user::{Error, GpuBackend, Result, VhostUserBackendReqHandlerMut};
use vm_memory::{FileOffset, GuestAddress, GuestMemoryMmap, GuestMemoryRegion, GuestRegionMmap, MmapRegion};

/// Numbers of queues: no two that were ever served have the same.
static NUMBERS: AtomicU64 = AtomicU64::new(0);

/// The most pieces of memory that a frontend may share.
const MOST_REGIONS: usize = 64;

/// A piece of shared memory: where it is for the frontend and for its guest, and how long.
struct SharedRegion {
    user: u64,
    guest: u64,
    bytes: u64,
}

/// A queue, as far as it was told of.
#[derive(Default)]
struct QueueSetup {
    entries: u16,
    /// Descriptors, available and used, as the frontend has them.
    places: Option<[u64; 3]>,
    next: u16,
    kick: Option<OwnedFd>,
    call: Option<OwnedFd>,
    error: Option<OwnedFd>,
    enabled: bool,
    /// By what the engine knows it, while it is served.
    served: Option<u64>,
}

/// A frontend, and what it has said so far.
pub(super) struct Frontend {
    engine: EngineLine,
    disk: Arc<VirtualDisk>,
    identity: Identity,
    features: u64,
    memory: Option<GuestMemoryMmap>,
    regions: Vec<SharedRegion>,
    inflight: Option<InflightMemory>,
    queues: Vec<QueueSetup>,
}

fn refuse(why: &str) -> Error {
    Error::ReqHandlerError(io::Error::other(why))
}

impl Frontend {
    /// One who has just connected.
    pub(super) fn new(engine: EngineLine, disk: Arc<VirtualDisk>, identity: Identity) -> Frontend {
        disk.agree(0);
        let queues = (0..disk.queues()).map(|_| QueueSetup::default()).collect();
        let (memory, regions) = (None, Vec::new());
        Frontend { engine, disk, identity, features: 0, memory, regions, inflight: None, queues }
    }

    fn queue_mut(&mut self, index: u32) -> Result<&mut QueueSetup> {
        self.queues.get_mut(index as usize).ok_or(Error::InvalidParam)
    }

    /// Where something of the frontend's is for its guest.
    fn guest(&self, user: u64) -> Option<u64> {
        let inside = |region: &&SharedRegion| user.checked_sub(region.user).is_some_and(|at| at < region.bytes);
        self.regions.iter().find(inside).map(|region| region.guest + (user - region.user))
    }

    /// Has the engine serve a queue, or not, as it was told of.
    fn settle(&mut self, index: u32) -> Result<()> {
        let free = self.features & VhostUserVirtioFeatures::PROTOCOL_FEATURES.bits() == 0;
        let told = self.queue_mut(index)?;
        let wanted = told.kick.is_some() && told.places.is_some() && told.entries > 0 && (told.enabled || free);
        match (wanted, told.served) {
            (true, None) if self.memory.is_some() => self.start(index),
            (false, Some(_)) => self.stop(index),
            _ => Ok(()),
        }
    }

    fn start(&mut self, index: u32) -> Result<()> {
        let told = &self.queues[index as usize];
        let (Some(memory), Some(places)) = (&self.memory, told.places) else { return Ok(()) };
        let [Some(descriptors), Some(available), Some(used)] = places.map(|place| self.guest(place)) else {
            return Err(refuse("a ring outside the memory that is shared"));
        };
        let place = Rings { entries: told.entries, descriptors, available, used };
        let outside = || refuse("rings that are not aligned, or not in the memory that is shared");
        let mut queue = rings(memory, &place, told.next, self.features).ok_or_else(outside)?;
        let mut inflight = match &self.inflight {
            Some(memory) => Some(memory.queue(index as u16, told.entries).ok_or(Error::InvalidParam)?),
            None => None,
        };
        let again = inflight.as_mut().map(|inflight| inflight.recover(&mut queue)).unwrap_or_default();
        let copy =
            |bell: &Option<OwnedFd>| bell.as_ref().map(OwnedFd::try_clone).transpose().map_err(Error::ReqHandlerError);
        let Some(kick) = copy(&told.kick)? else { return Ok(()) };
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let shared = GuestQueue {
            number,
            place: index as u16,
            volume: self.engine.room.volume,
            disk: Arc::clone(&self.disk),
            identity: self.identity.clone(),
            memory: memory.clone(),
            queue,
            again,
            inflight,
            kick,
            call: copy(&told.call)?,
            error: copy(&told.error)?,
        };
        match self.engine.ask(|asker| QueueOrder::Start(Box::new(shared), asker)) {
            Some(Ok(())) => self.queues[index as usize].served = Some(number),
            Some(Err(why)) => return Err(refuse(why)),
            None => return Err(refuse(SILENT)),
        }
        Ok(())
    }

    /// Stops a queue, and waits until all that was taken from it is answered.
    fn stop(&mut self, index: u32) -> Result<()> {
        let Some(number) = self.queue_mut(index)?.served.take() else { return Ok(()) };
        self.queue_mut(index)?.next =
            self.engine.ask(|asker| QueueOrder::Stop(number, asker)).ok_or_else(|| refuse(SILENT))?;
        Ok(())
    }

    /// It is gone: nothing of its is written to any more when this returns.
    pub(super) fn lose(&mut self) {
        let served: Vec<u64> = self.queues.iter_mut().filter_map(|told| told.served.take()).collect();
        for number in served {
            // An engine that has ended writes nothing either.
            let _ = self.engine.ask(|asker| QueueOrder::Lose(number, asker));
        }
    }
}

const SILENT: &str = "the engine does not answer";

/// Shares the memory of a region; nothing where the file is not as long.
fn share(region: &VhostUserMemoryRegion, file: File) -> Option<GuestRegionMmap> {
    let end = region.mmap_offset.checked_add(region.memory_size)?;
    // What lies behind the end of a file cannot be touched.
    if file.metadata().ok()?.len() < end {
        return None;
    }
    let mapped =
        MmapRegion::from_file(FileOffset::new(file, region.mmap_offset), usize::try_from(region.memory_size).ok()?);
    GuestRegionMmap::new(mapped.ok()?, GuestAddress(region.guest_phys_addr))
}

/// A bell that nobody has to wait for, whatever state it is in.
fn bell(file: Option<File>) -> Result<Option<OwnedFd>> {
    let bell = file.map(OwnedFd::from);
    if let Some(bell) = &bell {
        ioctl_fionbio(bell, true).map_err(|error| Error::ReqHandlerError(error.into()))?;
    }
    Ok(bell)
}

impl VhostUserBackendReqHandlerMut for Frontend {
    fn set_owner(&mut self) -> Result<()> {
        Ok(())
    }

    fn reset_owner(&mut self) -> Result<()> {
        (0..self.queues.len() as u32).try_for_each(|index| self.stop(index))
    }

    fn reset_device(&mut self) -> Result<()> {
        Err(Error::InvalidOperation("a reset"))
    }

    fn get_features(&mut self) -> Result<u64> {
        Ok(self.disk.features() | VhostUserVirtioFeatures::PROTOCOL_FEATURES.bits())
    }

    fn set_features(&mut self, features: u64) -> Result<()> {
        if features & !self.get_features()? != 0 {
            return Err(Error::FeatureMismatch);
        }
        self.features = features;
        self.disk.agree(features);
        Ok(())
    }

    fn set_mem_table(
        &mut self,
        regions: &[VhostUserMemoryRegion],
        files: Vec<File>,
        _: Option<bool>,
    ) -> Result<Option<Vec<u64>>> {
        if regions.len() != files.len() || regions.len() > MOST_REGIONS {
            return Err(Error::InvalidParam);
        }
        let shared = regions.iter().zip(files).map(|(region, file)| share(region, file)).collect::<Option<Vec<_>>>();
        let mut shared = shared.ok_or_else(|| refuse("memory that cannot be shared"))?;
        shared.sort_by_key(GuestMemoryRegion::start_addr);
        let memory = GuestMemoryMmap::from_regions(shared).map_err(|_| Error::InvalidParam)?;
        let region = |it: &VhostUserMemoryRegion| SharedRegion {
            user: it.user_addr,
            guest: it.guest_phys_addr,
            bytes: it.memory_size,
        };
        self.regions = regions.iter().map(region).collect();
        self.memory = Some(memory.clone());
        for number in self.queues.iter().filter_map(|told| told.served).collect::<Vec<_>>() {
            self.engine.ask(|asker| QueueOrder::Memory(number, memory.clone(), asker)).ok_or_else(|| refuse(SILENT))?;
        }
        (0..self.queues.len() as u32).try_for_each(|index| self.settle(index))?;
        Ok(None)
    }

    fn set_vring_num(&mut self, index: u32, num: u32) -> Result<()> {
        let entries = u16::try_from(num).ok().filter(|num| num.is_power_of_two() && *num <= LONGEST_QUEUE);
        self.stop(index)?;
        self.queue_mut(index)?.entries = entries.ok_or(Error::InvalidParam)?;
        self.settle(index)
    }

    fn set_vring_addr(
        &mut self,
        index: u32,
        _: VhostUserVringAddrFlags,
        descriptor: u64,
        used: u64,
        available: u64,
        _: u64,
    ) -> Result<()> {
        let places = Some([descriptor, available, used]);
        if self.queue_mut(index)?.places != places {
            self.stop(index)?;
            self.queue_mut(index)?.places = places;
        }
        self.settle(index)
    }

    fn set_vring_base(&mut self, index: u32, base: u32) -> Result<()> {
        self.stop(index)?;
        self.queue_mut(index)?.next = base as u16;
        self.settle(index)
    }

    fn get_vring_base(&mut self, index: u32) -> Result<VhostUserVringState> {
        self.stop(index)?;
        let told = self.queue_mut(index)?;
        // It begins again when it is told of a bell.
        (told.kick, told.call) = (None, None);
        Ok(VhostUserVringState::new(index, told.next.into()))
    }

    fn set_vring_kick(&mut self, index: u8, fd: Option<File>) -> Result<()> {
        let kick = bell(fd)?.ok_or_else(|| refuse("a queue without a bell: it is not polled"))?;
        self.stop(index.into())?;
        self.queue_mut(index.into())?.kick = Some(kick);
        self.settle(index.into())
    }

    fn set_vring_call(&mut self, index: u8, fd: Option<File>) -> Result<()> {
        let (call, caller) = (bell(fd)?, self.engine.room.caller.clone());
        let told = self.queue_mut(index.into())?;
        if let Some(number) = told.served {
            let copy = call.as_ref().map(OwnedFd::try_clone).transpose().map_err(Error::ReqHandlerError)?;
            caller.tell(EngineMessage::Queue(QueueOrder::Call(number, copy)));
        }
        told.call = call;
        Ok(())
    }

    fn set_vring_err(&mut self, index: u8, fd: Option<File>) -> Result<()> {
        self.queue_mut(index.into())?.error = bell(fd)?;
        Ok(())
    }

    fn get_protocol_features(&mut self) -> Result<VhostUserProtocolFeatures> {
        Ok(VhostUserProtocolFeatures::MQ
            | VhostUserProtocolFeatures::CONFIG
            | VhostUserProtocolFeatures::INFLIGHT_SHMFD)
    }

    fn set_protocol_features(&mut self, _: u64) -> Result<()> {
        Ok(())
    }

    fn get_queue_num(&mut self) -> Result<u64> {
        Ok(self.disk.queues().into())
    }

    fn set_vring_enable(&mut self, index: u32, enable: bool) -> Result<()> {
        self.queue_mut(index)?.enabled = enable;
        self.settle(index)
    }

    fn get_config(&mut self, offset: u32, size: u32, _: VhostUserConfigFlags) -> Result<Vec<u8>> {
        let part = (offset as usize).checked_add(size as usize).filter(|end| *end <= CONFIG);
        let end = part.ok_or(Error::InvalidParam)?;
        Ok(self.disk.config()[offset as usize..end].to_vec())
    }

    fn set_config(&mut self, _: u32, _: &[u8], _: VhostUserConfigFlags) -> Result<()> {
        Err(Error::InvalidOperation("a configuration of the guest's"))
    }

    fn get_inflight_fd(&mut self, inflight: &VhostUserInflight) -> Result<(VhostUserInflight, File)> {
        let (queues, entries) = (inflight.num_queues, inflight.queue_size);
        if queues == 0 || queues > self.disk.queues() || entries == 0 || entries > LONGEST_QUEUE {
            return Err(Error::InvalidParam);
        }
        let (file, bytes) = InflightMemory::create(queues, entries).map_err(Error::ReqHandlerError)?;
        Ok((VhostUserInflight::new(bytes, 0, queues, entries), file))
    }

    fn set_inflight_fd(&mut self, inflight: &VhostUserInflight, file: File) -> Result<()> {
        let place = (inflight.mmap_offset, inflight.mmap_size);
        let memory = InflightMemory::map(file, place, inflight.num_queues, inflight.queue_size);
        self.inflight = Some(memory.map_err(Error::ReqHandlerError)?);
        Ok(())
    }

    fn set_gpu_socket(&mut self, _: GpuBackend) -> Result<()> {
        Err(Error::InvalidOperation("a screen"))
    }

    fn get_shared_object(&mut self, _: VhostUserSharedMsg) -> Result<File> {
        Err(Error::InvalidOperation("shared objects"))
    }

    fn get_max_mem_slots(&mut self) -> Result<u64> {
        Err(Error::InvalidOperation("slots of memory"))
    }

    fn add_mem_region(&mut self, _: &VhostUserSingleMemoryRegion, _: File, _: Option<bool>) -> Result<Option<u64>> {
        Err(Error::InvalidOperation("slots of memory"))
    }

    fn remove_mem_region(&mut self, _: &VhostUserSingleMemoryRegion) -> Result<()> {
        Err(Error::InvalidOperation("slots of memory"))
    }

    fn set_device_state_fd(
        &mut self,
        _: VhostTransferStateDirection,
        _: VhostTransferStatePhase,
        _: File,
    ) -> Result<Option<File>> {
        Err(Error::InvalidOperation("a state to move"))
    }

    fn check_device_state(&mut self) -> Result<()> {
        Err(Error::InvalidOperation("a state to move"))
    }

    fn get_shmem_config(&mut self) -> Result<VhostUserShMemConfig> {
        Err(Error::InvalidOperation("memory of the disk"))
    }

    fn set_log_base(&mut self, _: &VhostUserLog, _: File) -> Result<()> {
        Err(Error::InvalidOperation("a log of what is written"))
    }
}
