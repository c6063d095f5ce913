//! What may be set differently in an experiment, and parts of its load to try settings on.
//!
//! Knobs are taken from what is declared: every policy and every rule of preemption there is, how many commands the drive is given,
//! how long commands are, shares and floors of classes, and who goes first. The first choice of each knob is what the file says, so that
//! a candidate of noughts is the experiment as it is.

mod stack;

pub use stack::Stack;

use crate::experiment::{self, Case, Experiment, Kind};
use crate::goal::SettingGoal;
use crate::origin;
use crate::results::Run;
use block::{At, BadInput, Span};
use config::Document;
use sched::{policy, preemption};
use std::path::{Path, PathBuf};

/// Commands given to the drive at once, lengths of commands, shares and floors that are tried.
const QUEUES: [u16; 6] = [1, 2, 4, 8, 16, 32];
const CHUNKS: [&str; 6] = ["64KiB", "128KiB", "256KiB", "512KiB", "1MiB", "2MiB"];
const SHARES: [u32; 3] = [2, 4, 16];
const FLOORS: [&str; 3] = ["0.1", "0.2", "0.4"];
/// Parts of the unseen half by which a gain is judged.
const UNSEEN_PARTS: u32 = 8;

/// Something that may be set.
#[derive(Clone, Debug)]
pub struct Knob {
    /// The key that it sets, for people.
    pub name: String,
    /// What it may be set to; the first is what the file says.
    pub choices: Vec<KnobChoice>,
}

/// One way to set a knob: keys that go, and `--set`s.
#[derive(Clone, Debug, Default)]
pub struct KnobChoice {
    /// Keys of a table that have no meaning with it.
    takes_out: Vec<(&'static str, Vec<&'static str>)>,
    /// As `--set` has them.
    pub sets: Vec<String>,
    /// The same in the words of a [`Stack`]; nothing where there is none.
    words: Vec<String>,
}

/// A choice of each knob, by its place.
pub type TrialSetting = Vec<usize>;

/// A part of the load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LoadPart {
    /// All of it, once.
    Whole,
    /// This share of the first half, from its beginning.
    Seen(f64),
    /// One of the [`SearchSpace::unseen_parts`] of the second half: a stretch of a trace; of what is drawn, other draws.
    Unseen(u32),
    /// All of the second half: of what is drawn, as many draws as there are parts.
    Rest,
}

/// How a load is cut.
#[derive(Clone, Copy, Debug, PartialEq)]
enum LoadCut {
    /// A trace that is all there is, by its requests: how many come before those replayed, and how many these are.
    Requests { before: u64, count: u64 },
    /// Anything else by time, behind what is not counted.
    Time { warm_up: Span, length: Span },
}

/// An experiment with all that may be set in it.
#[derive(Clone)]
pub struct SearchSpace {
    document: Document,
    path: PathBuf,
    /// The experiment as it is.
    pub experiment: Experiment,
    /// In the order in which they are set.
    pub knobs: Vec<Knob>,
    /// What people run that is advised for; else Halfturn itself.
    stack: Option<Stack>,
    /// Nothing as long as nobody knows how long the load is.
    cut: Option<LoadCut>,
}

impl SearchSpace {
    /// That of an experiment with these `sets` and this seed, as if it were that of a file of this path, for a goal.
    ///
    /// # Errors
    /// Bad input with file, line and mend; where lists stand in the place of values; when the goal is none.
    pub fn of(
        mut document: Document,
        path: &Path,
        sets: &[String],
        seed: Option<u64>,
    ) -> Result<SearchSpace, BadInput> {
        experiment::change(&mut document, sets, seed)?;
        let mut cases = experiment::read(document.clone(), path, &[], None)?;
        let (Some(case), true) = (cases.pop(), cases.is_empty()) else {
            let what = "lists stand where values should: what is to be set is searched for";
            let mend = "write one value each, or choose one by --set";
            return Err(BadInput::new(path.display().to_string(), At::File, what, mend));
        };
        let experiment = case.experiment;
        Ok(SearchSpace { document, path: path.to_owned(), experiment, knobs: Vec::new(), stack: None, cut: None })
    }

