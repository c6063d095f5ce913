//! Requests simulated a second: a whole experiment of 20,000 requests on the Atlas 10K, by policy and depth; and what a
//! block's place, a passage, a command of the drive and what is believed of it cost.

use block::{Command, Direction, Extent, Lbn, Outcome, Place, Tag, Time, Verb};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use sched::predict::{Predictor, Profile};
use std::hint::black_box;

const REQUESTS: u64 = 20_000;

fn experiment(policy: &str, depth: u32, region: &str) -> load::experiment::Experiment {
    let text = format!(
        r#"
        [drive]
        model = "atlas10k"
        [scheduler]
        policy = "{policy}"
        [[workload]]
        name = "random"
        kind = "closed"
        depth = {depth}
        size = "4KiB"
        region = "{region}"
        [run]
        requests = {REQUESTS}
        "#
    );
    let cases = load::experiment::parse("bench.toml", &text, &[], None).expect("the experiment is good");
    cases[0].experiment.clone()
}

fn requests(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("requests");
    group.throughput(Throughput::Elements(REQUESTS)).sample_size(10);
    for (policy, depth, region) in [
        ("fcfs", 1, "0%..100%"),
        ("fcfs", 50, "0%..100%"),
        ("c-look", 50, "0%..100%"),
        ("satf", 50, "0%..100%"),
        ("satf", 1000, "0%..100%"),
        ("asatf", 1000, "0%..100%"),
        ("satf", 1000, "50%..51%"),
    ] {
        let experiment = experiment(policy, depth, region);
        group.bench_function(BenchmarkId::new(policy, format!("{depth} in {region}")), |bencher| {
            bencher.iter(|| sim::replicate(black_box(&experiment), 0, &|_| ()).expect("it runs"));
        });
    }
    group.finish();
}

fn arithmetic(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("arithmetic");
    for name in ["atlas10k", "nl20"] {
        let mechanics = disk::catalogue::find(name).expect("it is in the catalogue").sheet.mechanics;
        let blocks = mechanics.layout.blocks() - 4096;
        let mut lbn = 0;
        let mut next = move || {
            lbn = (lbn + 0x9e37_79b9_7f4a) % blocks;
            Lbn(lbn)
        };
        group.bench_function(BenchmarkId::new("locate", name), |bencher| {
            bencher.iter(|| mechanics.layout.locate(black_box(next())));
        });
        for length in [8, 256, 4096] {
            group.bench_function(BenchmarkId::new(format!("pass {length} blocks"), name), |bencher| {
                bencher.iter(|| {
                    let at = Extent { start: next(), blocks: length };
                    let spot = mechanics.layout.locate(at.start);
                    mechanics.pass(&mechanics.rotation, Time(black_box(12_345_678)), spot, at, Direction::Read)
                });
            });
        }
    }
    group.finish();
}

/// A random read by itself: of the drive, of who follows it, and of who weighs another.
fn commands(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("command");
    for name in ["atlas10k", "nl20"] {
        let disk = disk::catalogue::find(name).expect("it is in the catalogue");
        let blocks = disk.sheet.mechanics.layout.blocks() / 8;
        let mut sector = 0;
        let mut next = move || {
            sector = (sector + 0x9e37_79b9_7f4a) % blocks;
            Command::new(Verb::Read, Extent { start: Lbn(sector * 8), blocks: 8 }, Place::Nowhere)
        };
        let (mut drive, mut now) = (drive::Drive::new(&disk.sheet, &disk.truth, 1), Time::ZERO);
        group.bench_function(BenchmarkId::new("drive", name), |bencher| {
            bencher.iter(|| {
                drive.issue(now, Tag(0), black_box(next()));
                now = drive.complete().0;
            });
        });
        let mut belief = Profile::new(&disk.sheet);
        group.bench_function(BenchmarkId::new("drive and belief", name), |bencher| {
            bencher.iter(|| {
                let command = black_box(next());
                belief.note_issue(now, &command, belief.spot(command.at));
                drive.issue(now, Tag(0), command);
                now = drive.complete().0;
                belief.note_completion(now, &command, Outcome::Ok);
            });
        });
        let (head, _) = belief.head(now);
        let spots: Vec<_> = (0..1024).map(|_| belief.spot(next().at)).collect();
        let keys: Vec<_> = spots.iter().map(|spot| (belief.key(*spot), belief.mark(*spot))).collect();
        group.bench_function(BenchmarkId::new("cost of 1,024", name), |bencher| {
            bencher.iter(|| keys.iter().map(|(key, mark)| belief.cost(&head, *key, *mark, Direction::Read)).min());
        });
    }
    group.finish();
}

criterion_group!(benches, requests, arithmetic, commands);
criterion_main!(benches);
