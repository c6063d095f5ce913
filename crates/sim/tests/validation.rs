//! The drive model against drives that were measured: its demerit figures beside DiskSim's own on the same traces.

use block::{Op, Span};
use disk::{Truth, disksim};
use sim::validate::{Demerit, Measured, replay};
use std::path::Path;

/// Parameters, trace, and DiskSim's demerit in ms, from its release of 4.0 run on these files.
const DRIVES: [(&str, &str, f64); 4] = [
    ("atlas10k.parv", "atlas10k.trace", 0.26772),
    ("cheetah9LP.parv", "cheetah9LP.trace", 0.10691),
    ("ibm18es.parv", "ibm18es.trace", 0.13588),
    ("hp_c3323a.parv", "hp_c3323a.trace", 0.30565),
];

fn exchange(path: &Path) -> Vec<Measured> {
    let records: Vec<trace::Record> = trace::open(path, None).unwrap().map(Result::unwrap).collect();
    let measured = |i: usize| {
        let record = records[i];
        let response = record.response.unwrap();
        let pause = records.get(i + 1).map_or(Span::ZERO, |next| next.time.since(record.time + response));
        Measured { op: record.op, at: record.at, response, pause }
    };
    (0..records.len()).map(measured).collect()
}

#[test]
fn no_model_is_further_from_its_drive_than_disksims() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/drives/disksim");
    if !folder.is_dir() {
        println!("SKIPPED: {} is not there; the model was NOT held against measured drives", folder.display());
        return;
    }
    for (parameters, trace, theirs) in DRIVES {
        let import = disksim::load(&folder.join(parameters), None).unwrap();
        let exchange = exchange(&folder.join(trace));
        let reads = exchange.iter().filter(|it| it.op == Op::Read).count();
        let pairs = replay(&import.drive.sheet, &Truth::default(), 1, exchange).unwrap();
        let demerit = Demerit::of(&pairs);
        println!(
            "{parameters}: {} requests, {reads} reads; measured {:.3} ms, simulated {:.3} ms; demerit {:.4} ms, plain \
             {:.4} ms; DiskSim's {theirs} ms",
            demerit.requests, demerit.measured_mean_ms, demerit.simulated_mean_ms, demerit.demerit_ms, demerit.plain_ms
        );
        assert!(demerit.demerit_ms <= theirs, "{parameters}: {} ms, DiskSim's {theirs}", demerit.demerit_ms);
        assert!((demerit.demerit_ms - demerit.plain_ms).abs() < 0.03, "{parameters}: {demerit:?}");
    }
}
