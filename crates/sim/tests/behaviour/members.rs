//! The disks of an array: unlike one another, and spares beside them.

use load::experiment;
use sim::{Replication, replicate};

/// Reads of mirrored stripes on these disks, of which one fails.
fn run(disks: &str, array: &str, more: &str) -> Result<Replication, String> {
    let text = format!(
        "{disks}[array]\nlevel = \"0/1\"\n{array}[scheduler]\npolicy = \"satf\"\nio = \"semi-preemptible\"\n\
         preemption = \"never\"\nplan = {{ chunk = \"64KiB\", split = \"never\" }}\n\
         [[workload]]\nname = \"some\"\nkind = \"closed\"\ndepth = 8\nsize = \"16KiB\"\n{more}\
         [run]\nduration = \"30s\"\nwarmup = \"1s\"\n"
    );
    let cases = experiment::parse("members", &text, &[], None).map_err(|error| error.to_string())?;
    replicate(&cases[0].experiment, 0, &|_| ()).map_err(|error| error.to_string())
}

const ATLAS: &str = "[[disk]]\nmodel = \"atlas10k\"\n";
const LARGER: &str = "[[disk]]\nmodel = \"st318437lw\"\n";
const REBUILD: &str = "[[workload]]\nname = \"rebuild\"\nkind = \"rebuild\"\n";

fn yields(done: &Replication) -> Vec<f64> {
    done.meter.classes().map(|(_, class)| class.yield_).collect()
}

#[test]
fn of_disks_unlike_each_is_used_as_far_as_the_smallest_goes_and_believed_to_be_what_it_is() {
    let note = |done: &Replication| done.notes.iter().find(|note| note.contains("smallest")).cloned();
    let late = |done: &Replication| {
        let service = done.meter.service().expect("seeks are timed");
        service.late as f64 / service.jit_seeks.max(1) as f64
    };
    for disks in [[ATLAS, LARGER], [LARGER, ATLAS]] {
        let done = run(&disks.concat(), "", "").expect("it runs");
        let note = note(&done).expect("it is said");
        assert!(note.contains(" of each disk are used"), "{note}");
        // Were one believed to be like the other, its seeks would come in time by chance.
        assert!(late(&done) < 0.03, "{} of the seeks come late", late(&done));
        assert_eq!(done.accounts.len(), 2);
    }
    assert_eq!(note(&run(&ATLAS.repeat(2), "", "").expect("it runs")), None);
}

#[test]
fn a_disk_may_take_more_commands_at_once_than_the_first() {
    let requests = |queues: [u32; 2]| {
        let disks = queues.map(|queue| format!("[[disk]]\nmodel = \"nl20\"\nqueue = {queue}\n"));
        let text = format!(
            "{}[array]\nlevel = \"0\"\n[scheduler]\npolicy = \"fcfs\"\nbills = true\n[[workload]]\nname = \"some\"\n\
             kind = \"closed\"\ndepth = 16\nsize = \"4KiB\"\n[run]\nduration = \"2s\"\nwarmup = \"0s\"\n",
            disks.concat()
        );
        crate::files::once(&text).meter.requests()
    };
    let [one, eight] = [requests([1, 1]), requests([1, 8])];
    assert!(eight > one, "{eight} of {one}: the second orders eight by itself");
}

#[test]
fn disks_and_other_devices_make_no_array() {
    let told = run(&format!("{ATLAS}[[disk]]\nmodel = \"flash-x25m\"\n"), "", "").expect_err("it is refused");
    assert!(told.contains("disks and other devices in one array"), "{told}");
}

#[test]
fn a_spare_takes_the_place_of_the_first_disk_that_fails() {
    let four = ATLAS.repeat(4);
    let with = |array: &str| yields(&run(&four, array, REBUILD).expect("it runs"));
    let fails = "[[array.fails]]\ndisk = 2\nat = \"9s\"\n[[array.fails]]\ndisk = 1\nat = \"5s\"\n";
    let replaced = fails.replace("disk = 1\n", "disk = 1\nreplaced = true\n");
    let spare = with(&format!("spares = 1\n{fails}"));
    assert_eq!(spare, with(&replaced));
    assert_ne!(spare, with(fails));
    assert_ne!(spare, with(&format!("spares = 2\n{fails}")));
}
