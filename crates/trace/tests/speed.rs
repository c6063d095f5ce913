//! How fast the reader of long traces is; run it with `--release -- --ignored --nocapture`.

use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Instant;

/// Seconds this thread has had on a CPU, where Linux tells; other load does not count.
fn cpu_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split(' ').next()?.parse::<f64>().ok()? / 1e9)
}

#[test]
#[ignore = "measures speed"]
fn disksim_from_zstd() {
    const LINES: u64 = 5_000_000;
    let path = std::env::temp_dir().join(format!("halfturn-{}.zst", std::process::id()));
    let mut packer = zstd::stream::write::Encoder::new(std::fs::File::create(&path).unwrap(), 3).unwrap();
    let (mut text, mut ns, mut dice) = (String::new(), 0u64, 1u64);
    for _ in 0..LINES {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ns += dice >> 44;
        let (device, block) = (dice >> 33 & 15, (dice >> 20) % 35_000_000_000);
        writeln!(text, "{}.{:06} {device} {block} 16 {}", ns / 1_000_000, ns % 1_000_000, dice >> 63).unwrap();
        if text.len() > 1 << 20 {
            packer.write_all(text.as_bytes()).unwrap();
            text.clear();
        }
    }
    packer.write_all(text.as_bytes()).unwrap();
    packer.finish().unwrap().sync_all().unwrap();

    for survey in [false, true] {
        let (start, wall) = (cpu_seconds(), Instant::now());
        let (mut gathered, mut count) = (trace::TraceSurvey::new(), 0);
        for record in trace::open(&path, None).unwrap() {
            let record = record.unwrap();
            count += 1;
            if survey {
                gathered.add(&record);
            }
        }
        assert_eq!(count, LINES);
        let taken = cpu_seconds().zip(start).map_or(wall.elapsed().as_secs_f64(), |(end, start)| end - start);
        let rate = LINES as f64 / taken / 1e6;
        println!("DiskSim ASCII from zstd{}: {rate:.1} million lines/s", if survey { ", surveyed" } else { "" });
    }
    std::fs::remove_file(&path).unwrap();
}
