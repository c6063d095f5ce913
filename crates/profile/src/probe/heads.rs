//! Heads and cylinders: tracks of one cylinder are nearer to each other for the arm than those of others. Where angles
//! show a period, it is a cylinder, or a run of tracks on one head; where they show none, or a run, the arm tells
//! (modern drives keep many tracks on one head before they switch).

use super::arm::{PatternTrack, TrialPath, reach};
use crate::estimate::extremes;
use crate::eye::Eye;
use crate::map::{Arrangement, MapRegion, TrackGeometry, TrackMap};
use block::{BadInput, Device, Verb};

/// Tracks looked through for those near the first, at most.
const FAR: u64 = 2048;
/// Tracks apart, of which one is far for the arm if any are.
const FARTHER: [u64; 3] = [23, 64, 150];
/// Tracks of a cylinder, at most.
const MOST_HEADS: u64 = 64;
/// Times it is asked whether a track is near, at most.
const ASKED: usize = 20;
/// Reaches that differ by less are alike, ms.
const ALIKE: f64 = 0.12;

/// From one cylinder to the next it is at least so many times as far as from track to track in one; and tracks that are compared one
/// by one, at most.
const STEP: f64 = 3.0;
const COMPARED: u64 = 32;

/// A track is near whose reach is longer than the nearest by less than this share of what the farthest is, and by less than so
/// many ms where that is very far.
const NEAR: f64 = 0.3;
const NEAR_MS: f64 = 0.6;

/// Finds heads and cylinders; of regions whose period turns out to begin in the middle of a band, it begins with the band then.
///
/// # Errors
/// As [`crate::bench::ProbeBench::read`], and where nothing was mapped.
pub fn learn<D: Device>(eye: &mut Eye<D>, all: &mut TrackMap) -> Result<TrackGeometry, BadInput> {
    let map = all.without_gaps();
    // The region that has most tracks shows best.
    let tracks = |region: &&MapRegion| region.sectors / u64::from(region.round);
    let Some(region) = map.regions.iter().max_by_key(tracks).cloned() else {
        let what = "in the time there is, no track of it was found to stay where it is";
        return Err(eye.bench.error(what, "let nothing else use the device or the processor, and profile it again"));
    };
    let (heads, arrangement) = match region.run_tracks() {
        Some(tracks) if region.runs.is_empty() || tracks > 2 => by_period(eye, &region, tracks)?,
        _ if !region.levels.is_empty() => by_period(eye, &region, region.tracks(0))?,
        _ => by_search(eye, &region)?,
    };
    if let Arrangement::Bands(width) = arrangement
        && heads == 2
    {
        for region in &mut all.regions {
            if let Some(sooner) = region.begun_sooner().filter(|sooner| sooner.tracks(0) == width) {
                *region = sooner;
            }
        }
    }
    if let Arrangement::Bands(width) = arrangement {
        begin_with_bands(all, heads, width);
    }
    Ok(TrackGeometry::new(all.without_gaps(), heads, arrangement))
}

/// Has the patterns of regions begin where a band does that begin inside one, where some heads' tracks go on as before and others' do
/// not: of runs, one a head.
fn begin_with_bands(map: &mut TrackMap, heads: u64, width: u64) {
    let mut head = 0;
    for region in &mut map.regions {
        let is_band = region.runs.len() as u64 == heads && region.run_tracks() == Some(width);
        if let Some(sooner) = region.begun_with((heads - head) as usize).filter(|_| is_band && region.skip == 0) {
            *region = sooner;
        }
        let last = region.place(region.end() - 1);
        let (tracks, is_whole) = (last.track + 1, last.left == 1);
        head = if is_band && is_whole && tracks.is_multiple_of(width) { tracks / width % heads } else { 0 };
    }
}

/// The reach between tracks so far apart, from one that begins a period on.
fn apart<D: Device>(eye: &mut Eye<D>, region: &MapRegion, tracks: u64) -> Result<f64, BadInput> {
    let period = region.levels.last().map_or(1, |_| region.tracks(region.levels.len() - 1));
    let first = region.place(region.first).track.next_multiple_of(period);
    let last = region.place(region.end() - 1).track;
    let whole = (last.saturating_sub(first + tracks + 2) / period).clamp(1, 64);
    let even = region.levels.is_empty();
    let pick = |eye: &mut Eye<D>| {
        // Without a period only the first track is known to begin one.
        let start = if even { first } else { first + eye.bench.draw.below(whole) * period };
        Some(TrialPath::new(PatternTrack { region, number: start }, PatternTrack { region, number: start + tracks }))
    };
    Ok(reach(eye, Verb::Read, 0.0, pick)?.map_or(f64::MAX, |found| found.reach.mean))
}

