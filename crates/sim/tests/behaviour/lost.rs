//! Arrays of which no disk holds what is asked for, and loads for which there is no room: runs come to an end, and count all.

use crate::files::{cases, once};
use block::BadInput;
use load::requests::{Record, Records};
use std::sync::{Arc, Mutex};

/// A RAID 5 of three, of which so many fail at once.
fn array(fails: u16, more: &str, load: &str) -> String {
    let fails: String = (0..fails).map(|disk| format!("[[array.fails]]\ndisk = {disk}\nat = \"50ms\"\n")).collect();
    format!(
        "[drive]\nmodel = \"nl20\"\n[array]\nlevel = \"5\"\ndisks = 3\n{more}{fails}[scheduler]\npolicy = \"fcfs\"\n\
         [[workload]]\nname = \"some\"\n{load}[run]\nduration = \"500ms\"\nwarmup = \"0s\"\n"
    )
}

#[test]
fn a_closed_load_at_an_array_without_a_disk_is_given_up() {
    let text = array(3, "", "kind = \"closed\"\ndepth = 1\nsize = \"4KiB\"\n");
    let error = sim::replicate(&cases(&text)[0].experiment, 0, &|_| ()).expect_err("it does not get on").to_string();
    assert!(error.contains("requests fail as soon as they come"), "{error}");
    let thinks = once(&text.replace("depth = 1\n", "depth = 1\nthink = \"1ms\"\n"));
    let (_, class) = thinks.meter.classes().next().expect("there is one");
    assert!(class.failed > 400 && class.failed < class.requests, "{class:?}");
}

#[test]
fn writes_that_wait_for_room_in_the_buffer_of_a_lost_array_fail_one_after_the_other() {
    // Some hundred wait, each of which is tried again as often as a buffered write is; on a stack of their own.
    let text = array(2, "buffer = \"1MiB\"\n", "kind = \"open\"\nrate = \"4000/s\"\nsize = \"64KiB\"\nread = 0.0\n");
    let done = std::thread::Builder::new().stack_size(1 << 20).spawn(move || once(&text)).expect("it begins").join();
    let done = done.expect("the stack is large enough");
    assert!(done.meter.buffer().expect("there is one").lost > 500, "{:?}", done.meter.buffer());
}

/// Counts records, and those of requests that had not ended.
struct RecordCount(Arc<Mutex<(u64, u64)>>);

impl Records for RecordCount {
    fn put(&mut self, it: &Record) -> Result<(), BadInput> {
        let mut count = self.0.lock().expect("nobody panics");
        *count = (count.0 + u64::from(it.counted), count.1 + u64::from(it.counted && it.ending.is_none()));
        Ok(())
    }

    fn close(&mut self) -> Result<(), BadInput> {
        Ok(())
    }
}

#[test]
fn what_came_and_never_had_room_counts_where_the_run_is_given_up() {
    // The arm has a limit, so that a hundredth of what comes is served in the time for which requests are followed.
    let text = "[drive]\nmodel = \"nl20\"\nqueue = 1\n[scheduler]\npolicy = \"fcfs\"\nqueue = 2\nclass.some.limit = 0.02\n\
                [[workload]]\nname = \"some\"\nkind = \"open\"\narrivals = \"constant\"\nrate = \"200/s\"\nsize = \"4KiB\"\n\
                [run]\nduration = \"2s\"\n";
    let count = Arc::new(Mutex::new((0, 0)));
    let opens = |_, _| Ok(Some(Box::new(RecordCount(Arc::clone(&count))) as Box<dyn Records>));
    let runs = sim::simulate_and_record(&cases(text), &sim::Unwatched, &opens).expect("it runs");
    let class = &runs.runs[0].classes["some"];
    assert!((399..=401).contains(&class.requests), "{class:?}");
    assert!(class.still_waiting > 200 && class.response_ms.p50 > 20_000.0, "{class:?}");
    assert_eq!(*count.lock().expect("nobody panics"), (class.requests, class.still_waiting));
}
