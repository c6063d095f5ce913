//! The volatile read cache of an array, and what it reads ahead of streams. That it is never stale is held by the world of faults (`arrays.rs`).

use crate::files::results;
use load::results::Run;

/// Eight disks of a level, with a read cache of 64 MiB or none, under this load.
fn run(level: &str, cached: bool, workloads: &str) -> Run {
    let cache = if cached { "read_cache = \"64MiB\"\n" } else { "" };
    let text = format!(
        "[[disk]]\nmodel = \"atlas10k\"\ncount = 8\n[array]\nlevel = \"{level}\"\nstripe = \"64KiB\"\n{cache}[scheduler]\npolicy = \"satf\"\n\
         {workloads}[run]\nduration = \"10s\"\nwarmup = \"2s\"\n"
    );
    results(&text).runs.remove(0)
}

/// One reader after another of its own quarter of the array, in order.
fn streams(count: u32, size: &str) -> String {
    let one = |number: u32| {
        let from = number * 25;
        format!(
            "[[workload]]\nname = \"s{number}\"\nkind = \"closed\"\ndepth = 1\nsize = \"{size}\"\nat = \"sequential\"\nregion = \"{from}%..{}%\"\n",
            from + 25
        )
    };
    (0..count).map(one).collect()
}

#[test]
fn a_stream_with_one_request_outstanding_has_several_disks_read_for_it() {
    for (level, least) in [("0/1", 2.0), ("5", 4.0)] {
        let [without, with] = [false, true].map(|cached| run(level, cached, &streams(1, "64KiB")));
        let gain = with.throughput_mb_s / without.throughput_mb_s;
        println!("RAID {level}: {:.1} MB/s, without {:.1}", with.throughput_mb_s, without.throughput_mb_s);
        assert!(gain > least, "{level}: {gain}");
        assert!(with.read_cache.expect("there is one").hit_fraction > 0.95 && without.read_cache.is_none());
    }
}

#[test]
fn several_streams_gain_side_by_side_and_none_waits_much_longer() {
    for level in ["0/1", "5"] {
        let [without, with] = [false, true].map(|cached| run(level, cached, &streams(4, "64KiB")));
        let worst = |run: &Run| run.classes.values().map(|class| class.response_ms.p99).fold(0.0, f64::max);
        let means = |run: &Run| run.classes.values().map(|class| class.response_ms.mean).collect::<Vec<_>>();
        println!(
            "RAID {level}: {:.1} MB/s, without {:.1}; p99 {:.1} ms, without {:.1}; {:?}",
            with.throughput_mb_s,
            without.throughput_mb_s,
            worst(&with),
            worst(&without),
            means(&with)
        );
        assert!(with.throughput_mb_s > 1.2 * without.throughput_mb_s, "{level}");
        assert!(worst(&with) < 3.0 * worst(&without), "{level}");
    }
}

#[test]
fn random_requests_lose_nothing() {
    let load = "[[workload]]\nname = \"r\"\nkind = \"open\"\nrate = \"150/s\"\nsize = \"8KiB\"\nread = 0.7\n";
    for level in ["0/1", "5"] {
        let [without, with] = [false, true].map(|cached| run(level, cached, load).classes["r"].response_ms.mean);
        println!("RAID {level}: {with:.3} ms, without {without:.3}");
        assert!(with < 1.01 * without, "{level}: {with} of {without}");
    }
}

#[test]
fn a_part_four_times_as_large_as_the_cache_is_found_in_it_one_time_in_four() {
    let load = "[[workload]]\nname = \"r\"\nkind = \"closed\"\ndepth = 8\nsize = \"64KiB\"\nalign = \"64KiB\"\nregion = \"0 blocks..524288 blocks\"\n";
    let came = run("0", true, load).read_cache.expect("there is one");
    println!("{came:?}");
    assert!((came.hit_fraction - 0.25).abs() < 0.02 && came.read_ahead_mib < 1.0, "{came:?}");
}
