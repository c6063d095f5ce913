//! Every option that an example of fio uses (those of fio 3.33), in jobs of our own: each is taken as it is said here, passed over, or
//! refused by its name and line. None is skipped in silence.

use super::*;
use crate::experiment::read;

/// Options that jobs take, with a value that is said.
const TAKEN: &str = "rw=randread readwrite=write bs=8k blocksize=64k size=2m filesize=4m io_size=1m io_limit=1m number_ios=9 \
    offset=64k offset_increment=1m filename=/dev/sdb directory=/mnt iodepth=8 numjobs=1 ioengine=libaio ioengine=io_uring \
    ioengine=psync ioengine=mmap direct=1 buffered=0 rwmixread=70 rwmixwrite=30 runtime=3 timeout=3 ramp_time=1 time_based \
    thinktime=2000 rate=1m rate_iops=9 rate_process=poisson prioclass=3 randseed=7 blockalign=8k ba=8k";

/// Options of which one value changes nothing, and another that cannot be said.
const ONE_VALUE: [(&str, &str, &str); 10] = [
    ("stonewall", "", ""),
    ("loops", "1", "10"),
    ("nrfiles", "1", "16"),
    ("nr_files", "1", "16"),
    ("startdelay", "0", "4"),
    ("sync", "0", "1"),
    ("fsync", "0", "32"),
    ("random_distribution", "random", "zipf:1.2"),
    ("iodepth_batch_complete", "1", "16"),
    ("percentage_random", "0", "50"),
];

/// Options that say nothing of what a drive is asked.
const PASSED: &str = "name=x description=x group_reporting new_group=1 thread thread=1 gtod_reduce=1 disable_lat=1 disable_clat=1 \
    disable_slat=1 clat_percentiles=1 lat_percentiles=1 percentile_list=50:99 block_error_percentiles=1 write_bw_log=x \
    write_lat_log=x log_offset=1 log_prio=1 invalidate=1 randrepeat=0 norandommap random_generator=lfsr scramble_buffers=0 \
    buffer_pattern=0xff buffer_compress_percentage=50 dedupe_percentage=50 dedupe_mode=working_set \
    dedupe_working_set_percentage=5 dedupe_global=1 create_serialize=0 create_on_open=1 fallocate=none unlink=1 \
    openfiles=4 filename_format=$filenum cpus_allowed_policy=split numa_cpu_nodes=0 numa_mem_policy=bind:0 mem=malloc \
    registerfiles=1 sqthread_poll=1 sqthread_poll_cpu=0 nonvectored=1 io_submit_mode=offload ratemin=1m exitall \
    exit_what=all continue_on_error=io ignore_error=EIO error_dump=0 busy_poll=1 openfiles=3";

/// Options that change what is asked, or where, in ways that an experiment has no words for.
const REFUSED: &str = "verify=crc32c do_verify=1 verify_pattern=0xff verify_interval=4k verify_fatal=1 verify_async=2 verify_dump=1 \
    verify_backlog=64 zonemode=zbd zonesize=1m zoneskip=1m max_open_zones=8 read_beyond_wp=1 bssplit=4k/50:64k/50 bsrange=4k-8k \
    flow=1 flow_sleep=1000 wait_for=other prio=7 cmdprio=1 cmdprio_class=1 cmdprio_percentage=20 cmdprio_bssplit=4k/20 \
    iodepth_batch=8 iodepth_batch_submit=8 latency_target=1000 latency_window=100 latency_percentile=99 ss=iops:10% \
    ss_dur=10 ss_ramp=5 fill_device=1 kb_base=1000 threads=2 sg_write_mode=verify inplace=1 donorname=x cpuload=50 \
    cpumode=qsort program=/bin/true arguments=x std_redirect=0 grace_time=1 hostname=localhost port=8888 protocol=udp \
    listen=1 pingpong=1 ttl=2 verb=read serverip=192.0.2.1 busy_wait_polling=0 direct_write_to_pmem=1 https=off \
    http_verbose=0 http_mode=s3 http_host=localhost http_s3_key=x http_s3_keyid=x http_s3_region=x http_s3_storage_class=x \
    http_s3_sse_customer_key=x http_s3_sse_customer_algorithm=AES256 http_swift_auth_token=x nfs_url=nfs://x uri=nbd:x \
    clientname=x pool=x cont=x rbdname=x conf=x volume=x brick=x gpu_dev_id=0 gpu_dev_ids=0 cuda_io=posix cmd_type=nvme \
    allow_file_create=0 skip_bad=1";

/// What comes of an option behind a job that is complete without it.
fn with(option: &str) -> Result<(), String> {
    let key = option.split('=').next().unwrap_or_default();
    // What would contradict it stands in no job of its own.
    let ends = if ["number_ios", "runtime", "timeout"].contains(&key) { "" } else { "runtime=3\n" };
    let text = format!("[global]\ndirect=1\nfilename=/dev/sda\nsize=1m\n{ends}[job]\n{option}\n");
    let sets = ["drive.model=\"nl20\"".to_owned()];
    let read = document("jobs.fio", &text).and_then(|document| read(document, Path::new("jobs.fio"), &sets, None));
    read.map(|_| ()).map_err(|error| error.to_string())
}

#[track_caller]
fn refuses(option: &str) {
    let key = option.split('=').next().unwrap_or_default();
    let told = with(option).expect_err(option);
    assert!(told.contains(&format!("jobs.fio:7: `{key}`")) && told.contains("mend"), "{option}: {told}");
}

#[test]
fn every_option_of_an_example_of_fio_is_taken_passed_over_or_refused_by_name() {
    for option in TAKEN.split_whitespace().chain(PASSED.split_whitespace()) {
        assert_eq!(with(option), Ok(()), "{option}");
    }
    REFUSED.split_whitespace().for_each(refuses);
    let keys = [TAKEN, PASSED, REFUSED].into_iter().flat_map(str::split_whitespace);
    let mut keys: Vec<&str> = keys.filter_map(|option| option.split('=').next()).collect();
    keys.extend(ONE_VALUE.map(|(key, ..)| key));
    keys.sort_unstable();
    keys.dedup();
    assert!(keys.len() >= 170, "{} options", keys.len());
}

#[test]
fn of_some_options_one_value_alone_changes_nothing() {
    for (key, nothing, something) in ONE_VALUE {
        assert_eq!(with(&format!("{key}={nothing}")), Ok(()), "of the first job `{key}` says nothing");
        if something.is_empty() {
            continue;
        }
        let key = ALIASES.iter().find(|(alias, _)| *alias == key).map_or(key, |(_, key)| *key);
        refuses(&format!("{key}={something}"));
    }
}

#[test]
fn engines_that_reach_no_disk_are_refused_by_name() {
    for engine in
        "null cpuio net rdma rados rbd http libiscsi nfs ftruncate e4defrag filecreate filestat exec dev-dax".split(' ')
    {
        let told = with(&format!("ioengine={engine}")).expect_err(engine);
        assert!(told.contains(&format!("`ioengine={engine}` is no way to a disk")), "{told}");
    }
}
