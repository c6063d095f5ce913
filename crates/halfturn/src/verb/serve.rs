//! `halfturn serve`: serves volumes to NBD clients.

mod reload;

use super::outputs::{Inputs, OutputFile, PendingFile};
use crate::failure::{VerbFailure, print};
use crate::report;
use block::{At, BadInput, units};
use clap::Args;
use listenfd::ListenFd;
use live::log::LogHead;
use live::{Desk, Listener, NbdService, SocketName, Undone};
use load::experiment::{self, Experiment, Exposed, ServicePlan, TlsNeed};
use nbd::TlsPolicy;
use reload::Reloader;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;

/// Serve a disk, a file or an emulated drive as NBD volumes, each with its quality of service.
///
/// A service file is an experiment file with `[[volume]]` tables; `path` in its `[drive]` names the device: a block
/// device, a file, `ram:SIZE` or `emulated:NAME`; several devices each have a `[[device]]`. Each volume is one NBD export of the same name. The permissions of
/// the socket decide who can connect. On SIGTERM or Ctrl-C the server takes no more requests, finishes those in flight
/// and flushes the device. On SIGHUP it reads its file again: class, priority and deadline of volumes follow it, and what cannot
/// is said; certificates are read again, too. It also works with systemd's socket activation (examples/systemd).
#[derive(Args)]
#[command(after_help = "Examples:
  halfturn serve examples/vm-disks.toml
  halfturn serve --emulate st318437lw --size 2GiB --socket /tmp/slow.sock
  halfturn serve --emulate st318437lw --size 2GiB --run 'qemu-img info $uri'")]
pub struct Serve {
    /// The service file: volumes, their disk and its scheduler
    #[arg(value_name = "CONFIG.toml", required_unless_present = "emulate", conflicts_with = "emulate")]
    file: Option<PathBuf>,
    /// Change or add a value of the file, e.g. scheduler.policy=satf
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
    /// Serve an emulated drive: a name `drive list` shows, or a drive file
    #[arg(long, value_name = "NAME")]
    emulate: Option<String>,
    /// The size of its one volume, e.g. 2GiB [default: the whole drive]
    #[arg(long, value_name = "SIZE", requires = "emulate")]
    size: Option<String>,
    /// Listen on this UNIX socket, in place of `socket` in `[serve]`
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Also listen on a loopback TCP port, e.g. 127.0.0.1:10809; every user of this machine can connect to it
    #[arg(long, value_name = "ADDRESS:PORT")]
    insecure_tcp: Option<String>,
    /// Serve while this command runs in a shell, with $uri and $socket set, and exit with its code
    #[arg(long, value_name = "COMMAND")]
    run: Option<String>,
    /// Serve an array without disks that are lacking, as long as the others hold all of it
    #[arg(long)]
    degraded: bool,
    /// Record the scheduler's inputs and decisions, for `halfturn replay`
    #[arg(long, value_name = "LOG")]
    record: Option<PathBuf>,
    /// Run the clock, and an emulated drive with it, this many times as fast
    #[arg(long, value_name = "TIMES", default_value = "1", value_parser = super::scale)]
    time_scale: f64,
}

