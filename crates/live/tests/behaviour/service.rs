//! A service in a thread of this process.

use live::{Caller, EngineMessage, Listener, NbdService, Remote, ServiceReport};
use load::experiment;
use nbd::{Address, Uri};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;

static NUMBER: AtomicU32 = AtomicU32::new(0);

/// A service that runs.
pub struct Running {
    folder: PathBuf,
    caller: Caller<EngineMessage>,
    thread: JoinHandle<ServiceReport>,
}

impl Running {
    /// Serves what a file of this text says, on a clock so many times as fast.
    pub fn new(text: &str, scale: f64) -> Running {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("halfturn-test-{}-{number}", std::process::id()));
        std::fs::create_dir(&folder).expect("a folder");
        let (listening, log, text) = (folder.join("nbd"), folder.join("log"), text.to_owned());
        let (sender, receiver) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let experiment = experiment::parse_service("test.toml", &text, &[]).expect("a service file");
            let (listener, _place) = Listener::unix(&listening).expect("a socket");
            let service = NbdService::new(&experiment, vec![listener], scale).expect("a service");
            sender.send(service.caller.clone()).expect("someone waits");
            let text = text.clone();
            let head =
                live::log::LogHead { name: "test.toml".into(), text, sets: Vec::new(), caps: service.caps.clone() };
            service.run(Some((&head, std::fs::File::create(log).expect("a log")))).expect("it runs to its end")
        });
        Running { folder, caller: receiver.recv().expect("it began"), thread }
    }

    pub fn connect(&self, export: &str) -> Remote {
        let address = Address::Unix(self.folder.join("nbd").display().to_string());
        Remote::connect(&Uri { address, export: export.into(), tls: None }).expect("a connection")
    }

    pub fn caller(&self) -> Caller<EngineMessage> {
        self.caller.clone()
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.join("nbd")
    }

    /// Has it end, all that was asked being done; then the same core decides the same again.
    pub fn stop(self) -> ServiceReport {
        self.stop_with_log().0
    }

    /// The same, and what was logged.
    pub fn stop_with_log(self) -> (ServiceReport, Vec<u8>) {
        assert!(self.caller.tell(EngineMessage::Stop));
        let ended = self.thread.join().expect("it did not panic");
        let replayed = live::replay(&self.folder.join("log")).expect("a log");
        assert_eq!((replayed.differs, replayed.whole), (None, true));
        assert!(replayed.actions > 0);
        let log = std::fs::read(self.folder.join("log")).expect("a log");
        std::fs::remove_dir_all(&self.folder).expect("its folder");
        (ended, log)
    }
}
