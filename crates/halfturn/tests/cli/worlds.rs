//! `simulate`, `bench` and `serve` agree: over every policy, rule of preemption, predictor and kind of device they accept or refuse
//! the same with the same words, but for what one of the worlds cannot do, which it says as its abilities have it.

use crate::{root, run_in};
use block::BadInput;
use disk::other::FORMS;
use load::experiment::{self, DriveChoice, Experiment};
use load::schedule::{Ability, Device, check};
use sched::{policy, predict, preemption};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Two workloads in two volumes: one class for `slo` to promise something to.
const ASKED: &str = "
[[volume]]
name = \"interactive\"
size = \"64MiB\"
priority = 1
[[volume]]
name = \"bulk\"
[[workload]]
name = \"reader\"
volume = \"interactive\"
kind = \"closed\"
depth = 2
size = \"4KiB\"
deadline = \"10s\"
[[workload]]
name = \"stream\"
volume = \"bulk\"
kind = \"closed\"
depth = 2
size = \"256KiB\"
deadline = \"10s\"
[run]
requests = 30
";

/// Lines of `[drive]` for a device of each kind, as a model and as what serves.
fn devices() -> Vec<String> {
    let kind = |name: &str| match disk::catalogue::model(name).expect("a drive of the catalogue") {
        disk::Model::Disk(_) => "disk",
        disk::Model::Other(other) => other.kind.form().word,
    };
    let words = std::iter::once("disk").chain(FORMS.iter().map(|form| form.word));
    let mut devices = vec!["path = \"ram:1GiB\"".to_owned(), "path = \"/dev/null\"".into()];
    for word in words {
        let all = disk::catalogue::names().chain(disk::catalogue::others());
        let name = all.into_iter().find(|name| kind(name) == word).unwrap_or_else(|| panic!("there is no {word}"));
        devices.push(format!("model = \"{name}\""));
        devices.push(format!("path = \"emulated:{name}\""));
        devices.push(format!("path = \"/dev/null\"\nmodel = \"{name}\""));
    }
    devices
}

/// Lines of `[scheduler]` beside the policy: every rule of preemption, whole and in short commands, by every predictor.
fn schedulers() -> Vec<String> {
    let short = "io = \"semi-preemptible\"";
    let predictors = predict::ALL.iter().map(|manual| format!("predictor = \"{}\"\n", manual.name));
    let predictors: Vec<String> = std::iter::once(String::new()).chain(predictors).collect();
    let mut all = Vec::new();
    for manual in preemption::ALL {
        for predictor in &predictors {
            all.push(format!("{predictor}{}", manual.example));
            if !manual.example.contains(short) {
                all.push(format!("{predictor}{short}\n{}", manual.example));
            }
        }
    }
    all
}

fn text(device: &str, policy: &str, more: &str) -> String {
    format!("[drive]\n{device}\n[scheduler]\n{policy}\n{more}\n{ASKED}")
}

/// What each world says of experiments, of which many have the same drive.
#[derive(Default)]
struct Worlds {
    devices: Vec<(DriveChoice, Device)>,
}

impl Worlds {
    fn device(&mut self, choice: &DriveChoice) -> Result<Device, BadInput> {
        if let Some((_, device)) = self.devices.iter().find(|(known, _)| known == choice) {
            return Ok(device.clone());
        }
        let device = Device::of(choice)?;
        self.devices.push((choice.clone(), device.clone()));
        Ok(device)
    }

    /// What a world that is able to do this says: nothing where it accepts.
    fn says(&mut self, read: &Result<Experiment, BadInput>, able: &[Ability]) -> Option<String> {
        let verdict = match read {
            Ok(experiment) => {
                self.device(&experiment.drive).and_then(|device| check(experiment, &device, able).map(drop))
            }
            Err(error) => Err(error.clone()),
        };
        verdict.err().map(|error| error.to_string())
    }