/// A period of so many tracks is a cylinder, unless its last track is further from its first than the last of the next
/// period is: a run of tracks on one head, and the next run comes back. One of two runs may begin with the second of a band, where
/// only the way between the two is turned otherwise.
fn by_period<D: Device>(eye: &mut Eye<D>, region: &MapRegion, tracks: u64) -> Result<(u64, Arrangement), BadInput> {
    if tracks < 3 {
        return Ok((tracks, Arrangement::Heads));
    }
    let halves = region.begun_sooner().map(|sooner| (sooner.tracks(0), sooner));
    for (run, region) in std::iter::once((tracks, region.clone())).chain(halves) {
        if let Some((within, back)) = comes_back(eye, &region, run)? {
            let heads = heads_of_bands(eye, &region, run, back + (NEAR * (within - back)).min(NEAR_MS))?;
            return Ok((heads, Arrangement::Bands(run)));
        }
    }
    if let Some(heads) = runs_of_a_band(eye, region, tracks)? {
        return Ok((heads, Arrangement::Bands(tracks)));
    }
    // Where bands of two kinds take turns, these are several.
    if tracks > MOST_HEADS { by_search(eye, region) } else { Ok((tracks, Arrangement::Heads)) }
}

/// The reaches to the last track of a run and to that of the next, ms, if the next leads back.
fn comes_back<D: Device>(eye: &mut Eye<D>, region: &MapRegion, run: u64) -> Result<Option<(f64, f64)>, BadInput> {
    let (within, back) = (apart(eye, region, run - 1)?, apart(eye, region, 2 * run - 1)?);
    Ok((back <= within - ALIKE).then_some((within, back)))
}

/// How many runs of so many tracks a band has, where a change of heads takes longer than the way along a run and hides the way back: in
/// the next band, the arm has further to the end of the run than to its beginning, and in a cylinder as far to all but the first.
fn runs_of_a_band<D: Device>(eye: &mut Eye<D>, region: &MapRegion, run: u64) -> Result<Option<u64>, BadInput> {
    if region.levels.len() != 2 {
        return Ok(None);
    }
    let band = region.tracks(1);
    let heads = band / run;
    let is_long = 2 * band <= region.place(region.end() - 1).track;
    if !band.is_multiple_of(run) || heads > MOST_HEADS || !is_long {
        return Ok(None);
    }
    // What seeks that spread may say once by chance, they do not twice.
    for _ in 0..2 {
        let (begins, ends) = (apart(eye, region, band + 1)?, apart(eye, region, band + run - 1)?);
        if ends - begins <= ALIKE || ends == f64::MAX {
            return Ok(None);
        }
    }
    Ok(Some(heads))
}

/// How many runs of so many tracks a band has: at the end of each second one the arm is back near the first track, as it
/// is not in another band.
fn heads_of_bands<D: Device>(eye: &mut Eye<D>, region: &MapRegion, width: u64, limit: f64) -> Result<u64, BadInput> {
    let last = region.place(region.end() - 1).track;
    let mut heads = 2;
    for k in 1..128 {
        let at = 2 * width * k;
        if at > last + 1 || !is_near(eye, region, at - 1, limit)? {
            break;
        }
        heads = 2 * k + u64::from(at <= last && is_near(eye, region, at, limit)?);
    }
    Ok(heads)
}

/// Where angles show no period: the tracks that are near the first.
fn by_search<D: Device>(eye: &mut Eye<D>, region: &MapRegion) -> Result<(u64, Arrangement), BadInput> {
    let last = region.place(region.end() - 1).track;
    let mut far = 0.0f64;
    for tracks in FARTHER {
        far = far.max(apart(eye, region, tracks.min(last.saturating_sub(1)).max(1))?);
    }
    let near = apart(eye, region, 1.min(last))?;
    if far - near < 2.0 * ALIKE {
        return Ok((1, Arrangement::Heads));
    }
    let limit = near + (NEAR * (far - near)).min(NEAR_MS);
    let mut run = 1;
    while run < FAR.min(last / 2) && is_near(eye, region, run, limit)? {
        run += 1;
    }
    // What seems to come back where the run ends may be its end, which is not sharp.
    if let Some((first, end)) = dip(eye, region, run, limit)? {
        let width = band_width(run, first, end);
        if comes_back(eye, region, width)?.is_some() {
            return Ok((heads_of_bands(eye, region, width, limit)?, Arrangement::Bands(width)));
        }
    }
    Ok((count_by_steps(eye, region, run)?, Arrangement::Heads))
}

