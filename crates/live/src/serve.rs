//! Serving volumes, until told to stop.

use crate::bell::{Caller, mailbox};
use crate::claim::Use;
use crate::door::{Door, Listener};
use crate::front::{EngineMessage, Front, ServedVolume, Undone, VolumeReport};
use crate::guest::Guard;
use crate::log::LogHead;
use crate::make::{self, Made};
use crate::recorder::RunRecorder;
use crate::tls::{Carriers, TlsServer};
use crate::unit::{Faulty, LiveDevice};
use crate::{Clock, Host, Lateness, LiveWorld};
use block::{At, BadInput, Caps, Span};
use load::experiment::{Experiment, ServePlan, TlsNeed};
use nbd::{Export, TlsPolicy};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sched::{Scheduler, run_told};
use std::fs::File;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// What is left of a service.
pub struct ServiceReport {
    /// How the volumes fared.
    pub reports: Vec<VolumeReport>,
    /// How late the host noticed what an emulated drive had done.
    pub lateness: Lateness,
    /// What was not done.
    pub undone: Undone,
    /// Why it was not recorded, where it was to be.
    pub unrecorded: Option<io::Error>,
}

/// A service that is ready to begin.
pub struct NbdService {
    title: String,
    /// What the device can do, or each of those of an array.
    pub caps: Vec<Caps>,
    core: Box<dyn Scheduler>,
    world: LiveWorld<Front>,
    door: Door,
    carriers: Carriers,
    /// The other end of what closes the door.
    closing: UnixStream,
    /// Leaves messages for the engine and wakes it.
    pub caller: Caller<EngineMessage>,
    /// What a user must know.
    pub notes: Vec<String>,
}

impl NbdService {
    /// Makes device, core and door. Clients who knock wait until it runs.
    ///
    /// # Errors
    /// Bad input: a device that cannot be had, volumes that do not fit it, or a kernel without io_uring where it must be had.
    pub fn new(experiment: &Experiment, listeners: Vec<Listener>, scale: f64) -> Result<NbdService, BadInput> {
        let reads = experiment.volumes.iter().all(|volume| volume.read_only);
        let how = if reads { Use::Reads } else { Use::Writes };
        make::check(experiment)?;
        let made = make::devices(experiment, how, experiment.run.seed_of(0))?;
        NbdService::on(made, experiment, listeners, scale)
    }

    /// The same on a device that was made.
    fn on(made: Made, experiment: &Experiment, listeners: Vec<Listener>, scale: f64) -> Result<NbdService, BadInput> {
        let title = experiment.title.clone();
        let bad = |what: String, mend: &str| BadInput::new(title.clone(), At::File, what, mend);
        let stopped = |error: io::Error| kernel_error(&title, &error);
        if experiment.volumes.is_empty() {
            return Err(bad("no [[volume]]: nothing is served".into(), "add one with a `name` and a `size`"));
        }
        let Made { unit, rotational, rates, mut notes } = made;
        // Each disk of an array has faults of its own.
        let faults = experiment.serve.faults && experiment.array.is_none();
        let unit: Box<dyn LiveDevice> = if faults { Box::new(Faulty::new(unit)) } else { unit };
        notes.extend(descriptors(experiment.serve.connections));
        let core = make::core(experiment, &unit.members(), &mut notes)?;
        let served = ServedVolume::all(experiment, unit.bytes())
            .map_err(|what| bad(what, "shorten it, or leave its `size` out"))?;
        let exports: Arc<[Export]> = served.iter().map(|volume| volume.export(rotational)).collect();
        if let Some((name, fault)) = exports.iter().find_map(|export| Some((&export.name, export.fault()?))) {
            return Err(bad(format!("volume {name:?} cannot be offered: {fault}"), "give it another name"));
        }
        let (clock, caps) = (Clock::new(scale), unit.members());
        // Clients live in real time, however fast the clock of the device.
        let real = |span: Span| clock.span(Duration::from_nanos(span.0));
        let (unheard, ending) = (real(experiment.serve.unheard), real(experiment.serve.ending));
        let plan = ServePlan { unheard, ending, ..experiment.serve.clone() };
        let (caller, mailbox) = mailbox().map_err(stopped)?;
        let (closing, closed) = UnixStream::pair().map_err(stopped)?;
        let patience = Duration::from_nanos(plan.handshake.0);
        let inside = Arc::new(AtomicU32::new(0));
        let most = plan.connections;
        let timeout = plan.timeout;
        let front = Front::new(mailbox, plan, served, Arc::clone(&inside)).map_err(stopped)?.telling(rates);
        let host = Host::new(clock, experiment.serve.io).map_err(stopped)?;
        notes.extend(host.note());
        let world = LiveWorld::new(host, unit, front, timeout);
        let carriers = Carriers::default();
        let guard = guard(experiment, exports, carriers.clone())?;
        let door = Door::new(listeners, guard, caller.clone(), patience, most, inside, closed.into());
        Ok(NbdService { title, caps, core, world, door, carriers, closing, caller, notes })
    }

