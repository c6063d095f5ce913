//! Serving volumes, until told to stop: the engines of all devices, and the door before them.

use crate::Lateness;
use crate::bell::Caller;
use crate::claim::Use;
use crate::desk::{Desk, DeviceCaller};
use crate::door::{Door, Listener};
use crate::engine::{Engine, EngineFace, ServiceReport};
use crate::front::{EngineMessage, Undone};
use crate::guest::Guard;
use crate::log::LogHead;
use crate::make::{self, Made};
use crate::tls::{Carriers, Certificates, TlsServer};
use crate::ublk::{BlockPort, block_ports};
use crate::virtio::{Port, ports};
use block::{At, BadInput, Caps};
use load::experiment::{Experiment, ServicePlan, TlsNeed};
use nbd::{Export, TlsPolicy};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// The engines of a service.
enum Engines {
    /// Of one device: it runs in the thread that runs the service.
    Here(Box<Engine>),
    /// Of several: each in a thread of its own, so that none waits for another's device.
    Threads(Vec<DeviceThread>),
}

/// The thread of a device, which waits to be told to go.
struct DeviceThread {
    device: String,
    go: Sender<()>,
    thread: JoinHandle<Result<Option<ServiceReport>, BadInput>>,
}

/// A service that is ready to begin.
pub struct NbdService {
    title: String,
    /// What the first device can do, or each of those of an array.
    pub caps: Vec<Caps>,
    engines: Engines,
    door: Door,
    carriers: Carriers,
    /// Where volumes are disks of virtual machines, and what closes with the door.
    ports: Vec<Port>,
    /// Where they are block devices of this one.
    block_ports: Vec<BlockPort>,
    closed: OwnedFd,
    /// The other end of what closes the door.
    closing: UnixStream,
    /// Leaves messages for the engine of the first device and wakes it.
    pub caller: Caller<EngineMessage>,
    /// The same for all.
    pub desk: Desk,
    /// What clients are shown in TLS.
    pub certificates: Certificates,
    /// What a user must know.
    pub notes: Vec<String>,
}

impl NbdService {
    /// Makes device, core and door. Clients who knock wait until it runs.
    ///
    /// # Errors
    /// Bad input: a device that cannot be had, volumes that do not fit it, or a kernel without io_uring where it must be had.
    pub fn new(experiment: &Experiment, listeners: Vec<Listener>, scale: f64) -> Result<NbdService, BadInput> {
        let made = make_device(experiment, experiment.run.seed_of(0))?;
        NbdService::on(made, experiment, listeners, scale)
    }

    /// The same of all devices that a file names.
    ///
    /// # Errors
    /// As of [`NbdService::new`].
    pub fn of_devices(plan: &ServicePlan, listeners: Vec<Listener>, scale: f64) -> Result<NbdService, BadInput> {
        if let ([only], None) = (plan.devices.as_slice(), &plan.whole().device) {
            return NbdService::new(only, listeners, scale);
        }
        let inside = Arc::new(AtomicU32::new(0));
        let (mut threads, mut faces) = (Vec::new(), Vec::new());
        for (number, experiment) in plan.devices.iter().enumerate() {
            let (thread, face) = DeviceThread::start(experiment, number, scale, Arc::clone(&inside))?;
            threads.push(thread);
            faces.push(face);
        }
        NbdService::with(plan, Engines::Threads(threads), faces, listeners, inside)
    }

    /// The same on a device that was made.
    fn on(made: Made, experiment: &Experiment, listeners: Vec<Listener>, scale: f64) -> Result<NbdService, BadInput> {
        let inside = Arc::new(AtomicU32::new(0));
        let (engine, face) = Engine::new(made, experiment, scale, Arc::clone(&inside))?;
        let plan = ServicePlan::of_one(experiment.clone());
        NbdService::with(&plan, Engines::Here(Box::new(engine)), vec![face], listeners, inside)
    }

