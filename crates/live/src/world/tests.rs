//! What a world does where a disk of an array is given up, and with the memory of what it asks.

use super::*;
use crate::Clock;
use block::Caps;
use load::experiment::IoBackend;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// Two disks, each a copy of the other.
#[derive(Default)]
struct Pair {
    /// Whether the other disk can be told that one is given up; disks on which nothing could be noted.
    silent: bool,
    refused: VecDeque<DiskId>,
    /// Whether both are given up at once, if any is.
    together: bool,
    /// What its first disk does for a second parity.
    joins: Option<Health>,
    leaves: Option<Health>,
    /// Whether its first disk, which is lacking then, was only foretold to be.
    foretold: Option<Rc<Cell<bool>>>,
}

impl LiveDevice for Pair {
    fn caps(&self) -> Caps {
        Caps { blocks: 100, depth: 2, seek: block::SeekBy::Nothing, arms: 1 }
    }

    fn members(&self) -> Vec<Caps> {
        vec![Caps { depth: 1, ..self.caps() }; 2]
    }

    fn is_whole_without(&self, lacking: &[DiskId]) -> bool {
        lacking.len() < 2
    }

    fn issue(&mut self, _: Time, _: Tag, _: &Command, _: Option<Slice>, _: &mut dyn Kernel) -> io::Result<()> {
        Ok(())
    }

    fn next_completion(&mut self, _: Time) -> Option<Done> {
        None
    }

    fn give_up(&mut self, disks: &[DiskId]) -> bool {
        assert_eq!(disks.len(), if self.together { 2 } else { 1 });
        !self.silent
    }

    fn change_disk(&mut self, _: DiskId) -> bool {
        !self.silent
    }

    fn join(&mut self) -> Option<(DiskId, Health)> {
        self.joins.take().map(|health| (DiskId(0), health))
    }

    fn next_health(&mut self) -> Option<(DiskId, Health)> {
        self.leaves.take().map(|health| (DiskId(0), health))
    }

    fn lacking(&self) -> Vec<DiskId> {
        self.foretold.iter().map(|_| DiskId(0)).collect()
    }

    fn foretold(&self) -> &[DiskId] {
        if self.foretold.as_ref().is_some_and(|foretold| foretold.get()) { &[DiskId(0)] } else { &[] }
    }

    fn next_refusal(&mut self) -> Option<DiskId> {
        self.refused.pop_front()
    }
}

/// Asks nothing, and keeps what it is told.
#[derive(Default)]
struct Told {
    given_up: Vec<(DiskId, Remaining)>,
    flushes_failed: u32,
}

impl RequestSource for Told {
    fn ask(&mut self, _: Time, _: u32, _: &mut Hands) -> Option<Input> {
        None
    }

    fn memory(&mut self, _: RequestId, _: usize, _: usize) -> Option<Slice> {
        None
    }

    fn on_end(&mut self, _: Time, _: RequestId, _: Ending, _: &mut Hands) {}

    fn on_give_up(&mut self, disk: DiskId, left: Remaining) {
        self.given_up.push((disk, left));
    }

    fn flush_failed(&mut self) {
        self.flushes_failed += 1;
    }

    fn is_over(&self) -> bool {
        true
    }
}

impl LiveWorld<Told, Host> {
    fn gives_up(&mut self, disk: u16) {
        self.act(Time(1), Action::GiveUp(DiskId(disk)));
        self.give_up_leaving(Time(1));
    }
}

fn world(pair: Pair) -> LiveWorld<Told> {
    let kernel = Host::new(Clock::new(1.0), IoBackend::Threads).expect("a host");
    LiveWorld::new(kernel, Box::new(pair), Told::default(), Span::from_ms(1000.0))
}

#[test]
fn of_an_array_all_is_left_until_more_disks_are_given_up_than_it_can_spare() {
    for silent in [false, true] {
        let mut world = world(Pair { silent, ..Pair::default() });
        world.gives_up(1);
        assert_eq!(world.source.given_up, [(DiskId(1), Remaining::All)]);
        assert_eq!(world.source.flushes_failed, u32::from(silent), "what nobody could note may be had for sound");
        world.gives_up(0);
        assert_eq!(world.source.given_up[1..], [(DiskId(0), Remaining::Part)]);
        assert_eq!(world.source.flushes_failed, 1 + u32::from(silent));
    }
    let mut world = world(Pair::default());
    world.gives_up(1);
    world.act(Time(2), Action::Complete(DiskId(1)));
    world.gives_up(0);
    assert_eq!(world.source.given_up[1], (DiskId(0), Remaining::All), "the other was filled in the meantime");
    assert_eq!(world.source.flushes_failed, 0);
}

/// Of two that go in one row none is noted before the other; and both are before anybody is told of what they do not hold.
#[test]
fn disks_that_go_together_are_noted_together_before_anything_is_told() {
    let mut world = world(Pair { together: true, ..Pair::default() });
    world.act(Time(1), Action::GiveUp(DiskId(0)));
    world.act(Time(1), Action::GiveUp(DiskId(1)));
    assert_eq!(world.source.given_up, []);
    world.act(Time(1), Action::Complete(DiskId(9)));
    let both = [0, 1].map(|disk| (DiskId(disk), Remaining::Part));
    assert_eq!((&world.source.given_up[..], world.source.flushes_failed), (&both[..], 1));
}

#[test]
fn what_the_array_asks_for_itself_is_not_taken_for_what_the_source_asked() {
    let world = world(Pair::default());
    for number in [0, 1, 1000, 1 << 20] {
        assert!(world.is_asked(RequestId(number)), "{number}");
        assert!(!world.is_asked(RequestId(world.source.numbers() + number % 10)), "{number}");
    }
}

