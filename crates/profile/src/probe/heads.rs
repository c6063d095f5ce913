//! Heads and cylinders: tracks of one cylinder are nearer to each other for the arm than those of others. Where angles
//! show a period, it is a cylinder, or a run of tracks on one head; where they show none, or a run, the arm tells
//! (modern drives keep many tracks on one head before they switch).

use super::arm::{ArmReach, PatternTrack, TrialPath, reach};
use super::runs;
use crate::Thoroughness;
use crate::estimate::extremes;
use crate::eye::Eye;
use crate::map::{Arrangement, MapRegion, TrackGeometry, TrackMap};
use block::{BadInput, Device, Verb};

/// Tracks looked through for those near the first, at most.
const FAR: u64 = 2048;
/// Tracks apart, of which one is far for the arm if any are.
const FARTHER: [u64; 3] = [23, 64, 150];
/// Tracks of a cylinder, at most; and of one of which every second begins with the last head.
const MOST_HEADS: u64 = 64;
const MOST_TURNED: u64 = 24;
/// Tracks of a run of a band, at least.
const LEAST_RUN: u64 = 4;
/// Starts so many tracks apart begin cylinders of whatever heads there are, but for numbers that hardly a drive has; and so many
/// starts are worth it.
const ALIGNED: u64 = 5040;
const STARTS: u64 = 6;
/// Times it is asked whether a track is near, at most.
const ASKED: usize = 20;
/// Reaches that differ by less are alike, ms.
pub(super) const ALIKE: f64 = 0.12;

/// From one cylinder to the next it is at least so many times as far as from track to track in one; and tracks that are compared one
/// by one, at first and at most.
const STEP: f64 = 3.0;
const COMPARED: (u64, u64) = (8, 32);

/// A track is near whose reach is longer than the nearest by less than this share of what the farthest is, and by less than so
/// many ms where that is very far.
const NEAR: f64 = 0.3;
const NEAR_MS: f64 = 0.6;

