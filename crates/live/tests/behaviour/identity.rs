//! Clients who are served by who they are.

use crate::clients::request;
use crate::service::Running;
use live::{EngineMessage, Setting};
use nbd::RequestType;
use serde_json::{Value, json};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);

/// A service of two volumes on a slow disk, some of whose clients are served so.
fn service(rules: &str) -> Running {
    let text = format!(
        "[drive]\npath = \"emulated:st318437lw\"\n[scheduler]\npolicy = \"fcfs\"\nfair = false\n\
         [[volume]]\nname = \"a\"\nsize = \"1GiB\"\n[[volume]]\nname = \"b\"\nsize = \"1GiB\"\nclass = \"b\"\n{rules}"
    );
    Running::new(&text, 1.0)
}

/// A class that only some clients have.
const OWN: &str = "[scheduler.class.own]\nretries = 2\n";

/// How a client of a volume is served that connects now.
fn served(service: &Running, volume: &str) -> Value {
    let mut remote = service.connect(volume);
    remote.patience(Some(PATIENCE)).expect("a limit");
    remote.send(request(RequestType::Read, 1, 0, 512), &[]).expect("sent");
    remote.answer().expect("an answer").1.expect("it is read");
    let reports = service.caller().ask(EngineMessage::Volumes, PATIENCE).expect("an answer");
    let report = reports.iter().find(|report| report.name == volume).expect("the volume");
    report.json()["connected"].as_array().and_then(|all| all.last()).expect("a client").clone()
}

/// How many of many reads at once were dropped, since they waited too long.
fn dropped(service: &Running, volume: &str) -> usize {
    let mut remote = service.connect(volume);
    remote.patience(Some(PATIENCE)).expect("a limit");
    for number in 0..24 {
        remote.send(request(RequestType::Read, number, number * (40 << 20), 512), &[]).expect("sent");
    }
    (0..24).filter(|_| remote.answer().expect("an answer").1.is_err()).count()
}

fn own() -> (u32, String, Option<String>) {
    let status = std::fs::read_to_string("/proc/self/status").expect("it is there");
    let user = status.lines().find_map(|line| line.strip_prefix("Uid:")).expect("a user");
    let user = user.split_whitespace().nth(1).and_then(|user| user.parse().ok()).expect("a number");
    let comm = std::fs::read_to_string("/proc/self/comm").expect("it is there").trim_end().to_owned();
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    (user, comm, groups.lines().find_map(|line| line.strip_prefix("0::")).map(Into::into))
}

#[test]
fn the_first_rule_that_fits_a_client_is_its_own() {
    let (user, process, cgroup) = own();
    let rules = format!(
        "{OWN}[[client]]\nuser = \"{}\"\npriority = 1\n\
         [[client]]\nvolume = \"a\"\nuser = \"{user}\"\nprocess = \"{process}\"\nclass = \"own\"\npriority = 9\n\
         [[client]]\nuser = \"{user}\"\npriority = 4\n",
        user + 1
    );
    let service = service(&rules);
    let of = |volume: &str| {
        let told = served(&service, volume);
        (told["class"].clone(), told["priority"].clone(), told["user"].clone(), told["process"].clone())
    };
    assert_eq!(of("a"), (json!("own"), json!(9), json!(user), json!(process)));
    assert_eq!(of("b"), (json!("b"), json!(4), json!(user), json!(process)));
    if let Some(cgroup) = cgroup {
        assert_eq!(served(&service, "a")["cgroup"], json!(cgroup));
    }
    service.stop();
}

#[test]
fn whose_requests_have_a_deadline_have_it_and_no_others() {
    let (user, ..) = own();
    let service = service(&format!("[[client]]\nvolume = \"a\"\nuser = \"{user}\"\ndeadline = \"1ms\"\n"));
    assert!(dropped(&service, "a") > 0);
    assert_eq!(dropped(&service, "b"), 0);
    service.stop();
}

#[test]
fn clients_are_served_otherwise_when_that_is_said_while_they_are_there() {
    let (user, ..) = own();
    let service = service(&format!("{OWN}[[client]]\nuser = \"{user}\"\npriority = 4\nclass = \"own\"\n"));
    let set = |told: Value| {
        let setting = Setting::parse(&told)?;
        service.caller().ask(|asker| EngineMessage::Set(setting, asker), PATIENCE).expect("an answer")
    };
    let _stays = service.connect("a");
    assert_eq!(served(&service, "a")["priority"], 4);
    let user = user.to_string();
    assert_eq!(set(json!({ "volume": "a", "user": user, "priority": 7, "class": "b" })), Ok(()));
    let reports = service.caller().ask(EngineMessage::Volumes, PATIENCE).expect("an answer");
    let told = reports[0].json();
    assert_eq!((&told["connected"][0]["priority"], &told["connected"][0]["class"]), (&json!(7), &json!("b")), "{told}");
    assert_eq!((&told["priority"], &told["class"]), (&json!(0), &json!("a")), "the volume itself is as it was");
    assert_eq!(served(&service, "b")["priority"], 4);
    for (wrong, told) in [
        (json!({ "volume": "a", "user": user, "class": "c" }), "there is no class 'c'"),
        (json!({ "volume": "c", "user": user, "priority": 1 }), "there is no volume 'c'"),
        (json!({ "volume": "a", "user": user }), "not said how"),
        (json!({ "volume": "a", "user": user, "share": 2 }), "of a class"),
        (json!({ "volume": "a", "user": "nobody-of-this-name", "priority": 1 }), "no user 'nobody-of-this-name'"),
    ] {
        assert!(set(wrong.clone()).is_err_and(|why| why.contains(told)), "{wrong}");
    }
    service.stop();
}