#[test]
fn a_disk_on_which_nothing_can_be_noted_is_given_up_where_it_can_be_spared() {
    let mut world = world(Pair { refused: [DiskId(0), DiskId(1)].into(), ..Pair::default() });
    // Of both of a pair one is kept, though the core has not heard of the first when the second is heard of.
    world.hear_refusals();
    assert_eq!(world.source.flushes_failed, 1);
    let news = |world: &mut LiveWorld<Told>| world.next(None, 1).map(|(_, input)| input);
    assert_eq!(news(&mut world), Some(Input::Disk(DiskId(0), Health::Failed)));
    world.gives_up(0);
    assert_eq!(news(&mut world), Some(Input::Disk(DiskId(0), Health::Known)));
    assert_eq!(news(&mut world), None);
    let mut world = self::world(Pair { refused: [DiskId(1)].into(), ..Pair::default() });
    world.gives_up(0);
    let known = Some(Input::Disk(DiskId(0), Health::Known));
    assert_eq!((world.source.flushes_failed, news(&mut world)), (1, known), "the other has some blocks alone");
}

/// What was issued before this thread did something else for long had not even left.
#[test]
fn a_disk_hangs_once_it_was_waited_for_and_not_while_other_work_was_done() {
    let patience = Duration::from_millis(40);
    let mut world = self::world(Pair::default());
    (world.patience, world.outstanding) = (DiskPatience::new(Span(patience.as_nanos() as u64)), 1);
    let now = world.kernel.now();
    world.issue(now, DiskId(1), Tag(0), Command::new(Verb::Read, Extent::new(0, 1), Place::Nowhere));
    std::thread::sleep(2 * patience);
    let began = Instant::now();
    let news = world.next(None, 1).map(|(_, input)| input);
    assert!(matches!(news, Some(Input::Disk(DiskId(1), Health::Failed))), "{news:?}");
    assert!(began.elapsed() >= patience, "{:?}", began.elapsed());
}

#[test]
fn what_took_the_place_of_a_disk_is_lacking_until_it_is_filled() {
    let replaced = Input::Disk(DiskId(0), Health::Replaced);
    let mut world = world(Pair { refused: [DiskId(1)].into(), ..Pair::default() });
    world.deaf[0] = true;
    world.abandoned[0] = true;
    assert_eq!(world.take_news(replaced), replaced);
    assert_eq!((&world.deaf[..], &world.abandoned[..]), (&[false; 2][..], &[false; 2][..]));
    // On the other nothing could be noted of it; that alone has all blocks now.
    assert!(!world.can_spare(DiskId(1)) && world.source.flushes_failed == 1 && world.news.is_empty());
    let mut world = self::world(Pair { silent: true, ..Pair::default() });
    assert_eq!(world.take_news(replaced), Input::Disk(DiskId(0), Health::Failed), "the place is not taken");
    assert!(world.can_spare(DiskId(1)));
}

/// The core gives up what failed when no row is being written; only then another is in its place, and nothing of the one before is told of it.
#[test]
fn a_disk_takes_a_place_when_the_core_has_given_up_the_one_before_and_nothing_of_that_is_told_of_it() {
    let [failed, replaced] = [Health::Failed, Health::Replaced].map(|health| Input::Disk(DiskId(0), health));
    let foretold = Rc::new(Cell::new(true));
    let mut world = world(Pair { foretold: Some(foretold.clone()), ..Pair::default() });
    world.news.clear();
    world.news.extend([replaced, failed]);
    assert_eq!((world.next_news(), world.next_news()), (Some(failed), None), "the core has not given it up");
    foretold.set(false);
    world.news.push_back(failed);
    assert_eq!((world.next_news(), world.next_news()), (Some(replaced), None));
}

#[test]
fn a_disk_for_the_second_parity_is_lacking_until_it_is_filled_and_has_nothing_in_flight_when_it_leaves() {
    let (joins, leaves) = (Health::JoinsForParity, Health::LeavesWithParity);
    let mut world = world(Pair { joins: Some(joins), ..Pair::default() });
    assert_eq!(world.ask(Time(1), 1), Some(Input::Disk(DiskId(0), joins)));
    assert!(!world.can_spare(DiskId(1)));
    let mut world = self::world(Pair { leaves: Some(leaves), ..Pair::default() });
    world.issue(Time(1), DiskId(0), Tag(0), Command::new(Verb::Read, Extent::new(0, 1), Place::Nowhere));
    let first = world.ask(Time(2), 1);
    let told: Vec<Input> = first.into_iter().chain(std::iter::from_fn(|| world.next_news())).collect();
    assert!(matches!(told[..], [_, Input::Done(DiskId(0), Tag(0), _, Outcome::Failed(_)), _]), "{told:?}");
    assert_eq!(told[2], Input::Disk(DiskId(0), leaves));
}

#[test]
fn memory_that_grows_keeps_what_it_holds_and_gives_back_what_it_had() {
    let (mut pool, mut held) = (Pool::default(), None);
    let first = room(&mut held, &mut pool, 0, 4096);
    let before = first.pointer();
    first.buffer.put(0, &[7; 4096]);
    drop(first);
    let within = room(&mut held, &mut pool, 512, 1024);
    assert_eq!((within.pointer(), within.bytes), (before.wrapping_add(512), 1024), "it is long enough");
    drop(within);
    let longer = room(&mut held, &mut pool, 4096, 4096);
    assert!(longer.buffer.bytes() >= 8192 && longer.from == 4096 && longer.bytes == 4096);
    let mut kept = [0; 4096];
    longer.buffer.get(0, &mut kept);
    assert_eq!(kept, [7; 4096]);
    assert_eq!(Slice { buffer: pool.take(4096), from: 0, bytes: 4096 }.pointer(), before, "it is used again");
}
