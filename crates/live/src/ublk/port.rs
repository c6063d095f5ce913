//! A block device, from the command that adds it to the one that deletes it.

use super::line::BlockQueue;
use super::protocol::{Control, DeviceInfo, DeviceState, DiskShape, FEATURES_BYTES, LONGEST, NEEDED};
use super::shared::{ControlRing, Descriptors};
use crate::bell::Caller;
use crate::castagnoli::crc32c;
use crate::engine::EngineFace;
use crate::front::EngineMessage;
use crate::socket::is_closed;
use block::{At, BLOCK_BYTES, BadInput};
use load::experiment::{ServicePlan, Volume};
use nbd::Flags;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::cell::Cell;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const CONTROL: &str = "/dev/ublk-control";
/// Queues of a device, where the machine has as many processors; and requests in each. One thread serves them all.
const MOST_QUEUES: usize = 4;
const DEPTH: u16 = 128;
/// How long it may take until the kernel lets go of a device whose server was killed, and until a new one has a file.
const PATIENCE: Duration = Duration::from_secs(10);
const TRY: Duration = Duration::from_millis(20);
/// How often it is looked whether the service has ended.
const LOOK: Duration = Duration::from_millis(50);
/// What the driver takes to end what is left to do after a service has ended.
const AFTER: Duration = Duration::from_secs(2);
/// What the mark of a device begins with that is one of ours; a sum of the volume's name follows.
const MARK: u64 = 0x4861_6C66 << 32;

/// A volume as a block device, which is not served yet.
pub(crate) struct BlockPort {
    name: String,
    device: u32,
    disk: DiskShape,
    queues: u16,
    depth: u16,
    control: ControlRing,
    caller: Caller<EngineMessage>,
    volume: usize,
    begins: Beginning,
}

/// How a device comes to be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beginning {
    /// It was added: nobody has seen it yet.
    Added,
    /// Another service had it, and was killed.
    TakenOver,
    /// Whoever sees to it now knows how it ends.
    Begun,
}

/// Why a device is not to be had, and what to do about it.
type Refusal = (String, String);

/// Sees to the volumes that are to be block devices.
///
/// # Errors
/// When the kernel or its driver lacks something, the process may not, or a device is somebody else's.
pub(crate) fn block_ports(plan: &ServicePlan, faces: &[EngineFace]) -> Result<Vec<BlockPort>, BadInput> {
    let (title, most) = (&plan.whole().title, plan.whole().serve.connections);
    let mut ports: Vec<BlockPort> = Vec::new();
    for (device, number) in &plan.order {
        let (face, volume) = (&faces[*device], &plan.devices[*device].volumes[*number]);
        let Some(id) = volume.ublk else { continue };
        let taken: u32 = ports.iter().map(|port| u32::from(port.queues)).sum();
        let port = BlockPort::claim(id, face, (*number, volume), most - taken);
        ports.push(port.map_err(|(what, mend)| {
            let what = format!("volume '{}' cannot be /dev/ublkb{id}: {what}", volume.name);
            BadInput::new(title.clone(), At::File, what, mend)
        })?);
    }
    Ok(ports)
}

/// Opens the driver's control, if it can do what is needed.
fn open_control(face: &EngineFace) -> Result<ControlRing, Refusal> {
    const LACKING: &str = "Linux 6.6 or later is needed, with io_uring and CAP_SYS_ADMIN; or take `ublk` out";
    if !face.reaches_drivers {
        return Err(("only io_uring reaches its driver, and threads do I/O here".into(), LACKING.into()));
    }
    let opened = rustix::fs::open(CONTROL, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty());
    let file = opened.map_err(|error| {
        let mend = match error {
            Errno::NOENT => "load its driver: modprobe ublk_drv; or take `ublk` out",
            _ => "serve as root, or with CAP_SYS_ADMIN; or take `ublk` out",
        };
        (format!("{CONTROL}: {}", io::Error::from(error)), mend.into())
    })?;
    let unfit = |error: io::Error| (format!("its driver does not answer: {error}"), LACKING.into());
    let mut control = ControlRing::new(file).map_err(unfit)?;
    let told = control.run(Control::Features, (u32::MAX, 0), [0; FEATURES_BYTES], || false).map_err(unfit)?;
    match u64::from_ne_bytes(told) & NEEDED {
        NEEDED => Ok(control),
        _ => Err(("its driver is too old".into(), LACKING.into())),
    }
}

/// Something the driver refused.
fn refuse(error: io::Error) -> Refusal {
    (error.to_string(), "look what the kernel says; or give `ublk` another number".into())
}