    /// The same under what people run: as that comes, unless the experiment has its policy and what is set of it.
    ///
    /// # Errors
    /// When the experiment does not go with it.
    pub fn under(&self, stack: Stack) -> Result<SearchSpace, BadInput> {
        let mut document = self.document.clone();
        stack.put_into(&mut document, &self.experiment)?;
        Ok(SearchSpace { stack: Some(stack), ..SearchSpace::of(document, &self.path, &[], None)? })
    }

    /// Finds what may be set to reach a goal.
    #[must_use]
    pub fn with_knobs(self, goal: &SettingGoal) -> SearchSpace {
        let knobs = match self.stack {
            None => knobs(&self.experiment, goal),
            Some(stack) => {
                let mut knobs = stack.knobs(&self.experiment);
                knobs.extend(queue_knob(&self.experiment));
                if matches!(stack, Stack::Linux | Stack::Md) {
                    knobs.extend(first_knobs(&self.experiment, goal));
                    knobs.extend(stack::mark_knob(&self.experiment, goal));
                }
                knobs
            }
        };
        SearchSpace { knobs, ..self }
    }

    /// What people run that is advised for, if that is not Halfturn.
    #[must_use]
    pub fn stack(&self) -> Option<Stack> {
        self.stack
    }

    /// Whether it is settled how the load is cut.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.cut.is_some()
    }

    /// Cuts the load in half, by what a run of [`LoadPart::Whole`] came to.
    ///
    /// # Errors
    /// When a trace has not a request for each half.
    pub fn cut(&mut self, whole: &Run) -> Result<(), BadInput> {
        let trace = match &self.experiment.workloads[..] {
            [experiment::Workload { kind: Kind::Trace(trace), .. }] => Some(trace),
            _ => None,
        };
        self.cut = Some(match trace {
            Some(trace) if whole.requests < 2 => {
                let what = format!("requests: {}, of which there are no two halves", whole.requests);
                let mend = "give a trace of some hundred requests or more, or more of it";
                return Err(BadInput::new(trace.file.display().to_string(), At::File, what, mend));
            }
            Some(trace) => LoadCut::Requests { before: trace.skip, count: whole.requests },
            None => {
                let length = Span((whole.simulated_seconds * 1e9) as u64);
                LoadCut::Time { warm_up: self.experiment.run.warmup, length }
            }
        });
        Ok(())
    }

    /// How many parts the half is looked at in that is not seen: of a short trace no more than it has requests.
    #[must_use]
    pub fn unseen_parts(&self) -> u32 {
        match self.cut {
            Some(LoadCut::Requests { count, .. }) => (count - count / 2).min(UNSEEN_PARTS.into()) as u32,
            _ => UNSEEN_PARTS,
        }
    }

    /// Cuts the load where another does.
    #[must_use]
    pub fn cut_like(self, other: &SearchSpace) -> SearchSpace {
        SearchSpace { cut: other.cut, ..self }
    }

    /// The experiment as it is.
    #[must_use]
    pub fn today(&self) -> TrialSetting {
        vec![0; self.knobs.len()]
    }

    /// How many candidates there are, whether they can be run or not.
    #[must_use]
    pub fn size(&self) -> f64 {
        self.knobs.iter().map(|knob| knob.choices.len() as f64).product()
    }

    /// What is set otherwise than today, as `--set` has it.
    #[must_use]
    pub fn tell(&self, candidate: &TrialSetting) -> Vec<String> {
        let chosen = self.knobs.iter().zip(candidate).flat_map(|(knob, choice)| &knob.choices[*choice].sets);
        let set = |set: &&String| self.document_of(candidate).is_ok_and(|document| says(&document, set));
        chosen.filter(set).cloned().collect()
    }

    /// The same as one does it where a [`Stack`] runs; nothing where none does.
    #[must_use]
    pub fn tell_words(&self, candidate: &TrialSetting) -> Vec<String> {
        let chosen = self.knobs.iter().zip(candidate).flat_map(|(knob, choice)| &knob.choices[*choice].words);
        chosen.cloned().collect()
    }

    /// A candidate under a part of the load.
    ///
    /// # Errors
    /// When what it sets does not go together.
    pub fn case(&self, candidate: &TrialSetting, part: LoadPart) -> Result<Case, BadInput> {
        let mut document = self.document_of(candidate)?;
        self.put_part(&mut document, part)?;
        let mut cases = experiment::read(document, &self.path, &[], None)?;
        Ok(cases.pop().expect("an experiment has at least one case"))
    }

    /// Two candidates of the same text are the same.
    ///
    /// # Errors
    /// When what it sets does not go together.
    pub fn text(&self, candidate: &TrialSetting) -> Result<String, BadInput> {
        origin::portable(self.document_of(candidate)?, &self.path, &[], None)
    }

    /// A service file with what a candidate sets: the volumes of the experiment, or one for each class on an emulated drive.
    ///
    /// # Errors
    /// When it cannot be served.
    pub fn service(&self, candidate: &TrialSetting) -> Result<String, BadInput> {
        let text = self.text(candidate)?;
        let mut document = Document::parse("advised", &text)?;
        for key in ["workload", "run", "system", "title"] {
            document.take_out_of_root(key);
        }
        if self.experiment.drive.live.is_none() {
            let model = &self.experiment.drive.model;
            document.take_out("drive", &["model"]);
            document.set(&format!("drive.path={}", config::quote(&format!("emulated:{model}"))))?;
        }
        let mut text = document.write();
        if self.experiment.volumes.is_empty() {
            text += &self.volumes(candidate)?;
        }
        experiment::parse_service("advised", &text, &[])?;
        Ok(text)
    }

    /// A volume for each class, of equal size but for the last, which has the rest.
    fn volumes(&self, candidate: &TrialSetting) -> Result<String, BadInput> {
        let experiment = self.case(candidate, LoadPart::Whole)?.experiment;
        let classes = experiment.classes();
        let size = 1000 / classes.len().max(1);
        let blocks = match disk::catalogue::model(&experiment.drive.model)? {
            disk::Model::Disk(drive) => drive.sheet.mechanics.layout.blocks(),
            disk::Model::Other(other) => other.blocks(),
        };
        let mut text = String::new();
        for (place, class) in classes.iter().enumerate() {
            let priority =
                experiment.workloads.iter().find(|workload| workload.class == **class).map_or(0, |it| it.priority);
            let name = config::quote(class);
            text += &format!("\n[[volume]]\nname = {name}\nclass = {name}\npriority = {priority}\n");
            if place + 1 < classes.len() {
                text += &format!("size = \"{} blocks\"\n", blocks / 1000 * size as u64 / 8 * 8);
            }
        }
        Ok(text)
    }

    fn document_of(&self, candidate: &TrialSetting) -> Result<Document, BadInput> {
        let mut document = self.document.clone();
        for (knob, choice) in self.knobs.iter().zip(candidate) {
            let choice = &knob.choices[*choice];
            // Without short commands there is no length of them.
            if knob.name == CHUNK && !is_short(&document) {
                continue;
            }
            choice.takes_out.iter().for_each(|(table, keys)| document.take_out(table, keys));
            choice.sets.iter().try_for_each(|set| document.set(set))?;
        }
        Ok(document)
    }

    fn put_part(&self, document: &mut Document, part: LoadPart) -> Result<(), BadInput> {
        let time = |span: Span| format!("\"{}ns\"", span.0);
        document.set("run.replications=1")?;
        match (part, self.cut) {
            (LoadPart::Whole, _) | (_, None) => {
                // A trace is counted from its first request on.
                if let [only] = &self.experiment.workloads[..]
                    && matches!(only.kind, Kind::Trace(_))
                {
                    document.set("run.warmup=\"0s\"")?;
                }
                Ok(())
            }
            (_, Some(LoadCut::Requests { before, count })) => {
                let half = count / 2;
                let (skip, take) = match part {
                    LoadPart::Unseen(number) => {
                        let from =
                            |number: u32| half + (count - half) * u64::from(number) / u64::from(self.unseen_parts());
                        (from(number), from(number + 1) - from(number))
                    }
                    LoadPart::Seen(share) => (0, (half as f64 * share) as u64),
                    LoadPart::Rest => (half, count - half),
                    LoadPart::Whole => (0, count),
                };
                document.take_out("run", &["requests", "duration"]);
                document.set("run.warmup=\"0s\"")?;
                document.set(&format!("workload.0.skip={}", before + skip))?;
                document.set(&format!("workload.0.take={}", take.max(1)))
            }
            (_, Some(LoadCut::Time { warm_up, length })) => {
                let half = Span(length.0 / 2);
                document.take_out("run", &["requests"]);
                let (from, to, draws) = match part {
                    LoadPart::Seen(share) => (warm_up, warm_up + Span((half.0 as f64 * share) as u64), 0),
                    LoadPart::Unseen(number) => (warm_up + half, warm_up + length, u64::from(number) + 1),
                    LoadPart::Rest => (warm_up + half, warm_up + length, 1),
                    LoadPart::Whole => (warm_up, warm_up + length, 0),
                };
                if part == LoadPart::Rest {
                    document.set(&format!("run.replications={UNSEEN_PARTS}"))?;
                }
                document.set(&format!("run.warmup={}", time(from)))?;
                document.set(&format!("run.duration={}", time(to)))?;
                document.set(&format!("run.seed={}", (self.experiment.run.seed.wrapping_add(draws)) & SEEDS))
            }
        }
    }
}

