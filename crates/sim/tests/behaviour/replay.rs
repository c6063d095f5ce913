//! Traces replayed: by their own times, held behind identical requests, or closed; and made to fit the drive.

use crate::files::{Folder, cases, once};
use block::{BadInput, Extent, Time};
use load::Draw;
use load::workload::{Draft, Workload};

/// A DiskSim ASCII trace: ms, device, block, blocks, flags (1 reads).
const TRACE: &str = "\
0.0 0 1000 8 1
10.0 0 2000 8 0
20.0 0 1000 8 1
30.0 0 3000 16 1
40.0 0 2000 8 1
";

/// The capacity of the Atlas 10K.
const CAPACITY: u64 = 17_938_986;

fn experiment(file: &str, keys: &str) -> String {
    format!(
        r#"
        [drive]
        model = "atlas10k"
        [scheduler]
        policy = "fcfs"
        [[workload]]
        name = "recorded"
        kind = "trace"
        file = "{file}"
        {keys}
        "#
    )
}

fn workload(file: &str, keys: &str) -> Result<Box<dyn Workload>, BadInput> {
    let what = &cases(&experiment(file, keys))[0].experiment.workloads[0];
    what.kind.build(&what.name, CAPACITY, Draw::new(1, 0))
}

fn make(workload: &mut dyn Workload) -> Draft {
    let draft = workload.make().unwrap_or_else(|error| panic!("{error}"));
    assert!(draft.at.end().0 <= CAPACITY);
    draft
}

fn ms(ms: f64) -> Time {
    Time((ms * 1e6) as u64)
}

#[test]
fn an_open_replay_follows_the_recorded_times_scaled() {
    let folder = Folder::new("open");
    let file = folder.file("a.trace", TRACE);
    for (keys, scale) in [("", 1.0), ("time_scale = 4.0", 4.0), ("time_scale = 0.5", 0.5)] {
        let mut workload = workload(&file, keys).unwrap();
        for (recorded, start) in [(0.0, 1000), (10.0, 2000), (20.0, 1000), (30.0, 3000), (40.0, 2000)] {
            assert_eq!(workload.due(), Some(ms(recorded / scale)));
            let draft = make(&mut *workload);
            assert_eq!((draft.arrives, draft.at.start.0), (ms(recorded / scale), start));
        }
        assert_eq!(workload.due(), None);
    }
}

#[test]
fn times_count_from_the_first_request_of_the_trace() {
    let folder = Folder::new("origin");
    let file = folder.file("a.trace", "5000.5 0 1 8 1\n5001.5 0 9 8 1\n");
    let mut workload = workload(&file, "").unwrap();
    assert_eq!((make(&mut *workload).arrives, workload.due()), (ms(0.0), Some(ms(1.0))));
}

#[test]
fn a_held_replay_keeps_a_repeated_extent_and_all_behind_it_until_the_first_has_ended() {
    let folder = Folder::new("hold");
    let file = folder.file("a.trace", TRACE);
    let mut workload = workload(&file, "replay = \"hold\"").unwrap();
    let first = make(&mut *workload);
    let second = make(&mut *workload);
    // The third repeats the first, which is outstanding: it waits, and the fourth with it.
    assert_eq!(workload.due(), None);
    workload.end_request(ms(15.0), second.at);
    assert_eq!(workload.due(), None);
    workload.end_request(ms(55.0), first.at);
    let third = make(&mut *workload);
    assert_eq!((third.arrives, third.at.start.0), (ms(55.0), 1000));
    // Recorded at 30, it stood behind one that came at 55.
    let fourth = make(&mut *workload);
    assert_eq!((fourth.arrives, fourth.at.start.0), (ms(55.0), 3000));
    // The second has ended: nothing holds the fifth, recorded at 40.
    assert_eq!(make(&mut *workload).arrives, ms(55.0));
    assert_eq!(workload.due(), None);
    assert!(workload.notes().iter().any(|note| note.contains("1 requests held")), "{:?}", workload.notes());
}

#[test]
fn a_held_replay_does_not_hold_another_extent_or_one_that_has_ended() {
    let folder = Folder::new("free");
    let file = folder.file("a.trace", "0.0 0 1000 8 1\n1.0 0 1000 16 1\n2.0 0 1004 8 1\n3.0 0 1000 8 1\n");
    let mut workload = workload(&file, "replay = \"hold\"").unwrap();
    let first = make(&mut *workload);
    assert_eq!((make(&mut *workload).arrives, make(&mut *workload).arrives), (ms(1.0), ms(2.0)));
    assert_eq!(workload.due(), None);
    workload.end_request(ms(2.5), first.at);
    assert_eq!(workload.due(), Some(ms(3.0)));
}

