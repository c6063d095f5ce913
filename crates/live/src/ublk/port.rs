//! A block device, from the command that adds it to the one that deletes it.

use super::line::BlockQueue;
use super::protocol::{Control, DeviceInfo, DeviceState, DiskShape, FEATURES_BYTES, LONGEST, NEEDED};
use super::shared::ControlRing;
use crate::bell::Caller;
use crate::castagnoli::crc32c;
use crate::door::ClientPlaces;
use crate::engine::EngineFace;
use crate::front::EngineMessage;
use crate::socket::is_closed;
use block::{At, BLOCK_BYTES, BadInput};
use load::experiment::{Experiment, Held, Live, ServicePlan, Volume};
use nbd::Flags;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::cell::Cell;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
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
/// What the driver takes to do one thing more after a service has ended, and a port to end: it has two things to do by then.
const AFTER: Duration = Duration::from_secs(2);
const LATE: Duration = Duration::from_secs(5);
/// What the mark of a device begins with that is one of ours; a sum follows of what the volume is.
const MARK: u64 = 0x4861_6C66 << 32;

/// A volume as a block device, which is not served yet.
pub(crate) struct BlockPort {
    name: String,
    device: u32,
    disk: DiskShape,
    queues: u16,
    depth: u16,
    /// Those of its queues, of which each is a client.
    places: Option<ClientPlaces>,
    control: ControlRing,
    caller: Caller<EngineMessage>,
    volume: usize,
    begins: DeviceStart,
}

/// How a device comes to be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DeviceStart {
    /// It was added: nobody has seen it yet.
    Added,
    /// Another service had it, and was killed: what was asked of it waits in the kernel.
    TakenOver,
    /// Whoever sees to it now knows how it ends.
    Begun,
}

/// Why a device is not to be had, and what to do about it.
type DriverRefusal = (String, String);

/// Sees to the volumes that are to be block devices, before anybody else comes in.
///
/// # Errors
/// When the kernel or its driver lacks something, the process may not, or a device is somebody else's.
pub(crate) fn block_ports(
    plan: &ServicePlan,
    faces: &[EngineFace],
    inside: &Arc<AtomicU32>,
) -> Result<Vec<BlockPort>, BadInput> {
    let (title, most) = (&plan.whole().title, plan.whole().serve.connections);
    let mut ports: Vec<BlockPort> = Vec::new();
    for (device, number) in &plan.order {
        let (face, experiment) = (&faces[*device], &plan.devices[*device]);
        let volume = &experiment.volumes[*number];
        let Some(id) = volume.ublk else { continue };
        let port = BlockPort::claim((id, mark(experiment, volume)), face, (*number, volume), (inside, most));
        ports.push(port.map_err(|(what, mend)| {
            let what = format!("volume '{}' cannot be /dev/ublkb{id}: {what}", volume.name);
            BadInput::new(title.clone(), At::File, what, mend)
        })?);
    }
    Ok(ports)
}

/// How a device is marked that is this volume: by what is below it, where it lies there, and its name. An array is known by its first
/// disk.
fn mark(experiment: &Experiment, volume: &Volume) -> u64 {
    let drive = experiment.array.as_ref().map_or(&experiment.drive, |array| array.member(0, &experiment.drive));
    let below = match &drive.live {
        Some(Live::File(path) | Live::Emulated(Held::Sparse(path))) => path.canonicalize().unwrap_or(path.clone()),
        Some(Live::Ram(_)) => "ram:".into(),
        Some(Live::Emulated(_)) | None => drive.model.clone().into(),
    };
    let whole = [below.as_os_str().as_encoded_bytes(), &[0], &volume.from.to_ne_bytes(), volume.name.as_bytes()];
    MARK | u64::from(crc32c(&whole.concat()))
}

