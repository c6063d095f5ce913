//! Turns by share, as claims change, as the device takes several commands, and as it buffers writes.

use super::*;
use block::Extent;

const COMMAND: Span = Span(4_000_000);

/// How many commands each of two classes has of so many, where both have more waiting all the while.
fn serve(turns: &mut Turns, commands: u32) -> [u32; 2] {
    let mut counts = [0, 0];
    for _ in 0..commands {
        let (rank, class) = turns.next().expect("both wait");
        turns.remove(rank, class);
        turns.begin_turn(class);
        turns.pass(turns.now + COMMAND);
        turns.bill(class, COMMAND);
        turns.end_turn(class);
        turns.add(rank, class);
        counts[usize::from(class)] += 1;
    }
    counts
}

fn of_two(rules: ShareRules) -> Turns {
    let mut turns = Turns::new(rules);
    (0..3).for_each(|_| [0, 1].into_iter().for_each(|class| turns.add(0, class)));
    turns
}

#[test]
fn a_claim_that_changes_while_it_serves_is_kept_from_then_on() {
    let usual = Claim::default();
    let in_a_volume = ShareRules { volumes: vec![usual], classes: vec![(None, usual), (Some(0), usual)] };
    for rules in [ShareRules::default(), in_a_volume] {
        let mut turns = of_two(rules);
        let [first, second] = serve(&mut turns, 10_000);
        assert!(first.abs_diff(second) <= 100, "{first} and {second}");
        turns.set_claim(1, Claim { share: 3.0, ..usual });
        let [first, second] = serve(&mut turns, 10_000);
        assert!(first.abs_diff(2500) <= 100, "{first} and {second} of shares of 1 and 3");
        turns.set_claim(0, Claim { floor: 0.6, ..usual });
        let [first, second] = serve(&mut turns, 10_000);
        // A floor is kept by a little more than is asked, of what is left beside it: by 0.4 / 24.
        assert!(first.abs_diff(6100) <= 100, "{first} and {second} with a floor of 0.6");
        assert_eq!(turns.rules.claims().map(|claim| claim.share).collect::<Vec<_>>(), [1.0, 3.0]);
    }
}

/// Two classes of a rank with so much waiting, of a device that takes several commands at once.
fn of_waiting(counts: [u32; 2]) -> Turns {
    let mut turns = Turns::new(ShareRules::default());
    for (class, count) in (0..).zip(counts) {
        (0..count).for_each(|_| turns.add(0, class));
    }
    turns
}

/// The next command is given to the device; whose it is.
fn give(turns: &mut Turns) -> Option<u8> {
    let (rank, class) = turns.next()?;
    turns.remove(rank, class);
    turns.begin_turn(class);
    Some(class)
}

#[test]
fn in_its_turn_a_class_has_the_device_for_itself_though_all_that_it_has_is_there() {
    let mut turns = of_waiting([1, 8]);
    assert_eq!(give(&mut turns), Some(0));
    // The device has room: nobody else gets it, and nothing is to wake the core but the command that comes back.
    assert_eq!((give(&mut turns), turns.wake()), (None, None));
    turns.pass(Time(4_000_000));
    turns.bill(0, COMMAND);
    turns.end_turn(0);
    turns.add(0, 0);
    assert_eq!((give(&mut turns), give(&mut turns)), (Some(0), None), "its turn goes on");
    // When the turn is over, others do not wait for what it still has there.
    turns.bill(0, turns.rules.slice(0));
    assert_eq!((give(&mut turns), give(&mut turns)), (Some(1), Some(1)));
    // It comes back, and has to wait for its next turn.
    turns.end_turn(0);
    turns.add(0, 0);
    assert_eq!(give(&mut turns), Some(1));
    turns.bill(1, turns.rules.slice(1) + COMMAND + COMMAND);
    assert_eq!(give(&mut turns), Some(0));
}

#[test]
fn one_of_a_lower_rank_does_not_wait_for_what_a_higher_one_has_in_the_device() {
    let mut turns = of_waiting([4, 0]);
    turns.add(1, 1);
    assert_eq!((give(&mut turns), give(&mut turns)), (Some(1), Some(0)));
}

/// A class wrote these blocks into the buffer of the device, which is believed to cost so much later.
fn write(turns: &mut Turns, class: u8, start: u64, (way, transfer): (Span, Span)) {
    let bill = Bill { class, cause: Cause::Request, believed: None };
    turns.bill_buffered(&bill, Span(100_000), Extent::new(start, 8), (way, transfer));
}

#[test]
fn what_a_class_wrote_is_written_back_once_before_another_has_its_turn() {
    let mut turns = of_waiting([4, 4]);
    assert_eq!(give(&mut turns), Some(0));
    write(&mut turns, 0, 0, (COMMAND, COMMAND));
    turns.end_turn(0);
    turns.bill(0, turns.rules.slice_of_writer(0));
    // All that was owed has been paid off by waiting: the writes may be in the buffer nevertheless.
    turns.rest(Span(1_000_000_000));
    assert_eq!((give(&mut turns), turns.take_drain()), (None, Some(0)));
    assert_eq!((give(&mut turns), turns.take_drain()), (None, None), "it is being written back");
    turns.bill_drain(0, COMMAND);
    assert_eq!(give(&mut turns), Some(1));
    // One that wrote nothing is not kept waiting for that.
    turns.end_turn(1);
    turns.bill(1, turns.rules.slice(1) + turns.rules.slice_of_writer(0) + COMMAND);
    assert_eq!((give(&mut turns), turns.take_drain()), (Some(0), None));
}

#[test]
fn what_goes_on_where_the_last_write_ended_is_believed_to_need_no_way() {
    let cost = |starts: [u64; 3]| {
        let mut turns = of_waiting([4, 4]);
        give(&mut turns);
        starts.into_iter().for_each(|start| write(&mut turns, 0, start, (Span(10_000_000), Span(1_000_000))));
        turns.turn.expect("it goes on").used.0 / 1_000_000
    };
    assert_eq!((cost([0, 8, 16]), cost([0, 16, 8])), (13, 33));
}

#[test]
fn writes_are_believed_to_cost_what_the_last_ones_did() {
    for took in [Span(400_000), Span(4_000_000), Span(12_000_000)] {
        let mut turns = of_waiting([4, 4]);
        give(&mut turns);
        let mut believed = 0;
        for i in 1..=60 {
            write(&mut turns, 0, 100 * i, (COMMAND, Span::ZERO));
            believed = turns.buffered[0].debt;
            turns.bill_drain(0, took);
            // What was billed too much is given back.
            let billed = turns.turn.expect("it goes on").used.0 - turns.buffered[0].credit;
            assert_eq!(billed, i * (took.0 + 100_000));
        }
        let least = COMMAND.0 / 4;
        assert!(believed.abs_diff(took.0.max(least)) < 10_000, "{believed} for {took:?}");
    }
}
