//! Disks of an array that is served are replaced and rebuilt, and the array scrubbed, while clients go on.

use crate::arrays::{DISK, Disks, PART, SHORT, SPECULATIVE, create, fault, holds, parse, status};
use crate::clients::{ask_at_random, request};
use crate::service::Running;
use block::DiskId;
use live::EngineMessage;
use live::array::{ArrayOrder, Former, PaceChange, ScrubOrder};
use live::make;
use nbd::RequestType;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Tells an array something; what it is then.
fn tell(service: &Running, order: ArrayOrder) -> Result<Value, String> {
    tell_whole(service, order).map(|told| told["array"].clone())
}

/// The same, with what is printed of it.
fn tell_whole(service: &Running, order: ArrayOrder) -> Result<Value, String> {
    let answer = service.caller().ask(|asker| EngineMessage::Array(order, asker), Duration::from_secs(20));
    answer.expect("an answer")
}

fn replace(service: &Running, disk: u16, path: &Path) -> Result<Value, String> {
    tell(service, ArrayOrder::Replace(DiskId(disk), path.into(), Former::Kept))
}

/// What each disk is.
fn states(array: &Value) -> Vec<String> {
    let disks = array["disks"].as_array().expect("disks").iter();
    disks.map(|disk| disk["state"].as_str().expect("a state").to_owned()).collect()
}

