//! The period, and how many segments a read cache has.

use disk::Truth;
use drive::Drive;
use profile::Thoroughness;
use profile::bench::ProbeBench;
use profile::probe::{memory, rotation};

#[test]
fn the_period_of_every_drive_is_found() {
    for name in disk::catalogue::names() {
        let disk::Drive { sheet, truth } = disk::catalogue::find(name).expect("it is in the catalogue");
        let truth = Truth { rpm_offset: 0.0031, ..truth };
        let mut device = sim::Bench::new(Drive::new(&sheet, &truth, 7));
        let mut bench = ProbeBench::new(name, &mut device, 1, None);
        memory::learn(&mut bench, Thoroughness::Thorough).expect("it can be read");
        let clock =
            rotation::learn(&mut bench, profile::Thoroughness::Thorough).expect("it can be read").expect("it turns");
        let real = sheet.mechanics.rotation.period_ns() / 1.0031;
        assert!((clock.period / real - 1.0).abs() < 1e-6, "{name}: {} against {real}", clock.period);
        assert_eq!(bench.memory.forgotten_after, sheet.cache.segments, "{name}");
    }
}

/// A ring of many sectors goes round a few times only: all of them may come back after an even number of turns.
#[test]
fn the_period_is_not_taken_for_two_where_memory_is_large() {
    for name in ["ultrastar-hc550", "nl20"] {
        let disk::Drive { sheet, truth } = disk::catalogue::find(name).expect("it is in the catalogue");
        for seed in 1..=15 {
            let mut device = sim::Bench::new(Drive::new(&sheet, &truth, seed));
            let mut bench = ProbeBench::new(name, &mut device, seed, None);
            memory::learn(&mut bench, Thoroughness::Quick).expect("it can be read");
            let clock = rotation::learn(&mut bench, Thoroughness::Quick).expect("it can be read").expect("it turns");
            let real = sheet.mechanics.rotation.period_ns();
            assert!((clock.period / real - 1.0).abs() < 1e-6, "{name}, seed {seed}: {} against {real}", clock.period);
        }
    }
}