    /// Serves until it is told to stop and all that was asked is done; where that is wanted, it is recorded in a file.
    ///
    /// # Errors
    /// When the kernel does not go on.
    pub fn run(self, record: Option<(&LogHead, File)>) -> Result<ServiceReport, BadInput> {
        let NbdService { title, mut core, mut world, door, carriers, closing, .. } = self;
        let stopped = |error: io::Error| kernel_error(&title, &error);
        let door = door.open().map_err(stopped)?;
        world.begin(Front::listen);
        let pulse = world.source.pulse();
        let tell = |core: &(dyn Scheduler + 'static)| {
            let now = core.pulse();
            let (before, now) = (pulse.replace(now).gave_up, now.gave_up);
            if before != now {
                eprintln!("{}", if now { GAVE_UP } else { TRIED_AGAIN });
            }
        };
        let recorded = match record {
            None => {
                run_told(&mut *core, &mut world, tell);
                Ok(())
            }
            Some((head, file)) => RunRecorder::new(&mut world, head, file).and_then(|mut world| {
                run_told(&mut *core, &mut world, tell);
                world.finish()
            }),
        };
        drop(closing);
        // A door that fell has let nobody in.
        let _ = door.join();
        let mut remains = world.finish().map_err(stopped)?;
        carriers.wait(LAST_ANSWERS);
        let (reports, undone) = (remains.source.reports(), remains.source.undone());
        if undone.is_nothing() {
            remains.unit.close();
        }
        Ok(ServiceReport { reports, lateness: remains.lateness, undone, unrecorded: recorded.err() })
    }
}

/// How long the last answers may take to those who speak TLS.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

/// Whom the door lets in to what.
fn guard(experiment: &Experiment, exports: Arc<[Export]>, carriers: Carriers) -> Result<Guard, BadInput> {
    let plan = experiment.serve.tls.as_ref();
    let policy = match plan.map(|plan| plan.needs) {
        None => TlsPolicy::Absent,
        Some(TlsNeed::Offered) => TlsPolicy::Offered,
        Some(TlsNeed::Required) => TlsPolicy::Required,
    };
    let clients = experiment.volumes.iter().map(|volume| volume.clients.clone()).collect();
    Ok(Guard { exports, clients, policy, tls: plan.map(TlsServer::load).transpose()?, carriers })
}

/// What is said when seeks are no longer timed, and when they are again.
const GAVE_UP: &str = "too many just-in-time seeks come too late: requests go at once, in short commands";
const TRIED_AGAIN: &str = "just-in-time seeks are tried again";

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
    use crate::unit::{Done, Ram};
    use crate::{Rates, Remote, Unwritten};
    use block::errno::EIO;
    use block::{Caps, Command, Outcome, Tag, Time, Verb};
    use nbd::{Address, ClientRequest, CommandFlags, Errno, Uri};
    use std::path::{Path, PathBuf};
    use std::sync::atomic::{AtomicBool, Ordering};

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
