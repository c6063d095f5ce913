//! Queues of block devices, as clients.

use super::Front;
use crate::door::ClientPlaces;
use crate::identity::Identity;
use crate::ublk::{BlockQueue, BlockQueueLine};
use std::io;

impl Front {
    /// Serves the queues of a block device from now on, or none of them. Whoever asks there is not known: it may be any program, or the
    /// kernel itself.
    pub(super) fn admit_block_queue(&mut self, mut queue: BlockQueue) -> Result<(), &'static str> {
        if self.stop.has_begun() {
            return Err("the service ends");
        }
        let others = std::mem::take(&mut queue.others);
        let places = queue.places.take();
        let volume = queue.volume;
        let lines = std::iter::once(queue).chain(others).map(BlockQueueLine::new);
        let Ok(lines) = lines.collect::<io::Result<Vec<_>>>() else {
            return Err("the driver does not show what is asked");
        };
        places.into_iter().for_each(ClientPlaces::fill);
        // Memory that the kernel makes room for while it serves must not have to be written to what it serves. Where the process may
        // not say so, it is as any other.
        let _ = rustix::process::configure_io_flusher_behavior(true);
        for line in lines {
            self.admit(Box::new(line), volume, Identity::default());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unwritten;
    use crate::bell::mailbox;
    use crate::front::{EngineMessage, ServedVolume};
    use crate::kernel::PlayedKernel;
    use crate::memory::Pool;
    use crate::ring::{RingOp, RingToken};
    use crate::ublk::imitation::{COMMIT, Driver, FETCH, STOPPED, TAGS};
    use crate::unit::Ram;
    use crate::world::{Hands, RequestSource};
    use block::errno::EIO;
    use block::{Ending, Op, Request, Time};
    use load::experiment::parse_service;
    use rand_core::{Rng, SeedableRng};
    use rand_pcg::Pcg64Mcg;
    use sched::Input;
    use std::collections::BTreeMap;
    use std::sync::Arc;
    use std::sync::atomic::Ordering;
    use std::sync::mpsc::TryRecvError;

    /// Keeps the commands that a driver would get.
    #[derive(Default)]
    struct Commands(Vec<(u16, u32, i32)>);

    impl PlayedKernel for Commands {
        fn time(&self) -> Time {
            Time(1)
        }

        fn note(&mut self, token: RingToken, op: RingOp) {
            let (RingToken::Driver(0, tag), RingOp::Driver(code, told)) = (token, op) else { panic!("{token:?}") };
            let told_tag = u16::from_ne_bytes([told[2], told[3]]);
            assert_eq!((u16::from_ne_bytes([told[0], told[1]]), told_tag, &told[8..]), (1, tag, &[0; 8][..]));
            self.0.push((tag, code, i32::from_ne_bytes([told[4], told[5], told[6], told[7]])));
        }
    }

    /// Sectors of each tag's own, so that requests in flight do not meet.
    const PART: u64 = 40;
    const SERVICE: &str = "
        drive = { path = \"ram:1MiB\" }
        scheduler = { policy = \"fcfs\" }
        serve = { requests = 3 }
        volume = [{ name = \"a\", size = \"64KiB\" }, { name = \"b\", ublk = 5 }]";
    const BEFORE: u64 = 128;

    /// A front with one queue of a device, and the disk under it.
    struct Bench {
        front: Front,
        pool: Pool,
        unit: Ram,
        kernel: Commands,
        /// Requests that the core has.
        asked: Vec<Request>,
        /// A byte for each sector of the disk.
        disk: Vec<u8>,
        _caller: crate::bell::Caller<EngineMessage>,
    }

    impl Bench {
        fn new(driver: &mut Driver) -> Bench {
            let experiment = parse_service("a.toml", SERVICE, &[]).expect("a service");
            assert_eq!(experiment.volumes[1].ublk, Some(5));
            let (caller, mailbox) = mailbox().expect("a mailbox");
            let inside = Arc::default();
            let served = ServedVolume::all(&experiment, 1 << 20).expect("volumes");
            let mut front = Front::new(mailbox, experiment.serve, served, Arc::clone(&inside)).expect("a front");
            let places = ClientPlaces::take(&inside, 1, 1);
            let mut queue = driver.queue(1, 1);
            queue.places = places;
            front.admit_block_queue(queue).expect("it is served");
            let (unit, kernel) = (Ram::new(2048, Unwritten::Zeros), Commands::default());
            Bench {
                front,
                pool: Pool::default(),
                unit,
                kernel,
                asked: Vec::new(),
                disk: vec![0; 2048],
                _caller: caller,
            }
        }

        fn with<T>(&mut self, act: impl FnOnce(&mut Front, &mut Hands) -> T) -> T {
            let Bench { front, pool, unit, kernel, .. } = self;
            act(front, &mut Hands { kernel, pool, unit })
        }

        /// The driver has something for a tag.
        fn come(&mut self, tag: u16, result: i32) {
            self.with(|front, hands| front.on_completion(Time(1), RingToken::Driver(0, tag), result, hands));
        }

        /// What the core is given to do by now.
        fn gather(&mut self) {
            while let Some(input) = self.with(|front, hands| front.ask(Time(1), 1000, hands)) {
                let Input::Submit(request) = input else { panic!("{input:?}") };
                self.asked.push(request);
            }
        }

        /// Does one of the requests that the core has, or fails it; what was pushed then.
        fn end(&mut self, place: usize, how: Ending) -> Vec<(u16, u32, i32)> {
            let Request { id, op, at, .. } = self.asked.swap_remove(place);
            let range = at.start.0 as usize..at.end().0 as usize;
            if how == Ending::Finished {
                let memory = self.front.memory(id, 0, at.bytes() as usize);
                match (op, memory) {
                    (Op::Read, Some(into)) => {
                        let bytes: Vec<u8> = self.disk[range].iter().flat_map(|mark| [*mark; 512]).collect();
                        into.buffer.put(into.from, &bytes);
                    }
                    (Op::Write { .. }, Some(from)) => {
                        let marks = from.to_vec();
                        self.disk[range].iter_mut().zip(marks.chunks(512)).for_each(|(mark, bytes)| {
                            assert!(bytes.iter().all(|byte| *byte == bytes[0]));
                            *mark = bytes[0];
                        });
                    }
                    (Op::Discard(_), _) => self.disk[range].fill(0),
                    (Op::Flush, _) => {}
                    (op, _) => panic!("{op:?}"),
                }
            }
            self.with(|front, hands| {
                front.on_end(Time(1), id, how, hands);
                front.quiet(hands);
            });
            std::mem::take(&mut self.kernel.0)
        }
    }

    /// What a tag waits for: an operation, its sectors within the part, and what it is to hold then.
    type Pending = (u32, std::ops::Range<usize>, u8);

    #[test]
    fn each_request_of_a_device_is_done_and_answered_once() {
        let given = std::env::var("HALFTURN_SEED").ok().and_then(|seed| seed.parse().ok());
        for seed in given.map_or(0..20, |seed: u64| seed..seed + 1) {
            println!("again with HALFTURN_SEED={seed}");
            let mut draw = Pcg64Mcg::seed_from_u64(seed);
            let mut below = |bound: u32| draw.next_u32() % bound;
            let mut driver = Driver::new(1);
            let mut bench = Bench::new(&mut driver);
            bench.with(Front::quiet);
            let fetches: Vec<_> = (0..TAGS).map(|tag| (tag, FETCH, 0)).collect();
            assert_eq!(std::mem::take(&mut bench.kernel.0), fetches);
            let mut pending: BTreeMap<u16, Pending> = BTreeMap::new();
            let mut model = vec![0_u8; usize::from(TAGS) * PART as usize];
            let (mut moved, mut failed, mut waited) = (0, 0, 0);
            for _ in 0..800 {
                let tag = below(TAGS.into()) as u16;
                if !pending.contains_key(&tag) && below(3) > 0 {
                    let op = [0, 1, 1 | 1 << 13, 2, 3, 5, 5 | 1 << 15, 9][below(8) as usize];
                    let from = below(PART as u32 - 1);
                    let count = 1 + below(PART as u32 - from);
                    let first = u64::from(tag) * PART + u64::from(from);
                    let mark = below(256) as u8;
                    driver.ask(1, tag, (op, count, first), &vec![mark; count as usize * 512]);
                    pending.insert(tag, (op, first as usize..first as usize + count as usize, mark));
                    bench.come(tag, 0);
                }
                bench.gather();
                assert!(bench.asked.len() <= 3, "as many as [serve] allows");
                waited += usize::from(pending.len() > bench.asked.len());
                let mut told = if bench.asked.is_empty() || below(2) == 0 {
                    bench.with(Front::quiet);
                    std::mem::take(&mut bench.kernel.0)
                } else {
                    let how = if below(10) == 0 { Ending::Failed(EIO) } else { Ending::Finished };
                    let place = below(bench.asked.len() as u32) as usize;
                    bench.end(place, how)
                };
                for (tag, code, result) in told.drain(..) {
                    let (op, range, mark) = pending.remove(&tag).expect("one that was asked for");
                    assert_eq!(code, COMMIT);
                    let bytes = range.len() as i32 * 512;
                    match (op & 0xff, result) {
                        (9, result) => assert_eq!(result, -95),
                        (_, result) if result < 0 => failed += 1,
                        (0, _) => {
                            let wanted: Vec<u8> = model[range].iter().flat_map(|mark| [*mark; 512]).collect();
                            assert!(result == bytes && driver.data(1, tag, wanted.len()) == wanted);
                            moved += 1;
                        }
                        (1, _) => {
                            assert_eq!(result, bytes);
                            model[range].fill(mark);
                            moved += 1;
                        }
                        (3 | 5, _) => model[range].fill(0),
                        _ => assert_eq!(result, 0),
                    }
                    bench.disk_agrees(&model, &pending);
                }
            }
            assert!(moved > 50 && failed > 3 && waited > 50, "{moved} moved, {failed} failed, {waited} waited");
        }
    }

    impl Bench {
        /// Whether the disk holds what it must, where nothing is in flight.
        fn disk_agrees(&self, model: &[u8], pending: &BTreeMap<u16, Pending>) {
            for tag in (0..TAGS).filter(|tag| !pending.contains_key(tag)) {
                let part = usize::from(tag) * PART as usize..(usize::from(tag) + 1) * PART as usize;
                let there = &self.disk[BEFORE as usize..][part.clone()];
                assert_eq!(there, &model[part], "of tag {tag}");
            }
        }
    }

    #[test]
    fn what_comes_while_a_service_ends_is_done_and_then_the_queue_is_gone() {
        let mut driver = Driver::new(1);
        let mut bench = Bench::new(&mut driver);
        bench.with(Front::quiet);
        bench.kernel.0.clear();
        let inside = Arc::clone(&bench.front.inside);
        assert_eq!((inside.load(Ordering::Relaxed), driver.told.try_recv()), (1, Err(TryRecvError::Empty)));
        bench._caller.tell(EngineMessage::Stop);
        bench.with(|front, hands| front.read_mail(hands));
        assert_eq!(driver.told.try_recv(), Ok(()), "it is to be stopped");
        bench.with(Front::quiet);
        driver.ask(1, 3, (1, 1, 0), &[7; 512]);
        bench.come(3, 0);
        bench.gather();
        assert_eq!((bench.end(0, Ending::Finished), bench.disk[BEFORE as usize]), (vec![(3, COMMIT, 512)], 7));
        for tag in 0..TAGS {
            assert_eq!(inside.load(Ordering::Relaxed), 1);
            assert_eq!(driver.told.try_recv(), Err(TryRecvError::Empty));
            bench.come(tag, STOPPED);
            bench.with(Front::quiet);
        }
        // It may say so again as it leaves.
        driver.told.try_iter().for_each(drop);
        assert_eq!((inside.load(Ordering::Relaxed), driver.told.try_recv()), (0, Err(TryRecvError::Disconnected)));
        bench.gather();
        assert!(matches!(bench.asked[..], [Request { op: Op::Flush, .. }]), "the last flush comes after");
    }

    #[test]
    fn queues_of_a_device_have_the_places_that_were_kept_for_them() {
        let mut driver = Driver::new(2);
        let mut bench = Bench::new(&mut driver);
        let inside = Arc::clone(&bench.front.inside);
        let mut both = || {
            let mut first = driver.queue(0, 1);
            first.others.push(driver.queue(1, 1));
            first.places = ClientPlaces::take(&inside, 2, 3);
            first
        };
        assert_eq!(bench.front.admit_block_queue(both()), Ok(()));
        assert_eq!((inside.load(Ordering::Relaxed), bench.front.volumes[1].clients), (3, 3));
        inside.store(1, Ordering::Relaxed);
        let late = both();
        bench._caller.tell(EngineMessage::Stop);
        bench.with(|front, hands| front.read_mail(hands));
        assert!(bench.front.admit_block_queue(late).is_err());
        assert_eq!(inside.load(Ordering::Relaxed), 1, "whoever is not let in gives them back");
    }

    #[test]
    fn queues_that_nobody_stops_do_not_keep_a_service_from_its_end() {
        let mut driver = Driver::new(1);
        let mut bench = Bench::new(&mut driver);
        bench.with(Front::quiet);
        drop(driver);
        bench._caller.tell(EngineMessage::Stop);
        bench.with(|front, hands| front.read_mail(hands));
        bench.with(Front::quiet);
        assert_eq!(bench.front.inside.load(Ordering::Relaxed), 0);
        bench.gather();
        assert!(matches!(bench.asked[..], [Request { op: Op::Flush, .. }]));
        // What comes all the same is nobody's.
        bench.come(0, STOPPED);
    }
}
