//! The engine of one device: its core, its world, and the volumes on it. It lives in one thread from beginning to end.

use crate::bell::{Caller, mailbox};
use crate::front::{EngineMessage, Front, ServedVolume, Undone, VolumeReport};
use crate::log::LogHead;
use crate::make::{self, Made};
use crate::priority::{ThreadPriority, ask_for_priority};
use crate::recorder::RunRecorder;
use crate::serve::kernel_error;
use crate::unit::{Faulty, LiveDevice};
use crate::{Clock, Host, Lateness, LiveWorld};
use block::{At, BadInput, Caps, Span};
use load::experiment::{Experiment, Live, ServePlan};
use nbd::Export;
use sched::{Scheduler, run_told};
use std::cell::Cell;
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64};
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

/// An engine that is ready to begin.
pub(crate) struct Engine {
    title: String,
    /// The device's name, where the service has several.
    device: Option<String>,
    core: Box<dyn Scheduler>,
    world: LiveWorld<Front>,
    /// Whether what it does too late costs more than the time.
    timing: CommandTiming,
}

/// Whether a device's commands have to come in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CommandTiming {
    /// A drive is emulated, or requests are served in short commands.
    Due,
    /// Each request is one command, or the clock is another: then all processors may be busy with it.
    Whenever,
}

impl CommandTiming {
    fn of(experiment: &Experiment, scale: f64) -> CommandTiming {
        let emulated = matches!(experiment.drive.live, None | Some(Live::Emulated(_)));
        let short = experiment.scheduler.rules.plan.is_some();
        if (emulated || short) && scale == 1.0 { CommandTiming::Due } else { CommandTiming::Whenever }
    }
}

/// What others know of an engine.
pub(crate) struct EngineFace {
    pub(crate) caller: Caller<EngineMessage>,
    pub(crate) exports: Vec<Export>,
    /// How many bytes each has by now.
    pub(crate) sizes: Vec<Arc<AtomicU64>>,
    /// What the device can do, or each of those of an array.
    pub(crate) caps: Vec<Caps>,
    /// Whether the engine can command the drivers of devices.
    pub(crate) reaches_drivers: bool,
    /// What a user must know.
    pub(crate) notes: Vec<String>,
}

impl Engine {
    /// The engine of a device that was made, on a clock so many times as fast; it counts the clients that it has.
    pub(crate) fn new(
        made: Made,
        experiment: &Experiment,
        scale: f64,
        inside: Arc<AtomicU32>,
    ) -> Result<(Engine, EngineFace), BadInput> {
        let title = experiment.title.clone();
        let bad = |what: String, mend: &str| BadInput::new(experiment.file.clone(), At::File, what, mend);
        let stopped = |error: io::Error| kernel_error(&title, &error);
        if experiment.volumes.is_empty() {
            return Err(bad("no [[volume]]: nothing is served".into(), "add one with a `name` and a `size`"));
        }
        let Made { unit, rotational, rates, mut notes } = made;
        // Each disk of an array has faults of its own.
        let faulty = experiment.has_faults() && experiment.array.is_none();
        let unit: Box<dyn LiveDevice> = if faulty { Box::new(Faulty::new(unit)) } else { unit };
        let core = make::core_of(experiment, &*unit, &mut notes)?;
        let served = ServedVolume::all(experiment, unit.bytes())
            .map_err(|what| bad(what, "shorten it, or leave its `size` out"))?;
        let sizes = served.iter().map(ServedVolume::size_offered).collect();
        let exports: Vec<Export> = served.iter().map(|volume| volume.export(rotational)).collect();
        if let Some((name, fault)) = exports.iter().find_map(|export| Some((&export.name, export.fault()?))) {
            return Err(bad(format!("volume {name:?} cannot be offered: {fault}"), "give it another name"));
        }
        let (clock, caps) = (Clock::new(scale), unit.members());
        // Clients live in real time, however fast the clock of the device.
        let real = |span: Span| clock.span(Duration::from_nanos(span.0));
        let (unheard, ending) = (real(experiment.serve.unheard), real(experiment.serve.ending));
        let plan = ServePlan { unheard, ending, ..experiment.serve.clone() };
        let (caller, mailbox) = mailbox().map_err(stopped)?;
        let timeout = plan.timeout;
        let front = Front::new(mailbox, plan, served, inside).map_err(stopped)?.telling(rates);
        let front = front.with_faults(&experiment.faults).map_err(|what| bad(what, "mend it in [[fault]]"))?;
        let front = front.with_clients(&experiment.clients).map_err(|what| bad(what, "mend it in [[client]]"))?;
        let host = Host::new(clock, experiment.serve.io).map_err(stopped)?;
        notes.extend(host.note());
        let reaches_drivers = host.reaches_drivers();
        let world = LiveWorld::new(host, unit, front, timeout);
        let device = experiment.device.clone();
        let face = EngineFace { caller, exports, sizes, caps, reaches_drivers, notes };
        Ok((Engine { title, device, core, world, timing: CommandTiming::of(experiment, scale) }, face))
    }

    /// Serves until it is told to stop and all that was asked is done; where that is wanted, it is recorded in a file. What is done
    /// `at_last` comes before the device is left.
    pub(crate) fn run(
        self,
        record: Option<(&LogHead, File)>,
        at_last: impl FnOnce(),
    ) -> Result<ServiceReport, BadInput> {
        let Engine { title, device, mut core, mut world, timing } = self;
        let priority = match timing {
            CommandTiming::Due => ask_for_priority(),
            CommandTiming::Whenever => ThreadPriority::Usual,
        };
        world.begin(Front::listen);
        let (pulse, told_late) = (world.source.pulse(), Cell::new(false));
        let tell = |core: &(dyn Scheduler + 'static)| {
            let now = core.pulse();
            let before = pulse.replace(now);
            let of = || device.as_ref().map_or(String::new(), |name| format!("device '{name}': "));
            if before.gave_up != now.gave_up {
                eprintln!("{}{}", of(), if now.gave_up { GAVE_UP } else { TRIED_AGAIN });
            }
            if now.host_late > HARMS && !told_late.replace(true) {
                eprintln!("{}{}", of(), say_late(now.host_late, &priority));
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
        at_last();
        let mut remains = world.finish().map_err(|error| kernel_error(&title, &error))?;
        let (reports, undone) = (remains.source.reports(), remains.source.undone());
        if undone.is_nothing() {
            remains.unit.close();
        }
        Ok(ServiceReport { reports, lateness: remains.lateness, undone, unrecorded: recorded.err() })
    }
}

/// What is said when seeks are no longer timed, and when they are again.
const GAVE_UP: &str = "too many just-in-time seeks come too late: requests go at once, in short commands";
const TRIED_AGAIN: &str = "just-in-time seeks are tried again";

/// A host that is later than this is spoken of, once.
const HARMS: Span = Span(500_000);

/// What is said of a host that is so late.
fn say_late(late: Span, priority: &ThreadPriority) -> String {
    let mend = match priority {
        ThreadPriority::Refused(why) => {
            format!(
                "; real-time priority, which would help, was refused ({why}): LimitRTPRIO=1 in a unit, `ulimit -r 1`"
            )
        }
        ThreadPriority::RealTime | ThreadPriority::Usual => String::new(),
    };
    format!("this machine is so busy that commands come {:.1} ms late: they are longer while it is{mend}", late.as_ms())
}
