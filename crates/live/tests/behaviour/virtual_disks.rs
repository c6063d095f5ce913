//! A volume as the disk of a virtual machine.

use crate::clients::request;
use crate::machine::{DISCARD, EVENT_IDX, FLUSH, GET_ID, HAS_FLUSH, IN, OUT, VirtualMachine, WRITE_ZEROES};
use crate::service::Running;
use live::{EngineMessage, FaultSetting, Remote, VolumeReport};
use nbd::RequestType;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde_json::json;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

const ALL: u64 = u64::MAX;
const IO_ERROR: u8 = 1;
const UNSUPPORTED: u8 = 2;

fn place() -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("halfturn-vm-{}-{number}", std::process::id()))
}

/// A service of one volume in memory, with more lines for it.
fn serve(socket: &std::path::Path, lines: &str) -> Running {
    let text = format!(
        "[drive]\npath = \"ram:64MiB\"\n[scheduler]\npolicy = \"look\"\n[serve]\nfaults = true\nrequests = 256\n\
         [[volume]]\nname = \"vm\"\nclass = \"machine\"\nvhost_user = {socket:?}\n{lines}"
    );
    Running::new(&text, 1.0)
}

fn report(service: &Running) -> VolumeReport {
    let answer = service.caller().ask(EngineMessage::Volumes, Duration::from_secs(10));
    answer.expect("an answer").remove(0)
}

fn set_fault(service: &Running, what: serde_json::Value) {
    let setting = FaultSetting::parse(&what).expect("a fault");
    let answer = service.caller().ask(|asker| EngineMessage::Fault(setting, asker), Duration::from_secs(10));
    assert_eq!(answer, Some(Ok(())));
}

/// Reads bytes as an NBD client.
fn read(client: &mut Remote, from: u64, bytes: u32) -> Vec<u8> {
    client.send(request(RequestType::Read, 1, from, bytes), &[]).expect("sent");
    client.answer().expect("an answer").1.expect("read")
}

/// Waits until something is so.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..2_000 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("{what}");
}