/// Opens the driver's control, if it can do what is needed.
fn open_control(face: &EngineFace) -> Result<ControlRing, DriverRefusal> {
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

/// Whether something went wrong in this way.
fn is(error: &io::Error, errno: Errno) -> bool {
    error.raw_os_error() == Some(errno.raw_os_error())
}

/// Something the driver refused.
fn refuse(error: io::Error) -> DriverRefusal {
    (error.to_string(), "look what the kernel says; or give `ublk` another number".into())
}

impl BlockPort {
    /// Adds a device, or takes one over that a service of the same volume has left. Its queues are clients: of all that are
    /// inside there may be so many.
    fn claim(
        (device, mark): (u32, u64),
        face: &EngineFace,
        (number, volume): (usize, &Volume),
        (inside, most): (&Arc<AtomicU32>, u32),
    ) -> Result<BlockPort, DriverRefusal> {
        let export = &face.exports[number];
        if !export.size.is_multiple_of(BLOCK_BYTES) {
            let what = format!("it has {} bytes, and a block device has blocks of 512", export.size);
            return Err((what, "give it a `size` that is a multiple of 512, or take `ublk` out".into()));
        }
        let mut control = open_control(face)?;
        let has = |flag| export.flags.has(flag);
        let (read_only, rotational) = (has(Flags::READ_ONLY), has(Flags::ROTATIONAL));
        let disk = DiskShape { sectors: export.size / BLOCK_BYTES, read_only, rotational };
        let (info, begins) = match find_left(&mut control, device, mark, &disk)? {
            Some(info) => (info, DeviceStart::TakenOver),
            None => {
                let left = most.saturating_sub(inside.load(Ordering::Relaxed));
                (add(&mut control, device, mark, left).map_err(refuse)?, DeviceStart::Added)
            }
        };
        let DeviceInfo { queues, depth, .. } = info;
        let (name, caller) = (volume.name.clone(), face.caller.clone());
        let places = ClientPlaces::take(inside, queues.into(), most);
        let is_full = places.is_none();
        let mut port = BlockPort { name, device, disk, queues, depth, places, control, caller, volume: number, begins };
        if is_full {
            let what = format!("it has {queues} queues, each of which is a client");
            return Err((what, "give [serve] more `connections`".into()));
        }
        if begins == DeviceStart::Added {
            port.control.run(Control::SetParameters, (device, 0), disk.bytes(), || false).map_err(refuse)?;
        }
        Ok(port)
    }

    /// Serves it, in a thread of its own, until the service ends; `closing` is closed when that has ended. What it gives ends when that
    /// thread has, or is late: the kernel keeps a thread for as long as it has a command of it, and one that stops a device may wait for
    /// requests that only the end of the process frees.
    ///
    /// # Errors
    /// When there is no thread to be had.
    pub(crate) fn open(self, closing: OwnedFd) -> io::Result<JoinHandle<()>> {
        let (ends, ended) = channel::<()>();
        let closed = closing.try_clone()?;
        let attend = move || {
            self.attend(&closing);
            drop(ends);
        };
        std::thread::Builder::new().name("ublk".into()).spawn(attend)?;
        let until_ended = move || {
            let is_late = has_ended_for(&closed, LATE);
            while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) && !is_late() {}
        };
        std::thread::Builder::new().name("ublk end".into()).spawn(until_ended)
    }

    fn attend(mut self, closing: &OwnedFd) {
        let begins = std::mem::replace(&mut self.begins, DeviceStart::Begun);
        let (told, news) = channel();
        let ended = match (self.start(told, begins, closing), begins) {
            (Ok(()), _) => {
                let killed = ", taken over from a service that was killed";
                let again = if begins == DeviceStart::TakenOver { killed } else { "" };
                eprintln!("volume '{}' is /dev/ublkb{}{again}", self.name, self.device);
                // Whoever is told that nothing is left of its queues knows that they are to end, too.
                wait(&news, closing);
                self.end(&news, closing)
            }
            // To stop it would fail what waits there. Its queues see that nobody is here any more, and end with the service.
            (Err(error), DeviceStart::TakenOver) => {
                Err(io::Error::other(format!("{error}; what was asked of it waits for the next service of the volume")))
            }
            (Err(error), _) => {
                // What went wrong first is what is told.
                let _ = self.end(&news, closing);
                Err(error)
            }
        };
        if let Err(error) = ended {
            eprintln!("volume '{}': /dev/ublkb{}: {error}", self.name, self.device);
        }
    }

    /// Has the engine serve the queues, and the kernel show the device.
    fn start(&mut self, told: Sender<()>, begins: DeviceStart, closing: &OwnedFd) -> io::Result<()> {
        let places = self.places.take();
        let what = match begins {
            DeviceStart::TakenOver => {
                self.begin_recovery(closing)?;
                Control::EndRecovery
            }
            DeviceStart::Added | DeviceStart::Begun => Control::Start,
        };
        let path = format!("/dev/ublkc{}", self.device);
        let open = || rustix::fs::open(&path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty());
        let is_for_now = |error: &Errno| matches!(*error, Errno::NOENT | Errno::BUSY | Errno::ACCESS);
        let file = patiently(closing, is_for_now, open)?;
        let queue = |number| -> io::Result<BlockQueue> {
            Ok(BlockQueue {
                number,
                volume: self.volume,
                disk: self.disk,
                file: file.try_clone()?,
                depth: self.depth,
                told: told.clone(),
                others: Vec::new(),
                places: None,
            })
        };
        let others = (1..self.queues).map(queue).collect::<io::Result<_>>()?;
        let first = Box::new(BlockQueue { others, places, ..queue(0)? });
        let answer = self.caller.put(|asker| EngineMessage::BlockDevice(first, asker));
        let admitted = loop {
            match answer.recv_timeout(LOOK) {
                Ok(admitted) => break admitted,
                Err(RecvTimeoutError::Timeout) if !is_closed(closing) => {}
                Err(_) => break Err("the engine does not answer"),
            }
        };
        admitted.map_err(io::Error::other)?;
        let process = rustix::process::getpid().as_raw_nonzero().get() as u64;
        self.control.run(what, (self.device, process), [], has_ended_for(closing, AFTER)).map(|_| ())
    }

    /// Has the kernel take other queues for the device than those of the service that was killed.
    fn begin_recovery(&mut self, closing: &OwnedFd) -> io::Result<()> {
        let device = self.device;
        let begin =
            || self.control.run(Control::StartRecovery, (device, 0), [], has_ended_for(closing, AFTER)).map(|_| ());
        // The kernel may still have the file of whoever was killed.
        match patiently(closing, |error| is(error, Errno::BUSY), begin) {
            // A service has begun that before, and has ended before it served a queue.
            Err(error) if is(&error, Errno::INVAL) => Ok(()),
            begun => begun,
        }
    }

    /// Stops the device while its queues are still served, so that what was asked is done, and deletes it when they are gone.
    fn end(&mut self, news: &Receiver<()>, closing: &OwnedFd) -> io::Result<()> {
        let stopped = self.control.run(Control::Stop, (self.device, 0), [], has_ended_for(closing, AFTER));
        if stopped.as_ref().is_err_and(|error| !is(error, Errno::NODEV)) {
            return stopped.map(|_| ());
        }
        while wait(news, closing) {}
        if !matches!(news.try_recv(), Err(TryRecvError::Disconnected)) {
            let what = "its queues did not end in time; the next service of the volume deletes it";
            return Err(io::Error::other(what));
        }
        match delete(&mut self.control, self.device, has_ended_for(closing, AFTER)) {
            Err(error) if is(&error, Errno::NODEV) => Ok(()),
            deleted => deleted,
        }
    }
}

