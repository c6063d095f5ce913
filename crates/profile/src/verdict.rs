//! Whether what was found may be believed: a profile of a device that does not hold still, or of a host that is late, says so.

use crate::Thoroughness;
use crate::effort::TimedPart;
use crate::map::TrackMap;
use crate::probe::late::Late;
use crate::probe::seek::SeekTimes;
use crate::profile::DriveKnowledge;
use crate::validate::Validation;
use block::{BadInput, NS_PER_MS};
use disk::Drive;

/// Shares of fresh requests that may come a revolution or more off, beyond those whose seeks fail to settle or spread too far: of a
/// good profile, and of one that is of any use.
const OFF: (f64, f64) = (0.03, 0.25);
/// Where seeks spread by so much of a revolution, this multiple of it comes a revolution late or early: twice the mean of what is
/// positive of a normal deviate.
const BY_SPREAD: f64 = 0.798;
/// Share of fresh requests that may come at another angle than the map of a good profile has: a scheduler loses half a revolution by
/// each, and serves one in about as long.
const STRAYED: f64 = 0.01;
/// By so much of a revolution moves of a good profile may spread more than farther ones: drawn drives were slower by up to three times
/// the share by which theirs did.
const UNEVEN: f64 = 1.0 / 300.0;

/// Of so many tracks, several heads that are taken for one cost a scheduler less than 1 %: the arm is then off by a band at most, and
/// bands are narrow beside them. Drawn drives of which all heads were taken for one were up to 0.8 % slower, those of fewer tracks
/// up to 10 %.
const MANY_TRACKS: u64 = 60_000;

/// Share of the tracks of a good profile of which it may be unknown on which head they are.
const HEADLESS: f64 = 0.1;

/// Fresh requests that a good profile was tried by, at least.
const LEAST_TRIED: usize = 200;

/// By what share a scheduler that believes a profile may be slower than by the truth, if the profile is of any use.
const SLOWER: f64 = 0.05;
/// Where some of the map was guessed, moves of the arm are off, too, and a scheduler is slower by so many times what it loses because
/// sectors lie elsewhere: drawn drives by 1.1 to 1.5 times as much.
const BY_GUESS: f64 = 1.25;
/// Share of fresh requests that may come a revolution sooner than predicted, beyond those whose seeks spread too far. A scheduler lets
/// them wait until all that waits is such, and so loses about as large a share.
const SOONER: f64 = SLOWER;

/// Where less than one part in so many was mapped in its time, the rest cannot be guessed; and what looks for heads and seeks on so
/// few tracks finds no end.
const LEAST_MAPPED: u64 = 100;

/// How far a profile may be believed.
#[derive(Clone, Debug, PartialEq)]
pub enum Grade {
    /// It predicts what the drive does.
    Good,
    /// It does with the intervals it has, for this reason.
    Usable(String),
    /// It does not, for this reason.
    Refused(String),
}

impl TrackMap {
    /// Why a map of so many sectors that was cut short is none to go on from, if it is not.
    pub(crate) fn falls_short(&self, sectors: u64) -> Option<String> {
        let known = self.guessed.filter(|known| known * LEAST_MAPPED < sectors)?;
        let hundredths = 10_000 * known / sectors;
        Some(format!(
            "in the time there is, 0.{hundredths:02} % of it was mapped: its sectors do not come by at the angles they were found at, or \
             hardly any track is like the one before"
        ))
    }
}

impl SeekTimes {
    /// Why they are none to go by, with turns of so many ms and so many cylinders, if they are not.
    pub(crate) fn falls_short(&self, period: f64, cylinders: u64) -> Option<String> {
        let overhead = self.overhead();
        if !(0.0..period).contains(&overhead) {
            return Some(format!("an overhead of {overhead:.2} ms was found, and a turn takes {period:.2} ms"));
        }
        let longest = self.curve().iter().map(|(_, ms)| *ms).fold(0.0, f64::max);
        (longest <= 0.0 && cylinders > 1).then(|| "no move of the arm was found to take any time".into())
    }
}

impl Validation {
    /// Share of fresh requests that came a revolution or more off beyond those whose seeks fail to settle or spread.
    fn off(&self, period: f64, moves: &SeekTimes, late: &Late) -> f64 {
        self.late - late.share - BY_SPREAD * moves.spread / period
    }

    /// Whether more came off, or elsewhere, than of a good profile.
    pub(crate) fn is_doubtful(&self, period: f64, moves: &SeekTimes, late: &Late) -> bool {
        self.off(period, moves, late) > OFF.0 || self.strayed > STRAYED
    }
}

