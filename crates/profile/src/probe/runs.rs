//! Heads of bands: of runs of tracks that follow one another, each on one head, the arm tells at many places which two lie in one
//! band; there are as many heads as explain most of that. Where zones are no longer than a few bands, no pattern repeats, and
//! regions of the map are such runs themselves.

use super::arm::{PatternTrack, TrialPath, reach};
use super::heads::ALIKE;
use crate::Thoroughness;
use crate::estimate::median;
use crate::eye::Eye;
use crate::map::{MapRegion, TrackMap};
use block::{BadInput, Device, Verb};

/// Tracks of a run, at least: of fewer the arm tells nothing.
const LEAST_WIDTH: u64 = 4;
/// Runs in a row that are looked at: at least, and at most; and after how many more it is looked whether all is clear.
const LOOKED_AT: (usize, usize) = (8, 40);
const TOGETHER: usize = 4;
/// Bands that end as they should leave no doubt.
const CLEAR: usize = 3;
/// The share of all tracks that lie in runs of one width, at least; and of all, in regions of a single run.
const OF_ONE_WIDTH: f64 = 0.75;
const SINGLE: f64 = 0.25;
/// What is far is so by this multiple of what the others differ by.
const BEYOND: f64 = 4.0;
/// Of so many places one may say otherwise than the others.
const EACH: usize = 8;

/// Tracks of one head in a row.
#[derive(Clone, Copy, Debug)]
struct HeadRun<'r> {
    region: &'r MapRegion,
    /// The number of its first track.
    first: u64,
}

/// How many heads there are, and how many tracks are on one before the next, where regions are single runs; else nothing.
///
/// # Errors
/// As [`crate::bench::ProbeBench::read`].
pub fn count_single<D: Device>(
    eye: &mut Eye<D>,
    map: &TrackMap,
    effort: Thoroughness,
) -> Result<Option<(u64, u64)>, BadInput> {
    let Some(width) = common_width(map) else { return Ok(None) };
    Ok(count(eye, map, (width, 1), effort)?.map(|heads| (heads, width)))
}

/// How many heads there are, of which each has so many tracks before the next; a multiple of `unit`. Nothing where the arm does not
/// tell in the time there is.
///
/// # Errors
/// As [`crate::bench::ProbeBench::read`].
pub fn count<D: Device>(
    eye: &mut Eye<D>,
    map: &TrackMap,
    (width, unit): (u64, u64),
    effort: Thoroughness,
) -> Result<Option<u64>, BadInput> {
    let runs = runs_in_a_row(map, width);
    if runs.len() < LOOKED_AT.0 {
        return Ok(None);
    }
    let until = eye.bench.now() + effort.heads_time();
    let along = reach(eye, Verb::Read, ALIKE / 2.0, |eye| {
        let run = runs[eye.bench.draw.below(runs.len() as u64 - 1) as usize];
        let [from, to] = [0, width - 1].map(|into| PatternTrack { region: run.region, number: run.first + into });
        Some(TrialPath::new(from, to))
    })?;
    let Some(along) = along.map(|found| found.reach.mean) else { return Ok(None) };
    let mut reaches = Vec::new();
    for pair in runs.windows(2).take(LOOKED_AT.1) {
        if eye.bench.now() >= until {
            break;
        }
        // What the one head passes on its way, the next one does on the way back.
        let found = reach(eye, Verb::Read, ALIKE / 2.0, |eye| {
            let into = eye.bench.draw.below((width / LEAST_WIDTH).max(1));
            let from = PatternTrack { region: pair[0].region, number: pair[0].first + into };
            let to = PatternTrack { region: pair[1].region, number: pair[1].first + width - 1 - into };
            Some(TrialPath::new(from, to))
        })?;
        reaches.push(found.map(|found| found.reach.mean));
        let clear = reaches.len().is_multiple_of(TOGETHER).then(|| heads_by(&reaches, along, unit)).flatten();
        if let Some((heads, 0)) = clear.filter(|(heads, _)| CLEAR * *heads as usize <= reaches.len()) {
            return Ok(Some(heads));
        }
    }
    Ok(heads_by(&reaches, along, unit).map(|(heads, _)| heads))
}

/// How many tracks a region has, and how many each run of it; nothing where it begins or ends inside a track.
fn tracks_and_run(region: &MapRegion) -> Option<(u64, u64)> {
    let (first, tracks) = (region.place(region.first), region.track_count());
    let run = if region.levels.is_empty() { tracks } else { region.run_tracks()? };
    (first.sector == 0 && first.track.is_multiple_of(run)).then_some((tracks, run))
}

