//! `[scheduler]`: the policy, what it believes and its knobs.

use super::asker::Asker;
use super::varied::{Scope, Varied, refuse_later};
use super::{DriveChoice, Predictor, drive, service};
use block::{BadInput, Span};
use config::{Document, Section};
use sched::Limits;
use sched::plan::{LastFua, Preemption, Rules};
use sched::planner::Wish;
use sched::policy::{self, Chosen, Manual, Needs};
use sched::predict::{PROFILE, Tells, mimic};
use std::path::Path;

/// Policies that others have by a name of its own, and what they come with here.
const LATER: [(&str, &str); 1] = [("scan-edf", "policy = \"edf\" and `near`")];
/// Requests inside the core at most.
const LONGEST_QUEUE: u32 = 1 << 20;

config::keys! {
    /// In which order requests are served, what is believed of the drive, and who may interrupt whom.
    pub(super) fn scheduler() -> "[scheduler]";

    /// The order in which waiting requests are served. `halfturn help POLICY` explains each; some have keys of their own. A service
    /// file that names none has `auto`.
    POLICY: &'static str = one_of("policy", || policy::ALL.iter().map(|manual| (manual.name, manual.text)).collect()).required();
    /// What the scheduler believes of the drive.
    PREDICTOR: Predictor = word("predictor").else_told("`profile`; `distance` of what is not a disk; `mimic` with `smtf`; `in-use` with `auto`");
    /// For how long a device that is learned in use is left alone before it is read to learn it, one read at a time; with `auto` or
    /// predictor = "in-use". Such reads take the drive's idle time and room in its cache, and end once it is known.
    PROBE_AFTER: Span = span("probe_after").else_told("never");
    /// How many requests the scheduler sees at once; the others wait in order of arrival. Or a table, `[scheduler.queue]`.
    QUEUE: u32 = within("queue", 1, LONGEST_QUEUE).usually("65536");
    /// Whether classes of one priority share out the arm's time evenly where none has a `share`, a `floor` or a `limit`. Else who keeps
    /// more requests outstanding gets more, and with an order such as `satf` nearly all.
    FAIR: bool = bool("fair").else_told("true where volumes of one priority and of different classes lie on a disk whose times are known, and `queue` of [drive], preemption by value and a policy by value do not say otherwise");
}

config::keys! {
    /// How much is handed down to a drive that orders commands itself.
    pub(super) fn queue_keys() -> "[scheduler.queue]";

    /// How many requests the scheduler sees at once; the others wait in order of arrival.
    SEEN: u32 = within("seen", 1, LONGEST_QUEUE).usually("65536");
    /// The most commands in the drive at once.
    MOST: u32 = within("most", 1, 4096).else_told("the drive's `queue`");
    /// While an urgent request may come, the drive holds only as many commands as it is believed to serve in this time, and at
    /// least one; nothing less urgent follows an urgent request into the drive. Urgent is, by `preemption`, a higher priority,
    /// a class that preempts, or a class with a `p99`. In short commands, requests are whole and many at once while none may
    /// come.
    LATENCY: Span = span("latency").else_told("as many commands as the drive takes, always");
    /// For how long after an urgent request another one may come.
    ALERT: Span = span("alert").else_told("four times the longest gap between recent urgent requests, from 100ms to 10s");
}

config::keys! {
    /// What is read where it costs no request anything, for workloads of `kind = "scan"`.
    pub(super) fn free_keys() -> "[scheduler.free]";

    /// Whether it is read. Then the drive is given one command at a time where the file does not give it a `queue`, since
    /// only so it is known what passes under its head.
    ENABLED: bool = bool("enabled").usually("true");
}

/// How requests are ordered.
#[derive(Clone, Debug, PartialEq)]
pub struct Scheduler {
    /// The policy, and the values of its keys.
    pub policy: Chosen,
    /// What it believes of the drive; where the file does not say, a disk's mechanics, and of anything else distance.
    pub predictor: Option<Predictor>,
    /// Where the mechanics that `predictor = "profile"` believes come from.
    pub profile: Believed,
    /// Of the Disk Mimic.
    pub mimic: mimic::Settings,
    /// For how long a device is left alone before it is read to learn it, where that is allowed.
    pub probe_after: Option<Span>,
    /// The bound on requests inside the core.
    pub queue: u32,
    /// How much it hands down to a drive with a queue, where that is bounded.
    pub limits: Option<Limits>,
    /// Whether in short commands, and who steps in between. A plan whose chunk is 0 leaves that to the drive's sheet.
    pub rules: Rules,
    /// Whether classes share out the arm's time where none has a claim of its own, if the file says.
    pub fair: Option<bool>,
    /// Whether what a scan wants is read.
    pub free: bool,
    /// The wait that the plan is to keep, where one is wanted: then chunk and split are picked.
    pub wish: Option<Wish>,
}

