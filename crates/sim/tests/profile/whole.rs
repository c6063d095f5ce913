//! Whole profiles, held against the truth: a few drives each time, all of them on demand.

use crate::edges::{self, Borders};
use block::Lbn;
use disk::{Layout, Sheet, Truth};
use drive::Drive;
use profile::estimate::{median, signed_fraction};
use profile::{DriveProfile, ProfileOutcome, Thoroughness};

/// A line of the table.
#[derive(Debug)]
pub struct Line {
    pub period_error: f64,
    pub angles: f64,
    pub tracks: f64,
    /// Cylinders that tracks are off, on the mean.
    pub cylinders_off: f64,
    pub borders: Borders,
    /// Share of tracks whose turn to the next is right to the sector.
    pub skews: f64,
    seek_mae: f64,
    spread: (f64, f64),
    /// Share of late seeks, found and true.
    late_seeks: (f64, f64),
    /// Segments, their size and reading ahead, found and true.
    cache: (String, String),
    pub minutes: f64,
    pub commands: u64,
    rms_ms: f64,
    late: f64,
}

/// The angle of a sector, revolutions.
pub fn angle(layout: &Layout, sector: u64) -> f64 {
    layout.locate(Lbn(sector << layout.sector_shift())).angle as f64 / 18_446_744_073_709_551_616.0
}

/// A profile of a drive as a black box, behind a host with other work if it is late by so many ns on the mean.
fn line(name: &str, effort: Thoroughness, late: f64) -> Line {
    line_of(name, crate::drive(name), effort, late)
}

/// The same of a drive that need not have a name.
pub fn line_of(name: &str, disk::Drive { sheet, truth }: disk::Drive, effort: Thoroughness, late: f64) -> Line {
    let drive = Drive::new(&sheet, &truth, 6 + crate::seed());
    let profile = crate::profiled_behind(name, effort, drive, late).expect("it can be read");
    let ProfileOutcome::Disk(known) = &profile.outcome else { panic!("{name} turns") };
    let plan = known.plan("it", profile.blocks);
    let text = disk::write(&plan);
    let found = disk::parse("it", "it.toml", &text).expect("the drive file is one").sheet;
    compare(&sheet, &found, &profile, known.clock.mean_period(), &truth)
}

/// Segments, their size, and how far is read ahead where that is not a matter of the layout.
fn cache(it: &disk::Cache) -> String {
    let most = if it.ahead == disk::Ahead::Most { it.read_ahead.min(it.segment).to_string() } else { String::new() };
    format!("{}×{} {:?} {most}", it.segments, it.segment, it.ahead)
}

fn compare(sheet: &Sheet, found: &Sheet, profile: &DriveProfile, period: f64, truth: &Truth) -> Line {
    let (layout, ours) = (&sheet.mechanics.layout, &found.mechanics.layout);
    let (borders, skews) = (edges::compare(layout, ours), edges::skews(layout, ours));
    assert_eq!(layout.blocks(), ours.blocks());
    let sectors = layout.blocks() >> layout.sector_shift();
    let (mut offs, mut tracks, mut cylinders, n) = (Vec::new(), 0, Vec::new(), 10_000u64);
    for i in 0..n {
        let sector = (i * 2_654_435_761 + 17) % sectors;
        let lbn = Lbn(sector << layout.sector_shift());
        offs.push(angle(ours, sector) - angle(layout, sector));
        tracks += u64::from(layout.track_bounds(lbn) == ours.track_bounds(lbn));
        cylinders.push(f64::from(layout.locate(lbn).track.cylinder) - f64::from(ours.locate(lbn).track.cylinder));
    }
    // What comes before the first block nobody can see.
    let before = median(&cylinders);
    let off_by = cylinders.iter().map(|off| (off - before).abs()).sum::<f64>() / n as f64;
    let middle = offs[0] + median(&offs.iter().map(|off| signed_fraction(off - offs[0])).collect::<Vec<_>>());
    let real = sheet.mechanics.rotation.period_ns();
    let right = offs.iter().filter(|off| signed_fraction(**off - middle).abs() * real < 50_000.0).count();
    let last = layout.cylinders().min(ours.cylinders());
    let distances = (1..200).map(|i| (libm::pow(f64::from(last - 1), f64::from(i) / 200.0)) as u32);
    let errors: Vec<f64> = distances
        .map(|d| (sheet.mechanics.seek.time(d).as_ms() - found.mechanics.seek.time(d).as_ms()).abs())
        .collect();
    let ProfileOutcome::Disk(known) = &profile.outcome else { panic!("it turns") };
    let (ours, theirs) = (found.cache, sheet.cache);
    Line {
        period_error: (period / real - 1.0).abs(),
        angles: right as f64 / n as f64,
        tracks: tracks as f64 / n as f64,
        cylinders_off: off_by,
        borders,
        skews,
        seek_mae: errors.iter().sum::<f64>() / errors.len() as f64,
        spread: (known.moves.spread, truth.seek_noise.as_ms()),
        late_seeks: (known.late.share, truth.late_share),
        cache: (cache(&ours), cache(&theirs)),
        minutes: profile.time.as_secs() / 60.0,
        commands: profile.commands,
        rms_ms: known.validation.rms_on_time_ms,
        late: known.validation.late,
    }
}

