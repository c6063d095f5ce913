//! What Prometheus is told is in its format, and true.

use crate::service::Running;
use live::metrics::expose;
use load::experiment::Exposed;
use nbd::{ClientRequest, CommandFlags, RequestType};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;

const SERVICE: &str = r#"
[drive]
path = "emulated:st318437lw"
[scheduler]
policy = "sstf"
[[volume]]
name = "a \"quoted\\one"
size = "1MiB"
[[volume]]
name = "b"
size = "1MiB"
"#;

/// Sends a question; what is answered, head and body.
fn ask(socket: &Path, question: &[u8]) -> (String, String) {
    let mut stream = UnixStream::connect(socket).expect("a connection");
    stream.write_all(question).expect("a question");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).expect("a length");
    assert_eq!(length.parse(), Ok(body.len()));
    (head.to_owned(), body.to_owned())
}

type Labels = BTreeMap<String, String>;

/// Samples of the text exposition format, read as strictly as its description allows.
fn parsed(text: &str) -> Vec<(String, Labels, f64)> {
    assert!(text.ends_with('\n'), "the last line ends");
    let (mut samples, mut seen, mut family, mut kind) = (Vec::new(), BTreeSet::new(), String::new(), String::new());
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, _) = help.split_once(' ').expect("a name and a help");
            assert!(seen.insert(name.to_owned()), "{name}: one group a family");
            (family, kind) = (name.to_owned(), String::new());
        } else if let Some(about) = line.strip_prefix("# TYPE ") {
            let (name, of) = about.split_once(' ').expect("a name and a type");
            assert!(name == family && kind.is_empty(), "{line}");
            assert!(["counter", "gauge", "histogram"].contains(&of), "{line}");
            kind = of.to_owned();
        } else {
            let sample = sample(line);
            let ends: &[&str] = if kind == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
            assert!(ends.iter().any(|end| sample.0 == format!("{family}{end}")), "{line} in {family}");
            assert!(kind != "counter" || family.ends_with("_total") && sample.2 >= 0.0, "{line}");
            samples.push(sample);
        }
    }
    samples
}

/// `NAME{LABEL="VALUE",…} NUMBER`.
fn sample(line: &str) -> (String, Labels, f64) {
    let is_name = |name: &str| {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        !name.is_empty() && name.chars().all(word) && !name.starts_with(|c: char| c.is_ascii_digit())
    };
    let end = line.find(['{', ' ']).expect("a name");
    let (name, mut rest) = line.split_at(end);
    assert!(is_name(name), "{line}");
    let mut labels = Labels::new();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        while !rest.starts_with('}') {
            let (label, value) = rest.split_once("=\"").expect("a label");
            assert!(is_name(label), "{line}");
            let (mut text, mut chars) = (String::new(), value.char_indices());
            let end = loop {
                match chars.next().expect("the end of a value") {
                    (end, '"') => break end,
                    (_, '\\') => text.push(match chars.next().expect("what is escaped").1 {
                        'n' => '\n',
                        c @ ('\\' | '"') => c,
                        c => panic!("\\{c} in {line}"),
                    }),
                    (_, c) => text.push(c),
                }
            };
            assert!(labels.insert(label.to_owned(), text).is_none(), "{line}");
            rest = &value[end + 1..];
            rest = rest.strip_prefix(',').unwrap_or(rest);
        }
        rest = &rest[1..];
    }
    let number = rest.strip_prefix(' ').expect("a space before the number");
    (name.to_owned(), labels, number.parse().expect("a number, and nothing after it"))
}

/// Buckets of each histogram ascend, in bound and in count, up to what is counted.
fn check_histograms(samples: &[(String, Labels, f64)]) -> u32 {
    let mut last: Option<(String, Labels, f64, f64)> = None;
    let mut histograms = 0;
    for (name, labels, value) in samples {
        if name.ends_with("_bucket") {
            let mut others = labels.clone();
            let bound: f64 = others.remove("le").expect("a bound").replace("+Inf", "inf").parse().expect("a bound");
            if let Some((of, with, below, count)) = &last
                && (of, with) == (name, &others)
            {
                assert!(bound > *below && value >= count, "{name} {labels:?}");
            }
            last = Some((name.clone(), others, bound, *value));
        } else if name.ends_with("_count") {
            let (_, with, bound, count) = last.as_ref().expect("buckets before it");
            assert!(*bound == f64::INFINITY && count == value && with == labels, "{name} {labels:?}");
            histograms += 1;
        }
    }
    histograms
}