/// The width of the runs that most tracks lie in, if many of these are regions of their own.
fn common_width(map: &TrackMap) -> Option<u64> {
    let regions: Vec<(u64, u64)> = map.regions.iter().filter_map(tracks_and_run).collect();
    let all: u64 = regions.iter().map(|(tracks, _)| tracks).sum();
    let share = |count: u64| count as f64 / all.max(1) as f64;
    let of = |width: u64| regions.iter().filter(|(_, run)| *run == width).map(|(tracks, _)| tracks).sum::<u64>();
    let width = regions.iter().map(|(_, run)| *run).max_by_key(|run| (of(*run), *run))?;
    let single = regions.iter().filter(|(tracks, _)| *tracks == width).count() as u64 * width;
    (width >= LEAST_WIDTH && share(of(width)) > OF_ONE_WIDTH && share(single) > SINGLE).then_some(width)
}

/// The runs from the drive's first on, as far as each begins where the one before it ends.
fn runs_in_a_row(map: &TrackMap, width: u64) -> Vec<HeadRun<'_>> {
    let mut runs = Vec::new();
    for region in &map.regions {
        let Some((tracks, _)) = tracks_and_run(region).filter(|(_, run)| run.is_multiple_of(width)) else { break };
        let first = region.place(region.first).track;
        runs.extend((0..tracks / width).map(|run| HeadRun { region, first: first + run * width }));
        if !tracks.is_multiple_of(width) {
            break;
        }
    }
    runs
}

/// How many heads there are by the reaches from each run to the next, ms, a multiple of `unit`, and how many places say otherwise:
/// the last run of a band is far from the first of the next, and others are nearer than their own ends, which are `along` apart.
/// Nothing where that is not so, or not at regular places.
fn heads_by(reaches: &[Option<f64>], along: f64, unit: u64) -> Option<(u64, usize)> {
    let told: Vec<(usize, f64)> = reaches.iter().enumerate().filter_map(|(i, reach)| Some((i, (*reach)?))).collect();
    let otherwise = |heads: usize| {
        let is_last = |i: usize| (i + 1).is_multiple_of(heads);
        let middle = |last: bool| median_of(told.iter().filter(|(i, _)| is_last(*i) == last).map(|(_, reach)| *reach));
        let (near, far) = (middle(false)?, middle(true)?);
        let is_far = |reach: f64| reach > f64::midpoint(near, far);
        let count = told.iter().filter(|(i, reach)| is_far(*reach) != is_last(*i)).count();
        let varies = median_of(told.iter().filter(|(i, _)| !is_last(*i)).map(|(_, reach)| (reach - near).abs()))?;
        (near < along - ALIKE && far - near > ALIKE.max(BEYOND * varies)).then_some((count, heads))
    };
    // Twice, at least, a band ends.
    let heads = (2..=reaches.len() / 2).filter(|heads| (*heads as u64).is_multiple_of(unit));
    let (count, heads) = heads.filter_map(otherwise).min()?;
    (count * EACH <= told.len()).then_some((heads as u64, count))
}

/// The median of some, if there are any.
fn median_of(of: impl Iterator<Item = f64>) -> Option<f64> {
    let all: Vec<f64> = of.collect();
    (!all.is_empty()).then(|| median(&all))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reaches of so many runs of a drive of so many heads.
    fn reaches(heads: usize, count: usize) -> Vec<Option<f64>> {
        let far = |i: usize| (i + 1).is_multiple_of(heads);
        (0..count).map(|i| Some(0.8 + 0.9 * f64::from(u8::from(far(i))) + 0.01 * (i * 7919 % 5) as f64)).collect()
    }

    #[test]
    fn bands_have_as_many_heads_as_runs_lie_between_two_that_are_far_apart() {
        for heads in 2..=18 {
            let mut found = reaches(heads, 40);
            assert_eq!(heads_by(&found, 1.6, 1).map(|(heads, _)| heads), Some(heads as u64));
            // What one place says otherwise, or not at all, the others outvote.
            (found[7], found[11]) = (Some(2.5 - found[7].unwrap_or(0.0)), None);
            assert_eq!(heads_by(&found, 1.6, 1).map(|(heads, _)| heads), Some(heads as u64));
        }
    }

    /// Of one head all runs are as far apart, but for chance.
    #[test]
    fn what_is_far_by_chance_is_no_end_of_a_band() {
        let mut draw = crate::draw::ProbeDraw::new(7);
        for _ in 0..300 {
            let found: Vec<Option<f64>> = (0..40).map(|_| Some(1.0 + 0.3 * draw.unit())).collect();
            assert_eq!(heads_by(&found, 1.6, 1), None, "{found:.2?}");
        }
    }

    #[test]
    fn what_is_far_at_irregular_places_says_nothing() {
        let irregular = (0..40).map(|i: usize| Some(if [1, 2, 5, 9, 17, 18, 30].contains(&i) { 1.7 } else { 0.8 }));
        assert_eq!(heads_by(&irregular.collect::<Vec<_>>(), 1.6, 1), None);
        assert_eq!(heads_by(&reaches(41, 40), 1.6, 1), None, "all near");
        assert_eq!(heads_by(&reaches(4, 40), 0.8, 1), None, "no nearer than the ends of one run");
        assert_eq!(heads_by(&[], 1.6, 1), None);
    }
}