    /// The door before these engines.
    fn with(
        plan: &ServicePlan,
        engines: Engines,
        faces: Vec<EngineFace>,
        listeners: Vec<Listener>,
        inside: Arc<AtomicU32>,
    ) -> Result<NbdService, BadInput> {
        let (whole, title) = (plan.whole(), plan.whole().title.clone());
        let (closing, closed) = UnixStream::pair().map_err(|error| kernel_error(&title, &error))?;
        let mut notes: Vec<String> = descriptors(whole.serve.connections).into_iter().collect();
        let names = plan.devices.iter().map(|experiment| experiment.device.as_deref());
        notes.extend(join_notes(names.zip(faces.iter().map(|face| &face.notes[..]))));
        let exports = plan.order.iter().map(|(device, volume)| faces[*device].exports[*volume].clone()).collect();
        let rooms = plan.order.iter().map(|(device, volume)| (faces[*device].caller.clone(), *volume)).collect();
        let carriers = Carriers::default();
        let sizes = plan.order.iter().map(|(device, volume)| Arc::clone(&faces[*device].sizes[*volume])).collect();
        let guard = guard(plan, exports, sizes, carriers.clone())?;
        let certificates = Certificates(guard.tls.clone());
        notes.extend(certificates.find_refusal().map(|refusal| refusal.to_string()));
        let patience = Duration::from_nanos(whole.serve.handshake.0);
        let closed = OwnedFd::from(closed);
        let shut = closed.try_clone().map_err(|error| kernel_error(&title, &error))?;
        let door = Door::new(listeners, guard, rooms, patience, whole.serve.connections, Arc::clone(&inside), shut);
        let (ports, block_ports) = (ports(plan, &faces)?, block_ports(plan, &faces, &inside)?);
        let caps = faces[0].caps.clone();
        let desks = faces.into_iter().zip(&plan.devices).map(|(face, experiment)| DeviceCaller {
            device: experiment.device.clone(),
            caller: face.caller,
            volumes: experiment.volumes.iter().map(|volume| volume.name.clone()).collect(),
        });
        let desk = Desk::new(desks.collect());
        let caller = desk.first().clone();
        Ok(NbdService {
            title,
            caps,
            engines,
            door,
            carriers,
            ports,
            block_ports,
            closed,
            closing,
            caller,
            desk,
            certificates,
            notes,
        })
    }

    /// Serves until it is told to stop and all that was asked is done; where that is wanted, and there is one device, it is recorded
    /// in a file.
    ///
    /// # Errors
    /// When the kernel does not go on.
    pub fn run(self, record: Option<(&LogHead, File)>) -> Result<ServiceReport, BadInput> {
        let NbdService { title, engines, door, carriers, ports, block_ports, closed, closing, .. } = self;
        let opened = ports.into_iter().map(|port| port.open(closed.try_clone()?));
        let opened = opened.chain(block_ports.into_iter().map(|port| port.open(closed.try_clone()?)));
        let opened = opened.chain([door.open()]);
        let doors = opened.collect::<io::Result<Vec<_>>>().map_err(|error| kernel_error(&title, &error))?;
        let close = || {
            drop(closing);
            // A door that fell has let nobody in.
            doors.into_iter().for_each(|door| drop(door.join()));
            carriers.wait(LAST_ANSWERS);
        };
        match engines {
            Engines::Here(engine) => engine.run(record, close),
            Engines::Threads(threads) => {
                // Whoever has ended already says so below.
                threads.iter().for_each(|thread| thread.go.send(()).unwrap_or_default());
                let ended: Vec<_> = threads.into_iter().map(DeviceThread::end).collect();
                close();
                join(ended)
            }
        }
    }
}

/// What is to be said of the devices: once of all, or of each that it is of.
fn join_notes<'a>(devices: impl Iterator<Item = (Option<&'a str>, &'a [String])> + Clone) -> Vec<String> {
    let mut joined: Vec<String> = Vec::new();
    for (device, notes) in devices.clone() {
        for note in notes {
            let is_of_all = devices.clone().all(|(_, notes)| notes.contains(note));
            let told = match device {
                Some(device) if !is_of_all => format!("device '{device}': {note}"),
                _ => note.clone(),
            };
            if !joined.contains(&told) {
                joined.push(told);
            }
        }
    }
    joined
}