impl DriveKnowledge {
    /// Whether a short profile had no time to look at all of the drive.
    #[must_use]
    pub fn was_cut_short(&self) -> bool {
        self.effort == Thoroughness::Quick && self.geometry.map.guessed.is_some()
    }

    /// How far this may be believed, as the drive that its file gives when it is read back.
    #[must_use]
    pub fn judge(&self, read_back: &Result<Drive, BadInput>) -> Grade {
        let period = self.clock.mean_period() / NS_PER_MS;
        if let Err(error) = read_back {
            return Grade::Refused(format!("what was found is no drive: {}", error.what));
        }
        if let Some(why) = self.moves.falls_short(period, self.geometry.all_cylinders()) {
            return Grade::Refused(why);
        }
        let tried = self.validation.pairs.len();
        let off = self.validation.off(period, &self.moves, &self.late);
        // Of moves that spread, half come sooner.
        let sooner = self.validation.sooner - 0.5 * BY_SPREAD * self.moves.spread / period;
        let by_guess = if self.geometry.map.guessed.is_some() { BY_GUESS } else { 1.0 };
        let lost = self.validation.lost.unwrap_or(0.0);
        let told =
            format!("{:.1} % of {tried} fresh requests came a revolution or more off", 100.0 * self.validation.late);
        let (strayed, uneven, headless) = (self.validation.strayed, self.moves.uneven, self.geometry.unknown_heads());
        match off {
            _ if tried == 0 && self.geometry.map.guessed.is_some() => Grade::Refused(
                "not all of it was mapped, and no fresh request could be asked to try what was guessed".into(),
            ),
            _ if tried == 0 => Grade::Usable("no fresh request could be asked to try it".into()),
            off if off > OFF.1 => Grade::Refused(told),
            _ if by_guess * lost > SLOWER => Grade::Refused(format!(
                "what a scheduler would pick takes {:.0} % longer than predicted, since so much lies elsewhere than was found",
                100.0 * lost
            )),
            _ if sooner > SOONER => Grade::Refused(format!(
                "{:.1} % of {tried} fresh requests came a revolution sooner than predicted, which a scheduler would let wait",
                100.0 * self.validation.sooner
            )),
            off if off > OFF.0 => Grade::Usable(told),
            _ if strayed > STRAYED => Grade::Usable(format!(
                "{:.1} % of {tried} fresh requests came at another angle than their sectors were found at",
                100.0 * strayed
            )),
            _ if uneven > UNEVEN * period => Grade::Usable(format!(
                "moves of the arm spread by {uneven:.3} ms more than longer ones, as they do where tracks lie on other cylinders than \
                 was found"
            )),
            _ if headless > HEADLESS => Grade::Usable(format!(
                "on which head they are was not found of {:.0} % of the tracks, in bands that end sooner than others do",
                100.0 * headless
            )),
            _ if tried < LEAST_TRIED => Grade::Usable(format!(
                "in the time there is, no more than {tried} fresh requests could be asked to try it"
            )),
            _ => self.doubt_of_parts().map_or(Grade::Good, Grade::Usable),
        }
    }