/// How wide bands are, of which so many tracks are near the first on its own head, and those from the `first` to the `end` on the next
/// ones: as many again on the way back, and on the next way out, if there is a third head.
fn band_width(run: u64, first: u64, end: u64) -> u64 {
    let is_last = 2 * (end + 1 - first) <= 3 * run;
    if is_last { end.div_ceil(2) } else { (first + end + 1).div_ceil(4) }
}

/// How many tracks a cylinder has, of which no more than these are near the first: for the arm, those of one are as far as one
/// another, and those of the next are farther. Where each track is farther than the last, there is one head.
fn count_by_steps<D: Device>(eye: &mut Eye<D>, region: &MapRegion, near: u64) -> Result<u64, BadInput> {
    let most = near.min(COMPARED);
    let reaches: Vec<f64> = (1..2 * most).map(|tracks| apart(eye, region, tracks)).collect::<Result<_, _>>()?;
    Ok((2..=most).rev().find(|heads| has_steps(&reaches, *heads as usize)).unwrap_or(1))
}

/// Whether reaches from the first track to each after it, ms, go up in steps of so many tracks.
fn has_steps(reaches: &[f64], heads: usize) -> bool {
    // The first track is the one that all are seen from.
    let (first, others) = reaches.split_at(heads - 1);
    let levels: Vec<(f64, f64)> =
        std::iter::once(first).chain(others.chunks_exact(heads)).map(|level| extremes(level.iter().copied())).collect();
    let uneven = levels.iter().map(|(least, most)| most - least).fold(0.0, f64::max);
    let step = |pair: &[(f64, f64)]| f64::midpoint(pair[1].0, pair[1].1) - f64::midpoint(pair[0].0, pair[0].1);
    STEP * uneven < levels.windows(2).map(step).fold(0.0, f64::max)
}

/// The first and the last of the tracks on which the arm comes back near the first, after the `run` next to it: on its way
/// back it passes as many cylinders, and does again on the next way out.
fn dip<D: Device>(eye: &mut Eye<D>, region: &MapRegion, run: u64, limit: f64) -> Result<Option<(u64, u64)>, BadInput> {
    let last = FAR.min(region.place(region.end() - 1).track);
    for tracks in (run + 1..last).step_by(run as usize) {
        if !is_near(eye, region, tracks, limit)? {
            continue;
        }
        let (mut first, mut end) = (tracks, tracks);
        while first > run + 1 && is_near(eye, region, first - 1, limit)? {
            first -= 1;
        }
        while end + 1 < last && is_near(eye, region, end + 1, limit)? {
            end += 1;
        }
        return Ok(Some((first, end)));
    }
    Ok(None)
}

/// Whether a track is within reach of the first by `limit` ms: as most of five say that do not agree at once.
fn is_near<D: Device>(eye: &mut Eye<D>, region: &MapRegion, tracks: u64, limit: f64) -> Result<bool, BadInput> {
    let (mut caught, mut missed) = (0, 0);
    let period = region.levels.last().map_or(1, |_| region.tracks(region.levels.len() - 1));
    let begins = region.place(region.first);
    let first = (begins.track + u64::from(begins.sector > 0)).next_multiple_of(period);
    for _ in 0..ASKED {
        let way =
            TrialPath::new(PatternTrack { region, number: first }, PatternTrack { region, number: first + tracks });
        match super::arm::catches(eye, Verb::Read, way, limit)? {
            Some(true) => caught += 1,
            Some(false) => missed += 1,
            // Memory answered, or a reply was held up.
            None => continue,
        }
        if caught.max(missed) == 3 || (caught + missed == 2 && caught != missed) {
            break;
        }
    }
    Ok(caught > missed)
}

#[cfg(test)]
mod tests {
    use super::{band_width, begin_with_bands, has_steps, learn};
    use crate::map::{Arrangement, MapRegion, PatternLevel, TrackAddress, TrackGeometry, TrackMap, TrackRun};
    use crate::platter::{Platter, with_eye};
    use block::Lbn;

    #[test]
    fn where_nothing_was_mapped_there_are_no_heads_to_count() {
        let mut platter = Platter::of_zones(2, &[(60, 200)]);
        let mut map = platter.geometry.map.clone();
        map.guessed = Some(0);
        let error = with_eye(&mut platter, |eye| learn(eye, &mut map)).expect_err("all of it is guessed");
        assert!(error.what.contains("no track of it was found") && !error.mend.is_empty(), "{error}");
    }

