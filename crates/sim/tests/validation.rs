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
    let records: Vec<trace::TraceRecord> = trace::open(path, None).unwrap().map(Result::unwrap).collect();
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

/// IO/s of random reads of 4 KiB over the Atlas 10K file at a fixed depth: of `fcfs`, `c-look` and `sstf` as DiskSim has
/// them, of `satf` as a scheduler like DiskSim's has it that knows the angle of now (where only DiskSim's own is known,
/// that).
const THROUGHPUT: [(u32, [f64; 4]); 6] = [
    (1, [106.7, 106.7, 106.7, 106.7]),
    (10, [106.7, 139.0, 142.9, 161.2]),
    (50, [106.7, 166.9, 167.0, 216.8]),
    (100, [106.7, 175.7, 175.4, 225.7]),
    (500, [106.7, 192.1, 190.7, 297.7]),
    (1000, [106.7, 198.3, 197.3, 320.8]),
];

#[test]
fn at_every_depth_the_drive_does_as_much_as_disksims() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/drives/disksim/atlas10k.parv");
    if !file.is_file() {
        println!("SKIPPED: {} is not there; throughput was NOT compared with DiskSim's", file.display());
        return;
    }
    for (i, policy) in ["fcfs", "c-look", "sstf", "satf"].into_iter().enumerate() {
        for (depth, theirs) in THROUGHPUT {
            let model = file.display();
            let text = format!(
                r#"
                [drive]
                model = "{model}"
                [scheduler]
                policy = "{policy}"
                [[workload]]
                name = "random"
                kind = "closed"
                size = "4KiB"
                depth = {depth}
                [run]
                requests = 40000
                warmup = "60s"
                "#
            );
            let cases = load::experiment::parse("test.toml", &text, &[], None).unwrap();
            let run = sim::replicate(&cases[0].experiment, 0, &|_| ()).unwrap();
            let ours = run.meter.throughput_mb_s() * 1e6 / 4096.0;
            println!("{policy}, depth {depth}: {ours:.1}/s, DiskSim {:.1}/s", theirs[i]);
            let share = ours / theirs[i];
            assert!(share >= 0.98 && (policy == "satf" || share <= 1.02), "{policy}, depth {depth}: {share:.3}");
        }
    }
}