#[test]
fn a_closed_replay_keeps_its_depth_whatever_the_recorded_times() {
    let folder = Folder::new("closed");
    let file = folder.file("a.trace", TRACE);
    let mut workload = workload(&file, "replay = \"closed\"\ndepth = 2").unwrap();
    let first = make(&mut *workload);
    assert_eq!((first.arrives, make(&mut *workload).arrives), (Time::ZERO, Time::ZERO));
    assert_eq!(workload.due(), None);
    workload.end_request(ms(3.0), first.at);
    assert_eq!(make(&mut *workload).arrives, ms(3.0));
    assert_eq!(workload.due(), None);
}

#[test]
fn a_whole_trace_is_simulated_and_then_the_run_ends() {
    let folder = Folder::new("whole");
    let file = folder.file("a.trace", TRACE);
    let open = once(&experiment(&file, ""));
    assert_eq!(open.meter.requests(), 5);
    assert!((0.040..0.060).contains(&open.meter.time_measured().as_secs()), "{:?}", open.meter.time_measured());
    let slow = once(&experiment(&file, "time_scale = 0.1"));
    assert!((0.400..0.420).contains(&slow.meter.time_measured().as_secs()), "{:?}", slow.meter.time_measured());
    let closed = once(&experiment(&file, "replay = \"closed\"\ndepth = 1"));
    assert_eq!(closed.meter.requests(), 5);
    assert!(closed.meter.time_measured().as_secs() < 0.040, "{:?}", closed.meter.time_measured());
}

#[test]
fn a_trace_larger_than_the_drive_is_an_error_unless_it_is_made_to_fit() {
    let folder = Folder::new("fit");
    let far = CAPACITY * 3;
    let file = folder.file("a.trace", &format!("0.0 0 0 8 1\n1.0 0 {far} 8 1\n2.0 0 {} 8 1\n", CAPACITY + 80));
    let error = once_error(&experiment(&file, ""));
    assert!(error.what.contains("beyond the 17938986 blocks") && error.mend.contains("compact"), "{error}");
    let starts = |fit: &str| {
        let mut workload = workload(&file, &format!("fit = \"{fit}\"")).unwrap();
        [(); 3].map(|()| make(&mut *workload).at)
    };
    assert_eq!(starts("wrap"), [Extent::new(0, 8), Extent::new(0, 8), Extent::new(80, 8)]);
    let [first, last, middle] = starts("scale").map(|at| at.start.0);
    assert_eq!((first, last), (0, (CAPACITY - 8) / 8 * 8));
    assert!(middle.abs_diff(CAPACITY / 3) < 64, "{middle}");
    let [first, last, middle] = starts("compact").map(|at| at.start.0);
    // Three units of 1 MiB, moved together; the place within the unit stays.
    assert_eq!((first, middle, last), (0, 2048 + (CAPACITY + 80) % 2048, 4096 + far % 2048));
    assert_eq!(once(&experiment(&file, "fit = \"compact\"")).meter.requests(), 3);
}

fn once_error(text: &str) -> BadInput {
    sim::replicate(&cases(text)[0].experiment, 0, &|_| ()).unwrap_err()
}

#[test]
fn a_trace_that_breaks_off_is_an_error_with_its_line() {
    let folder = Folder::new("broken");
    let file = folder.file("a.trace", &format!("{TRACE}50.0 0 what 8 1\n"));
    let error = once_error(&experiment(&file, ""));
    assert!(error.file.ends_with("a.trace") && format!("{error}").contains(":6"), "{error}");
}

#[test]
fn one_device_of_several_is_chosen_by_name() {
    let folder = Folder::new("devices");
    let file = folder.file("a.trace", "0.0 3 100 8 1\n1.0 5 200 8 1\n2.0 3 300 8 1\n");
    let error = once_error(&experiment(&file, ""));
    assert!(error.what.contains("several devices"), "{error}");
    for (device, requests, left_out) in [("3", 2, true), ("all", 3, false)] {
        let of = once(&experiment(&file, &format!("device = \"{device}\"")));
        assert_eq!(of.meter.requests(), requests);
        let said = of.notes.iter().any(|note| note.ends_with("1 requests to other devices left out"));
        assert_eq!(said, left_out, "{device}: {:?}", of.notes);
    }
}

