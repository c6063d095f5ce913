//! The workloads of an experiment, asked of a server: the table is that of simulating them.

use crate::service::Running;
use live::bench_far;
use load::experiment;
use nbd::{Address, Uri};
use std::cell::Cell;

const SERVICE: &str = r#"
[drive]
path = "ram:64MiB"
[scheduler]
policy = "fcfs"
[[volume]]
name = "a"
size = "1MiB"
[[volume]]
name = "b"
size = "8MiB"
"#;

const ASKED: &str = r#"
[[workload]]
name = "reader"
kind = "closed"
depth = 8
size = "4KiB"
read = 0.6
volume = "a"
[[workload]]
name = "stream"
kind = "closed"
depth = 2
size = "1MiB"
at = "sequential"
volume = "b"
[run]
requests = 2000
"#;

#[test]
fn each_workload_asks_the_export_of_its_volume() {
    let service = Running::new(SERVICE, 1.0);
    let address = Address::Unix(service.socket().display().to_string());
    let cases = experiment::parse("far.toml", &format!("{SERVICE}{ASKED}"), &[], None).expect("an experiment");
    let share = Cell::new(0.0);
    let uri = Uri { address: address.clone(), export: String::new(), tls: None };
    let benched = bench_far(&cases[0], &uri, &|done| share.set(done), None).expect("it runs");
    assert_eq!(benched.run.requests, 2000);
    assert!(share.get() > 0.99, "{}", share.get());
    let [reader, stream] = ["a", "b"].map(|class| benched.run.classes[class].clone());
    assert!(reader.requests > 0 && stream.requests > 0 && reader.failed + stream.failed == 0, "{reader:?} {stream:?}");
    // One export takes all of what would else go to several; what does not fit it is said.
    let one = |export: &str| {
        bench_far(&cases[0], &Uri { address: address.clone(), export: export.into(), tls: None }, &|_| {}, None)
    };
    assert!(one("a").is_err(), "volume b lies past the end of export a");
    assert!(one("elsewhere").is_err());
    let ended = service.stop();
    let [a, b] = &ended.reports[..] else { panic!("two volumes") };
    assert_eq!((b.counts.writes, b.counts.read_bytes), (0, b.counts.reads << 20));
    assert!(a.counts.reads > a.counts.writes && a.counts.writes > 0, "{:?}", a.counts);
    assert!(a.counts.reads + a.counts.writes + b.counts.reads >= 2000);
}

#[test]
fn a_server_that_goes_fails_what_it_was_asked() {
    let service = Running::new(&SERVICE.replace("ram:64MiB", "emulated:st318437lw"), 1.0);
    let uri = Uri { address: Address::Unix(service.socket().display().to_string()), export: "b".into(), tls: None };
    let text = format!("{SERVICE}{ASKED}").replace("volume = \"a\"\n", "").replace("volume = \"b\"\n", "");
    let text = text.replace("requests = 2000", "duration = \"1500ms\"");
    let cases = experiment::parse("far.toml", &text, &[], None).expect("an experiment");
    let bench = std::thread::spawn(move || bench_far(&cases[0], &uri, &|_| {}, None).map(|benched| benched.run));
    std::thread::sleep(std::time::Duration::from_millis(300));
    service.stop();
    let run = bench.join().expect("it ends").expect("a run");
    assert!(run.classes.values().any(|class| class.failed > 0), "{:?}", run.classes);
}
