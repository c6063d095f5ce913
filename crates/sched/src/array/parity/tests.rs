//! What parities come to, by their definition.

use super::super::code::first;
use super::*;
use block::FrameId;

#[test]
fn what_is_read_less_of_is_read_but_never_what_is_missing() {
    // Of eight columns, so many written: what they held and parity, or the others.
    let code = Code { columns: 8, parities: 1 };
    let (all, parity) = (code.columns(), bit(8));
    let of = |written, sums, gone| method(code, first(written), sums, gone);
    assert_eq!(of(1, parity, 0), Some((Method::Modify, first(1) | parity)));
    assert_eq!(of(4, parity, 0), Some((Method::Reconstruct, all & !first(4))));
    assert_eq!(of(8, parity, 0), Some((Method::Reconstruct, 0)));
    assert_eq!(of(1, parity, bit(0)), Some((Method::Reconstruct, all & !first(1))));
    assert_eq!(of(7, parity, bit(7)), Some((Method::Modify, first(7) | parity)));
    // Parity cannot be read, or not even be written.
    assert_eq!(of(1, parity, parity), Some((Method::Reconstruct, all & !first(1))));
    assert_eq!(of(1, 0, parity), Some((Method::Reconstruct, 0)));
    assert_eq!(of(1, parity, bit(0) | bit(5)), None);
}

#[test]
fn with_two_parities_a_column_that_is_neither_there_nor_written_is_had_from_the_rest() {
    let code = Code { columns: 8, parities: 2 };
    let (p, q) = (bit(8), bit(9));
    let of = |written, sums, gone| method(code, first(written), sums, gone);
    assert_eq!(of(2, p | q, 0), Some((Method::Modify, first(2) | p | q)));
    assert_eq!(of(3, p | q, 0), Some((Method::Reconstruct, code.columns() & !first(3))));
    assert_eq!(of(3, p | q, bit(6) | bit(7)), Some((Method::Modify, first(3) | p | q)));
    assert_eq!(of(1, p | q, bit(0) | bit(7)), Some((Method::Recover, code.slots() & !bit(0) & !bit(7))));
    // P is to be filled anew: the column follows from Q.
    assert_eq!(of(1, p | q, p | bit(7)), Some((Method::Recover, code.slots() & !p & !bit(7))));
    assert_eq!(of(1, q, p | bit(7)), Some((Method::Modify, bit(0) | q)));
    assert_eq!(of(1, p | q, p | bit(6) | bit(7)), None);
}

/// A product in the field, bit by bit.
fn product(one: u8, other: u8) -> u8 {
    (0..8).rev().fold(0, |sum: u8, bit| {
        let doubled = (sum << 1) ^ if sum >> 7 == 1 { 0x1d } else { 0 };
        doubled ^ if (other >> bit) & 1 == 1 { one } else { 0 }
    })
}

/// A parity of columns, by its definition: each times a power of x in the second.
fn parity_of(columns: &[u8], parity: u16) -> u8 {
    columns.iter().rev().fold(0, |sum, column| product(sum, if parity == 0 { 1 } else { 2 }) ^ column)
}

fn draw(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % below
}

#[test]
fn a_sum_is_that_of_its_terms_whatever_stood_in_its_place() {
    let mut state = 5;
    for _ in 0..2000 {
        let terms: Vec<(u8, Factor)> = (0..draw(&mut state, 6))
            .map(|_| {
                (
                    draw(&mut state, 256) as u8,
                    Factor([0, 1, 2, draw(&mut state, 256) as u8][draw(&mut state, 4) as usize]),
                )
            })
            .collect();
        let into = Place::Frame(FrameId(7), 0);
        let places = (0..).zip(&terms).map(|(i, (_, times))| (Place::Frame(FrameId(1), i), *times));
        let mut out = Vec::new();
        sum_up(places, into, 8, &mut out);
        let at = |place| match place {
            Place::Frame(FrameId(1), i) => terms[i as usize].0,
            other => panic!("{other:?} is no term"),
        };
        let (stood, mut sum) = (draw(&mut state, 256) as u8, None);
        for action in out {
            match action {
                Action::Copy { from, to, blocks: 8 } if to == into => sum = Some(at(from)),
                Action::Xor { from, into: to, blocks: 8, times } if to == into => {
                    sum = Some(sum.unwrap_or(stood) ^ product(at(from), times.0));
                }
                other => panic!("{other:?}"),
            }
        }
        let expected = terms.iter().fold(0, |sum, (term, times)| sum ^ product(*term, times.0));
        let counts = terms.iter().any(|(_, times)| *times != Factor::ZERO);
        assert_eq!(sum, counts.then_some(expected), "{terms:?}");
    }
}

/// The parities a write of a row leaves are those of the row as it is then, from no more than what is read of what is there.
#[test]
fn parities_are_those_of_the_row_whatever_is_missing_of_it() {
    let (mut state, mut done, mut given_up) = (11, [0; 3], 0);
    for _ in 0..20_000 {
        let parities = 1 + draw(&mut state, 2) as u16;
        let code = Code { columns: 2 + draw(&mut state, 7) as u16, parities };
        let all = |state: &mut u64| first(code.columns + parities) & draw(state, 1 << 31);
        let written = all(&mut state) & code.columns() | bit(draw(&mut state, code.columns.into()) as u16);
        let sums = code.slots() & !code.columns();
        let gone = if draw(&mut state, 4) == 0 { 0 } else { all(&mut state) & all(&mut state) };
        let Some((method, read)) = method(code, written, sums, gone) else {
            assert!(gone.count_ones() > parities.into(), "{code:?}, {written:b} without {gone:b}");
            given_up += 1;
            continue;
        };
        assert_eq!(read & gone, 0, "{method:?} reads what is gone");
        done[method as usize] += 1;
        let before: Vec<u8> = (0..code.columns).map(|_| draw(&mut state, 256) as u8).collect();
        let after: Vec<u8> = (0..code.columns)
            .map(
                |column| {
                    if written & bit(column) == 0 { before[usize::from(column)] } else { draw(&mut state, 256) as u8 }
                },
            )
            .collect();
        let update = Update { method, read, sums, ..blank() };
        for parity in 0..parities {
            let slot = |slot: u16| match slot.checked_sub(code.columns) {
                None => before[usize::from(slot)],
                Some(parity) => parity_of(&before, parity),
            };
            let stood = if method == Method::Modify { slot(code.columns + parity) } else { 0 };
            let sum = terms(code, &update, written, parity).fold(stood, |sum, (term, times)| {
                sum ^ match term {
                    Term::Read(read) => product(slot(read), times.0),
                    Term::Given(column) => product(after[usize::from(column)], times.0),
                }
            });
            assert_eq!(sum, parity_of(&after, parity), "{code:?}: {method:?} of {written:b} without {gone:b}");
        }
    }
    assert!(done.iter().all(|times| *times > 200) && given_up > 200, "{done:?}, {given_up}");
}

fn blank() -> Update {
    Update {
        task: JobId::default(),
        row: 0,
        within: 0,
        blocks: 8,
        aim: Aim::Read(0),
        parities: 0,
        method: Method::Reconstruct,
        read: 0,
        sums: 0,
        stage: UpdateStage::Reading,
        left: 0,
        lost: LostDisks::default(),
        broken: false,
        tries: 0,
        unlike: 0,
        replacements: 0,
        record: None,
        changes: 0,
        number: 0,
    }
}
