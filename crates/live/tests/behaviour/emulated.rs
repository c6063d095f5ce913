//! An emulated drive keeps the time of its model.

use block::BadInput;
use load::experiment;
use load::requests::{DEVICE, PARTS, Record, Records};
use std::sync::{Arc, Mutex};

const RANDOM: &str = r#"
[drive]
path = "emulated:st318437lw"
[scheduler]
policy = "satf"
[[workload]]
name = "random"
kind = "closed"
depth = 8
size = "4KiB"
read = 0.7
[run]
requests = 200
"#;

/// On any machine, however busy, nothing happens before its time; and most of it soon after.
#[test]
fn nothing_is_early_and_little_is_late() {
    let cases = experiment::parse("random.toml", RANDOM, &[], None).expect("an experiment");
    let benched = live::bench(&cases[0], 1.0, &|_| {}, None).expect("it runs");
    assert_eq!(benched.run.requests, 200);
    assert_eq!(benched.lateness.count(), benched.run.commands.count);
    assert!(benched.lateness.quantile(0.5) < block::Span(2_000_000), "{:?}", benched.lateness.quantile(0.5));
    let [disk] = &benched.run.disks[..] else { panic!("one disk") };
    assert!(disk.busy > 0.5, "{disk:?}");
}

/// Waits, parts, and from arrival to end, of each record.
type Kept = Arc<Mutex<Vec<(u64, [u64; PARTS], u64)>>>;

struct Keep(Kept);

impl Records for Keep {
    fn put(&mut self, it: &Record) -> Result<(), BadInput> {
        let parts = it.parts.map(|span| span.0);
        let waits = it.waits.iter().map(|span| span.0).sum();
        self.0.lock().expect("kept").push((waits, parts, it.end.0 - it.arrival.0));
        Ok(())
    }

    fn close(&mut self) -> Result<(), BadInput> {
        Ok(())
    }
}

#[test]
fn each_request_is_recorded_with_its_parts_and_how_late_its_end_was_noticed() {
    for (device, parts_known) in [("emulated:st318437lw", true), ("ram:1MiB", false)] {
        let text = RANDOM.replace("emulated:st318437lw", device).replace("satf", "fcfs");
        let cases = experiment::parse("random.toml", &text, &[], None).expect("an experiment");
        let kept = Kept::default();
        let benched = live::bench(&cases[0], 1.0, &|_| {}, Some(Box::new(Keep(Arc::clone(&kept))))).expect("it runs");
        let kept = kept.lock().expect("kept");
        assert_eq!(kept.len() as u64, benched.run.requests);
        for (waits, parts, whole) in kept.iter() {
            assert_eq!(waits + parts.iter().sum::<u64>(), *whole, "{parts:?}");
            assert_eq!(parts[..DEVICE].iter().any(|part| *part > 0), parts_known, "{device}: {parts:?}");
        }
        let mean = kept.iter().map(|it| it.2).sum::<u64>() as f64 / kept.len() as f64 / 1e6;
        let wanted = benched.run.classes["random"].response_ms.mean;
        assert!((mean - wanted).abs() < 1e-9, "{device}: {mean}, not {wanted}");
    }
}