#[test]
fn what_is_scraped_is_in_the_format_and_true() {
    let service = Running::new(SERVICE, 100.0);
    let socket = service.socket().with_file_name("metrics");
    let _place = expose(&Exposed::Unix(socket.clone()), service.caller()).expect("a socket");
    // Who says nothing keeps nobody out for long.
    let silent = UnixStream::connect(&socket).expect("a connection");
    let mut remote = service.connect("b");
    for (cookie, command) in
        [(1, RequestType::Read), (2, RequestType::Write), (3, RequestType::Read), (4, RequestType::Flush)]
    {
        let length = if command == RequestType::Flush { 0 } else { 4096 };
        let request = ClientRequest { command, flags: CommandFlags::default(), cookie, offset: 0, length };
        let payload = vec![7; if command == RequestType::Write { 4096 } else { 0 }];
        remote.send(request, &payload).expect("sent");
        assert!(remote.answer().expect("an answer").1.is_ok());
    }
    let (head, body) = ask(&socket, b"GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.contains("text/plain; version=0.0.4"), "{head}");
    let samples = parsed(&body);
    assert_eq!(check_histograms(&samples), 5);
    let value = |name: &str, of: &[(&str, &str)]| {
        let of: Labels = of.iter().map(|(label, value)| ((*label).to_owned(), (*value).to_owned())).collect();
        let mut found = samples.iter().filter(|(is, labels, _)| is == name && *labels == of);
        let (sample, more) = (found.next(), found.next());
        assert!(more.is_none(), "{name} {of:?} twice");
        sample.unwrap_or_else(|| panic!("no {name} {of:?} in\n{body}")).2
    };
    assert_eq!(value("halfturn_requests_total", &[("volume", "b"), ("op", "read")]), 2.0);
    assert_eq!(value("halfturn_requests_total", &[("volume", "b"), ("op", "write")]), 1.0);
    assert_eq!(value("halfturn_requests_total", &[("volume", "b"), ("op", "flush")]), 1.0);
    assert_eq!(value("halfturn_requests_total", &[("volume", "a \"quoted\\one"), ("op", "read")]), 0.0);
    assert_eq!(value("halfturn_bytes_total", &[("volume", "b"), ("op", "read")]), 8192.0);
    assert_eq!(value("halfturn_request_duration_seconds_count", &[("volume", "b"), ("op", "read")]), 2.0);
    assert_eq!(value("halfturn_errors_total", &[("volume", "b"), ("reason", "failed")]), 0.0);
    assert_eq!(value("halfturn_clients", &[("volume", "b")]), 1.0);
    assert_eq!(value("halfturn_in_flight_requests", &[("volume", "b")]), 0.0);
    assert!((value("halfturn_yield_total", &[("volume", "b")]) - 3.0 / 256.0).abs() < 1e-12);
    // Three commands of an emulated drive at its pace; nobody asked the other volume anything.
    let arm = |volume: &str| {
        let parts = ["seek", "rotation", "transfer", "write_back", "detour", "slack"];
        parts.map(|part| value("halfturn_arm_seconds_total", &[("volume", volume), ("part", part)]))
    };
    assert!((0.001..0.2).contains(&arm("b").iter().sum::<f64>()), "{:?}", arm("b"));
    assert_eq!(arm("a \"quoted\\one"), [0.0; 6]);
    assert_eq!(value("halfturn_device_up", &[]), 1.0);
    assert_eq!(value("halfturn_scheduler_requests", &[]), 0.0);
    assert!(value("halfturn_host_lateness_seconds_count", &[]) >= 3.0);
    assert!(ask(&socket, b"GET /elsewhere HTTP/1.1\r\n\r\n").0.starts_with("HTTP/1.1 404 "));
    assert!(ask(&socket, b"POST /metrics HTTP/1.1\r\n\r\n").0.starts_with("HTTP/1.1 405 "));
    // A head without end, and one who hears nothing.
    let mut endless = UnixStream::connect(&socket).expect("a connection");
    let _ = endless.write_all(&[b'x'; 9000]);
    let deaf = UnixStream::connect(&socket).expect("a connection");
    deaf.shutdown(Shutdown::Write).expect("its end");
    assert!(ask(&socket, b"GET /metrics?a=b HTTP/1.0\r\n\r\n").0.starts_with("HTTP/1.1 200 "));
    drop((silent, endless, deaf, remote));
    service.stop();
}
