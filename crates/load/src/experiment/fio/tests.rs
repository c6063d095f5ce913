//! FioJob files: what they stand for, and what is refused.

use super::*;
use crate::experiment::{AddressPattern, Case, Kind, Pattern, read};
use block::Span;

fn case(text: &str) -> Result<Case, String> {
    let sets = ["drive.model=\"nl20\"".to_owned()];
    let read = document("jobs.fio", text).and_then(|document| read(document, Path::new("jobs.fio"), &sets, None));
    read.map(|mut cases| cases.remove(0)).map_err(|error| error.to_string())
}

fn pattern(kind: &Kind) -> &Pattern {
    match kind {
        Kind::Closed(plan) => &plan.pattern,
        Kind::Open(plan) => &plan.pattern,
        _ => panic!("of another kind"),
    }
}

/// Depth, blocks, share of reads, and where.
fn closed(case: &Case, place: usize) -> (u32, u32, f64, bool, (u64, u64)) {
    let Kind::Closed(plan) = &case.experiment.workloads[place].kind else { panic!("not closed") };
    let Pattern { blocks, read, at, region, .. } = &plan.pattern;
    (plan.depth, *blocks, *read, *at == AddressPattern::Sequential, region.on(1 << 30))
}

#[test]
fn jobs_take_what_is_global_and_have_files_of_their_own() {
    let text = "; four depths\n[global]\nioengine=libaio\ndirect=1\nrw=randread\nbs=128k\nsize=512m\nruntime=30\nramp_time=500ms\n\
                [one]\niodepth=4\n[two]\t; two of them\nnumjobs=2\nbs=4k,8k\nrw=write\n";
    let case = case(text).unwrap();
    let mib = 1 << 11;
    assert_eq!(closed(&case, 0), (4, 256, 1.0, false, (0, 512 * mib)));
    assert_eq!(closed(&case, 1), (1, 16, 0.0, true, (512 * mib, 1024 * mib)));
    assert_eq!(closed(&case, 2), (1, 16, 0.0, true, (1024 * mib, 1536 * mib)));
    assert_eq!(case.experiment.classes(), ["one", "two"]);
    let run = &case.experiment.run;
    assert_eq!((run.duration, run.warmup), (Some(Span(30_500_000_000)), Span(500_000_000)));
}

#[test]
fn a_job_alone_ends_with_its_size_and_a_device_is_all_of_the_drive() {
    let run = |text: &str| case(&format!("[job]\ndirect=1\n{text}")).unwrap().experiment.run;
    assert_eq!(run("size=1m\nbs=4k\n").requests, Some(256));
    assert_eq!(run("size=1m\nio_size=1025k\nbs=4k\n").requests, Some(257), "what is left over is a request");
    assert_eq!(run("filename=/dev/sdb\nruntime=1m\n").duration, Some(Span(60_000_000_000)));
    let region = |text: &str| {
        let case = case(&format!("[/dev/sdb]\nbuffered=0\nruntime=9\n{text}")).unwrap();
        pattern(&case.experiment.workloads[0].kind).region.on(1000)
    };
    assert_eq!([region(""), region("offset=10%\nsize=20%\n")], [(0, 1000), (100, 300)]);
    assert_eq!([region("offset=50k\n"), region("offset=50k\nsize=10k\n")], [(100, 1000), (100, 120)]);
}

#[test]
fn a_count_ends_a_job_and_clones_are_an_increment_apart() {
    let run =
        |text: &str| case(&format!("[/dev/sdb]\ndirect=1\nbs=4k\n{text}")).map(|case| case.experiment.run.requests);
    assert_eq!([run("number_ios=7\n"), run("size=1m\nnumber_ios=7\n")], [Ok(Some(7)), Ok(Some(7))]);
    assert_eq!(run("size=16k\nnumber_ios=7\n"), Ok(Some(4)), "its size ends it sooner");
    let told = run("runtime=3\nnumber_ios=7\n").unwrap_err();
    assert!(told.contains(":5: ") && told.contains("by a count and by a time"), "{told}");
    let text = "[/dev/sdb]\ndirect=1\nruntime=3\nsize=1m\noffset=512k\noffset_increment=2m\nnumjobs=3\n";
    let clones = case(text).unwrap();
    let regions: Vec<_> = (0..3).map(|place| closed(&clones, place).4).collect();
    assert_eq!(regions, [(1024, 3072), (5120, 7168), (9216, 11264)]);
}

#[test]
fn one_name_is_one_file() {
    let text = "[global]\ndirect=1\nfilename=shared\nsize=1m\ntime_based\nruntime=3\nrw=randrw\nrwmixread=60\nnumjobs=2\n[a]\n[b]\nfilename=own\n";
    let case = case(text).unwrap();
    let regions: Vec<_> = (0..4).map(|place| closed(&case, place).4).collect();
    assert_eq!(regions, [(0, 2048), (0, 2048), (2048, 4096), (2048, 4096)]);
    assert_eq!(closed(&case, 0).2, 0.6);
}