impl BlockPort {
    /// Adds a device, or takes one over that a service of the same volume has left. Its queues are no more than `clients`.
    fn claim(
        device: u32,
        face: &EngineFace,
        (number, volume): (usize, &Volume),
        clients: u32,
    ) -> Result<BlockPort, Refusal> {
        let export = &face.exports[number];
        if !export.size.is_multiple_of(BLOCK_BYTES) {
            let what = format!("it has {} bytes, and a block device has blocks of 512", export.size);
            return Err((what, "give it a `size` that is a multiple of 512, or take `ublk` out".into()));
        }
        let mut control = open_control(face)?;
        let is = |flag| export.flags.has(flag);
        let (read_only, rotational) = (is(Flags::READ_ONLY), is(Flags::ROTATIONAL));
        let disk = DiskShape { sectors: export.size / BLOCK_BYTES, read_only, rotational };
        let mark = MARK | u64::from(crc32c(volume.name.as_bytes()));
        let (info, begins) = match find_left(&mut control, device, mark, &disk)? {
            Some(info) => (info, Beginning::TakenOver),
            None => (add(&mut control, device, mark, clients).map_err(refuse)?, Beginning::Added),
        };
        let DeviceInfo { queues, depth, .. } = info;
        let (name, caller) = (volume.name.clone(), face.caller.clone());
        let mut port = BlockPort { name, device, disk, queues, depth, control, caller, volume: number, begins };
        if u32::from(queues) > clients {
            let what = format!("it has {queues} queues, each of which is a client");
            return Err((what, "give [serve] more `connections`".into()));
        }
        if begins == Beginning::Added {
            port.control.run(Control::SetParameters, (device, 0), disk.bytes(), || false).map_err(refuse)?;
        }
        Ok(port)
    }

    /// Serves it, in a thread of its own, until the service ends; `closing` is closed when that has ended.
    ///
    /// # Errors
    /// When there is no thread to be had.
    pub(crate) fn open(self, closing: OwnedFd) -> io::Result<JoinHandle<()>> {
        std::thread::Builder::new().name("ublk".into()).spawn(move || self.attend(&closing))
    }

    fn attend(mut self, closing: &OwnedFd) {
        let begins = std::mem::replace(&mut self.begins, Beginning::Begun);
        let (told, news) = channel();
        let begun = self.start(told, begins, closing);
        if begun.is_ok() {
            let again = if begins == Beginning::TakenOver { ", taken over from a service that was killed" } else { "" };
            eprintln!("volume '{}' is /dev/ublkb{}{again}", self.name, self.device);
            // Whoever is told that nothing is left of its queues knows that they are to end, too.
            wait(&news, closing);
        }
        if let Err(error) = begun.and(self.end(&news, closing)) {
            eprintln!("volume '{}': /dev/ublkb{}: {error}", self.name, self.device);
        }
    }

    /// Has the engine serve the queues, and the kernel show the device.
    fn start(&mut self, told: Sender<()>, begins: Beginning, closing: &OwnedFd) -> io::Result<()> {
        let path = format!("/dev/ublkc{}", self.device);
        let open = || rustix::fs::open(&path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty());
        let file = patiently(|error| matches!(*error, Errno::NOENT | Errno::BUSY | Errno::ACCESS), open)?;
        for number in 0..self.queues {
            let queue = BlockQueue {
                number,
                volume: self.volume,
                disk: self.disk,
                file: file.try_clone()?,
                descriptors: Descriptors::map(&file, number, self.depth)?,
                told: told.clone(),
            };
            let answer = self.caller.put(|asker| EngineMessage::BlockDevice(Box::new(queue), asker));
            answer.recv().unwrap_or(Err("the engine does not answer")).map_err(io::Error::other)?;
        }
        let what = if begins == Beginning::TakenOver { Control::EndRecovery } else { Control::Start };
        let process = rustix::process::getpid().as_raw_nonzero().get() as u64;
        self.control.run(what, (self.device, process), [], after(closing)).map(|_| ())
    }

    /// Stops the device while its queues are still served, so that what was asked is done, and deletes it when they are gone.
    fn end(&mut self, news: &Receiver<()>, closing: &OwnedFd) -> io::Result<()> {
        let stopped = self.control.run(Control::Stop, (self.device, 0), [], after(closing));
        if stopped.as_ref().is_err_and(|error| error.raw_os_error() != Some(Errno::NODEV.raw_os_error())) {
            return stopped.map(|_| ());
        }
        while wait(news, closing) {}
        if !matches!(news.try_recv(), Err(TryRecvError::Disconnected)) {
            return Err(io::Error::other("requests were given up; it is left to the next service of the volume"));
        }
        match delete(&mut self.control, self.device) {
            Err(error) if error.raw_os_error() == Some(Errno::NODEV.raw_os_error()) => Ok(()),
            deleted => deleted,
        }
    }
}

