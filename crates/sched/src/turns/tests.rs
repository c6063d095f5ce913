//! Turns by share, as claims change.

use super::*;

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