    /// What `simulate`, `bench` and `serve` say.
    fn verdicts(&mut self, text: &str) -> [Option<String>; 3] {
        let asked = experiment::parse("f.toml", text, &[], None).map(|mut cases| cases.remove(0).experiment);
        let served = experiment::parse_service("f.toml", text, &[]);
        [self.says(&asked, sim::ABLE), self.says(&asked, live::make::ABLE), self.says(&served, live::make::ABLE)]
    }
}

/// Whether a world that is able to do this refuses since it cannot do something else.
fn lacks(said: &str, able: &[Ability]) -> bool {
    Ability::ALL.iter().any(|ability| !able.contains(ability) && said.contains(ability.refusal()))
}

/// What the worlds say of experiments on a device: how often what, and those of which they disagree.
#[derive(Default)]
struct Agreement {
    counts: BTreeMap<&'static str, u32>,
    disagree: Vec<String>,
}

impl Agreement {
    /// Asks the worlds about policies with these schedulers on a device, of which the place tells which are left out: one in so many is
    /// asked about, and every two of policy, scheduler and device meet.
    fn of((place, device): (usize, &str), schedulers: &[String], one_in: usize) -> Agreement {
        let (mut agreement, mut worlds) = (Agreement::default(), Worlds::default());
        for (i, manual) in policy::ALL.iter().enumerate() {
            let asked = schedulers.iter().enumerate().filter(|(j, _)| (place + i + j).is_multiple_of(one_in));
            for (_, more) in asked {
                let text = text(device, manual.example, more);
                let verdicts = worlds.verdicts(&text);
                assert_eq!(verdicts[1], verdicts[2], "bench and serve\n{text}");
                let what = match &verdicts {
                    [None, None, _] => "accepted by all",
                    [Some(one), Some(other), _] if one == other => "refused by all in the same words",
                    [Some(one), Some(other), _] if lacks(one, sim::ABLE) && lacks(other, live::make::ABLE) => {
                        "refused by all, each for what its world cannot do"
                    }
                    [None, Some(other), _] if lacks(other, live::make::ABLE) => "only simulated",
                    [Some(one), None, _] if lacks(one, sim::ABLE) => "only served",
                    _ => {
                        agreement.disagree.push(format!("{verdicts:#?}\n{text}"));
                        "disagree"
                    }
                };
                *agreement.counts.entry(what).or_default() += 1;
            }
        }
        agreement
    }

    fn add(mut self, other: Agreement) -> Agreement {
        other.counts.into_iter().for_each(|(what, count)| *self.counts.entry(what).or_default() += count);
        self.disagree.extend(other.disagree);
        self
    }
}

/// Whether the worlds agree about one in so many of all experiments, asked on every processor.
fn agree(one_in: u32) {
    let (devices, schedulers) = (devices(), schedulers());
    let next = AtomicUsize::new(0);
    let work = || {
        let places = std::iter::repeat_with(|| next.fetch_add(1, Relaxed));
        let mine = places.map_while(|place| Some((place, devices.get(place)?.as_str())));
        mine.map(|device| Agreement::of(device, &schedulers, one_in as usize))
            .fold(Agreement::default(), Agreement::add)
    };
    let Agreement { counts, disagree } = std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|why| std::panic::resume_unwind(why)))
            .fold(Agreement::default(), Agreement::add)
    });
    let total: u32 = counts.values().sum();
    println!(
        "{total} experiments: {} policies, {} schedulers, {} devices\n{counts:#?}",
        policy::ALL.len(),
        schedulers.len(),
        devices.len()
    );
    assert!(disagree.is_empty(), "{} disagree, the first:\n{}", disagree.len(), disagree[0]);
    assert!(total * one_in > 8000 && counts.values().all(|count| *count * one_in > 50), "{counts:#?}");
}

#[test]
fn simulate_bench_and_serve_accept_and_refuse_the_same_in_the_same_words() {
    agree(4);
}