/// Seeds that a file can say.
const SEEDS: u64 = i64::MAX as u64;

const CHUNK: &str = "scheduler.plan.chunk";

fn is_short(document: &Document) -> bool {
    let scheduler = document.root().section("scheduler").ok().flatten();
    scheduler.and_then(|scheduler| scheduler.string("io").ok().flatten()).is_some_and(|io| io == "semi-preemptible")
}

/// Whether a document has what a `--set` says, or something that came after it.
fn says(document: &Document, set: &str) -> bool {
    !set.starts_with(CHUNK) || is_short(document)
}

fn knobs(experiment: &Experiment, goal: &SettingGoal) -> Vec<Knob> {
    let mut knobs = vec![knob("scheduler.policy", policies()), knob("scheduler.preemption", rules())];
    let chunks = CHUNKS.iter().map(|chunk| set(format!("{CHUNK}=\"{chunk}\"")));
    knobs.push(knob(CHUNK, chunks.collect()));
    knobs.extend(queue_knob(experiment));
    let classes = experiment.classes();
    let told = classes.iter().filter(|class| classes.len() > 1 && !class.contains(['.', '=']));
    for class in told {
        let name = format!("scheduler.class.{class}");
        knobs.push(knob(
            &format!("{name}.share"),
            SHARES.iter().map(|share| set(format!("{name}.share={share}"))).collect(),
        ));
        knobs.push(knob(
            &format!("{name}.floor"),
            FLOORS.iter().map(|floor| set(format!("{name}.floor={floor}"))).collect(),
        ));
    }
    knobs.extend(first_knobs(experiment, goal));
    knobs
}