impl DeviceThread {
    /// Makes a device and its engine in a thread of its own; once told to go it serves.
    fn start(
        experiment: &Experiment,
        number: usize,
        scale: f64,
        inside: Arc<AtomicU32>,
    ) -> Result<(DeviceThread, EngineFace), BadInput> {
        let device = experiment.device.clone().unwrap_or_default();
        let (experiment, title) = (experiment.clone(), experiment.title.clone());
        let (go, begins) = channel();
        let (tell, told) = channel();
        let seed = experiment.run.seed_of(0).wrapping_add((number as u64).wrapping_mul(APART));
        let serve = move || {
            let engine = make_device(&experiment, seed).and_then(|made| Engine::new(made, &experiment, scale, inside));
            let engine = match engine {
                Ok((engine, face)) => tell.send(Ok(face)).is_ok().then_some(engine),
                Err(error) => tell.send(Err(error)).ok().and(None),
            };
            let Some(engine) = engine.filter(|_| begins.recv().is_ok()) else { return Ok(None) };
            let ended = engine.run(None, || ());
            if let Err(error) = &ended {
                eprintln!(
                    "device '{}' is not served any more: {}",
                    experiment.device.as_deref().unwrap_or(""),
                    error.what
                );
            }
            ended.map(Some)
        };
        let thread = std::thread::Builder::new().name(format!("device {number}")).spawn(serve);
        let thread = thread.map_err(|error| kernel_error(&title, &error))?;
        match told.recv() {
            Ok(face) => Ok((DeviceThread { device, go, thread }, face?)),
            // It says nothing only where it panicked.
            Err(_) => Err(kernel_error(&title, &io::ErrorKind::Other.into())),
        }
    }

    /// Waits until it has ended.
    fn end(self) -> (String, Result<Option<ServiceReport>, BadInput>) {
        let ended = self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (self.device, ended)
    }
}

/// By how much the seeds of two devices differ, of which each has a phase and noise of its own.
const APART: u64 = 0xD1B5_4A32_D192_ED03;

/// Makes the device, or the array, of an experiment.
fn make_device(experiment: &Experiment, seed: u64) -> Result<Made, BadInput> {
    let reads = experiment.volumes.iter().all(|volume| volume.read_only);
    make::check(experiment)?;
    make::devices(experiment, if reads { Use::Reads } else { Use::Writes }, seed)
}

/// How several devices have ended, as one service; an error, where one could not go on.
fn join(ended: Vec<(String, Result<Option<ServiceReport>, BadInput>)>) -> Result<ServiceReport, BadInput> {
    let (mut lateness, mut undone, mut reports) = (Lateness::default(), Undone::default(), Vec::new());
    let mut failed = None;
    for (device, ended) in ended {
        match ended {
            Err(error) => failed = failed.or(Some(error)),
            Ok(ended) => {
                let Some(ended) = ended else { continue };
                reports.extend(ended.reports);
                lateness.merge(&ended.lateness);
                undone.merge(&device, ended.undone);
            }
        }
    }
    failed.map_or(Ok(ServiceReport { reports, lateness, undone, unrecorded: None }), Err)
}

/// How long the last answers may take to those who speak TLS.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

/// Whom the door lets in to what.
fn guard(
    service: &ServicePlan,
    exports: Arc<[Export]>,
    sizes: Vec<Arc<AtomicU64>>,
    carriers: Carriers,
) -> Result<Guard, BadInput> {
    let plan = service.whole().serve.tls.as_ref();
    let policy = match plan.map(|plan| plan.needs) {
        None => TlsPolicy::Absent,
        Some(TlsNeed::Offered) => TlsPolicy::Offered,
        Some(TlsNeed::Required) => TlsPolicy::Required,
    };
    let of = |(device, volume): &(usize, usize)| service.devices[*device].volumes[*volume].clients.clone();
    let clients = service.order.iter().map(of).collect();
    let tls = plan.map(TlsServer::load).transpose()?.map(Arc::new);
    Ok(Guard { exports, sizes, clients, policy, tls, carriers })
}