/// Days like those of cello on the base disk of the Disk Mimic.
fn like_cello(days: u32, policy: &str, time_scale: f64) -> String {
    format!(
        r#"
        [drive]
        model = "mimic-base"
        [scheduler]
        policy = "{policy}"
        [[workload]]
        name = "week"
        kind = "cello-like"
        days = {days}
        replay = "hold"
        time_scale = {time_scale:?}
        "#
    )
}

#[test]
fn made_up_days_are_held_and_compressed_as_a_trace_is() {
    let plain = once(&like_cello(1, "c-look", 1.0));
    let fast = once(&like_cello(1, "c-look", 20.0));
    let (day, squeezed) = (plain.meter.time_measured().as_secs(), fast.meter.time_measured().as_secs());
    println!("{} requests in {day:.0} s and in {squeezed:.0} s; {:?}", plain.meter.requests(), fast.notes);
    assert_eq!(plain.meter.requests(), fast.meter.requests());
    assert!((day - 86_400.0).abs() < 60.0 && (4317.0..8640.0).contains(&squeezed));
    assert!(fast.notes.iter().any(|note| note.starts_with("week: ") && note.contains("requests held")));
}

#[test]
fn the_time_a_load_spent_at_the_disk_is_the_busy_share_of_the_time_simulated() {
    for (policy, time_scale) in [("fcfs", 5.0), ("sstf", 20.0)] {
        let results = crate::files::results(&like_cello(1, policy, time_scale));
        let run = &results.runs[0];
        let at_the_disk = run.disks[0].busy * run.simulated_seconds;
        let commands = run.commands.count as f64 * run.commands.mean_ms / 1e3;
        println!(
            "{policy}, {time_scale} times as fast: {at_the_disk:.3} s at the disk, of {:.0} s",
            run.simulated_seconds
        );
        assert!((at_the_disk / commands - 1.0).abs() < 1e-6, "{at_the_disk} s, commands {commands} s");
    }
}

/// The trace of hplajw, where it is at hand.
fn hplajw() -> Option<std::path::PathBuf> {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces/public/ajw.1week.srt");
    if !file.is_file() {
        println!("SKIPPED: {} is not there; it was NOT replayed", file.display());
        return None;
    }
    Some(file)
}

#[test]
fn a_week_made_up_after_hplajw_takes_a_disk_about_as_long_as_its_trace() {
    let Some(file) = hplajw() else { return };
    for (model, policy) in [("mimic-base", "fcfs"), ("mimic-base", "satf"), ("atlas10k", "sstf"), ("hp-335h", "c-look")]
    {
        let busy = |workload: &str| {
            let text = format!(
                "[drive]\nmodel = \"{model}\"\nwrite_buffer = false\n[scheduler]\npolicy = \"{policy}\"\n[[workload]]\n\
                 name = \"week\"\n{workload}\nreplay = \"hold\"\ntime_scale = 100\n[run]\n"
            );
            crate::files::results(&text).runs[0].busy_seconds
        };
        let real = busy(&format!("kind = \"trace\"\nfile = \"{}\"\ndevice = \"0\"", file.display()));
        let made_up = busy("kind = \"hplajw-like\"");
        println!("{model}, {policy}: {real:.1} s of the trace, {made_up:.1} s made up");
        assert!((made_up / real - 1.0).abs() < 0.15, "{model}, {policy}: {made_up} s, of the trace {real} s");
    }
}

#[test]
fn the_week_of_hplajw_is_held_and_compressed_a_thousand_times() {
    let Some(file) = hplajw() else { return };
    let replayed = |policy: &str, time_scale: f64| {
        let keys = format!("device = \"0\"\nreplay = \"hold\"\ntime_scale = {time_scale:?}");
        let text = experiment(&file.display().to_string(), &keys).replace("fcfs", policy);
        let run = crate::files::results(&text).runs.remove(0);
        assert_eq!(run.requests, 42_252);
        assert!(run.notes.iter().any(|note| note.contains("requests held")), "{:?}", run.notes);
        (run.simulated_seconds, run.disks[0].busy * run.simulated_seconds)
    };
    for time_scale in [100.0, 1000.0] {
        let ((fcfs, slow), (satf, quick)) = (replayed("fcfs", time_scale), replayed("satf", time_scale));
        println!(
            "{time_scale} times as fast: {slow:.1} s at the disk in {fcfs:.0} s; satf {quick:.1} s in {satf:.0} s"
        );
        assert!(fcfs >= 603_064.0 / time_scale && satf >= 603_064.0 / time_scale && quick < slow);
    }
}