pub fn run(arguments: &Serve) -> Result<(), VerbFailure> {
    let (name, text) = config(arguments)?;
    let mut sets = arguments.sets.clone();
    sets.extend(arguments.degraded.then(|| "array.degraded=true".to_owned()));
    let plan = experiment::parse_devices(&name, &text, &sets)?;
    let experiment = plan.whole();
    if let (Some(device), Some(_)) = (&experiment.device, &arguments.record) {
        let what = format!("a record is of one device, and '{device}' is one of [[device]]");
        return Err(BadInput::new("--record", At::File, what, "give the device a file of its own, in [drive]").into());
    }
    let files = plan.devices.iter().flat_map(Experiment::files).chain(arguments.file.clone());
    let log = OutputFile::if_wanted(arguments.record.as_ref(), &mut Inputs::of(files))?;
    let mut listeners = handed_over()?;
    let mut socket = None;
    if listeners.is_empty() {
        let (path, folder) = place(arguments, experiment)?;
        let (listener, place) = Listener::unix(&path).map_err(|error| unbound(&path, &error))?;
        listeners.push(listener);
        // The socket goes first, then its folder.
        socket = Some((place, folder));
    }
    listeners.extend(tcp_listeners(arguments, experiment)?);
    let service = NbdService::of_devices(&plan, listeners, arguments.time_scale)?;
    let control = control(experiment, &service.desk)?;
    let metrics = metrics(experiment, &service.desk)?;
    let certificates = service.certificates.clone();
    let reloader = Reloader { file: arguments.file.clone(), sets: sets.clone(), served: plan.clone(), certificates };
    heed_signals(service.desk.clone(), reloader);
    for note in &service.notes {
        eprintln!("{note}");
    }
    let path = socket.as_ref().map_or(Path::new("the socket that was handed over"), |(place, _)| place.path());
    let child = arguments.run.as_deref().map(|command| attend(command, path, service.desk.clone()));
    if child.is_none() {
        eprintln!("serving {} at {}", volumes(&plan), path.display());
    }
    let head = LogHead { name, text, sets, caps: service.caps.clone() };
    let draft = log.as_ref().map(OutputFile::draft).transpose()?;
    let file = draft.as_ref().map(PendingFile::file).transpose();
    let file = file.map_err(|error| VerbFailure::unwritable(arguments.record.as_deref().unwrap_or(path), &error))?;
    let ended = service.run(file.map(|file| (&head, file)));
    drop((control, metrics));
    drop(socket);
    let ended = ended?;
    if let (Some(log), Some(draft)) = (&log, draft) {
        let recorded = ended.unrecorded.as_ref().map_or(Ok(()), |error| Err(log.unwritable(error)));
        recorded.and_then(|()| draft.keep().map_err(|error| log.unwritable(&error)))?;
    }
    let code = child.and_then(|child| child.recv().ok());
    if code.is_none() {
        print(&report::volumes(&ended.reports, &ended.lateness))?;
    }
    match (undone_error(&experiment.title, &ended.undone), code) {
        (None, None | Some(0)) => Ok(()),
        (None, Some(code)) => Err(VerbFailure::Command(code)),
        (Some(undone), None | Some(0)) => Err(VerbFailure::Undone(undone)),
        (Some(undone), Some(code)) => {
            eprintln!("error: {undone}");
            Err(VerbFailure::Command(code))
        }
    }
}

/// What a service has left undone, if anything.
fn undone_error(title: &str, undone: &Undone) -> Option<BadInput> {
    let mut what = Vec::new();
    let requests: Vec<String> =
        undone.requests.iter().map(|(volume, count)| format!("{count} of volume '{volume}'")).collect();
    if !requests.is_empty() {
        what.push(format!("the device did not answer, and requests were given up: {}", requests.join(", ")));
    }
    if let Some(why) = &undone.flush {
        what.push(format!("the last flush failed: {why}"));
    }
    if !undone.volumes.is_empty() {
        let names: Vec<String> = undone.volumes.iter().map(|name| format!("'{name}'")).collect();
        what.push(format!("a flush had failed, and was not seen to, of {}", names.join(", ")));
    }
    let mend = "look what the kernel says of the device; what was written since the last good flush may be lost";
    (!what.is_empty()).then(|| BadInput::new(title, At::File, what.join("; "), mend))
}

/// The UNIX sockets that systemd listens on for this service. Who connects to another would wait, and nobody would come.
fn handed_over() -> Result<Vec<Listener>, BadInput> {
    let mut handed = ListenFd::from_env();
    let count = handed.len();
    let take = |number: usize| {
        let taken = handed.take_unix_listener(number).map_err(|error| {
            let what = format!(
                "socket {} that was handed over is not of a path, or nobody listens on it: {error}",
                number + 1
            );
            let mend = "let the unit have `ListenStream=PATH`; a port is `tcp` in [serve]";
            BadInput::new("halfturn serve", At::File, what, mend)
        });
        taken.map(|taken| taken.map(Listener::from)).transpose()
    };
    (0..count).filter_map(take).collect()
}

/// The TCP ports, of the command line and of the file.
fn tcp_listeners(arguments: &Serve, experiment: &Experiment) -> Result<Vec<Listener>, BadInput> {
    let mut listeners = Vec::new();
    if let Some(address) = &arguments.insecure_tcp {
        let unbound = |error: std::io::Error| {
            let mend = "give one like 127.0.0.1:10809; for other machines, `tcp` and `certificates` in [serve]";
            BadInput::new(address.clone(), At::File, error.to_string(), mend)
        };
        listeners.push(Listener::tcp(address, TlsPolicy::Absent).map_err(unbound)?);
    }
    if let Some(address) = experiment.serve.tcp {
        let required = experiment.serve.tls.as_ref().is_some_and(|tls| tls.needs == TlsNeed::Required);
        let policy = if required { TlsPolicy::Required } else { TlsPolicy::Absent };
        let unbound = |error: std::io::Error| {
            let what = format!("{address} cannot be listened on: {error}");
            BadInput::new(
                experiment.file.clone(),
                At::File,
                what,
                "give `tcp` in [serve] an address and port that are free",
            )
        };
        listeners.push(Listener::tcp(&address.to_string(), policy).map_err(unbound)?);
    }
    Ok(listeners)
}

