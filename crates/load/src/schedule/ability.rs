//! What an experiment may ask for and not every world can do, each with the words by which a world without it refuses.

use crate::experiment::{Before, Believed, Experiment, Predictor};

/// Something that not every world can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ability {
    /// Serve from a device of which only the device itself knows how long it takes.
    OwnTiming,
    /// Have several disks in an array.
    Arrays,
    /// Have an array grow because a workload asks for it.
    Growth,
    /// Run processes, which ask by themselves.
    Processes,
    /// Know everything of a drive.
    Perfection,
    /// Try plans on the drive before the run.
    Trials,
    /// Profile another drive of the same make before the run.
    Profiling,
    /// The same for the angles at which requests begin.
    Angles,
    /// Probe another drive of the same make for the times of distances.
    Probing,
    /// Have a host that is as late as the file says.
    LateHost,
}

/// An ability, whether an experiment needs it, and how a world without it refuses.
type AbilityRow = (Ability, fn(&Experiment) -> bool, &'static str, &'static str);

/// All of them, in the order in which they are asked about.
const ROWS: [AbilityRow; 10] = [
    (
        Ability::OwnTiming,
        |it| it.drive.model.is_empty(),
        "it is not said what drive this is",
        "add `model`: a name `halfturn drive list` shows, or a file that `halfturn profile -o` wrote",
    ),
    (
        Ability::Arrays,
        |it| it.array.is_some(),
        "arrays are simulated only, so far",
        "take [array] out, and serve one disk",
    ),
    (
        Ability::Growth,
        |it| it.array.as_ref().is_some_and(|array| array.grows),
        "an array that is served does not grow because a workload asks for it",
        "take the workload out, and use `halfturn array grow`",
    ),
    (Ability::Processes, Experiment::has_processes, "processes run in virtual time only", "simulate it"),
    (
        Ability::Trials,
        |it| it.scheduler.wish.is_some(),
        "a plan for a wait is picked by simulation only",
        "give `chunk` in [scheduler.plan]",
    ),
    (
        Ability::Profiling,
        |it| it.scheduler.profile == Believed::Learned,
        "a drive that serves is not learned by the way",
        "learn it first with `halfturn profile -o FILE`, and give that file as `profile`",
    ),
    (
        Ability::Perfection,
        |it| it.scheduler.predictor == Some(Predictor::Oracle),
        "perfect knowledge of a drive is to be had in simulation only",
        "take `predictor` out",
    ),
    (
        Ability::Angles,
        |it| it.scheduler.predictor == Some(Predictor::Mimic) && it.scheduler.mimic.angle,
        "where on its track a request begins is not learned of a drive that serves",
        "take `second_key` out, or learn the drive with `halfturn profile -o FILE` and give that as `profile`",
    ),
    (
        Ability::Probing,
        |it| it.scheduler.predictor == Some(Predictor::Mimic) && matches!(it.scheduler.mimic.before, Before::Probed(_)),
        "a drive that serves is not probed before",
        "learn it with `halfturn profile --mimic -o FILE`, and give that file as `table` in [scheduler.mimic]",
    ),
    (
        Ability::LateHost,
        |it| it.run.host.is_some(),
        "how late a host is can be said in simulation only",
        "take `host_late_by` out of [run]: this host is as late as it is",
    ),
];

impl Ability {
    /// Every ability, in the order of the table.
    pub const ALL: [Ability; ROWS.len()] = {
        let mut all = [Ability::OwnTiming; ROWS.len()];
        let mut row = 0;
        while row < ROWS.len() {
            all[row] = ROWS[row].0;
            row += 1;
        }
        all
    };

    /// The first that an experiment needs and `able` lacks: what is wrong, and the mend.
    pub(super) fn find_lacking(experiment: &Experiment, able: &[Ability]) -> Option<(&'static str, &'static str)> {
        let lacks = |(ability, needs, ..): &&AbilityRow| !able.contains(ability) && needs(experiment);
        ROWS.iter().find(lacks).map(|(_, _, what, mend)| (*what, *mend))
    }

    /// What a world that lacks it says is wrong.
    #[must_use]
    pub fn refusal(self) -> &'static str {
        ROWS.iter().find(|(ability, ..)| *ability == self).map_or("", |(_, _, what, _)| what)
    }
}