/// What holds for a drive whose blocks are where its sheet has them.
#[track_caller]
fn is_known(name: &str) {
    let line = line(name, Thoroughness::Thorough, 0.0);
    assert!(line.period_error < 1e-6 && line.angles == 1.0 && line.tracks == 1.0, "{name}: {line:?}");
    let Borders { all, exact, made_up, .. } = line.borders;
    assert!(exact == all && made_up == 0 && line.skews == 1.0, "{name}: {line:?}");
    assert!(line.cylinders_off == 0.0 && line.seek_mae < 0.1 && line.cache.0 == line.cache.1, "{name}: {line:?}");
    let (found, real) = line.spread;
    assert!((found - real).abs() < 0.2 * real + 0.02, "{name}: {line:?}");
    assert!((line.late_seeks.0 - line.late_seeks.1).abs() < 0.02, "{name}: {line:?}");
    assert!(line.minutes < 15.0 && line.rms_ms < 0.05 && line.late < 0.08, "{name}: {line:?}");
}

#[test]
fn a_drive_of_one_zone_is_known() {
    is_known("mimic-base");
}

#[test]
fn moves_are_known_to_some_microseconds_where_all_sectors_are_in_step() {
    // Here an arm that has to end a sector first is as late over many distances, as if all of them were the longest.
    let line = line("mimic-base", Thoroughness::Thorough, 0.0);
    assert!(line.seek_mae < 0.003 && line.spread.0 < 0.002, "{line:?}");
}

#[test]
fn a_drive_of_many_zones_is_known_through_the_noise_of_its_seeks() {
    is_known("st318437lw");
}

#[test]
fn a_drive_with_zones_of_equal_tracks_and_other_skews_is_known() {
    is_known("atlas10k");
}

#[test]
fn a_host_that_is_late_stalls_and_fails_is_seen_through() {
    for name in ["mimic-base", "atlas10k", "st318437lw"] {
        let line = line(name, Thoroughness::Thorough, 30_000.0);
        assert!(line.period_error < 1e-6 && line.angles > 0.999 && line.tracks > 0.999, "{name}: {line:?}");
        assert!(line.seek_mae < 0.1 && line.minutes < 30.0, "{name}: {line:?}");
    }
}

#[test]
#[ignore = "ten seconds, in a release build"]
fn a_drive_of_20_tb_is_seen_through_a_late_host() {
    let line = line("nl20", Thoroughness::Thorough, 30_000.0);
    assert!(line.period_error < 1e-6 && line.angles == 1.0 && line.tracks == 1.0, "{line:?}");
    assert!(line.borders.exact == line.borders.all && line.skews == 1.0 && line.seek_mae < 0.1, "{line:?}");
}

#[test]
fn in_less_time_a_drive_of_20_tb_is_known_within_five_minutes() {
    let line = line("nl20", Thoroughness::Quick, 0.0);
    assert!(line.minutes < 5.0 && line.period_error < 1e-6, "{line:?}");
    assert!(line.angles == 1.0 && line.tracks == 1.0 && line.borders.exact == line.borders.all, "{line:?}");
    assert!(Thoroughness::Quick.gives_up().is_some_and(|what| what.contains("three minutes")));
}

#[test]
#[ignore = "half a minute, in a release build; prints a table"]
fn the_catalogue() {
    println!(
        "| drive | period | angles % | tracks % | cylinders off | borders: exact, within a track, of, made up | skews % | seek MAE ms | spread ms | cache | rms µs | late % | min | commands |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    for name in crate::names() {
        let quick = std::env::var("HALFTURN_QUICK").is_ok();
        let it = line(&name, if quick { Thoroughness::Quick } else { Thoroughness::Thorough }, crate::late_ns());
        let short = name.rsplit('/').next().unwrap_or(&name);
        println!(
            "| {short} | {:.0e} | {:.2} | {:.2} | {:.1} | {}, {}, {}, {} | {:.2} | {:.3} | {:.3} ({:.3}) | {} | {:.0} | {:.1} | {:.1} | {} |",
            it.period_error,
            100.0 * it.angles,
            100.0 * it.tracks,
            it.cylinders_off,
            it.borders.exact,
            it.borders.near,
            it.borders.all,
            it.borders.made_up,
            100.0 * it.skews,
            it.seek_mae,
            it.spread.0,
            it.spread.1,
            if it.cache.0 == it.cache.1 { "right".into() } else { format!("{} ({})", it.cache.0, it.cache.1) },
            1e3 * it.rms_ms,
            100.0 * it.late,
            it.minutes,
            it.commands
        );
    }
}