    /// A region of bands four tracks wide, whose runs have tracks of so many sectors.
    fn bands(first: u64, tracks: u64, rounds: &[u32]) -> MapRegion {
        let mut runs: Vec<TrackRun> = Vec::new();
        let mut sectors = 0;
        for (i, round) in rounds.iter().enumerate() {
            let (tracks, angle, track) = (4 * i as u64, 0.1 * i as f64, u64::from(*round));
            runs.push(TrackRun { sectors, tracks, angle, round: *round, track, turn: 0.2 });
            sectors += 4 * track;
        }
        let levels = vec![PatternLevel { sectors, turn: 0.7 }];
        let track = rounds.iter().copied().max().unwrap_or(0);
        let region = MapRegion {
            first,
            sectors: 0,
            skip: 0,
            round: track,
            track: track.into(),
            turn: 0.2,
            runs,
            levels,
            angle: 0.0,
            slips: Vec::new(),
            bends: Vec::new(),
        };
        MapRegion { sectors: region.track_pattern(tracks), ..region }
    }

    /// The second head has shorter tracks from the fifth band on, and the third from the ninth: the regions after begin with these heads.
    #[test]
    fn what_begins_inside_a_band_goes_on_with_it() {
        for heads in [3, 4] {
            let (mut rounds, band) = ([100, 80, 90, 95][..heads].to_vec(), 4 * heads as u64);
            let mut regions = vec![bands(0, 4 * band + 4, &rounds)];
            for (head, tracks) in [(1, 4 * band + 4), (2, 3 * band - 8)] {
                rounds[head] -= 2;
                let begins_with = [&rounds[head..], &rounds[..head]].concat();
                regions.push(bands(regions[head - 1].end(), tracks, &begins_with));
            }
            let mut map = TrackMap { regions, remaps: Vec::new(), guessed: None };
            begin_with_bands(&mut map, heads as u64, 4);
            let geometry = TrackGeometry::new(map, heads as u64, Arrangement::Bands(4));
            let blocks = geometry.map.regions[2].end();
            let written = disk::Layout::new(&crate::plan::layout(&geometry, blocks, 0)).expect("it is a layout");
            let (mut sector, mut found_again) = (0, 0);
            for track in 0..11 * band {
                let (head, k) = (track % band / 4, track % 4);
                let there = if head % 2 == 1 { 3 - k } else { k };
                let real = TrackAddress { cylinder: 4 * (track / band) + there, head };
                assert_eq!(geometry.address_of(sector), real, "track {track} of {heads}");
                let found = written.locate(Lbn(sector)).track;
                assert_eq!((u64::from(found.cylinder), u64::from(found.head)), (real.cylinder, real.head), "{track}");
                let at = geometry.track(real).map(|(region, track)| {
                    let region = &geometry.map.regions[region];
                    region.sector_at(region.track_pattern(track))
                });
                // The last track of a region is not looked for.
                found_again += u64::from(at.is_some());
                assert!(at.is_none_or(|at| at == sector), "track {track}: {at:?}");
                sector = geometry.map.next_track(sector);
            }
            assert_eq!((sector, geometry.all_cylinders()), (blocks, 44));
            assert!(found_again > 11 * band - 7, "{found_again} of {heads}");
        }
    }

    #[test]
    fn a_band_is_as_wide_as_the_way_out_and_back_says() {
        for (width, run) in (4..200).flat_map(|width| (2..=width / 2).map(move |run| (width, run))) {
            let turn = 2 * width;
            assert_eq!(band_width(run, turn - run, turn - 1), width, "two heads, {run}");
            assert_eq!(band_width(run, turn - run, turn + run - 1), width, "more heads, {run}");
        }
    }

    /// What the reaches from the first track are like on a drive of so many heads, within some µs.
    fn reaches(heads: u32, tracks: u32) -> Vec<f64> {
        let reach = |track: u32| match track / heads {
            0 => 0.7,
            cylinders => 0.6 + 0.2 * libm::sqrt(f64::from(cylinders)),
        };
        (1..tracks).map(|track| reach(track) + 0.004 * f64::from(track * 7919 % 5)).collect()
    }

    #[test]
    fn the_steps_in_which_reaches_go_up_are_a_cylinder_wide() {
        for heads in 1..=8 {
            let of = reaches(heads, 32);
            let found = (2..=16).rev().find(|heads| has_steps(&of, *heads)).unwrap_or(1);
            assert_eq!(found, heads as usize, "{of:.3?}");
        }
    }
}
