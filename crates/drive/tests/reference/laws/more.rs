//! More of something never costs more than a stated bound: segments, blocks of a segment, blocks read ahead, room for writes.

use super::{Load, WRITE, drives, seeded};
use crate::dice::Dice;
use crate::laws::play::play;
use block::Verb;
use disk::{Ahead, Sheet};

/// The time that a load takes on the drive, one command at a time.
fn time_load(sheet: &Sheet, seed: u64, load: &Load) -> f64 {
    play(sheet, seed, 1, load, &mut Dice(500 + seed)).now.0 as f64
}

/// How much longer a load takes on the changed drive, as a share.
fn cost(sheet: &Sheet, seed: u64, load: &Load, change: impl Fn(&mut Sheet)) -> f64 {
    let mut changed = sheet.clone();
    change(&mut changed);
    time_load(&changed, seed, load) / time_load(sheet, seed, load) - 1.0
}

fn load(reads: u64, sequential: u64) -> Load {
    Load {
        verbs: [(Verb::Read, reads), (WRITE, 100 - reads), (WRITE, 0), (WRITE, 0)],
        sequential,
        sizes: [8, 8, 64],
        commands: 300,
    }
}

#[test]
fn more_segments_and_larger_ones_cost_reads_nothing() {
    for (seed, (name, sheet)) in seeded(60, 1) {
        if sheet.cache.segments == 0 || sheet.cache.shared {
            continue;
        }
        for sequential in [0, 60, 95] {
            let load = load(100, sequential);
            let more = cost(&sheet, seed, &load, |sheet| sheet.cache.segments *= 2);
            // One more answer from memory, and all that follow come at another angle.
            assert!(more < 0.03, "{name}, {sequential} % sequential: {more:.4} more with twice the segments");
        }
    }
}

#[test]
fn reading_ahead_costs_random_reads_no_more_than_a_quarter_of_a_turn_each() {
    for (seed, (name, sheet)) in seeded(60, 1) {
        // Where a segment cannot hold both, what is read ahead drives out what was asked for.
        let room = sheet.cache.segment >= sheet.cache.read_ahead + 64;
        if sheet.cache.segments == 0 || sheet.cache.ahead != Ahead::Most || !room {
            continue;
        }
        let load = load(100, 0);
        let none = |sheet: &mut Sheet| (sheet.cache.read_ahead, sheet.cache.least_ahead) = (0, 0);
        let more = -cost(&sheet, seed, &load, none);
        // The least that it reads ahead is read by all means, and where that crosses to another track a turn may be lost.
        let least = f64::from(sheet.cache.least_ahead);
        let track = f64::from(sheet.mechanics.layout.longest_track());
        let turn = sheet.mechanics.rotation.period().0 as f64;
        let all = time_load(&sheet, seed, &load);
        // The arm may have crossed to the next track, so that one turn in four is another one.
        let bound = 0.01 + 300.0 * (2.0 * least / track + 0.25) * turn / all;
        assert!(more < bound, "{name}: {more:.4} more, of at most {bound:.4}");
    }
}

#[test]
fn a_larger_write_buffer_costs_writes_nothing() {
    for (seed, (name, sheet)) in drives(60, 1).into_iter().enumerate().map(|(i, it)| (i as u64, it)) {
        if sheet.cache.write_buffer == 0 || sheet.cache.shared {
            continue;
        }
        for (reads, sequential) in [(0, 0), (0, 95)] {
            let load = load(reads, sequential);
            let more = cost(&sheet, seed, &load, |sheet| sheet.cache.write_buffer *= 4);
            assert!(more < 0.02, "{name}, {sequential} % sequential: {more:.4} more with four times the buffer");
        }
    }
}