    /// What leaves a doubt that no fresh request shows, if anything does.
    fn doubt_of_parts(&self) -> Option<String> {
        if let Some(heads) = self.geometry.other_heads() {
            return Some(format!(
                "one head was found, but zones, or what turns otherwise inside them, end where those of a drive of {heads} heads would"
            ));
        }
        // Zones tell as many heads, by the greatest number of tracks that they have in common.
        let is_told = self.geometry.map.without_gaps().common_tracks() == Some(self.geometry.heads);
        let is_little = self.geometry.heads == 1 && self.geometry.all_cylinders() >= MANY_TRACKS;
        let what = self.hurried.iter().find_map(|part| match part {
            TimedPart::Heads if !is_told && !is_little => Some("heads were counted"),
            TimedPart::Seeks => Some("moves of the arm were measured over all distances"),
            TimedPart::Writes => Some("all that writing takes was measured"),
            _ => None,
        })?;
        Some(format!("the time there is was over before {what}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::{Arrangement, TrackGeometry};
    use crate::platter::{PERIOD, Platter, known};

    /// A quick profile of a small drive.
    fn quick_profile() -> DriveKnowledge {
        known(&mut Platter::of_zones(2, &[(60, 200)]), Thoroughness::Quick, None)
    }

    /// How it is graded once it was changed.
    fn grade_of(found: &DriveKnowledge, change: &dyn Fn(&mut DriveKnowledge)) -> &'static str {
        let mut changed = found.clone();
        change(&mut changed);
        let text = disk::write(&found.plan("it", 60 * 2 * 200));
        match changed.judge(&disk::parse("it", "it.toml", &text)) {
            Grade::Good => "good",
            Grade::Usable(_) => "usable",
            Grade::Refused(_) => "refused",
        }
    }

    #[test]
    fn a_profile_is_believed_as_far_as_it_predicts() {
        let found = quick_profile();
        let of = |change: &dyn Fn(&mut DriveKnowledge)| grade_of(&found, change);
        assert_eq!(of(&|_| {}), "good");
        let period = PERIOD / NS_PER_MS;
        for (overhead, grade) in [(0.0, "good"), (0.3, "good"), (0.99 * period, "good"), (1.01 * period, "refused")] {
            let change = |it: &mut DriveKnowledge| {
                it.moves.overhead = Some(overhead);
                it.moves.points.iter_mut().for_each(|point| point.reach.mean += 10.0);
            };
            assert_eq!(of(&change), grade, "{overhead}");
        }
        for (late, share, grade) in [
            (0.025, 0.0, "good"),
            (0.04, 0.0, "usable"),
            (0.24, 0.0, "usable"),
            (0.26, 0.0, "refused"),
            (0.26, 0.1, "usable"),
            (0.26, 0.235, "good"),
        ] {
            let judged = of(&|it| (it.validation.late, it.late.share) = (late, share));
            assert_eq!(judged, grade, "{late}, {share}");
        }
        // What was guessed and not tried may be anywhere.
        for (guessed, grade) in [(None, "usable"), (Some(1000), "refused")] {
            let judged = of(&|it| {
                it.validation.pairs.clear();
                it.geometry.map.guessed = guessed;
            });
            assert_eq!(judged, grade, "{guessed:?}");
        }
        for (strayed, uneven, grade) in
            [(0.01, 0.0, "good"), (0.012, 0.0, "usable"), (0.0, 0.0032, "good"), (0.0, 0.0035, "usable")]
        {
            let judged = of(&|it| (it.validation.strayed, it.moves.uneven) = (strayed, uneven * period));
            assert_eq!(judged, grade, "{strayed}, {uneven}");
        }
        for (late, lost, sooner, grade) in [
            (0.1, Some(0.049), 0.0, "usable"),
            (0.1, Some(0.051), 0.0, "refused"),
            (0.1, None, 0.049, "usable"),
            (0.1, None, 0.051, "refused"),
        ] {
            let judged =
                of(&|it| (it.validation.late, it.validation.lost, it.validation.sooner) = (late, lost, sooner));
            assert_eq!(judged, grade, "{lost:?}, {sooner}");
        }
        for (lost, grade) in [(0.039, "usable"), (0.041, "refused")] {
            let guess = |it: &mut DriveKnowledge| {
                (it.validation.late, it.validation.lost) = (0.1, Some(lost));
                it.geometry.map.guessed = Some(1000);
            };
            assert_eq!(of(&guess), grade, "{lost} of a map that is guessed in part");
        }
        assert_eq!(of(&|it| (it.validation.sooner, it.moves.spread) = (0.1, 0.15 * period)), "good");
        assert_eq!(of(&|it| it.validation.pairs.clear()), "usable");
        for (left, grade) in [(LEAST_TRIED, "good"), (LEAST_TRIED - 1, "usable")] {
            assert_eq!(of(&|it| it.validation.pairs.truncate(left)), grade, "{left}");
        }
        let still = |it: &mut DriveKnowledge| {
            let overhead = it.moves.overhead();
            it.moves.points.iter_mut().for_each(|point| point.reach.mean = overhead);
        };
        assert_eq!(of(&still), "refused");
        let wrong = disk::parse("it", "it.toml", "title = 3");
        assert!(matches!(found.judge(&wrong), Grade::Refused(_)));
    }

    #[test]
    fn what_was_not_looked_at_to_its_end_is_graded_less_where_that_counts() {
        let found = quick_profile();
        let of = |change: &dyn Fn(&mut DriveKnowledge)| grade_of(&found, change);
        let hurried = |part| of(&|it| it.hurried = vec![part]);
        assert_eq!([TimedPart::Heads, TimedPart::Seeks, TimedPart::Writes].map(hurried), ["usable"; 3]);
        assert_eq!([TimedPart::Borders, TimedPart::Chunks, TimedPart::WriteChunks].map(hurried), ["good"; 3]);
        // Heads that were not counted to the end are told by zones that have as many tracks in common, and doubted by others.
        for (cylinders, heads, grade) in
            [([7, 8, 9, 11, 5], 2, "good"), ([8, 10, 4, 12, 5], 2, "usable"), ([7, 8, 9, 11, 5], 1, "usable")]
        {
            let zones = cylinders.map(|cylinders| (cylinders, 200 + cylinders as u32));
            let map = Platter::of_zones(2, &zones).geometry.map;
            let geometry = TrackGeometry::new(map, heads, Arrangement::Heads);
            let judged = of(&|it| (it.geometry, it.hurried) = (geometry.clone(), vec![TimedPart::Heads]));
            assert_eq!(judged, grade, "{cylinders:?}, {heads}");
        }
        // Of very many tracks it hardly matters.
        for (tracks, heads, grade) in
            [(MANY_TRACKS, 1, "good"), (MANY_TRACKS - 1, 1, "usable"), (MANY_TRACKS, 2, "usable")]
        {
            let map = Platter::of_zones(1, &[(tracks, 20)]).geometry.map;
            let geometry = TrackGeometry::new(map, heads, Arrangement::Heads);
            let judged = of(&|it| (it.geometry, it.hurried) = (geometry.clone(), vec![TimedPart::Heads]));
            assert_eq!(judged, grade, "{tracks} tracks, {heads}");
        }
    }

    #[test]
    fn a_map_of_less_than_a_hundredth_is_none_to_go_on_from() {
        for (guessed, falls_short) in [(None, false), (Some(0), true), (Some(999), true), (Some(1000), false)] {
            let map = TrackMap { guessed, ..TrackMap::default() };
            assert_eq!(map.falls_short(100_000).is_some(), falls_short, "{guessed:?}");
        }
        let map = TrackMap { guessed: Some(530), ..TrackMap::default() };
        assert!(map.falls_short(100_000).is_some_and(|why| why.contains(" 0.53 % of it was mapped")));
    }

    #[test]
    fn a_refusal_says_where_more_time_would_do() {
        for (effort, guessed, more) in [
            (Thoroughness::Quick, true, true),
            (Thoroughness::Quick, false, false),
            (Thoroughness::Thorough, true, false),
        ] {
            let options = crate::ProfileOptions { name: "it".into(), seed: 1, effort, scratch: None };
            let mut found =
                crate::profile(&mut Platter::of_zones(2, &[(60, 200)]), &options, &mut ()).expect("it answers");
            let crate::ProfileOutcome::Disk(known) = &mut found.outcome else { panic!("it turns") };
            known.geometry.map.guessed = guessed.then_some(9000);
            let mend = found.refuse("it", "it is off".into()).mend;
            assert_eq!(mend.contains("without --quick"), more, "{effort:?}, {guessed}: {mend}");
        }
    }

    #[test]
    fn what_less_effort_gave_up_is_said_in_the_drive_file() {
        let zones = [(20, 200), (20, 180)];
        for effort in [Thoroughness::Quick, Thoroughness::Thorough] {
            let found = known(&mut Platter::of_zones(2, &zones), effort, None);
            let notes = found.plan("it", 20 * 2 * 380).assumed;
            let told = notes.iter().any(|note| Some(note.as_str()) == effort.gives_up());
            assert_eq!((told, effort.gives_up().is_some()), (effort == Thoroughness::Quick, told), "{notes:?}");
            assert!(notes.iter().any(|note| note.contains("nothing was written")));
            assert!(!notes.iter().any(|note| note.contains("taken to go on as before") && !note.starts_with("quick")));
        }
    }

    #[test]
    fn what_was_not_measured_of_writes_is_said_in_the_drive_file() {
        let zones = [(20, 200), (20, 180)];
        // A scratch without a whole track says how large one would do, which then does though it begins at a track's last sector.
        let with = |first, blocks| {
            let mut platter = Platter::of_zones(2, &zones);
            known(&mut platter, Thoroughness::Quick, Some(crate::Scratch { first, blocks }))
        };
        let small = with(1010, 150).assumed_of_writes();
        let need = block::units::show_blocks(400);
        let told = |note: &String| note.contains("no whole track") && note.ends_with(&format!("{need} would do"));
        assert!(small.iter().any(told), "{small:?}");
        let notes = with(1199, 400).assumed_of_writes();
        assert!(!notes.iter().any(|note| note.contains("no whole track")), "{notes:?}");
    }
}