impl Scheduler {
    /// Whether the drive is given one command at a time where the file does not say how many: where requests are served in short
    /// commands throughout, where what is learned is what one command after another takes, and where perfect knowledge is of one.
    pub(super) fn gives_one(&self) -> bool {
        let deep = self.limits.is_some_and(|limits| limits.latency.is_some());
        let one_by_one = matches!(self.predictor, Some(Predictor::Mimic | Predictor::Oracle));
        // Of what is in the drive it is not told whose turn it is.
        let shared = self.rules.shares.is_some() && self.limits.is_none_or(|limits| limits.most.is_none());
        ((self.rules.plan.is_some() || shared) && !deep) || one_by_one
    }

    /// Whether it orders by what requests take of a disk or by where they lie, one command at a time, and classes by nothing else: so
    /// that the arm's time may be shared out.
    pub(super) fn may_share(&self) -> bool {
        let needs = self.policy.manual().needs;
        let ranks = [Preemption::Never, Preemption::Always, Preemption::Priority].contains(&self.rules.preemption);
        let known = self.predictor.is_none_or(|predictor| predictor == Predictor::Profile);
        matches!(needs, Needs::Nothing | Needs::Any | Needs::Learning)
            && !self.policy.shares_out()
            && ranks
            && known
            && self.limits.is_none()
    }

    /// What of it must know how long requests take, if anything must.
    pub(crate) fn weighs_times(&self) -> Option<&'static str> {
        let orders = self.rules.classes.iter().filter_map(|class| class.order).chain([self.policy]);
        let by_times = orders.map(|order| order.manual()).find(|order| order.needs == Needs::Times);
        let by_schedules = self.rules.preemption.manual().needs == Tells::Times;
        by_times.map(|order| order.name).or(by_schedules.then_some("preemption by whole schedules"))
    }
}

/// Whose word on a disk's mechanics is taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Believed {
    /// That of the sheet of the drive itself.
    #[default]
    Sheet,
    /// That of a profile made before the run, of another drive of the same make.
    Learned,
    /// That of a drive file, such as `halfturn profile` writes, or of another drive in the catalogue.
    Drive(String),
}

impl Scheduler {
    /// Whether it can tell how a command is served that waits in the drive for the one before, where the drive's file says so.
    pub(super) fn foresees_followers(&self) -> bool {
        let known = self.predictor.is_none_or(|predictor| predictor == Predictor::Profile);
        let any_order = self.rules.classes.iter().any(|class| class.any_order);
        known && self.learns_nothing_before() && !any_order && self.limits.is_none() && self.rules.plan.is_none()
    }

    /// Whether it believes of each disk what the sheet of that says, and knows nothing else before the run.
    pub(super) fn believes_each_sheet(&self) -> bool {
        self.profile == Believed::Sheet && self.learns_nothing_before()
    }

    /// Whether no distances are measured before the run, and nothing planned for it.
    fn learns_nothing_before(&self) -> bool {
        self.mimic.before == mimic::Before::Nothing && self.wish.is_none()
    }
}

pub(super) fn read(
    root: &Section,
    folder: &Path,
    drive: &DriveChoice,
    askers: &[Asker],
    varied: &Varied,
) -> Result<Scheduler, BadInput> {
    let section = root.section("scheduler")?;
    let section = section.ok_or_else(|| root.here("no [scheduler]", "add [scheduler] with its `policy`"))?;
    let policy = policy(&section, varied)?;
    let predictor = predictor(&section, policy.manual().needs, varied)?;
    let mimic = match section.section("mimic")? {
        Some(section) => mimic::Settings::read(&section, folder)?,
        None => mimic::Settings::default(),
    };
    let probe_after = section.get(&PROBE_AFTER)?;
    if probe_after.is_some() && predictor != Some(Predictor::InUse) {
        let what = "`probe_after` is of use only where the device is learned in use";
        let mend = "take it out, or use policy = \"auto\" without `profile`; that of the Disk Mimic stands in [scheduler.mimic]";
        return Err(section.error("probe_after", what, mend));
    }
    let profile = read_belief(&section, folder, predictor)?;
    let (queue, limits) = queue(&section, drive)?;
    let (mut rules, wish) = service::read(&section, drive, limits.as_ref(), askers, varied)?;
    if let Some(plan) = rules.plan.as_mut().filter(|_| root.has("array") && !says_where_writes_end(&section)) {
        // Each stripe unit would end in a turn of waiting; what has to be on the medium is told so by itself.
        plan.last_fua = LastFua::Never;
    }
    if limits.is_some_and(|limits| limits.latency.is_some()) && !rules.preemption.ranks() {
        let mend = "add preemption = \"priority\", \"always\" or \"slo\", or take `latency` out";
        return Err(section.error("queue", "`latency` is for who is urgent, and nobody is", mend));
    }
    let free = match section.section("free")? {
        Some(table) => {
            let enabled = table.value(&ENABLED)?;
            table.close()?;
            enabled
        }
        None => true,
    };
    let fair = section.get(&FAIR)?;
    let scheduler =
        Scheduler { policy, predictor, profile, mimic, probe_after, queue, limits, rules, fair, free, wish };
    check_times(&section, &scheduler)?;
    section.close()?;
    Ok(scheduler)
}

