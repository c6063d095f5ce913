//! Reading on in slack (Virtual IO, Section 3.2): what it reads serves who waits already and who comes later, and it costs
//! nobody throughput.

use crate::files::results;

/// So many sequential streams without thinking time, spread over a drive, without and with prefetching.
fn streams(model: &str, count: u32, size: &str, preset: &str) -> (f64, f64, f64) {
    let mut text = format!(
        r#"
        [drive]
        model = "{model}"
        [scheduler]
        policy = "fcfs"
        io = "semi-preemptible"
        preemption = "never"
        plan = {{ preset = "{preset}", prefetch = ["never", "streams"] }}
        [run]
        duration = "60s"
        warmup = "5s"
        "#
    );
    for i in 0..count {
        let (from, to) = (100 * i / count, 100 * (i + 1) / count - 3);
        text += &format!(
            r#"
            [[workload]]
            name = "s{i}"
            kind = "closed"
            depth = 1
            size = "{size}"
            at = "sequential"
            region = "{from}%..{to}%"
            align = "1 blocks"
            "#
        );
    }
    let runs = results(&text).runs;
    let service = runs[1].service.as_ref().expect("in short commands");
    let used = service.prefetched_used_mb_s / service.prefetched_mb_s.max(1e-9);
    (runs[0].throughput_mb_s, runs[1].throughput_mb_s, used)
}

#[test]
fn interleaved_streams_gain_by_prefetching() {
    let mut gained = 0;
    for model in ["st318437lw", "atlas10k"] {
        for count in 2..=6 {
            let (never, with, used) = streams(model, count, "50KiB", "virtual-io-2002");
            println!("{model}, {count} streams: {never:.3} MB/s, {with:.3} with prefetching; {used:.3} of it used");
            assert!(with >= never, "{model}, {count} streams: {with} MB/s, {never} without");
            assert!(used > 0.99, "{model}, {count} streams: {used} of what is prefetched is used");
            gained += u32::from(with > 1.1 * never);
        }
    }
    assert!(gained >= 5, "{gained} of ten gain a tenth");
}

/// What the drive has in its cache has its seek timed in vain. For how long depends on where angles lie, which prefetching
/// moves: small requests of few streams may then lose some.
#[test]
fn streams_of_any_size_gain_by_prefetching_on_the_whole() {
    let mut gains = 0.0;
    for model in ["st318437lw", "atlas10k", "nl20", "wd400bb", "ibm-9lzx", "mimic-base"] {
        for (count, size) in [(2, "512KiB"), (3, "16KiB"), (5, "128KiB")] {
            let (never, with, _) = streams(model, count, size, "plain");
            println!("{model}, {count} streams of {size}: {never:.3} MB/s, {with:.3} with prefetching");
            let bound = if size == "16KiB" { 0.9 } else { 0.99 };
            assert!(with >= bound * never, "{model}, {count} streams of {size}: {with} MB/s, {never} without");
            gains += with / never - 1.0;
        }
    }
    assert!(gains > 18.0 * 0.05, "{gains} of 18 in all");
}