#[test]
fn a_volume_is_a_disk() {
    let socket = place();
    let service = serve(&socket, "");
    let mut machine = VirtualMachine::up(&socket, 1, 64, ALL);
    let config = machine.config();
    assert_eq!(config[..8], (64_u64 << 11).to_le_bytes(), "sectors");
    machine.put(0, 0, &[7; 4096]);
    assert_eq!(machine.one(OUT, 8, 4096), 0);
    assert_eq!(machine.one(FLUSH, 0, 0), 0);
    machine.put(0, 0, &[0; 4096]);
    assert_eq!(machine.one(IN, 9, 3584), 0);
    assert_eq!(machine.get(0, 0, 3584), [7; 3584]);
    assert_eq!(machine.one(GET_ID, 0, 20), 0);
    assert_eq!(machine.get(0, 0, 20), *b"vm\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
    let mut others = service.connect("vm");
    assert_eq!(read(&mut others, 8 * 512, 4096), [7; 4096], "an NBD client sees the same");
    for (kind, flags, status) in
        [(WRITE_ZEROES, 0, 0), (WRITE_ZEROES, 1, 0), (DISCARD, 0, 0), (DISCARD, 1, UNSUPPORTED)]
    {
        assert_eq!(machine.one_range(kind, (8, 4), flags), status, "{kind} {flags}");
    }
    assert_eq!(read(&mut others, 8 * 512, 4096), [[0; 2048], [7; 2048]].concat());
    // Beyond the end, of half a sector, of nothing, of many, unheard of.
    for (kind, sector, bytes, status) in [
        (IN, 131_072, 512, IO_ERROR),
        (IN, 131_071, 1024, IO_ERROR),
        (OUT, u64::MAX, 512, IO_ERROR),
        (OUT, 0, 500, IO_ERROR),
        (IN, 0, 0, IO_ERROR),
        (GET_ID, 0, 19, IO_ERROR),
        (DISCARD, 0, 32, UNSUPPORTED),
        (99, 0, 512, UNSUPPORTED),
    ] {
        assert_eq!(machine.one(kind, sector, bytes), status, "{kind} of {bytes} bytes at {sector}");
    }
    for sectors in [(131_072, 1), (0, 131_073), (u64::MAX, 2), (0, 0)] {
        assert_eq!(machine.one_range(WRITE_ZEROES, sectors, 0), IO_ERROR, "{sectors:?}");
    }
    drop(others);
    let told = report(&service);
    assert_eq!((told.class.as_str(), told.counts.flushes, told.counts.trims), ("machine", 1, 1));
    assert_eq!(told.connected[0].json()["user"], rustix::process::geteuid().as_raw());
    drop(machine);
    until("it is gone", || report(&service).clients == 0);
    service.stop();
    assert!(!socket.exists());
}

#[test]
fn what_is_read_only_is_not_written() {
    let socket = place();
    let service = serve(&socket, "read_only = true");
    let mut machine = VirtualMachine::up(&socket, 1, 16, ALL);
    assert!(machine.features & 1 << 5 != 0);
    assert_eq!([machine.one(OUT, 0, 512), machine.one(IN, 0, 512), machine.one(FLUSH, 0, 0)], [IO_ERROR, 0, 0]);
    assert_eq!([DISCARD, WRITE_ZEROES].map(|kind| machine.one_range(kind, (0, 1), 0)), [IO_ERROR; 2]);
    drop(machine);
    service.stop();
}

/// Requests of two queues at once, each of blocks that no other in flight has, compared with what was written before.
#[test]
fn contents_are_those_that_were_written() {
    let given = std::env::var("HALFTURN_SEED").ok().and_then(|seed| seed.parse().ok());
    for seed in given.map_or(0..3, |seed: u64| seed..seed + 1) {
        println!("again with HALFTURN_SEED={seed}");
        let mut draw = Pcg64Mcg::seed_from_u64(seed);
        let mut below = |bound: u32| draw.next_u32() % bound;
        let (socket, uses) = (place(), if seed % 2 == 0 { ALL } else { ALL & !EVENT_IDX & !HAS_FLUSH });
        let service = serve(&socket, "");
        let mut machine = VirtualMachine::up(&socket, 2, 256, uses);
        // So many parts of 64 KiB, each a slot's; a byte is known of each sector.
        let mut known = vec![[0_u8; 128]; 60];
        for round in 0..40_u32 {
            if round % 10 == 9 {
                let (queue, used) = (below(2) as usize, machine.take_answers(0).len());
                assert_eq!(used, 0);
                machine.stop(queue);
                machine.start(queue).expect("it starts again");
            }
            let mut asked = Vec::new();
            for part in 0..60_u16 {
                let queue = usize::from(part % 2);
                let (from, sectors) = (below(64), 1 + below(64));
                let (sector, kind) =
                    (u64::from(part) * 128 + u64::from(from), [IN, IN, OUT, OUT, WRITE_ZEROES][below(5) as usize]);
                let marks: Vec<u8> = (0..sectors).map(|_| below(256) as u8).collect();
                let range = from as usize..(from + sectors) as usize;
                match kind {
                    WRITE_ZEROES => {
                        machine.ask_range(queue, part, kind, (sector, sectors), below(2));
                        known[usize::from(part)][range.clone()].fill(0);
                    }
                    OUT => {
                        let bytes: Vec<u8> = marks.iter().flat_map(|mark| [*mark; 512]).collect();
                        machine.put(queue, part, &bytes);
                        machine.ask(queue, part, kind, sector, sectors * 512);
                        known[usize::from(part)][range.clone()].copy_from_slice(&marks);
                    }
                    _ => machine.ask(queue, part, kind, sector, sectors * 512),
                }
                asked.push((queue, part, kind, range));
                if below(4) == 0 {
                    machine.kick(queue);
                }
            }
            for queue in 0..2 {
                machine.kick(queue);
                let statuses = machine.wait(queue, 30);
                assert!(statuses.values().all(|status| *status == 0), "{statuses:?}");
            }
            for (queue, part, _, range) in asked.into_iter().filter(|(_, _, kind, _)| *kind == IN) {
                let read = machine.get(queue, part, range.len() * 512);
                let expected: Vec<u8> = known[usize::from(part)][range].iter().flat_map(|mark| [*mark; 512]).collect();
                assert!(read == expected, "round {round}, part {part}");
            }
        }
        drop(machine);
        service.stop();
    }
}

#[test]
fn as_many_are_in_flight_as_a_queue_has_room_for() {
    let socket = place();
    let service = serve(&socket, "");
    let mut machine = VirtualMachine::up(&socket, 2, 512, ALL);
    set_fault(&service, json!({ "volume": "vm", "fault": "stall" }));
    for slot in 0..128 {
        (0..2).for_each(|queue| machine.ask(queue, slot, OUT, u64::from(slot) * 8 + queue as u64 * 2048, 4096));
    }
    (0..2).for_each(|queue| machine.kick(queue));
    until("all of them are in flight", || report(&service).in_flight == 256);
    assert!(machine.take_answers(0).is_empty());
    set_fault(&service, json!({ "volume": "vm", "fault": "back" }));
    (0..2).for_each(|queue| assert!(machine.wait(queue, 128).values().all(|status| *status == 0)));
    assert_eq!(machine.stop(0), 128, "it stops when all are answered");
    drop(machine);
    service.stop();
}

/// A queue that is left alone for a while is looked at again, whatever its guest does then: asks on, waits, or asks one at a time.
#[test]
fn who_rings_only_where_he_is_heard_is_not_forgotten() {
    for features in [ALL, ALL & !EVENT_IDX] {
        let socket = place();
        let service = serve(&socket, "");
        let mut machine = VirtualMachine::up(&socket, 1, 256, features);
        let (mut asked, mut heard, mut draw) = (0_u32, 0_u32, Pcg64Mcg::seed_from_u64(7));
        let mut ask = |machine: &mut VirtualMachine, slot: u16| {
            // Asking takes this guest so long that pauses cost it nothing.
            let begun = std::time::Instant::now();
            while begun.elapsed() < Duration::from_micros(20) {
                std::hint::spin_loop();
            }
            machine.ask(0, slot, IN, draw.next_u64() % 16_000 * 8, 4096);
            heard += u32::from(machine.kick_where_heard(0));
            asked += 1;
        };
        for round in 0..12 {
            let depth: u16 = if round % 3 == 2 { 1 } else { 32 };
            let mut free: Vec<u16> = (0..depth).collect();
            for _ in 0..if depth == 1 { 40 } else { 1500 } {
                let slot = match free.pop() {
                    Some(slot) => slot,
                    None => {
                        let answers = machine.wait(0, 1);
                        assert!(answers.values().all(|status| *status == 0));
                        free.extend(answers.into_keys());
                        free.pop().expect("one is answered")
                    }
                };
                ask(&mut machine, slot);
            }
            let left = usize::from(depth) - free.len();
            assert_eq!(machine.wait(0, left).len(), left);
            if round % 2 == 1 {
                std::thread::sleep(Duration::from_millis(3));
            }
        }
        println!("{asked} requests, {heard} strokes of the bell");
        drop(machine);
        service.stop();
    }
}

#[test]
fn what_was_in_flight_is_done_over_for_whoever_comes_again() {
    let socket = place();
    let service = serve(&socket, "");
    let mut machine = VirtualMachine::up(&socket, 1, 256, ALL);
    assert_eq!(machine.one(OUT, 0, 512), 0);
    set_fault(&service, json!({ "volume": "vm", "fault": "stall" }));
    for slot in 0..40_u16 {
        machine.put(0, slot, &[slot as u8 + 1; 4096]);
        machine.ask(0, slot, if slot % 4 == 3 { IN } else { OUT }, u64::from(slot) * 8, 4096);
    }
    machine.kick(0);
    until("all of them are in flight", || report(&service).in_flight == 40);
    let mut machine = machine.again(&socket);
    machine.ask(0, 40, GET_ID, 0, 20);
    machine.kick(0);
    assert_eq!(machine.wait(0, 1).into_keys().collect::<Vec<_>>(), [40], "what came later, and needs no device");
    until("they are in flight once more", || report(&service).in_flight >= 40);
    set_fault(&service, json!({ "volume": "vm", "fault": "back" }));
    let statuses = machine.wait(0, 40);
    assert!(statuses.values().all(|status| *status == 0) && statuses.keys().copied().eq(0..40), "{statuses:?}");
    let mut others = service.connect("vm");
    for slot in (0..40_u64).filter(|slot| slot % 4 != 3) {
        assert_eq!(read(&mut others, slot * 4096, 4096), [slot as u8 + 1; 4096]);
    }
    drop((machine, others));
    service.stop();
}

/// What a guest writes into its rings stops its queue at most, and no other client.
#[test]
fn a_guest_that_writes_nonsense_harms_itself_alone() {
    let socket = place();
    let service = serve(&socket, "");
    let mut other = service.connect("vm");
    let status = |at: u64| (at + 512, 1, 2, 0);
    let slot = VirtualMachine::data(0, 0);
    let nonsense: [&dyn Fn(&mut VirtualMachine); 9] = [
        &|machine| machine.offer(0, 999),
        &|machine| machine.boast(0, 65),
        &|machine| {
            // A ring of descriptors.
            machine.describe(0, 0, (slot, 16, 1, 1));
            machine.describe(0, 1, (slot, 16, 1, 0));
            machine.offer(0, 0);
        },
        &|machine| {
            machine.describe(0, 0, (slot, 16, 1, 64));
            machine.offer(0, 0);
        },
        &|machine| {
            machine.describe(0, 0, (u64::MAX - 7, 16, 1, 1));
            machine.describe(0, 1, status(slot));
            machine.offer(0, 0);
        },
        &|machine| {
            // A table in a table.
            machine.describe(0, 0, (0, 64, 4, 0));
            machine.offer(0, 0);
        },
        &|machine| {
            machine.describe(0, 0, (slot, 15, 1, 1));
            machine.describe(0, 1, status(slot));
            machine.offer(0, 0);
        },
        &|machine| {
            machine.describe(0, 0, (slot, 16, 0, 0));
            machine.offer(0, 0);
        },
        &|machine| {
            machine.describe(0, 0, status(slot));
            machine.describe(0, 0, (slot, 16, 3, 1));
            machine.describe(0, 1, (slot, 16, 0, 0));
            machine.offer(0, 0);
        },
    ];
    for (number, write) in nonsense.into_iter().enumerate() {
        let mut machine = VirtualMachine::up(&socket, 2, 64, ALL);
        write(&mut machine);
        machine.kick(0);
        // The other queue goes on.
        machine.ask(1, 3, IN, 0, 512);
        machine.kick(1);
        assert_eq!(machine.wait(1, 1)[&3], 0, "{number}");
        assert!(machine.take_answers(0).is_empty(), "{number}");
        assert_eq!(read(&mut other, 0, 512), [0; 512], "{number}");
        drop(machine);
    }
    drop(other);
    service.stop();
}

#[test]
fn one_machine_has_the_disk_and_the_next_when_it_is_gone() {
    let socket = place();
    let service = serve(&socket, "");
    let mut machine = VirtualMachine::up(&socket, 1, 64, ALL);
    let second = std::os::unix::net::UnixStream::connect(&socket).expect("it listens");
    second.set_read_timeout(Some(Duration::from_secs(10))).expect("a limit");
    assert_eq!(std::io::Read::read(&mut &second, &mut [0; 8]).expect("an end"), 0, "it is sent away");
    assert_eq!(machine.one(IN, 0, 512), 0);
    drop(machine);
    for _ in 0..20 {
        let mut machine = VirtualMachine::up(&socket, 4, 64, ALL);
        assert_eq!(machine.one(IN, 0, 512), 0);
    }
    service.stop();
}
