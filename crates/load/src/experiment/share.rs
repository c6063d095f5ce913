//! What a class or a volume may have of the arm's time: `share`, `floor`, `limit` and `window`.

use super::asker::Asker;
use super::promise::LATE;
use super::{Believed, DriveChoice, Experiment, Scheduler, Volume};
use block::{BadInput, Span};
use config::{Key, Section};
use disk::Model;
use sched::plan::{ClassRule, Preemption};
use sched::{Claim, ShareRules};

/// The greatest weight, and the shortest window.
const HEAVIEST: f64 = 1e6;
const SHORTEST: Span = Span(10_000_000);

/// The keys of a class.
pub(super) mod of_class {
    use super::{HEAVIEST, Span};

    config::keys! {
        /// What a class may have of the arm's time.
        pub(in super::super) fn keys() -> "[scheduler.class.NAME]";

        /// Its weight among the classes of its priority that have something waiting: the arm's time is shared out by it. Once any
        /// class or volume has a share, a floor or a limit, all have one, and a drive gets one command at a time unless `queue`
        /// says otherwise.
        SHARE: f64 = number("share", 0.0, HEAVIEST).else_told("1, once anything has a share, a floor or a limit");
        /// The least part of the arm's time that it gets while it has something waiting, whoever else has a higher priority.
        FLOOR: f64 = share("floor").else_told("0");
        /// The greatest part of the arm's time that it gets, even where nobody else wants it.
        LIMIT: f64 = share("limit").else_told("1");
        /// Over how long `floor` and `limit` hold. A class keeps the arm for a twentieth of it at once: shorter, others of its
        /// priority wait less, and more of the time is spent on seeks between them.
        WINDOW: Span = span("window").else_told("5s");
    }
}

/// The keys of a volume.
pub(super) mod of_volume {
    use super::{HEAVIEST, Span};

    config::keys! {
        /// What the clients of a volume may have of the arm's time, all together.
        pub(in super::super) fn keys() -> "[[volume]]";

        /// Its weight among the volumes and classes of its priority, as `share` of a class.
        SHARE: f64 = number("share", 0.0, HEAVIEST).else_told("1, once anything has a share, a floor or a limit");
        /// The least part of the arm's time that it gets while it has something waiting.
        FLOOR: f64 = share("floor").else_told("0");
        /// The greatest part of the arm's time that it gets.
        LIMIT: f64 = share("limit").else_told("1");
        /// Over how long both hold.
        WINDOW: Span = span("window").else_told("5s");
    }
}

/// What a section says of it, by these keys.
fn read(
    section: &Section,
    [share, floor, limit]: [&Key<f64>; 3],
    window: &Key<Span>,
) -> Result<Option<Claim>, BadInput> {
    let (share, floor, limit) = (section.get(share)?, section.get(floor)?, section.get(limit)?);
    let given = section.get(window)?;
    if share.is_none() && floor.is_none() && limit.is_none() {
        return match given {
            None => Ok(None),
            Some(_) => Err(section.error(
                window.name(),
                "a window is of use only with a `share`, a `floor` or a `limit`",
                "give one, or take it out",
            )),
        };
    }
    let usual = Claim::default();
    let claim = Claim {
        share: share.unwrap_or(usual.share),
        floor: floor.unwrap_or(usual.floor),
        limit: limit.unwrap_or(usual.limit),
        window: given.unwrap_or(usual.window),
    };
    match check(&claim) {
        Ok(()) => Ok(Some(claim)),
        Err((key, what, mend)) => Err(section.error(key, what, mend)),
    }
}

/// Whether a claim can be kept by itself; else its key, what is wrong, and the mend.
///
/// # Errors
/// These.
pub fn check(claim: &Claim) -> Result<(), (&'static str, String, &'static str)> {
    let Claim { share, floor, limit, window } = *claim;
    if share <= 0.0 {
        return Err(("share", format!("a share of {share}"), "give a weight above 0"));
    }
    if share > HEAVIEST {
        return Err(("share", format!("a share of {share:e}"), "give a weight of at most a million"));
    }
    if limit <= 0.0 {
        return Err(("limit", "a limit of 0 lets nothing be served".into(), "give a part above 0"));
    }
    if limit > 1.0 {
        return Err(("limit", format!("a limit of {limit} is more than all of the arm's time"), "give a part up to 1"));
    }
    if floor < 0.0 {
        return Err(("floor", format!("a floor of {floor}"), "give a part from 0 to 1"));
    }
    if floor > limit {
        return Err(("floor", format!("a floor of {floor} is above the limit of {limit}"), "give a lower floor"));
    }
    if window < SHORTEST {
        return Err(("window", "a window is at least 10ms".into(), "give a longer time, such as 5s"));
    }
    Ok(())
}