#[test]
fn a_rate_is_an_open_workload() {
    let text = "[r]\ndirect=1\nsize=128m\nrw=randread\nrate_iops=50\nrate_process=poisson\nio_submit_mode=offload\n";
    let workload = |text: &str| case(text).unwrap().experiment.workloads.remove(0);
    let Kind::Open(plan) = workload(text).kind else { panic!("not open") };
    assert_eq!((plan.rate, plan.arrivals), (50.0, crate::experiment::Arrivals::Poisson));
    let Kind::Open(plan) = workload("[r]\ndirect=1\nsize=1m\nrate=1m\nbs=64k\nprioclass=1\n").kind else { panic!() };
    assert_eq!((plan.rate, plan.arrivals), (16.0, crate::experiment::Arrivals::Constant));
    assert_eq!(workload("[r]\ndirect=1\nsize=1m\nprioclass=1\n").priority, 2);
    let Kind::Closed(plan) = workload("[r]\ndirect=1\nsize=1m\nthinktime=500\n").kind else { panic!("not closed") };
    assert_eq!(plan.think, Span(500_000));
}

#[test]
fn sizes_are_as_fio_takes_them() {
    let of = |text| JobSize::parse(text);
    for (text, bytes) in
        [("512", 512), ("4k", 4096), ("4kB", 4096), ("4KiB", 4000), ("2M", 2 << 20), ("1g", 1 << 30), ("1t", 1 << 40)]
    {
        assert_eq!(of(text), Some(JobSize::Bytes(bytes)), "{text}");
    }
    assert_eq!(of("50%"), Some(JobSize::Percent(50)));
    for text in ["", "k", "4x", "-4k", "101%", "4k4", "99999999999t", "4i"] {
        assert_eq!(of(text), None, "{text}");
    }
}

#[test]
fn what_cannot_be_said_is_refused_by_name_with_its_line() {
    let more = |text: &str| format!("[global]\ndirect=1\n[job]\nsize=1m\n{text}");
    for (text, what) in [
        ("[job]\nsize=1m\n".into(), ":1: [job] goes through the page cache"),
        (more("verify=crc32c\n"), ":5: `verify` cannot be said"),
        (more("iodpth=3\n"), "did you mean iodepth"),
        (more("ioengine=rdma\n"), "`ioengine=rdma` is no way to a disk"),
        (more("rw=rw\n"), ":5: [job] `rw=rw` goes forwards in two places"),
        (more("rw=randtrim\n"), "there are read, write"),
        (more("bs=4k,8k\nrw=randrw\n"), "a job for each"),
        (more("bs=1000\n"), "whole sectors"),
        (more("[next]\nstonewall\n"), ":6: `stonewall`"),
        (more("[next]\nsize=1m\n"), "nothing says how long several jobs run"),
        (more("numjobs=65\nruntime=3\n"), "more than 64 jobs"),
        (more("runtime=3\n[next]\nsize=1m\nruntime=4\n"), "its `runtime` is another than that of [job]"),
        (more("runtime=soon\n"), "is no time"),
        (more("directory=${HOME}\n"), "a variable of the environment"),
        ("[job]\ndirect=1\n".into(), "nothing says how large its file is"),
        ("[job\n".into(), "no `]`"),
        ("[global]\nbs=4k\n".into(), "no job in it"),
        (more("rate=1m\nthinktime=3\n"), "keep one of them"),
        (more("nrfiles=3\n"), "`nrfiles` cannot be said"),
    ] {
        let told = case(&text).err().unwrap_or_else(|| panic!("{text} is accepted"));
        assert!(told.contains(what), "{text}: {told}");
    }
}

#[test]
fn mutated_files_never_panic_and_are_experiments_or_refused_with_a_mend() {
    const VALID: &str = "[global]\ndirect=1\nioengine=libaio\nbs=4k\nsize=10%\nruntime=1m\n[a]\nfilename=/dev/sda\nrw=randrw\n\
                         rwmixread=30\nnumjobs=3\n[b]\nsize=2g\niodepth=9\nrate=1m\nrate_process=poisson\n[c]\nsize=9m\nthinktime=3ms\n";
    assert!(case(VALID).is_ok(), "{:?}", case(VALID).err());
    let mut draw = crate::Draw::new(7, 0);
    let (mut accepted, mut refused) = (0, 0);
    for _ in 0..3_000 {
        let mut bytes = VALID.as_bytes().to_vec();
        for _ in 0..=draw.below(3) {
            let (at, from) = (draw.below(bytes.len() as u64) as usize, draw.below(bytes.len() as u64) as usize);
            match draw.below(3) {
                0 => bytes[at] = b"[]=%-0e9\n;k \t,/"[draw.below(15) as usize],
                1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, bytes[from]),
            }
        }
        match case(&String::from_utf8_lossy(&bytes)) {
            Ok(case) => accepted += case.experiment.workloads.len().min(1),
            Err(told) => {
                assert!(told.contains("mend: "), "{told}");
                refused += 1;
            }
        }
    }
    assert!(accepted > 50 && refused > 50, "{accepted} {refused}");
}