/// Whether a file names a policy.
pub(super) fn names_policy(document: &Document) -> Result<bool, BadInput> {
    let root = document.root();
    let section = root.section("scheduler")?;
    Ok(section.is_some_and(|section| section.has(POLICY.name())))
}

/// `policy`, and its keys. A key of a policy that another run of the sweep uses is known, too.
fn policy(section: &Section, varied: &Varied) -> Result<Chosen, BadInput> {
    refuse_later(section, &POLICY, &LATER)?;
    let name = section.value(&POLICY)?;
    for key in policy::ALL.iter().flat_map(|manual| manual.keys) {
        let has = |manual: &&Manual| manual.keys.iter().any(|its| its.name == key.name);
        let users: Vec<_> = policy::ALL.iter().filter(has).map(|manual| manual.name).collect();
        varied.belongs(Scope::Scheduler, section, key.name, "policy", &users)?;
    }
    section.need(POLICY.name(), policy::read(name, section)?)
}

/// `queue`: how many requests are seen at once; or [scheduler.queue]: that, and how much is handed down to the drive.
fn queue(section: &Section, drive: &DriveChoice) -> Result<(u32, Option<Limits>), BadInput> {
    let Ok(Some(table)) = section.section("queue") else {
        return Ok((section.value(&QUEUE)?, None));
    };
    let seen = table.value(&SEEN)?;
    let most = table.get(&MOST)?.map(|most| most as u16);
    if let (Some(most), Some(given)) = (most, drive.queue.filter(|given| most > Some(*given))) {
        let what = format!("{most} commands are to be handed down, and the drive is given {given} at once");
        return Err(table.error("most", what, "give a greater `queue` in [drive], or a smaller `most`"));
    }
    let (latency, alert) = (table.get(&LATENCY)?, table.get(&ALERT)?);
    if alert.is_some() && latency.is_none() {
        return Err(table.error("alert", "`alert` is of use only with a `latency`", "give one, or take it out"));
    }
    if latency == Some(Span::ZERO) {
        let mend = "give a time such as 20ms; one command is always handed down";
        return Err(table.error("latency", "nothing can be done in no time", mend));
    }
    table.close()?;
    let limits = (most.is_some() || latency.is_some()).then_some(Limits { most, latency, alert });
    Ok((seen, limits))
}

/// Whether the file says of itself, or by a preset, whether a write in short commands ends on the medium.
fn says_where_writes_end(section: &Section) -> bool {
    let plan = section.section("plan").ok().flatten();
    plan.is_some_and(|plan| plan.has("last_chunk_fua") || plan.has("preset"))
}

fn predictor(section: &Section, needs: Needs, varied: &Varied) -> Result<Option<Predictor>, BadInput> {
    let given = section.get(&PREDICTOR)?;
    if given != Some(Predictor::Mimic) {
        varied.belongs(Scope::Scheduler, section, "mimic", "policy", &["smtf"])?;
    }
    match given {
        Some(other) if needs == Needs::Mimic && other != Predictor::Mimic => {
            let mend = "take `predictor` out, or use policy = \"satf\"";
            Err(section.error("predictor", "smtf goes by the Disk Mimic", mend))
        }
        None if needs == Needs::Mimic => Ok(Some(Predictor::Mimic)),
        None if needs == Needs::Learning && !section.has("profile") => Ok(Some(Predictor::InUse)),
        given => Ok(given),
    }
}

/// What weighs times is not for a predictor that tells none.
fn check_times(section: &Section, scheduler: &Scheduler) -> Result<(), BadInput> {
    match scheduler.weighs_times() {
        Some(who) if scheduler.predictor.is_some_and(|predictor| predictor.manual().tells < Tells::Times) => {
            let what = format!("{who} weighs times, and distance tells none");
            Err(section.error("predictor", what, "use predictor = \"mimic\", or of a disk \"profile\""))
        }
        _ => Ok(()),
    }
}

fn read_belief(section: &Section, folder: &Path, predictor: Option<Predictor>) -> Result<Believed, BadInput> {
    let Some(given) = section.get(&PROFILE)? else { return Ok(Believed::Sheet) };
    if !matches!(predictor, None | Some(Predictor::Profile)) {
        let what = "`profile` is of use only with predictor = \"profile\"";
        return Err(section.error("profile", what, "take it out, or let `predictor` be \"profile\""));
    }
    Ok(match given.as_str() {
        "sheet" => Believed::Sheet,
        "learned" => Believed::Learned,
        name => {
            let model = drive::beside(folder, name);
            if let Err(error) = disk::catalogue::check(&model) {
                let mend = "give \"sheet\", \"learned\", or a file that `halfturn profile -o` wrote";
                return Err(section.error("profile", error.what, mend));
            }
            Believed::Drive(model)
        }
    })
}