impl Drop for BlockPort {
    fn drop(&mut self) {
        if self.begins == DeviceStart::Added {
            // One that nobody has seen; the next service of the volume deletes what is left.
            let _ = delete(&mut self.control, self.device, || false);
        }
    }
}

/// Tells whether the service ended more than so long ago.
fn has_ended_for(closing: &OwnedFd, long: Duration) -> impl Fn() -> bool {
    let ended = Cell::new(None);
    move || {
        if ended.get().is_none() && is_closed(closing) {
            ended.set(Some(Instant::now()));
        }
        ended.get().is_some_and(|at| at.elapsed() > long)
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

/// Tries until it is something else that goes wrong, for long enough, or until the service ends.
fn patiently<T, E>(
    closing: &OwnedFd,
    is_for_now: impl Fn(&E) -> bool,
    mut tried: impl FnMut() -> Result<T, E>,
) -> Result<T, E> {
    let until = Instant::now() + PATIENCE;
    loop {
        match tried() {
            Err(error) if is_for_now(&error) && Instant::now() < until && !is_closed(closing) => {
                std::thread::sleep(TRY);
            }
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

fn delete(control: &mut ControlRing, device: u32, is_vain: impl Fn() -> bool) -> io::Result<()> {
    let until = Instant::now() + PATIENCE;
    control.run(Control::Delete, (device, 0), [], || is_vain() || Instant::now() > until).map(|_| ())
}

/// What the driver knows of a device, if there is one of this number.
fn describe(control: &mut ControlRing, device: u32) -> Result<Option<DeviceInfo>, DriverRefusal> {
    match control.run(Control::Describe, (device, 0), [0; DeviceInfo::BYTES], || false) {
        Err(error) if is(&error, Errno::NODEV) => Ok(None),
        told => Ok(Some(DeviceInfo::parse(&told.map_err(refuse)?))),
    }
}

/// What a service of the same volume has left behind, which may be taken over; nothing, where there is nothing, or nothing to go on
/// with.
fn find_left(
    control: &mut ControlRing,
    device: u32,
    mark: u64,
    disk: &DiskShape,
) -> Result<Option<DeviceInfo>, DriverRefusal> {
    let other = "give `ublk` another number";
    let until = Instant::now() + PATIENCE;
    loop {
        let Some(info) = describe(control, device)? else { return Ok(None) };
        if info.mark != mark || info.flags & NEEDED != NEEDED {
            let what =
                format!("that is of another volume, or of another program, as process {} set it up", info.process);
            return Err((what, format!("{other}, or end what has it")));
        }
        match info.state {
            DeviceState::Dead => {
                return delete(control, device, || false).map(|()| None).map_err(refuse);
            }
            DeviceState::Quiesced => {
                let mut empty = [0; DiskShape::BYTES];
                empty[..4].copy_from_slice(&(DiskShape::BYTES as u32).to_ne_bytes());
                let shape = control.run(Control::Parameters, (device, 0), empty, || false).map_err(refuse)?;
                let shape = DiskShape::parse(&shape);
                if shape != *disk {
                    let was = differences(&shape, disk);
                    let what = format!("a service was killed that had a volume of this name there, {was}");
                    let mend = format!("serve the volume as it was then, and end that service; or {other}");
                    return Err((what, mend));
                }
                return Ok(Some(info));
            }
            // The kernel notices a while after a server was killed.
            DeviceState::Live if Instant::now() < until => std::thread::sleep(TRY),
            DeviceState::Live | DeviceState::Unknown(_) => {
                return Err((format!("process {} has it", info.process), format!("end that, or {other}")));
            }
        }
    }
}

/// What a disk was that it is not now.
fn differences(was: &DiskShape, is: &DiskShape) -> String {
    let mut told = Vec::new();
    if was.sectors != is.sectors {
        told.push(format!("of {} blocks", was.sectors));
    }
    if was.read_only != is.read_only {
        told.push(if was.read_only { "which could only be read" } else { "which could be written" }.into());
    }
    if was.rotational != is.rotational {
        told.push(if was.rotational { "on a disk that turns" } else { "on a disk that does not turn" }.into());
    }
    told.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::experiment::parse_service;

    #[test]
    fn it_is_told_how_a_device_that_was_left_differs() {
        let was = DiskShape { sectors: 8, read_only: true, rotational: false };
        let is = |sectors, read_only, rotational| differences(&was, &DiskShape { sectors, read_only, rotational });
        assert_eq!(is(9, true, false), "of 8 blocks");
        assert_eq!(is(8, false, false), "which could only be read");
        assert_eq!(is(9, true, true), "of 8 blocks, on a disk that does not turn");
    }

    #[test]
    fn a_volume_of_the_same_name_elsewhere_is_another() {
        let mark = |path: &str, name: &str| {
            let text = format!(
                "drive = {{ path = \"{path}\" }}\nscheduler = {{ policy = \"fcfs\" }}\n\
                volume = [{{ name = \"x\", size = \"4KiB\" }}, {{ name = \"{name}\" }}]"
            );
            let experiment = parse_service("a.toml", &text, &[]).expect("a service");
            mark(&experiment, &experiment.volumes[1])
        };
        assert_eq!(mark("/no/a", "v"), mark("/no/a", "v"));
        assert_ne!(mark("/no/a", "v"), mark("/no/b", "v"));
        assert_ne!(mark("/no/a", "v"), mark("/no/a", "w"));
        assert_eq!(mark("/no/a", "v") >> 32, MARK >> 32);
        // However it is named.
        assert_eq!(mark("/dev/null", "v"), mark("/dev/../dev/null", "v"));
    }
}