/// Finds heads and cylinders; of regions whose period turns out to begin in the middle of a band, it begins with the band then.
///
/// # Errors
/// As [`crate::bench::ProbeBench::read`], and where nothing was mapped.
pub fn learn<D: Device>(eye: &mut Eye<D>, all: &mut TrackMap, effort: Thoroughness) -> Result<TrackGeometry, BadInput> {
    let map = all.without_gaps();
    // The region that has most tracks shows best.
    let tracks = |region: &&MapRegion| region.sectors / u64::from(region.round);
    let Some(region) = map.regions.iter().max_by_key(tracks).cloned() else {
        let what = "in the time there is, no track of it was found to stay where it is";
        return Err(eye.bench.error(what, "let nothing else use the device or the processor, and profile it again"));
    };
    if effort == Thoroughness::Quick && region.levels.is_empty() && map.common_tracks() == Some(1) {
        // No period shows, and no other number of heads divides the tracks of every zone: to ask the arm would tell no more.
        return Ok(TrackGeometry::new(map, 1, Arrangement::Heads));
    }
    let by_runs = if region.levels.is_empty() { runs::count_single(eye, &map, effort)? } else { None };
    let (heads, arrangement) = match (by_runs, region.run_tracks()) {
        (Some((heads, width)), _) => (heads, Arrangement::Bands(width)),
        (_, Some(tracks)) if region.runs.is_empty() || tracks > 2 => by_period(eye, (&map, &region), tracks, effort)?,
        _ if !region.levels.is_empty() => by_period(eye, (&map, &region), region.tracks(0), effort)?,
        _ => by_search(eye, (&map, &region), effort)?,
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
/// not: of runs, one a head, or of a single run, or of runs alike.
fn begin_with_bands(map: &mut TrackMap, heads: u64, width: u64) {
    let mut head = 0;
    for region in &mut map.regions {
        let is_band = region.runs.len() as u64 == heads && region.run_tracks() == Some(width);
        let is_alike = region.runs.is_empty() && region.levels.len() < 2;
        let is_alike = is_alike && (region.levels.is_empty() || region.tracks(0) == width);
        if region.skip == 0 && head > 0 {
            let sooner = match is_alike {
                true => Some(region.begun_tracks_sooner(head * width)),
                false => region.begun_with((heads - head) as usize).filter(|_| is_band),
            };
            if let Some(sooner) = sooner {
                *region = sooner;
            }
        }
        let last = region.place(region.end() - 1);
        let (tracks, is_whole) = (last.track + 1, last.left == 1);
        let goes_on = (is_band || is_alike) && is_whole && tracks.is_multiple_of(width);
        head = if goes_on { tracks / width % heads } else { 0 };
    }
}

/// The reach between tracks so far apart, from one that begins a period on, ms; the most there is where it cannot be told.
fn apart<D: Device>(eye: &mut Eye<D>, region: &MapRegion, tracks: u64) -> Result<f64, BadInput> {
    let period = region.longest_period();
    // Without a period only the first track is known to begin one.
    let most = if region.levels.is_empty() { 1 } else { 64 };
    Ok(reach_apart(eye, region, tracks, (period, most), 0.0)?.mean)
}

/// The reach between tracks so far apart, from one of so many that are a step apart, as well as is `enough`.
fn reach_apart<D: Device>(
    eye: &mut Eye<D>,
    region: &MapRegion,
    tracks: u64,
    (step, most): (u64, u64),
    enough: f64,
) -> Result<ArmReach, BadInput> {
    let period = region.longest_period();
    let first = region.place(region.first).track.next_multiple_of(period);
    let last = region.last_track();
    let starts = (last.saturating_sub(first + tracks + 2) / step).clamp(1, most);
    let pick = |eye: &mut Eye<D>| {
        let start = first + eye.bench.draw.below(starts) * step;
        Some(TrialPath::new(PatternTrack { region, number: start }, PatternTrack { region, number: start + tracks }))
    };
    let nowhere = ArmReach { mean: f64::MAX, ..ArmReach::default() };
    Ok(reach(eye, Verb::Read, enough, pick)?.map_or(nowhere, |found| found.reach))
}

/// A period of so many tracks is a cylinder, unless its last track is further from its first than the last of the next
/// period is: a run of tracks on one head, and the next run comes back. One of two runs may begin with the second of a band, where
/// only the way between the two is turned otherwise.
fn by_period<D: Device>(
    eye: &mut Eye<D>,
    (map, region): (&TrackMap, &MapRegion),
    tracks: u64,
    effort: Thoroughness,
) -> Result<(u64, Arrangement), BadInput> {
    if tracks < 3 {
        return Ok((tracks, Arrangement::Heads));
    }
    let differ = region.runs.windows(2).any(|pair| pair[0].round != pair[1].round);
    if differ && region.run_tracks() == Some(tracks) && tracks >= LEAST_RUN {
        // As many tracks of one kind and then of another, over and over, are those of all heads, whatever seeks say.
        let unit = region.tracks(0) / tracks;
        let heads = runs::count(eye, map, (tracks, unit), effort)?.unwrap_or(unit);
        return Ok((heads, Arrangement::Bands(tracks)));
    }
    let halves = region.begun_sooner().map(|sooner| (sooner.tracks(0), sooner));
    for (run, region) in std::iter::once((tracks, region.clone())).chain(halves) {
        let Some((within, back)) = comes_back(eye, &region, run)? else { continue };
        let counted = runs::count(eye, map, (run, 1), effort)?;
        if counted.is_none() && run <= MOST_TURNED && (apart(eye, &region, 1)? - within).abs() < ALIKE {
            if run < tracks {
                continue;
            }
            // No farther to the last of them than to the first: heads of a cylinder, of which the next begins with the last head.
            return Ok((run, Arrangement::Heads));
        }
        let heads = match counted {
            Some(heads) => heads,
            None => heads_of_bands(eye, &region, run, back + (NEAR * (within - back)).min(NEAR_MS))?,
        };
        return Ok((heads, Arrangement::Bands(run)));
    }
    if let Some(heads) = runs_of_a_band(eye, region, tracks)? {
        return Ok((heads, Arrangement::Bands(tracks)));
    }
    // Where bands of two kinds take turns, these are several.
    if tracks > MOST_HEADS { by_search(eye, (map, region), effort) } else { Ok((tracks, Arrangement::Heads)) }
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
    let is_long = 2 * band <= region.last_track();
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
    let last = region.last_track();
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
fn by_search<D: Device>(
    eye: &mut Eye<D>,
    (map, region): (&TrackMap, &MapRegion),
    effort: Thoroughness,
) -> Result<(u64, Arrangement), BadInput> {
    let last = region.last_track();
    let mut far = 0.0f64;
    for tracks in FARTHER {
        let tracks = tracks.min(last.saturating_sub(1)).max(1);
        // About so far it is from other tracks, too, which are not all in memory yet.
        far = far.max(reach_apart(eye, region, tracks, (1, 64), effort.enough())?.mean);
    }
    let near = apart(eye, region, 1.min(last))?;
    if far - near < 2.0 * ALIKE {
        return Ok((1, Arrangement::Heads));
    }
    let limit = near + (NEAR * (far - near)).min(NEAR_MS);
    let run = near_run(eye, region, limit)?;
    // What seems to come back where the run ends may be its end, which is not sharp.
    if let Some((first, end)) = dip(eye, region, (run, limit), effort)? {
        let width = band_width(run, first, end);
        // What turns otherwise elsewhere than at the ends of bands begins in the middle of one.
        let fits = region.levels.is_empty() || region.tracks(0).is_multiple_of(width);
        if fits && comes_back(eye, region, width)?.is_some() {
            let heads = match runs::count(eye, map, (width, 1), effort)? {
                Some(heads) => heads,
                None => heads_of_bands(eye, region, width, limit)?,
            };
            return Ok((heads, Arrangement::Bands(width)));
        }
    }
    Ok((count_by_steps(eye, region, run, effort)?, Arrangement::Heads))
}

/// How many tracks are near the first: the farther, the longer it takes.
fn near_run<D: Device>(eye: &mut Eye<D>, region: &MapRegion, limit: f64) -> Result<u64, BadInput> {
    let most = FAR.min(region.last_track() / 2);
    let (mut near, mut far) = (1, 2);
    while far < most && is_near(eye, region, far, limit)? {
        (near, far) = (far, (2 * far).min(most));
    }
    while far - near > 1 {
        let middle = near.midpoint(far);
        if is_near(eye, region, middle, limit)? { near = middle } else { far = middle }
    }
    Ok(far)
}

/// How wide bands are, of which so many tracks are near the first on its own head, and those from the `first` to the `end` on the next
/// ones: as many again on the way back, and on the next way out, if there is a third head.
fn band_width(run: u64, first: u64, end: u64) -> u64 {
    let is_last = 2 * (end + 1 - first) <= 3 * run;
    if is_last { end.div_ceil(2) } else { (first + end + 1).div_ceil(4) }
}

/// How many tracks a cylinder has, of which no more than these are near the first: for the arm, those of one are as far as one
/// another, and those of the next are farther. Where each track is farther than the last, there is one head.
fn count_by_steps<D: Device>(
    eye: &mut Eye<D>,
    region: &MapRegion,
    near: u64,
    effort: Thoroughness,
) -> Result<u64, BadInput> {
    let until = eye.bench.now() + effort.heads_time();
    // What is near is told badly where seeks vary.
    let most = near.clamp(COMPARED.0, COMPARED.1).min(region.last_track() / 2);
    let is_long = region.levels.is_empty() && region.last_track() > STARTS * ALIGNED;
    let starts = if is_long { (ALIGNED, u64::MAX) } else { (1, 1) };
    let mut first = Vec::new();
    for tracks in 1..4 {
        first.push(reach_apart(eye, region, tracks, starts, effort.enough())?);
    }
    if most < 2 || rises_at_once(&first) {
        return Ok(1);
    }
    let mut reaches: Vec<f64> = Vec::new();
    let mut looked_at = COMPARED.0.min(most);
    loop {
        // So many heads show two steps by then.
        while (reaches.len() as u64) < 2 * looked_at - 1 && eye.bench.now() < until && !eye.bench.is_out_of_time() {
            let tracks = reaches.len() as u64 + 1;
            reaches.push(reach_apart(eye, region, tracks, starts, 0.0)?.mean);
        }
        let known = reaches.len().div_ceil(2);
        let is_last = looked_at == most || eye.bench.now() >= until || eye.bench.is_out_of_time();
        let found = (2..=known).rev().find(|heads| has_steps(&reaches, *heads));
        if reaches.len() as u64 >= COMPARED.0 {
            // As much as is looked at where there is time enough.
            eye.bench.end_part();
        }
        // A part of all heads shows some steps, too, but not all.
        if let Some(heads) = found.filter(|heads| is_last || rises_by(&reaches, *heads)) {
            return Ok(heads as u64);
        }
        if is_last {
            return Ok(1);
        }
        looked_at = (2 * looked_at).min(most);
    }
}

/// Whether each track is farther from the first than the one before it, beyond what reaches may be off. Of two heads the third is as
/// far as the second, if that is farther than the first, and of more heads the second is as far as the first.
fn rises_at_once(reaches: &[ArmReach]) -> bool {
    reaches.windows(2).all(|pair| pair[1].mean - pair[0].mean > pair[0].within + pair[1].within)
}

/// The least and the most of the reaches from the first track to each of so many after it, ms, and then of as many more each time.
fn levels(reaches: &[f64], heads: usize) -> Vec<(f64, f64)> {
    // The first track is the one that all are seen from.
    let (first, others) = reaches.split_at(heads - 1);
    std::iter::once(first).chain(others.chunks_exact(heads)).map(|level| extremes(level.iter().copied())).collect()
}

/// From the middle of one level to that of the next, ms; and by how much those of one differ, at most.
fn steps(levels: &[(f64, f64)]) -> (Vec<f64>, f64) {
    let step = |pair: &[(f64, f64)]| f64::midpoint(pair[1].0, pair[1].1) - f64::midpoint(pair[0].0, pair[0].1);
    (levels.windows(2).map(step).collect(), levels.iter().map(|(least, most)| most - least).fold(0.0, f64::max))
}

/// Whether reaches from the first track to each after it, ms, go up in steps of so many tracks.
fn has_steps(reaches: &[f64], heads: usize) -> bool {
    let (steps, uneven) = steps(&levels(reaches, heads));
    STEP * uneven < steps.into_iter().fold(0.0, f64::max)
}

/// Whether they do at each of some steps.
fn rises_by(reaches: &[f64], heads: usize) -> bool {
    let (steps, uneven) = steps(&levels(reaches, heads));
    steps.len() > 2 && steps.into_iter().all(|step| step > uneven)
}

/// The first and the last of the tracks on which the arm comes back near the first, after the `run` next to it: on its way
/// back it passes as many cylinders, and does again on the next way out.
fn dip<D: Device>(
    eye: &mut Eye<D>,
    region: &MapRegion,
    (run, limit): (u64, f64),
    effort: Thoroughness,
) -> Result<Option<(u64, u64)>, BadInput> {
    // As long again is left to look at the first tracks one by one.
    let until = (eye.bench.now() + effort.heads_time()).min(eye.bench.half_time());
    let last = FAR.min(region.last_track());
    // One miss passes over a track at first, since to forget it takes longer than to ask; what seeks that spread hide is looked for again.
    let passes = [1, u32::MAX].into_iter();
    let asked = passes.flat_map(|misses| (run + 1..last).step_by(run as usize).map(move |tracks| (tracks, misses)));
    for (tracks, misses) in asked {
        if eye.bench.now() >= until {
            break;
        }
        // On its way back the arm passes what it passed from the first on.
        if !is_mirrored(eye, region, (tracks, run), limit, misses)? || !is_near(eye, region, tracks, limit)? {
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
    is_mirrored(eye, region, (tracks, 1), limit, u32::MAX)
}

/// The same, of one of the first tracks, less than half of `run`, and another that is as many tracks nearer: other tracks each time,
/// of which memory knows nothing yet. So many misses are enough to say no.
fn is_mirrored<D: Device>(
    eye: &mut Eye<D>,
    region: &MapRegion,
    (tracks, run): (u64, u64),
    limit: f64,
    misses: u32,
) -> Result<bool, BadInput> {
    let (mut caught, mut missed) = (0, 0);
    let period = region.longest_period();
    let begins = region.place(region.first);
    let first = (begins.track + u64::from(begins.sector > 0)).next_multiple_of(period);
    for _ in 0..ASKED {
        if eye.bench.is_out_of_time() {
            break;
        }
        let into = eye.bench.draw.below((run / 2).max(1));
        let [from, to] = [first + into, first + tracks - into].map(|number| PatternTrack { region, number });
        match super::arm::catches(eye, Verb::Read, TrialPath::new(from, to), limit)? {
            Some(true) => caught += 1,
            Some(false) => missed += 1,
            // Memory answered, or a reply was held up.
            None => continue,
        }
        if missed == misses || caught.max(missed) == 3 || (caught + missed == 2 && caught != missed) {
            break;
        }
    }
    Ok(caught > missed)
}

#[cfg(test)]
mod tests {
    use super::{band_width, begin_with_bands, has_steps, learn, rises_at_once, rises_by};
    use crate::Thoroughness;
    use crate::map::{Arrangement, MapRegion, PatternLevel, TrackAddress, TrackGeometry, TrackMap, TrackRun};
    use crate::platter::{Platter, with_eye};
    use crate::probe::arm::ArmReach;
    use block::Lbn;

    #[test]
    fn where_nothing_was_mapped_there_are_no_heads_to_count() {
        let mut platter = Platter::of_zones(2, &[(60, 200)]);
        let mut map = platter.geometry.map.clone();
        map.guessed = Some(0);
        let error = with_eye(&mut platter, |eye| learn(eye, &mut map, Thoroughness::Thorough))
            .expect_err("all of it is guessed");
        assert!(error.what.contains("no track of it was found") && !error.mend.is_empty(), "{error}");
    }

    /// Zones whose tracks have no divisor in common tell one head, if no period shows; at length the arm is asked all the same.
    #[test]
    fn in_short_the_arm_is_not_asked_where_zones_tell_one_head() {
        for (first, effort, is_asked) in
            [(61, Thoroughness::Quick, false), (60, Thoroughness::Quick, true), (61, Thoroughness::Thorough, true)]
        {
            let mut platter = Platter::of_zones(1, &[(first, 200), (80, 180), (48, 160), (32, 150), (20, 140)]);
            let mut map = platter.geometry.map.clone();
            map.regions.iter_mut().for_each(|region| region.levels.clear());
            let found = with_eye(&mut platter, |eye| learn(eye, &mut map, effort)).expect("it answers");
            assert_eq!((found.heads, !platter.log.is_empty()), (1, is_asked), "{first}, {effort:?}");
        }
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

    /// Of twelve heads the first steps of four show, too.
    #[test]
    fn each_step_rises_of_as_many_heads_as_there_are() {
        for heads in 2..=5 {
            assert!(rises_by(&reaches(heads, 24), heads as usize), "{heads}");
        }
        let of = reaches(12, 16);
        assert!(has_steps(&of, 4) && !rises_by(&of, 4), "{of:.3?}");
        // Two steps are some by chance.
        assert!(!rises_by(&[1.0, 1.0, 2.0, 2.0, 2.0, 3.0, 3.0, 3.0], 3));
    }

    #[test]
    fn reaches_of_one_head_alone_rise_at_once() {
        for heads in 1..=8 {
            let of: Vec<ArmReach> = reaches(heads, 4)
                .into_iter()
                .map(|mean| ArmReach { mean, within: 0.02, ..ArmReach::default() })
                .collect();
            assert_eq!(rises_at_once(&of), heads == 1, "{heads}: {of:?}");
        }
        // What rises by less than it may be off says nothing.
        let of = [1.0, 1.03, 1.06].map(|mean| ArmReach { mean, within: 0.02, ..ArmReach::default() });
        assert!(!rises_at_once(&of), "{of:?}");
    }
}