#[test]
#[ignore = "the longest of all tests here: every policy, scheduler and device"]
fn they_do_of_all_experiments() {
    agree(1);
}

#[test]
fn what_a_world_says_it_cannot_do_it_says_of_every_such_experiment() {
    let disk = "model = \"st318437lw\"";
    let short = "io = \"semi-preemptible\"\n";
    let mut worlds = Worlds::default();
    for (more, ability) in [
        ("predictor = \"oracle\"".to_owned(), Ability::Perfection),
        ("profile = \"learned\"".into(), Ability::Profiling),
        ("predictor = \"mimic\"\nmimic.learn = \"off-line\"".into(), Ability::Probing),
        ("predictor = \"mimic\"\nmimic.second_key = \"angle\"".into(), Ability::Angles),
        (format!("{short}plan.target_wait = \"5ms\""), Ability::Trials),
    ] {
        for manual in policy::ALL {
            let text = text(disk, manual.example, &more);
            match worlds.verdicts(&text) {
                [None, Some(bench), Some(serve)] => {
                    assert!(bench == serve && bench.contains(ability.refusal()), "{bench}\n{text}");
                }
                // What the policy itself has no use for, all refuse.
                [one, other, another] => assert!(one.is_some() && one == other && one == another, "{one:?}\n{text}"),
            }
        }
    }
}

#[test]
fn what_is_checked_is_what_is_built() {
    let mut built = [0, 0];
    for (i, device) in devices().iter().enumerate() {
        for (j, manual) in policy::ALL.iter().enumerate() {
            for (k, more) in schedulers().iter().enumerate() {
                // A hundredth of them, spread over all.
                if (17 * i + 5 * j + 3 * k) % 101 > 0 {
                    continue;
                }
                let text = text(device, manual.example, more);
                let Ok(mut cases) = experiment::parse("f.toml", &text, &[], None) else { continue };
                let experiment = cases.remove(0).experiment;
                let simulated = sim::replicate(&experiment, 0, &|_| ());
                assert_eq!(simulated.as_ref().err(), sim::check(&experiment).as_ref().err(), "{text}");
                let blocks = match Device::of(&experiment.drive) {
                    Ok(Device::Disk(sheet)) => sheet.mechanics.layout.blocks(),
                    _ => 1 << 21,
                };
                let caps = block::Caps { blocks, depth: 1, seek: block::SeekBy::Nothing, arms: 1 };
                let disks = experiment.array.as_ref().map_or(1, |array| array.disks.into());
                let served = live::make::core(&experiment, &vec![caps; disks], &mut Vec::new());
                assert_eq!(served.as_ref().err(), live::make::check(&experiment).as_ref().err(), "{text}");
                built[0] += u32::from(simulated.is_ok());
                built[1] += u32::from(served.is_ok());
            }
        }
    }
    println!("{} simulated, {} cores made to serve", built[0], built[1]);
    assert!(built.iter().all(|count| *count > 30), "{built:?}");
}

#[test]
fn the_program_refuses_in_every_world_what_means_nothing_on_a_tape() {
    let file = "tests/bad/cli/yield-on-a-tape.toml";
    let told = |arguments: &[&str]| {
        let output = run_in(&root(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        String::from_utf8(output.stderr).expect("text")
    };
    let said = told(&["simulate", file]);
    assert!(said.contains("tape-lto5 is not a disk: yield weighs times, and nothing tells them"), "{said}");
    assert_eq!(told(&["bench", file]), said);
    let volume = ["--run", "true"];
    assert_eq!(told(&[&["serve", file][..], &volume].concat()), said);
    // What the mend says is a way out, in every world.
    let mended = ["--set", "scheduler.predictor=mimic", "--set", "run.requests=5"];
    for verb in [&["simulate", file][..], &["bench", file, "--time-scale", "100"], &["serve", file, "--run", "true"]] {
        let output = run_in(&root(), &[verb, &mended].concat());
        assert!(output.status.success(), "{verb:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
