//! An array that grows by a disk while others ask: everything moves once, nobody's request is lost, and it is refused where it cannot.

use crate::files::once;
use load::experiment::parse;
use sim::Replication;

/// An array of `disks` and a workload that has it grow, beside users of so many requests a second.
fn grow(level: &str, disks: u16, users: f64, more: &str) -> Replication {
    let users = match users {
        0.0 => String::new(),
        rate => format!(
            "[[workload]]\nname = \"users\"\nkind = \"open\"\nrate = \"{rate}/s\"\nsize = \"4KiB\"\nread = 0.6\n"
        ),
    };
    once(&format!(
        "[drive]\nmodel = \"hp-335h\"\n[array]\nlevel = \"{level}\"\ndisks = {disks}\n[scheduler]\npolicy = \"c-look\"\n{users}\
         [[workload]]\nname = \"growth\"\nkind = \"grow\"\nsize = \"4MiB\"\n{more}[run]\nduration = \"3000s\"\nwarmup = \"0s\"\n"
    ))
}

/// Seconds after which all has moved, and requests and MB of the growth.
fn read_growth(run: &Replication) -> (f64, u64, f64) {
    let told =
        run.notes.iter().find_map(|note| note.strip_prefix("it lies on ")).unwrap_or_else(|| panic!("{:?}", run.notes));
    let seconds = told.split(' ').nth(3).and_then(|seconds| seconds.parse().ok()).expect("seconds");
    let (_, growth) = run.meter.classes().find(|(name, _)| *name == "growth").expect("its class");
    (seconds, growth.requests, growth.throughput_mb_s * run.meter.time_measured().as_secs())
}

#[test]
fn an_array_grows_by_a_disk_while_users_go_on() {
    // Data columns of the wider array of 335 MB disks.
    for (level, disks, columns) in [("0", 2, 3.0), ("0/1", 4, 3.0), ("5", 3, 3.0), ("6", 4, 3.0)] {
        let joining = if level == "0/1" { 2 } else { 1 };
        let alone = grow(level, disks, 0.0, "");
        let beside = grow(level, disks, 4.0, "");
        let ((took, requests, moved), (longer, as_many, _)) = (read_growth(&alone), read_growth(&beside));
        assert!((moved / (columns * 335.5) - 1.0).abs() < 0.01, "RAID {level}: {moved} MB");
        assert!(requests > 100 && requests == as_many, "RAID {level}: {requests}, {as_many}");
        assert!(longer > 1.02 * took, "RAID {level}: users cost it nothing: {took} {longer}");
        // All that was there is read, and all that is written lies on all disks: no faster than the heads pass it.
        assert!(took > 335.0 / 2.5, "RAID {level}: {took} s");
        println!("RAID {level}: {took} s alone, {longer} s beside users");
        for run in [&alone, &beside] {
            assert_eq!((run.unfinished, run.accounts.len()), (0, usize::from(disks) + joining), "RAID {level}");
            assert!(run.accounts.iter().all(|account| account.busy.as_secs() > 30.0), "RAID {level}");
        }
        let (_, users) = beside.meter.classes().find(|(name, _)| *name == "users").expect("users");
        assert!(users.failed == 0 && users.requests > 11_000, "RAID {level}: {}", users.requests);
    }
}

/// A cap on its requests slows it down to that, and users wait less.
#[test]
fn a_growth_that_is_held_back_is_felt_less() {
    let response =
        |run: &Replication| run.meter.classes().find(|(name, _)| *name == "users").expect("users").1.response_ms.mean;
    let (free, held) = (grow("5", 3, 4.0, ""), grow("5", 3, 4.0, "rate = \"0.05/s\"\n"));
    assert!(response(&held) < 0.9 * response(&free), "{} {}", response(&held), response(&free));
    assert!(held.notes.iter().any(|note| note.contains(" % lies on 4 disks, at ")), "{:?}", held.notes);
}

#[test]
fn what_cannot_grow_is_refused_by_name() {
    let refused = |array: &str, more: &str| {
        let text = format!(
            "[drive]\nmodel = \"hp-335h\"\n{array}\n[scheduler]\npolicy = \"satf\"\n[[workload]]\nname = \"growth\"\nkind = \"grow\"\n{more}[run]\nrequests = 10\n"
        );
        parse("test.toml", &text, &[], None).expect_err(&text).to_string()
    };
    for more in ["spares = 1", "buffer = \"1MiB\"", "[[array.fails]]\ndisk = 0"] {
        let rebuild = "[[workload]]\nname = \"rebuild\"\nkind = \"rebuild\"\n";
        let told = refused(&format!("[array]\nlevel = \"5\"\ndisks = 4\n{more}"), rebuild);
        assert!(told.contains("nothing moves beside a write buffer, or while a disk is lacking"), "{told}");
    }
    let unlike = "[[disk]]\nmodel = \"atlas10k\"\n[[disk]]\nmodel = \"nl20\"\n[array]\nlevel = \"0\"";
    let text = format!(
        "{unlike}\n[scheduler]\npolicy = \"satf\"\n[[workload]]\nname = \"growth\"\nkind = \"grow\"\n[run]\nrequests = 10\n"
    );
    let told = parse("test.toml", &text, &[], None).expect_err("disks unlike one another").to_string();
    assert!(told.contains("not the one that joins"), "{told}");
    assert!(refused("", "").contains("workload 'growth' has an array grow, and there is none"));
    let twice = refused("[array]\nlevel = \"5\"\ndisks = 4", "[[workload]]\nname = \"again\"\nkind = \"grow\"\n");
    assert!(twice.contains("so does 'again'"), "{twice}");
    let most = refused("[array]\nlevel = \"5\"\ndisks = 64", "");
    assert!(most.contains("RAID 5 of 65 disks"), "{most}");
}