impl Drop for BlockPort {
    fn drop(&mut self) {
        if self.begins == Beginning::Added {
            // One that nobody has seen; the next service of the volume deletes what is left.
            let _ = delete(&mut self.control, self.device);
        }
    }
}

/// Whether a service has ended, and then long enough for whatever does not wait for it.
fn after(closing: &OwnedFd) -> impl Fn() -> bool {
    let ended = Cell::new(None);
    move || {
        if ended.get().is_none() && is_closed(closing) {
            ended.set(Some(Instant::now()));
        }
        ended.get().is_some_and(|at| at.elapsed() > AFTER)
    }
}

/// Waits for news of queues; whether there may be more.
fn wait(news: &Receiver<()>, closing: &OwnedFd) -> bool {
    loop {
        match news.recv_timeout(LOOK) {
            Ok(()) => return true,
            Err(RecvTimeoutError::Disconnected) => return false,
            Err(RecvTimeoutError::Timeout) if is_closed(closing) => return false,
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// Tries until it is something else that goes wrong, or for long enough.
fn patiently<T, E>(is_for_now: impl Fn(&E) -> bool, mut tried: impl FnMut() -> Result<T, E>) -> Result<T, E> {
    let until = Instant::now() + PATIENCE;
    loop {
        match tried() {
            Err(error) if is_for_now(&error) && Instant::now() < until => std::thread::sleep(TRY),
            other => return other,
        }
    }
}

fn add(control: &mut ControlRing, device: u32, mark: u64, clients: u32) -> io::Result<DeviceInfo> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let queues = processors.min(MOST_QUEUES).min(clients as usize).max(1) as u16;
    let (state, flags) = (DeviceState::Dead, NEEDED);
    let wanted = DeviceInfo { queues, depth: DEPTH, state, longest: LONGEST, device, process: 0, flags, mark };
    control.run(Control::Add, (device, 0), wanted.bytes(), || false).map(|told| DeviceInfo::parse(&told))
}

fn delete(control: &mut ControlRing, device: u32) -> io::Result<()> {
    let until = Instant::now() + PATIENCE;
    control.run(Control::Delete, (device, 0), [], || Instant::now() > until).map(|_| ())
}

/// What a service of the same volume has left behind, which is ours then; nothing, where there is nothing, or nothing to go on with.
fn find_left(
    control: &mut ControlRing,
    device: u32,
    mark: u64,
    disk: &DiskShape,
) -> Result<Option<DeviceInfo>, Refusal> {
    let other = "give `ublk` another number";
    let info = match control.run(Control::Describe, (device, 0), [0; DeviceInfo::BYTES], || false) {
        Err(error) if error.raw_os_error() == Some(Errno::NODEV.raw_os_error()) => return Ok(None),
        told => DeviceInfo::parse(&told.map_err(refuse)?),
    };
    if info.mark != mark || info.flags & NEEDED != NEEDED {
        let what = format!("that is of another volume, or of another program, as process {} set it up", info.process);
        return Err((what, format!("{other}, or end what has it")));
    }
    if info.state == DeviceState::Dead {
        return delete(control, device).map(|()| None).map_err(refuse);
    }
    let mut empty = [0; DiskShape::BYTES];
    empty[..4].copy_from_slice(&(DiskShape::BYTES as u32).to_ne_bytes());
    let shape = control.run(Control::Parameters, (device, 0), empty, || false).map_err(refuse)?;
    let shape = DiskShape::parse(&shape);
    if shape != *disk {
        let what = format!("a service was killed that had a volume of this name there, of {} blocks", shape.sectors);
        return Err((what, format!("serve the volume as it was then, and end that service; or {other}")));
    }
    // The kernel notices a while after a server was killed, and lets nobody else have it before.
    let is_busy = |error: &io::Error| error.raw_os_error() == Some(Errno::BUSY.raw_os_error());
    let taken = patiently(is_busy, || control.run(Control::StartRecovery, (device, 0), [], || false).map(|_| ()));
    match taken {
        Ok(()) => Ok(Some(info)),
        Err(error) if is_busy(&error) => {
            Err((format!("process {} has it", info.process), format!("end that, or {other}")))
        }
        Err(error) => Err(refuse(error)),
    }
}