/// Waits until the array is so; what it is then.
fn wait_until(service: &Running, is_so: impl Fn(&Value) -> bool) -> Value {
    let begun = Instant::now();
    loop {
        let array = tell(service, ArrayOrder::Tell).expect("an array");
        if is_so(&array) {
            return array;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{array:#}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn is_sound(array: &Value) -> bool {
    states(array).iter().all(|state| state == "sound") && array["rebuild"].is_null()
}

/// The service file in which other disks stand in these places.
fn renamed(text: &str, files: &Disks, changes: &[(u16, &PathBuf)]) -> String {
    changes.iter().fold(text.to_owned(), |text, (disk, path)| {
        text.replace(&format!("\"{}/{disk}\"", files.folder.display()), &format!("\"{}\"", path.display()))
    })
}

const LEVELS: [(&str, u64, &[u16]); 4] = [
    ("level = \"0/1\"\nstripe = \"16KiB\"", 4, &[1, 2]),
    ("level = \"5\"\nstripe = \"16KiB\"", 4, &[2]),
    ("level = \"6\"\nstripe = \"4KiB\"", 5, &[0, 3]),
    (SPECULATIVE, 4, &[1, 2]),
];

#[test]
fn disks_that_fail_are_replaced_and_rebuilt_while_clients_verify_and_others_may_fail_then() {
    for (seed, (array, count, victims)) in (1..).zip(LEVELS) {
        for more in ["", SHORT] {
            let files = Disks::new(count);
            let text = files.text(array, more);
            create(&text);
            let service = Running::new(&text, 1.0);
            let fresh: Vec<PathBuf> =
                victims.iter().map(|disk| files.more(&format!("new{disk}"), DISK + 12_345)).collect();
            let kept = std::thread::scope(|scope| {
                let service = &service;
                let clients: Vec<_> = [0, PART + 1]
                    .into_iter()
                    .map(|from| scope.spawn(move || ask_at_random(service, "a", (from, PART), seed + from, 80)))
                    .collect();
                for (how, (disk, path)) in ["error", "torn"].iter().zip(victims.iter().zip(&fresh)) {
                    std::thread::sleep(Duration::from_millis(20));
                    fault(service, u64::from(*disk), how);
                    std::thread::sleep(Duration::from_millis(20));
                    replace(service, *disk, path).expect("it is replaced");
                }
                let array = wait_until(service, is_sound);
                assert!(array["events"].as_u64() >= Some(3), "{array:#}");
                clients.into_iter().map(|client| client.join().expect("it did not panic")).collect::<Vec<_>>()
            });
            let all_there = |service: &Running, when: &str| {
                for (from, kept) in [0, PART + 1].into_iter().zip(&kept) {
                    assert!(holds(service, from) == *kept, "{array}, {more}: {when}");
                }
            };
            all_there(&service, "rebuilt");
            let ended = service.stop();
            assert_eq!(ended.reports[0].counts.failed, 0, "{array}");
            // The file that names those that were there before is refused; the one that names the new ones is not.
            let (old, why) = status(&text);
            assert!(victims.iter().all(|disk| old[usize::from(*disk)] == "replaced"), "{old:?}");
            assert!(why.is_some_and(|why| why.contains("another disk took the place of disk")));
            let changes: Vec<_> = victims.iter().copied().zip(&fresh).collect();
            let text = renamed(&text, &files, &changes);
            assert_eq!(status(&text), (vec!["sound"; count as usize], None));
            // What was filled is needed, when another fails.
            let service = Running::new(&text, 1.0);
            let (other, _) =
                (0..count).map(|disk| (disk, victims.contains(&(disk as u16)))).find(|(_, it)| !it).expect("one");
            fault(&service, other, "error");
            all_there(&service, "without another disk");
            service.stop();
        }
    }
}

/// Who says twice that the array is to go on without a disk says nothing of the one that takes its place.
#[test]
fn a_disk_that_was_given_up_and_is_failed_again_is_replaced_by_a_sound_one() {
    let files = Disks::new(4);
    let text = files.text("level = \"5\"\nstripe = \"16KiB\"", "");
    create(&text);
    let service = Running::new(&text, 1.0);
    ask_at_random(&service, "a", (0, PART), 5, 10);
    for _ in 0..2 {
        tell(&service, ArrayOrder::Fail(DiskId(2))).expect("the array goes on without it");
        wait_until(&service, |array| states(array)[2] == "given up");
    }
    replace(&service, 2, &files.more("new", DISK)).expect("it is replaced");
    wait_until(&service, is_sound);
    service.stop();
}

/// At so many requests a second; 0 for no cap.
fn pace(rate: f64) -> ArrayOrder {
    ArrayOrder::Pace(PaceChange { floor: None, rate: Some(rate) })
}

/// A rebuild so slow that it can be seen: a row or two at a time, twice a second.
const SLOW: &str = "[[workload]]\nname = \"rebuild\"\nkind = \"rebuild\"\nsize = \"48KiB\"\nrate = \"2/s\"\n";

#[test]
fn a_rebuild_that_was_killed_goes_on_from_where_it_was_noted_and_ends() {
    for (array, count, disk) in
        [("level = \"0/1\"\nstripe = \"16KiB\"", 4, 1), ("level = \"5\"\nstripe = \"16KiB\"", 4, 3)]
    {
        let (files, image) = (Disks::new(count), Disks::new(count));
        // However slow the host is, nothing hangs.
        let patient = |text: String| text.replace("timeout = \"2s\"", "timeout = \"1h\"");
        let text = patient(files.text(array, SLOW));
        create(&text);
        let service = Running::new(&text, 10.0);
        let kept = ask_at_random(&service, "a", (0, PART), 5, 30);
        let fresh = files.more("new", DISK);
        replace(&service, disk, &fresh).expect("it is replaced");
        // How far it has come is noted every two seconds of the clock.
        wait_until(&service, |array| array["rebuild"]["done"].as_f64().is_some_and(|done| done > 0.6));
        let halted = tell(&service, pace(0.001)).expect("it waits");
        assert_eq!(states(&halted)[usize::from(disk)], "rebuilding");
        for other in (0..count as u16).filter(|other| *other != disk) {
            let name = format!("{other}");
            std::fs::copy(files.folder.join(&name), image.folder.join(&name)).expect("copied");
        }
        let copy = image.folder.join("new");
        std::fs::copy(&fresh, &copy).expect("copied");
        service.stop();
        let slower = SLOW.replace("2/s", "1/min");
        let text = renamed(&patient(image.text(array, &slower)), &image, &[(disk, &copy)]);
        let (states_there, why) = status(&text);
        assert_eq!((states_there[usize::from(disk)], why), ("rebuilding", None));
        let service = Running::new(&text, 10.0);
        let first = tell(&service, ArrayOrder::Tell).expect("an array");
        let done = first["rebuild"]["done"].as_f64().expect("it goes on");
        assert!((0.3..0.99).contains(&done), "{first:#}");
        assert!(holds(&service, 0) == kept, "{array}: while it is rebuilt");
        tell(&service, pace(0.0)).expect("it goes on");
        wait_until(&service, is_sound);
        let other = if array.contains("0/1") { 3 } else { 0 };
        fault(&service, other, "error");
        assert!(holds(&service, 0) == kept, "{array}: with what was filled");
        service.stop();
    }
}

#[test]
fn what_is_unfit_to_take_a_place_is_refused_with_the_reason() {
    let (files, others) = (Disks::new(4), Disks::new(4));
    let text = files.text("level = \"5\"\nstripe = \"16KiB\"", SLOW);
    create(&text);
    create(&others.text("level = \"5\"\nstripe = \"16KiB\"", ""));
    let service = Running::new(&text, 1.0);
    let refused = |disk: u16, path: &Path| replace(&service, disk, path).expect_err("it is unfit");
    let own = files.folder.join("2");
    for (disk, path, why) in [
        (9, files.more("a", DISK), "there is no disk 9; name one from 0 to 3"),
        (1, files.more("small", DISK / 2), "is too small: it has 512 KiB, and 1016 KiB are needed"),
        (1, own, "is in use"),
        (1, others.folder.join("0"), "is disk 0 of an array, "),
        (1, files.folder.join("none"), "cannot be opened: No such file"),
    ] {
        let said = refused(disk, &path);
        assert!(said.contains(why), "{said}");
    }
    assert_eq!(states(&tell(&service, ArrayOrder::Tell).expect("an array")), vec!["sound"; 4], "nothing came of it");
    // Of an array that was never written nothing is rebuilt.
    ask_at_random(&service, "a", (0, PART), 5, 30);
    let force = ArrayOrder::Replace(DiskId(1), others.folder.join("0"), Former::Overwritten);
    tell(&service, force).expect("it is not needed");
    wait_until(&service, |array| states(array)[1] == "rebuilding");
    // Before it is filled no other can be spared.
    let said = refused(2, &files.more("b", DISK));
    assert!(said.contains("without disk 2 some blocks are lost"), "{said}");
    let said = tell(&service, ArrayOrder::Fail(DiskId(2))).expect_err("it is needed");
    assert!(said.contains("without disk 2 some blocks are lost"), "{said}");
    service.stop();
}

/// A second disk of a RAID 5 is lost while the first is rebuilt: nothing wrong is told, and no flush succeeds.
#[test]
fn a_second_failure_during_a_rebuild_is_a_clear_stop() {
    let files = Disks::new(4);
    let text = files.text("level = \"5\"\nstripe = \"16KiB\"", SLOW);
    create(&text);
    let service = Running::new(&text, 1.0);
    let kept = ask_at_random(&service, "a", (0, PART), 11, 30);
    replace(&service, 0, &files.more("new", DISK)).expect("it is replaced");
    wait_until(&service, |array| states(array)[0] == "rebuilding");
    fault(&service, 2, "error");
    let mut remote = service.connect("a");
    remote.patience(Some(Duration::from_secs(60))).expect("a limit");
    let mut ask = |command, offset, length: u32| {
        remote
            .send(
                request(command, 1, offset, length),
                &vec![1; if command == RequestType::Write { length as usize } else { 0 }],
            )
            .expect("sent");
        remote.answer().expect("an answer").1
    };
    let (mut right, mut failed) = (0, 0);
    for block in 0..PART / 4096 {
        match ask(RequestType::Read, block * 4096, 4096) {
            Ok(read) => {
                let at = block as usize * 4096;
                assert!(read == kept[at..at + 4096], "block {block} is told wrong");
                right += 1;
            }
            Err(_) => failed += 1,
        }
    }
    assert!(right > 0 && failed > 0, "{right} {failed}");
    // A write finds out that the disk is gone.
    let _ = ask(RequestType::Write, 0, 400_000);
    assert!(ask(RequestType::Flush, 0, 0).is_err(), "some blocks are on no disk any more");
    assert!(ask(RequestType::Flush, 0, 0).is_err(), "and stay so");
    let array = tell(&service, ArrayOrder::Tell).expect("an array");
    assert_ne!(states(&array)[0], "sound", "{array:#}");
    service.stop();
}

#[test]
fn a_spare_takes_the_place_of_a_disk_that_is_given_up() {
    let files = Disks::new(4);
    let text = files.text("level = \"5\"\nstripe = \"16KiB\"", "");
    create(&text);
    let service = Running::new(&text, 1.0);
    let spare = files.more("spare", DISK);
    tell(&service, ArrayOrder::Add(spare.clone(), Former::Kept)).expect("a spare");
    assert_eq!(tell(&service, ArrayOrder::Tell).expect("an array")["spares"], 1);
    let said = tell(&service, ArrayOrder::Add(spare.clone(), Former::Kept)).expect_err("it is there already");
    assert!(said.contains("is in use"), "{said}");
    let kept = ask_at_random(&service, "a", (0, PART), 2, 20);
    tell(&service, ArrayOrder::Fail(DiskId(3))).expect("it can be spared");
    let array = wait_until(&service, |array| is_sound(array) && array["spares"] == 0);
    assert!(array["events"].as_u64() > Some(3), "{array:#}");
    fault(&service, 0, "error");
    assert!(holds(&service, 0) == kept);
    service.stop();
    assert_eq!(status(&renamed(&text, &files, &[(3, &spare)])).0, ["given up", "sound", "sound", "sound"]);
}

/// Changes bytes of a disk behind the array's back.
fn spoil(path: &Path, at: u64, bytes: usize) {
    use std::os::unix::fs::FileExt;
    let file = std::fs::File::options().write(true).open(path).expect("a disk");
    file.write_all_at(&vec![0x3C; bytes], at).expect("written");
}

/// What is not alike on the disks is found, counted and written anew; then none is any more.
#[test]
fn a_scrub_finds_and_mends_what_does_not_agree_while_clients_go_on() {
    for (array, count, disk) in [
        ("level = \"0/1\"\nstripe = \"16KiB\"", 4, 3),
        ("level = \"5\"\nstripe = \"16KiB\"", 4, 0),
        ("level = \"6\"\nstripe = \"4KiB\"", 5, 2),
    ] {
        let files = Disks::new(count);
        let text = files.text(array, "");
        create(&text);
        let service = Running::new(&text, 1.0);
        // What was never written is not looked through.
        let bytes = tell(&service, ArrayOrder::Tell).expect("an array")["bytes"].as_u64().expect("a number");
        let (from, mut remote) = (2 * (PART + 1), service.connect("a"));
        let data = vec![7; (bytes - from) as usize];
        remote.send(request(RequestType::Write, 1, from, data.len() as u32), &data).expect("sent");
        remote.answer().expect("an answer").1.expect("it is written");
        ask_at_random(&service, "a", (0, PART), 3, 20);
        let found = |service: &Running| {
            tell(service, ArrayOrder::Scrub(ScrubOrder::Start)).expect("it begins");
            let array = wait_until(service, |array| array["scrub"]["state"] == "done");
            let number = |key: &str| array["scrub"][key].as_u64().expect("a number");
            (number("unlike_blocks"), number("unreadable_blocks"))
        };
        assert_eq!(found(&service), (0, 0), "{array}");
        // A part that clients have not written. Of a row that is spoilt on the disk with its parity only that is wrong; of another,
        // the parities are.
        let length = 64 << 10;
        spoil(&files.folder.join(format!("{disk}")), DISK - (8 << 10) - length as u64 - 40_960, length);
        let (kept, (unlike, unreadable)) = std::thread::scope(|scope| {
            let writes = scope.spawn(|| ask_at_random(&service, "a", (PART + 1, PART), 4, 30));
            let found = found(&service);
            (writes.join().expect("it did not panic"), found)
        });
        assert!(unlike >= (length / 512) as u64 && unreadable == 0, "{array}: {unlike} {unreadable}");
        assert_eq!(found(&service), (0, 0), "{array}: all agrees again");
        assert!(holds(&service, PART + 1) == kept, "{array}");
        let told = tell_whole(&service, ArrayOrder::Tell).expect("an array");
        let lines: Vec<&str> = told["text"].as_str().expect("a text").lines().collect();
        assert_eq!(lines.len(), count as usize + 2, "{lines:?}");
        assert!(lines[0].starts_with("disk 0") && lines[0].ends_with("sound"), "{lines:?}");
        assert!(lines[lines.len() - 2].ends_with(" were ever written"), "{lines:?}");
        assert!(lines[lines.len() - 1].starts_with("scrubbed: 0 blocks did not agree"), "{lines:?}");
        assert!(told["array"].get("upkeep").is_none(), "words are in the text alone: {told:#}");
        let said = tell(&service, ArrayOrder::Scrub(ScrubOrder::Stop)).expect_err("there is none");
        assert!(said.contains("not being scrubbed"), "{said}");
        service.stop();
    }
}

/// What was never written is zeros, whatever the disks held, and is neither rebuilt nor scrubbed; what is discarded becomes such again.
#[test]
fn only_what_was_written_is_rebuilt_and_what_is_discarded_is_not_any_more() {
    for (array, disks, _) in LEVELS {
        let files = Disks::new(disks);
        (0..disks).for_each(|disk| drop(files.more(&disk.to_string(), DISK)));
        let text = files.text(array, "");
        create(&text);
        let service = Running::new(&text, 1.0);
        let written =
            || tell(&service, ArrayOrder::Tell).expect("a status")["written_bytes"].as_u64().expect("a number");
        assert_eq!(written(), 0, "{array}");
        assert!(holds(&service, 0).iter().all(|byte| *byte == 0), "{array}: it is zeros");
        let mut remote = service.connect("a");
        let bytes = vec![7; 128 << 10];
        let mut ask = |kind, from: u64, bytes: u32, data: &[u8]| {
            remote.send(request(kind, 1, from, bytes), data).expect("sent");
            remote.answer().expect("an answer").1.expect("it is done")
        };
        // Zeros change nothing.
        ask(RequestType::Write, 0, 128 << 10, &vec![0; 128 << 10]);
        assert_eq!(written(), 0, "{array}");
        ask(RequestType::Write, 256 << 10, 128 << 10, &bytes);
        let some = written();
        assert!(((128 << 10)..=(256 << 10)).contains(&some), "{array}: {some}");
        let path = files.more("another", DISK);
        replace(&service, 1, &path).expect("it is replaced");
        wait_until(&service, is_sound);
        assert_eq!(written(), some, "{array}: a rebuild writes nothing new");
        fault(&service, 0, "error");
        let held = holds(&service, 0);
        let wanted = |at: usize| if ((256 << 10)..(384 << 10)).contains(&at) { 7 } else { 0 };
        assert!((0..held.len()).all(|at| held[at] == wanted(at)), "{array}: without disk 0");
        replace(&service, 0, &files.more("third", DISK)).expect("it is replaced");
        wait_until(&service, is_sound);
        // A part of a region stays, and so does what was not discarded.
        ask(RequestType::Trim, 256 << 10, 2048, &[]);
        assert!(holds(&service, 0)[(258 << 10)..(384 << 10)].iter().all(|byte| *byte == 7));
        ask(RequestType::Trim, 0, 600 << 10, &[]);
        wait_until(&service, |array| array["written_bytes"] == 0);
        assert!(holds(&service, 0).iter().all(|byte| *byte == 0), "{array}: it is zeros again");
        ask(RequestType::Write, 0, 128 << 10, &bytes);
        assert!(holds(&service, 0).iter().zip(0..).all(|(byte, at)| (*byte == 7) == (at < (128 << 10))));
        service.stop();
        let text = renamed(&text, &files, &[(1, &path), (0, &files.folder.join("third"))]);
        let (found, _) = make::array_status(&parse(&text)).expect("a status");
        assert!(found.written > 0 && found.written < found.bytes / 2, "{array}: {found:?}");
    }
}