/// Descriptors of the process beside those of its clients.
const OTHERS: u64 = 256;

/// Sees to it that so many clients find a descriptor; where the process may not have as many, a note says so.
fn descriptors(connections: u32) -> Option<String> {
    let wanted = u64::from(connections) + OTHERS;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|current| current >= wanted) {
        return None;
    }
    let most = maximum.map_or(wanted, |maximum| maximum.min(wanted));
    // What cannot be raised stays as it is; then the door waits until a client has gone.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(most), maximum });
    (most < wanted).then(|| format!("{most} descriptors are less than {connections} clients may need: raise ulimit -n"))
}

/// The kernel did not go on.
pub(crate) fn kernel_error(title: &str, error: &io::Error) -> BadInput {
    let what = format!("I/O does not go on: {error}");
    BadInput::new(title, At::File, what, "see whether the kernel has io_uring, and lets you; or set serve.io=threads")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Kernel;
    use crate::memory::Slice;
    use crate::unit::{Done, LiveDevice, Ram};
    use crate::{Rates, Remote, Unwritten};
    use block::errno::EIO;
    use block::{Caps, Command, Outcome, Tag, Time, Verb};
    use nbd::{Address, ClientRequest, CommandFlags, Errno, Uri};
    use std::path::{Path, PathBuf};
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn what_is_to_be_said_of_all_devices_is_said_once() {
        let [a, b] = [["clock", "a's cache"], ["clock", "b's cache"]].map(|notes| notes.map(str::to_owned));
        let joined = join_notes([(Some("one"), &a[..]), (Some("two"), &b[..])].into_iter());
        assert_eq!(joined, ["clock", "device 'one': a's cache", "device 'two': b's cache"]);
        // A service of one device does not name it.
        assert_eq!(join_notes([(None, &a[..])].into_iter()), a);
    }

    /// Memory that answers only while it is allowed to.
    struct Sticky {
        ram: Ram,
        sticks: Arc<AtomicBool>,
    }

    impl LiveDevice for Sticky {
        fn caps(&self) -> Caps {
            self.ram.caps()
        }

        fn issue(
            &mut self,
            now: Time,
            tag: Tag,
            it: &Command,
            at: Option<Slice>,
            kernel: &mut dyn Kernel,
        ) -> io::Result<()> {
            self.ram.issue(now, tag, it, at, kernel)
        }

        fn next_completion(&mut self, now: Time) -> Option<Done> {
            if self.sticks.load(Ordering::Relaxed) { None } else { self.ram.next_completion(now) }
        }
    }

    /// Memory of which a flush fails as often as it says.
    struct Forgets {
        ram: Ram,
        flush: Option<Tag>,
        fails: Arc<AtomicU32>,
    }

    impl LiveDevice for Forgets {
        fn caps(&self) -> Caps {
            self.ram.caps()
        }

        fn issue(
            &mut self,
            now: Time,
            tag: Tag,
            it: &Command,
            at: Option<Slice>,
            kernel: &mut dyn Kernel,
        ) -> io::Result<()> {
            self.flush = (it.verb == Verb::Flush).then_some(tag).or(self.flush);
            self.ram.issue(now, tag, it, at, kernel)
        }

        fn next_completion(&mut self, now: Time) -> Option<Done> {
            let done = self.ram.next_completion(now)?;
            let fails = self.flush.take_if(|flush| *flush == done.tag).is_some()
                && self.fails.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |fails| fails.checked_sub(1)).is_ok();
            Some(Done { outcome: if fails { Outcome::Failed(EIO) } else { done.outcome }, ..done })
        }
    }

    /// A service on a unit, in a thread: who tells it, where its clients connect, and how it ends.
    fn serve(
        name: &str,
        text: &'static str,
        unit: impl FnOnce() -> Box<dyn LiveDevice> + Send + 'static,
    ) -> (Caller<EngineMessage>, PathBuf, std::thread::JoinHandle<ServiceReport>) {
        let folder = std::env::temp_dir().join(format!("halfturn-{name}-{}", std::process::id()));
        std::fs::create_dir(&folder).expect("a folder");
        let (sender, receiver) = std::sync::mpsc::channel();
        let socket = folder.join("nbd");
        let listening = socket.clone();
        let thread = std::thread::spawn(move || {
            let experiment = load::experiment::parse_service("a.toml", text, &[]).expect("a service file");
            let made = Made { unit: unit(), rotational: false, rates: Rates::default(), notes: Vec::new() };
            let (listener, place) = Listener::unix(&listening).expect("a socket");
            let service = NbdService::on(made, &experiment, vec![listener], 1.0).expect("a service");
            sender.send(service.caller.clone()).expect("someone waits");
            let ended = service.run(None).expect("it runs to its end");
            drop(place);
            std::fs::remove_dir(&folder).expect("its folder");
            ended
        });
        (receiver.recv().expect("it began"), socket, thread)
    }

    fn connect(socket: &Path, export: &str) -> Remote {
        let address = Address::Unix(socket.display().to_string());
        let mut remote = Remote::connect(&Uri { address, export: export.into(), tls: None }).expect("a connection");
        remote.patience(Some(Duration::from_secs(20))).expect("a limit");
        remote
    }

    /// Asks for a flush, or writes a block, past the cache or not; what came of it.
    fn ask(remote: &mut Remote, command: nbd::RequestType, flags: CommandFlags) -> Result<Vec<u8>, Errno> {
        let length = if command == nbd::RequestType::Flush { 0 } else { 512 };
        let request = ClientRequest { command, flags, cookie: 1, offset: 0, length };
        let payload = vec![7; if command == nbd::RequestType::Write { 512 } else { 0 }];
        remote.send(request, &payload).expect("sent");
        remote.answer().expect("an answer").1
    }

    const TWO: &str = "
        drive = { path = \"ram:1MiB\" }
        scheduler = { policy = \"fcfs\" }
        volume = [{ name = \"a\", size = \"512KiB\" }, { name = \"b\" }]";

    #[test]
    fn after_a_failed_flush_none_succeeds_until_the_volume_is_told_to_go_on() {
        use nbd::RequestType::{Flush, Read, Write};
        let fails = Arc::new(AtomicU32::new(1));
        let counted = Arc::clone(&fails);
        let unit = move || Box::new(Forgets { ram: Ram::new(2048, Unwritten::Zeros), flush: None, fails: counted });
        let (caller, socket, thread) = serve("forgets", TWO, move || unit() as Box<dyn LiveDevice>);
        let (mut a, mut b) = (connect(&socket, "a"), connect(&socket, "b"));
        let (none, lost) = (CommandFlags::default(), Err(Errno::Io));
        assert_eq!(ask(&mut b, Write, none), Ok(vec![]));
        assert_eq!(ask(&mut a, Flush, none), lost);
        for client in [&mut b, &mut a, &mut connect(&socket, "b")] {
            assert_eq!(ask(client, Flush, none), lost, "what it covers may be gone");
            assert_eq!(ask(client, Write, CommandFlags::FUA), lost);
            assert_eq!(ask(client, Write, none), Ok(vec![]));
            assert_eq!(ask(client, Read, none), Ok(vec![7; 512]));
        }
        let failed = || {
            let counted = caller.ask(EngineMessage::Metrics, Duration::from_secs(20)).expect("an answer");
            let shown = ["a", "b"]
                .map(|name| counted.text().contains(&format!("halfturn_volume_flush_failed{{volume=\"{name}\"}} 1")));
            assert_eq!(shown.to_vec(), counted.volumes.iter().map(|it| it.flush_failed).collect::<Vec<_>>());
            shown
        };
        let resume = |name: &str| {
            let name = name.to_owned();
            caller.ask(|asker| EngineMessage::Resume(name, asker), Duration::from_secs(20)).expect("an answer")
        };
        assert_eq!(failed(), [true, true]);
        assert!(resume("c").is_err_and(|what| what.contains("'a', 'b'")));
        assert_eq!(resume("a"), Ok(()));
        assert_eq!(failed(), [false, true]);
        assert_eq!(ask(&mut a, Flush, none), Ok(vec![]));
        assert_eq!(ask(&mut a, Write, CommandFlags::FUA), Ok(vec![]));
        assert_eq!(ask(&mut b, Flush, none), lost);
        drop((a, b));
        fails.store(1, Ordering::Relaxed);
        caller.tell(EngineMessage::Stop);
        let undone = thread.join().expect("it did not panic").undone;
        assert!(undone.flush.is_some_and(|why| why.contains("error")), "the last flush fails");
        assert!(undone.volumes.contains(&"b".into()));
    }

    #[test]
    fn a_service_ends_though_its_device_never_answers() {
        const ENDS: &str = "
            drive = { path = \"ram:1MiB\" }
            scheduler = { policy = \"fcfs\" }
            serve = { ending = \"100ms\" }
            volume = [{ name = \"a\" }]";
        let sticks = Arc::new(AtomicBool::new(true));
        let unit = move || Box::new(Sticky { ram: Ram::new(2048, Unwritten::Zeros), sticks }) as Box<dyn LiveDevice>;
        let (caller, socket, thread) = serve("sticks", ENDS, unit);
        let mut remote = connect(&socket, "a");
        let flags = CommandFlags::default();
        for cookie in 0..3 {
            let request = ClientRequest { command: nbd::RequestType::Read, flags, cookie, offset: 0, length: 512 };
            remote.send(request, &[]).expect("sent");
        }
        let in_flight = || caller.ask(EngineMessage::Volumes, Duration::from_secs(20)).expect("an answer")[0].in_flight;
        while in_flight() < 3 {}
        caller.tell(EngineMessage::Stop);
        let undone = thread.join().expect("it did not panic").undone;
        assert_eq!(undone.requests, [("a".to_owned(), 3)]);
        assert_eq!(undone.flush.as_deref(), Some("the device does not answer"));
    }

    const SERVICE: &str = "
        drive = { path = \"ram:1MiB\" }
        scheduler = { policy = \"fcfs\" }
        serve = { timeout = \"50ms\" }
        volume = [{ name = \"a\" }]";

    /// Reads a block; what came of it.
    fn read(remote: &mut Remote) -> Result<Vec<u8>, Errno> {
        let flags = CommandFlags::default();
        let request = ClientRequest { command: nbd::RequestType::Read, flags, cookie: 1, offset: 0, length: 512 };
        remote.send(request, &[]).expect("sent");
        remote.answer().expect("an answer").1
    }

    #[test]
    fn of_a_device_that_hangs_requests_fail_until_it_answers() {
        let sticks = Arc::new(AtomicBool::new(false));
        let device = Arc::clone(&sticks);
        let unit = || Box::new(Sticky { ram: Ram::new(2048, Unwritten::Zeros), sticks: device }) as Box<dyn LiveDevice>;
        let (caller, socket, thread) = serve("hangs", SERVICE, unit);
        let hangs = || {
            let (asker, told) = std::sync::mpsc::channel();
            caller.tell(EngineMessage::Volumes(asker));
            told.recv().expect("an answer")[0].hangs
        };
        let mut remote = connect(&socket, "a");
        assert_eq!(read(&mut remote), Ok(vec![0; 512]));
        sticks.store(true, Ordering::Relaxed);
        assert_eq!(read(&mut remote), Err(Errno::Io), "it waited for its time");
        assert!(hangs());
        assert_eq!(read(&mut remote), Err(Errno::Io), "it did not wait");
        sticks.store(false, Ordering::Relaxed);
        assert!(!hangs() || !hangs(), "who asks wakes the engine, which then sees what came back");
        assert_eq!(read(&mut remote), Ok(vec![0; 512]));
        drop(remote);
        assert!(caller.tell(EngineMessage::Stop));
        let ended = thread.join().expect("it did not panic");
        assert_eq!((ended.reports[0].counts.reads, ended.reports[0].counts.failed), (2, 1));
    }
}