/// How many commands the drive is given, which is told to Linux whatever is above it; nothing of an array's.
fn queue_knob(experiment: &Experiment) -> Option<Knob> {
    let depth = disk::catalogue::model(&experiment.drive.model).map_or(1, |model| model.depth());
    let choice = |queue: u16| KnobChoice {
        sets: vec![format!("drive.queue={queue}")],
        words: vec![format!("echo {queue} > /sys/block/DEV/device/queue_depth")],
        ..KnobChoice::default()
    };
    let queues = QUEUES.into_iter().filter(|queue| *queue <= depth).map(choice);
    experiment.array.is_none().then(|| knob("drive.queue", queues.collect()))
}

/// Each class that has a bound, before all others.
fn first_knobs(experiment: &Experiment, goal: &SettingGoal) -> Vec<Knob> {
    let mut knobs: Vec<Knob> = Vec::new();
    for class in goal.bounds.iter().filter_map(|bound| bound.of.class.as_deref()) {
        let sets = raise(experiment, class);
        if experiment.classes().len() > 1 && !sets.is_empty() && !knobs.iter().any(|knob| knob.name == sets[0]) {
            let words = vec![format!("serve {class} first: ionice -c 1 for its processes")];
            knobs.push(knob(&sets[0].clone(), vec![KnobChoice { sets, words, ..KnobChoice::default() }]));
        }
    }
    knobs
}

