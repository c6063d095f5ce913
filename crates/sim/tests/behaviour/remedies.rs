//! What ZFS's users found to help against scrubs, in their own words, helps here.

use crate::files::results;
use load::results::Run;

/// A scrub on a drive with this queue, beside somebody else, `limit` bytes of it at a time in the drive or before it, in commands of so
/// many bytes.
fn beside_a_scrub(somebody: &str, drive: &str, scheduler: &str, limit: u32, command: u32) -> Run {
    let text = format!(
        "[drive]\nmodel = \"nl20\"\n{drive}\n[scheduler]\n{scheduler}\n[[workload]]\nname = \"somebody\"\n{somebody}\n\
         size = \"4KiB\"\npriority = 2\n[[workload]]\nname = \"scrub\"\nkind = \"closed\"\ndepth = {}\nsize = \"{}KiB\"\n\
         at = \"sequential\"\n[run]\nduration = \"100s\"\nwarmup = \"5s\"\n",
        limit / command,
        command / 1024
    );
    results(&text).runs.remove(0)
}

const KIB: u32 = 1024;
const MIB: u32 = 1024 * KIB;

/// openzfs/zfs#17554: one synchronous write a second took five seconds and more while a scrub ran, until `scan_vdev_limit` went from
/// 4 MiB to 128 KiB. That was with ZFS's limits of a scrub far above what it comes with.
#[test]
fn less_of_a_scrub_at_a_time_lets_a_write_through() {
    let write = "kind = \"open\"\nrate = \"1/s\"\nread = 0.0";
    // A synchronous write is on the medium before it is answered.
    let drive = "queue = 32\nwrite_buffer = false";
    let usual = "policy = \"zfs\"";
    let raised = "policy = \"zfs\"\nscrub_min_active = 10\nscrub_max_active = 32\nnia_credit = 1000";
    let times = |scheduler: &str, limit: u32| {
        let run = beside_a_scrub(write, drive, scheduler, limit, MIB.min(limit));
        let (write, scrub) = (&run.classes["somebody"].response_ms, run.classes["scrub"].throughput_mb_s);
        println!("{limit} bytes: write mean {} p99 {} ms, scrub {scrub} MB/s", write.mean, write.p99);
        (write.mean, write.p99, scrub)
    };
    for scheduler in [usual, raised] {
        let [before, after] = [4 * MIB, 128 * KIB].map(|limit| times(scheduler, limit));
        assert!(before.0 > 1.3 * after.0, "{scheduler}: {before:?} {after:?}");
        assert!(after.2 > 0.95 * before.2, "a stream is as fast in short commands: {before:?} {after:?}");
        if scheduler == raised {
            assert!(before.1 > 10.0 * after.1, "stalls are gone: {before:?} {after:?}");
        }
    }
}

/// openzfs/zfs#10253: beside a stream the drive's own queue let random reads starve, until `queue_depth` was 1.
#[test]
fn without_a_queue_in_the_drive_random_reads_do_not_starve() {
    let reads = "kind = \"closed\"\ndepth = 1";
    let served = |queue: u16| {
        let run = beside_a_scrub(reads, &format!("queue = {queue}"), "policy = \"fcfs\"", MIB, 128 * KIB);
        let reads = &run.classes["somebody"];
        println!("queue {queue}: {} reads, mean {} ms", reads.requests, reads.response_ms.mean);
        (reads.requests, reads.response_ms.mean)
    };
    let [queued, alone] = [32, 1].map(served);
    assert!(queued.1 > 300.0, "stalled by the queue: {queued:?}");
    assert!(alone.1 < 60.0 && alone.0 > 10 * queued.0, "{queued:?} {alone:?}");
}
