//! Several devices in one service.

use crate::clients::request;
use live::{Desk, EngineMessage, FaultSetting, Listener, NbdService, Remote, ServiceReport, Setting};
use load::experiment;
use nbd::{Address, Errno, RequestType, Uri};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);

const TWO: &str = "
    [scheduler]\npolicy = \"fcfs\"
    [serve]\nfaults = true\nending = \"200ms\"\ntimeout = \"600s\"
    [[device]]\nname = \"one\"\npath = \"ram:1MiB\"
    [[device]]\nname = \"two\"\npath = \"emulated:st318437lw\"
    [[volume]]\nname = \"a\"\ndevice = \"one\"\nsize = \"512KiB\"
    [[volume]]\nname = \"b\"\ndevice = \"two\"\nsize = \"1MiB\"
    [[volume]]\nname = \"c\"\ndevice = \"one\"\n";

/// A service of several devices, in a thread.
struct Service {
    folder: PathBuf,
    desk: Desk,
    thread: JoinHandle<ServiceReport>,
}

impl Service {
    fn new(text: &'static str) -> Service {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("halfturn-devices-{}-{number}", std::process::id()));
        std::fs::create_dir(&folder).expect("a folder");
        let socket = folder.join("nbd");
        let (sender, receiver) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let plan = experiment::parse_devices("test.toml", text, &[]).expect("a service file");
            let (listener, _place) = Listener::unix(&socket).expect("a socket");
            let service = NbdService::of_devices(&plan, vec![listener], 1.0).expect("a service");
            sender.send(service.desk.clone()).expect("someone waits");
            service.run(None).expect("it runs to its end")
        });
        Service { desk: receiver.recv().expect("it began"), folder, thread }
    }

    fn connect(&self, export: &str) -> Remote {
        let address = Address::Unix(self.folder.join("nbd").display().to_string());
        let mut remote = Remote::connect(&Uri { address, export: export.into(), tls: None }).expect("a connection");
        remote.patience(Some(PATIENCE)).expect("a limit");
        remote
    }

    /// What is told on the control socket.
    fn ask(&self, question: Value) -> Result<Value, String> {
        let path = self.folder.join(format!("control-{}", question["verb"].as_str().expect("a verb")));
        if !path.exists() {
            let (listener, place) = live::private(&path).expect("a socket");
            live::control::attend(listener, self.desk.clone()).expect("a thread");
            std::mem::forget(place);
        }
        live::control::ask(&path, &question)
    }

    fn stop(self) -> ServiceReport {
        self.desk.stop();
        let ended = self.thread.join().expect("it did not panic");
        std::fs::remove_dir_all(&self.folder).expect("its folder");
        ended
    }
}

fn ask(remote: &mut Remote, command: RequestType, payload: &[u8]) -> Result<Vec<u8>, Errno> {
    let length = if command == RequestType::Flush { 0 } else { 512 };
    remote.send(request(command, 1, 0, length), payload).expect("sent");
    remote.answer().expect("an answer").1
}

#[test]
fn each_volume_is_on_its_own_device_and_one_socket_tells_of_all() {
    let service = Service::new(TWO);
    for (volume, byte) in [("a", 1), ("b", 2), ("c", 3), ("", 1)] {
        let mut remote = service.connect(volume);
        if !volume.is_empty() {
            assert_eq!(ask(&mut remote, RequestType::Write, &[byte; 512]), Ok(vec![]));
        }
        assert_eq!(
            ask(&mut remote, RequestType::Read, &[]),
            Ok(vec![byte; 512]),
            "the first volume of the file is the usual one"
        );
    }
    let told = service.ask(json!({ "verb": "list" })).expect("an answer");
    let of =
        |key: &str| told["volumes"].as_array().expect("a list").iter().map(|it| it[key].clone()).collect::<Vec<_>>();
    assert_eq!(
        (of("name"), of("device")),
        (vec![json!("a"), json!("c"), json!("b")], vec![json!("one"), json!("one"), json!("two")])
    );
    assert_eq!(told["devices"][1]["answers"], true, "{told}");
    let set = |volume: &str| service.ask(json!({ "verb": "set", "volume": volume, "priority": 7 }));
    assert_eq!((set("b"), set("c")), (Ok(json!({})), Ok(json!({}))));
    assert!(set("d").is_err_and(|why| why.contains("'a', 'c', 'b'")));
    let text = live::metrics::metrics_text(&service.desk.count(PATIENCE));
    for line in [
        "halfturn_requests_total{device=\"two\",volume=\"b\",op=\"read\"} 1",
        "halfturn_requests_total{device=\"one\",volume=\"a\",op=\"read\"} 2",
        "halfturn_device_up{device=\"one\"} 1",
        "halfturn_host_lateness_seconds_count{device=\"one\"} 0",
    ] {
        assert!(text.lines().any(|told| told == line), "{line} is not in\n{text}");
    }
    assert_eq!(text.matches("# TYPE halfturn_device_up").count(), 1);
    let ended = service.stop();
    assert!(ended.undone.is_nothing(), "{:?}", ended.undone);
    assert_eq!(ended.reports.iter().map(|report| report.priority).collect::<Vec<_>>(), [0, 7, 7]);
}

#[test]
fn a_device_that_hangs_stops_no_other_and_is_named_at_the_end() {
    let service = Service::new(TWO);
    let stall = FaultSetting::parse(&json!({ "volume": "a", "fault": "stall" })).expect("a fault");
    let caller = service.desk.of_volume("a").expect("it is there").clone();
    assert_eq!(caller.ask(|asker| EngineMessage::Fault(stall, asker), PATIENCE), Some(Ok(())));
    let mut stuck = service.connect("a");
    stuck.send(request(RequestType::Read, 1, 0, 512), &[]).expect("sent");
    while service.desk.count(PATIENCE)[0].counted.as_ref().is_none_or(|counted| counted.volumes[0].in_flight == 0) {}
    let mut other = service.connect("b");
    for byte in 0..20 {
        assert_eq!(ask(&mut other, RequestType::Write, &[byte; 512]), Ok(vec![]));
        assert_eq!(ask(&mut other, RequestType::Read, &[]), Ok(vec![byte; 512]));
    }
    assert_eq!(ask(&mut other, RequestType::Flush, &[]), Ok(vec![]));
    let setting = Setting { volume: "a".into(), priority: Some(3), ..Setting::default() };
    assert_eq!(caller.ask(|asker| EngineMessage::Set(setting, asker), PATIENCE), Some(Ok(())));
    drop(other);
    let undone = service.stop().undone;
    assert_eq!(undone.requests, [("a".to_owned(), 1)]);
    assert_eq!(undone.flush.as_deref(), Some("device 'one': the device does not answer"));
}

#[test]
fn where_one_device_is_not_to_be_had_nothing_is_served() {
    let text = TWO.replace("emulated:st318437lw", "/nowhere/at/all");
    let plan = experiment::parse_devices("test.toml", &text, &[]).expect("a service file");
    let refused = NbdService::of_devices(&plan, Vec::new(), 1.0).map(drop).expect_err("it is not there");
    assert!(refused.to_string().contains("/nowhere/at/all"), "{refused}");
}