/// What has a class go before all others, if it does not yet and can.
fn raise(experiment: &Experiment, class: &str) -> Vec<String> {
    if is_over_all(experiment, class) {
        return Vec::new();
    }
    let highest = experiment.workloads.iter().map(|workload| workload.priority).max().unwrap_or(0);
    let own =
        |(_, workload): &(usize, &experiment::Workload)| workload.class == class && !workload.kind.has_processes();
    let own = experiment.workloads.iter().enumerate().filter(own);
    own.map(|(place, _)| format!("workload.{place}.priority={}", highest + 1)).collect()
}

/// Whether a class goes before all others already.
fn is_over_all(experiment: &Experiment, class: &str) -> bool {
    let (own, others): (Vec<_>, Vec<_>) = experiment.workloads.iter().partition(|workload| workload.class == class);
    others.iter().all(|other| own.iter().all(|it| it.priority > other.priority))
}

fn knob(name: &str, others: Vec<KnobChoice>) -> Knob {
    Knob { name: name.into(), choices: [vec![KnobChoice::default()], others].concat() }
}

fn set(text: String) -> KnobChoice {
    KnobChoice { sets: vec![text], ..KnobChoice::default() }
}

/// Every policy there is, with the values its keys usually have where the file does not say.
fn policies() -> Vec<KnobChoice> {
    let choice = |manual: &policy::Manual| {
        let own = |key: &&str| manual.keys.iter().any(|its| its.name == *key);
        let others: Vec<&str> = policy::ALL
            .iter()
            .flat_map(|other| other.keys.iter().map(|key| key.name))
            .filter(|key| !own(key))
            .collect();
        KnobChoice {
            takes_out: vec![("scheduler", others)],
            sets: vec![format!("scheduler.policy=\"{}\"", manual.name)],
            words: Vec::new(),
        }
    };
    policy::ALL.iter().map(choice).collect()
}

/// Every rule of preemption there is, over short commands; and whole requests that nobody interrupts.
fn rules() -> Vec<KnobChoice> {
    let keys = |own: &[config::About]| -> Vec<&'static str> {
        let all = preemption::ALL.iter().flat_map(|manual| manual.keys.iter().map(|key| key.name));
        all.filter(|key| !own.iter().any(|its| its.name == *key)).collect()
    };
    let short = preemption::ALL.iter().map(|manual| KnobChoice {
        // Short commands go to the drive one at a time.
        takes_out: vec![("scheduler", keys(manual.keys)), ("drive", vec!["queue"])],
        sets: vec!["scheduler.io=\"semi-preemptible\"".into(), format!("scheduler.preemption=\"{}\"", manual.name)],
        words: Vec::new(),
    });
    let takes_out = vec![("scheduler", [keys(&[]), vec!["plan", "preemption"]].concat())];
    let whole = KnobChoice { takes_out, sets: vec!["scheduler.io=\"non-preemptible\"".into()], words: Vec::new() };
    short.chain([whole]).collect()
}

#[cfg(test)]
mod tests;