/// The service file: its name and its text.
fn config(arguments: &Serve) -> Result<(String, String), BadInput> {
    let Some(name) = &arguments.emulate else {
        let file = arguments.file.as_deref().unwrap_or(Path::new("")).display().to_string();
        let unread = |error: std::io::Error| {
            BadInput::new(file.clone(), At::File, format!("cannot be read: {error}"), "give a service file")
        };
        let text = fs::read_to_string(&file).map_err(unread)?;
        return Ok((file, text));
    };
    if let Some(size) = &arguments.size {
        units::blocks(size).map_err(|what| BadInput::new("--size", At::File, what, "give one like 2GiB"))?;
    }
    let mut text = format!("[drive]\npath = {:?}\n[scheduler]\npolicy = \"fcfs\"\n", format!("emulated:{name}"));
    text += "[[volume]]\nname = \"\"\n";
    if let Some(size) = &arguments.size {
        text += &format!("size = {size:?}\n");
    }
    Ok(("--emulate".into(), text))
}

/// Where clients connect, and a folder that was made for it.
fn place(arguments: &Serve, experiment: &Experiment) -> Result<(PathBuf, Option<Folder>), BadInput> {
    if let Some(path) = arguments.socket.as_ref().or(experiment.serve.socket.as_ref()) {
        return Ok((path.clone(), None));
    }
    if arguments.run.is_none() {
        let mend = "give --socket PATH, or `socket` in [serve]";
        return Err(BadInput::new("halfturn serve", At::File, "it is not said where clients connect", mend));
    }
    let folder = std::env::temp_dir().join(format!("halfturn-{}", std::process::id()));
    fs::create_dir(&folder).map_err(|error| unbound(&folder, &error))?;
    Ok((folder.join("nbd.sock"), Some(Folder(folder))))
}

/// A folder that was made here, and goes when it is empty.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

fn unbound(path: &Path, error: &std::io::Error) -> BadInput {
    let what = format!("cannot be listened on: {error}");
    let mend = match error.kind() {
        ErrorKind::AddrInUse => "name a path at which nothing is yet",
        ErrorKind::InvalidFilename => "name a shorter path: that of a socket has 107 bytes at most",
        _ => "name a socket in a folder you may write to",
    };
    BadInput::new(path.display().to_string(), At::File, what, mend)
}

/// Answers `halfturn volume`, where the file says on which socket.
fn control(experiment: &Experiment, desk: &Desk) -> Result<Option<SocketName>, BadInput> {
    let Some(path) = &experiment.serve.control else { return Ok(None) };
    let attend = |(listener, place)| live::control::attend(listener, desk.clone()).map(|()| Some(place));
    live::private(path).and_then(attend).map_err(|error| unbound(path, &error))
}

/// Answers Prometheus, where the file says where.
fn metrics(experiment: &Experiment, desk: &Desk) -> Result<Option<SocketName>, BadInput> {
    let Some(at) = &experiment.serve.metrics else { return Ok(None) };
    live::metrics::expose(at, desk.clone()).map_err(|error| match at {
        Exposed::Unix(path) => unbound(path, &error),
        Exposed::Tcp(address) => {
            let what = format!("cannot be listened on: {error}");
            BadInput::new(address.to_string(), At::File, what, "give `metrics` in [serve] a port that is free")
        }
    })
}

/// Ends the service well when the process is told to end, or its terminal is gone; and reads its file again on SIGHUP.
fn heed_signals(desk: Desk, mut reloader: Reloader) {
    let Ok(mut signals) = Signals::new([SIGTERM, SIGINT, SIGHUP]) else { return };
    let has_terminal = || fs::File::open("/dev/tty").is_ok();
    let had_terminal = has_terminal();
    std::thread::spawn(move || {
        for signal in signals.forever() {
            if signal == SIGHUP && had_terminal == has_terminal() {
                reloader.reload(&desk).iter().for_each(|line| eprintln!("{line}"));
            } else {
                desk.stop();
            }
        }
    });
}

/// Runs a command against the service, which ends with it; its exit code.
fn attend(command: &str, socket: &Path, desk: Desk) -> mpsc::Receiver<u8> {
    let (sender, receiver) = mpsc::channel();
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command).env("socket", socket).env("unixsocket", socket);
    shell.env("uri", format!("nbd+unix:///?socket={}", socket.display()));
    std::thread::spawn(move || {
        let code = match shell.status() {
            Ok(status) => status.code().unwrap_or(128) as u8,
            Err(_) => 127,
        };
        let _ = sender.send(code);
        desk.stop();
    });
    receiver
}

fn volumes(plan: &ServicePlan) -> String {
    let names: Vec<String> = plan.volume_names().iter().map(|name| format!("'{name}'")).collect();
    names.join(", ")
}