pub(super) fn of_class(section: &Section) -> Result<Option<Claim>, BadInput> {
    read(section, [&of_class::SHARE, &of_class::FLOOR, &of_class::LIMIT], &of_class::WINDOW)
}

pub(super) fn of_volume(section: &Section) -> Result<Option<Claim>, BadInput> {
    read(section, [&of_volume::SHARE, &of_volume::FLOOR, &of_volume::LIMIT], &of_volume::WINDOW)
}

impl Experiment {
    /// What is promised to a class and kept from it by a floor of another: while that is paid a slice, nobody interrupts, and of those
    /// who come then more wait than a 99th percentile allows.
    pub(crate) fn floors_against_promises(&self) -> Vec<String> {
        let rules = &self.scheduler.rules;
        let Some(shares) = rules.shares.as_ref().filter(|_| rules.preemption == Preemption::Slo) else {
            return Vec::new();
        };
        let names = self.classes();
        let mut told = Vec::new();
        for (class, claim) in shares.claims().enumerate().filter(|(_, claim)| claim.floor > 0.0) {
            let slice = shares.slice(class as u8);
            for (name, p99) in self.promises().filter(|(name, _)| names.get(class) != Some(name)) {
                let late = claim.floor * (1.0 - p99.0 as f64 / slice.0 as f64);
                if late > LATE {
                    let (owed, slice, p99) = (names.get(class).unwrap_or(&""), slice.as_ms(), p99.as_ms());
                    told.push(format!(
                        "the floor of '{owed}' keeps the arm for {slice} ms at once: about {:.0} % of the requests of '{name}' that come at any time will wait for longer than its p99 of {p99} ms, of those that each follow an answer fewer, unless '{owed}' has a shorter `window` or a lower `floor`",
                        100.0 * late
                    ));
                }
            }
        }
        told
    }
}

/// Whether volumes of one priority are to be served alike where nobody says so: those of a disk that is given one command at a time,
/// each of a class of its own.
pub(super) fn is_usual(scheduler: &Scheduler, drive: &DriveChoice, volumes: &[Volume]) -> bool {
    let beside = |one: &Volume| volumes.iter().any(|it| it.priority == one.priority && it.class != one.class);
    let described = matches!(scheduler.profile, Believed::Drive(_));
    let turns = || described || matches!(drive.make_model(), Ok(Model::Disk(_)));
    let alone = drive.queue.is_none_or(|queue| queue == 1);
    volumes.iter().any(beside) && scheduler.may_share() && alone && turns()
}

/// What all of them may have; nothing where nobody says so, and it is not `fair`.
pub(super) fn rules(
    root: &Section,
    classes: &[ClassRule],
    names: &[&str],
    volumes: &[Volume],
    askers: &[Asker],
    fair: impl Fn() -> bool,
) -> Result<Option<ShareRules>, BadInput> {
    let claims =
        volumes.iter().any(|volume| volume.claim.is_some()) || classes.iter().any(|class| class.claim.is_some());
    if !claims && (!fair() || classes.len() < 2) {
        return Ok(None);
    }
    let mut rules = ShareRules::default();
    let mut homes = vec![None; names.len()];
    for volume in volumes {
        let Some(claim) = volume.claim else { continue };
        // Its workloads stand for its clients.
        let is_other = |asker: &Asker| asker.class == volume.class && asker.volume != Some(&volume.name);
        if askers.iter().any(is_other) {
            let what = format!(
                "volume '{}' has a share, a floor or a limit, and others have its class '{}'",
                volume.name, volume.class
            );
            let mend = format!(
                "give the volume a `class` of its own, or [scheduler.class.{}] what they may have together",
                volume.class
            );
            return Err(root.here(what, mend));
        }
        if let Some(home) = names.iter().position(|name| *name == volume.class) {
            homes[home] = Some(rules.volumes.len());
        }
        rules.volumes.push(claim);
    }
    let window = |home: Option<usize>| home.map_or(Claim::WINDOW, |home| rules.volumes[home].window);
    rules.classes = classes
        .iter()
        .zip(homes)
        .map(|(class, home)| {
            let usual = Claim { window: window(home), ..Claim::default() };
            (home, class.claim.unwrap_or(usual))
        })
        .collect();
    let top = rules.classes.iter().filter(|(home, _)| home.is_none()).map(|(_, claim)| claim).chain(&rules.volumes);
    let floors: f64 = top.map(|claim| claim.floor).sum();
    if floors > 1.0 + 1e-9 {
        let what = format!("the floors are {floors:.2} of the arm together");
        return Err(root.here(what, "give floors that are 1 at most together, better 0.95"));
    }
    Ok(Some(rules))
}
