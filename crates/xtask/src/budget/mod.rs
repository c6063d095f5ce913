//! `cargo xtask budget`: instructions that a command costs the simulator, by layer, as callgrind counts them, beside the
//! budget of the repository. Times lie on a machine with other work; these counts repeat to within a few.

mod baseline;
mod callgrind;
mod costs;
mod scenes;

use baseline::Baseline;
use callgrind::Layers;
use costs::TRACES;
pub use costs::{CostTable, cost_tables, table_titled};
use scenes::{BudgetScene, DRIVES, LENGTHS, scenes};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// What is asked for.
#[derive(Default)]
pub struct BudgetOptions {
    /// Also as JSON on standard output, in place of the table.
    pub json: bool,
    /// What was counted is the budget from now on.
    pub write: bool,
    /// Only a few scenes, of the catalogue's drive.
    pub sample: bool,
    /// Only scenes with this in `NAME, DRIVE`.
    pub only: Option<String>,
    /// The tables of costs in place of the scenes.
    pub costs: bool,
    /// Files of the workspace in place of layers; nothing is compared.
    pub files: bool,
}

/// A scene, what it stands under in the budget, and the model of its drive where it names none.
struct BudgetJob {
    scene: BudgetScene,
    group: &'static str,
    model: String,
}

/// What was counted of a job.
type Counted = (BudgetJob, Layers);

/// Counts; true if everything is within its budget.
///
/// # Errors
/// When something does not build or run.
pub fn run(root: &Path, options: &BudgetOptions) -> Result<bool, String> {
    let bench = Workbench { program: build(root)?, folder: root.join("target/budget/scenes"), files: options.files };
    std::fs::create_dir_all(&bench.folder).map_err(|error| format!("{}: {error}", bench.folder.display()))?;
    for length in LENGTHS {
        bench.write_traces(length, if options.costs { &TRACES } else { &[] })?;
    }
    let jobs = if options.costs { cost_jobs(options) } else { budget_jobs(root, options) };
    let counted = count_all(&bench, jobs)?;
    if options.files {
        counted.iter().for_each(print_files);
        return Ok(true);
    }
    if options.json {
        print_json(&counted)
    } else {
        print_table(&counted)
    }
    conclude(root, options, &counted)
}

/// Whether it is asked for.
fn is_asked(options: &BudgetOptions, scene: &BudgetScene, group: &str) -> bool {
    let named = format!("{}, {group}", scene.name);
    options.only.as_ref().is_none_or(|only| named.contains(only))
}

/// The scenes on each drive.
fn budget_jobs(root: &Path, options: &BudgetOptions) -> Vec<BudgetJob> {
    let mut jobs = Vec::new();
    for drive in DRIVES.iter().take(if options.sample { 1 } else { DRIVES.len() }) {
        let Some(model) = drive.model(root) else {
            eprintln!("SKIPPED: {} is not there; nothing was counted of the {} drive", drive.model, drive.name);
            continue;
        };
        let asked = |scene: &BudgetScene| (scene.sample || !options.sample) && is_asked(options, scene, drive.name);
        let job = |scene| BudgetJob { scene, group: drive.name, model: model.clone() };
        jobs.extend(scenes().into_iter().filter(asked).map(job));
    }
    jobs
}

/// The tables of costs.
fn cost_jobs(options: &BudgetOptions) -> Vec<BudgetJob> {
    let jobs = cost_tables().into_iter().flat_map(|table| {
        let job = move |scene| BudgetJob { scene, group: table.title, model: DRIVES[0].model.into() };
        table.scenes.into_iter().map(job)
    });
    jobs.filter(|job| is_asked(options, &job.scene, job.group)).collect()
}

/// Compares what was counted with the budget, or makes it the budget.
fn conclude(root: &Path, options: &BudgetOptions, counted: &[Counted]) -> Result<bool, String> {
    let mut baseline = Baseline::load(root)?;
    let rustc = rustc()?;
    if options.write {
        baseline.rustc = rustc;
        for (job, layers) in counted {
            baseline.groups.entry(job.group.into()).or_default().insert(job.scene.name.clone(), layers.clone());
        }
        baseline.save(root)?;
        return Ok(true);
    }
    if baseline.rustc != rustc {
        eprintln!("not compared: {} is of rustc {}, this is {rustc}", baseline::FILE, baseline.rustc);
        return Ok(true);
    }
    let over: Vec<String> =
        counted.iter().filter_map(|(job, layers)| baseline.excess_of(job.group, &job.scene.name, layers)).collect();
    over.iter().for_each(|told| eprintln!("over budget: {told}"));
    if !over.is_empty() {
        eprintln!(
            "  mend: see where with `cargo xtask budget --files`, or give the reason and `cargo xtask budget --write`"
        );
    }
    Ok(over.is_empty())
}

/// Where and with what scenes are run.
struct Workbench {
    program: PathBuf,
    folder: PathBuf,
    files: bool,
}

impl Workbench {
    /// The traces of so many requests, without their endings.
    fn trace(&self, length: u64) -> PathBuf {
        self.folder.join(length.to_string())
    }

    /// Writes the traces of so many requests: those in forms that need no library, and `others` in theirs.
    fn write_traces(&self, length: u64, others: &[(&str, &str)]) -> Result<(), String> {
        let of = |ending: &str| PathBuf::from(format!("{}.{ending}", self.trace(length).display()));
        let plain = scenes::traces(length);
        for (ending, text) in &plain {
            std::fs::write(of(ending), text).map_err(|error| format!("{}: {error}", of(ending).display()))?;
        }
        for (ending, _) in others.iter().filter(|(ending, _)| plain.iter().all(|(other, _)| other != ending)) {
            let told = Command::new(&self.program).arg(of("msr.csv")).arg(of(ending)).output();
            let told = told.map_err(|error| format!("{}: {error}", self.program.display()))?;
            if !told.status.success() {
                return Err(format!("{}: {}", of(ending).display(), String::from_utf8_lossy(&told.stderr)));
            }
        }
        Ok(())
    }

    /// Instructions a command of a scene.
    fn count(&self, job: &BudgetJob) -> Result<Layers, String> {
        let [short, long] = job.scene.lengths;
        let [(few, short), (many, long)] = [self.run(job, short)?, self.run(job, long)?];
        let each = |(layer, count): (String, i64)| {
            let before = short.get(&layer).copied().unwrap_or(0);
            let commands = (many - few) * job.scene.commands;
            let per = ((count - before) as f64 / commands as f64).round() as i64;
            (per != 0).then_some((layer, per))
        };
        Ok(long.into_iter().filter_map(each).collect())
    }

    /// Requests that ended in a run of such a length, and its instructions.
    fn run(&self, job: &BudgetJob, length: u64) -> Result<(u64, Layers), String> {
        let named = format!("{}-{}-{length}", job.scene.name, job.group);
        let stem = named.replace(|c: char| !c.is_ascii_alphanumeric() && !"@.-".contains(c), "-");
        let (file, out) = (self.folder.join(format!("{stem}.toml")), self.folder.join(format!("{stem}.callgrind")));
        let text = job.scene.experiment(&job.model, length, &self.trace(length));
        std::fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
        let mut command = Command::new("valgrind");
        command.args(["--tool=callgrind", "--quiet", &format!("--callgrind-out-file={}", out.display())]);
        // Threads that have nothing to do count too.
        command.env("RAYON_NUM_THREADS", "1").arg(&self.program).arg(&file);
        let told = command.output().map_err(|error| format!("valgrind: {error}\n  mend: install it (.ci/packages)"))?;
        if !told.status.success() {
            return Err(format!("{stem}: {}", String::from_utf8_lossy(&told.stderr)));
        }
        let ended = String::from_utf8_lossy(&told.stdout).trim().parse::<u64>();
        let ended = ended.map_err(|error| format!("{stem}: {error}"))?;
        let text = std::fs::read_to_string(&out).map_err(|error| format!("{}: {error}", out.display()))?;
        let layers = if self.files { callgrind::files(&text)? } else { callgrind::layers(&text)? };
        Ok((ended, layers))
    }
}

/// Counts all, as many at a time as there are processors, in the order asked.
fn count_all(bench: &Workbench, jobs: Vec<BudgetJob>) -> Result<Vec<Counted>, String> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (next, done) = (Mutex::new(jobs.into_iter().enumerate()), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let taken = next.lock().unwrap().next();
                    let Some((i, job)) = taken else { return };
                    let counted = bench.count(&job).map(|layers| (job, layers));
                    done.lock().unwrap().insert(i, counted);
                }
            });
        }
    });
    done.into_inner().unwrap().into_values().collect()
}

/// Builds what runs a scene, in a folder of its own: no other build has its profile.
fn build(root: &Path) -> Result<PathBuf, String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let mut command = Command::new(cargo);
    command.args([
        "build",
        "--quiet",
        "--locked",
        "--package",
        "halfturn-sim",
        "--example",
        "budget",
        "--profile",
        "budget",
    ]);
    command.arg("--target-dir").arg(root.join("target/budget")).current_dir(root);
    // What the environment says of profiles is about other builds.
    std::env::vars_os()
        .map(|(name, _)| name)
        .filter(|name| name.to_string_lossy().starts_with("CARGO_PROFILE_"))
        .for_each(|name| {
            command.env_remove(name);
        });
    let status = command.status().map_err(|error| format!("cargo: {error}"))?;
    if !status.success() {
        return Err("the example 'budget' of crate sim does not build".into());
    }
    Ok(root.join("target/budget/budget/examples/budget"))
}

/// The version of the compiler.
fn rustc() -> Result<String, String> {
    let out = Command::new("rustc").arg("--version").output().map_err(|error| format!("rustc: {error}"))?;
    Ok(String::from_utf8_lossy(&out.stdout).trim().trim_start_matches("rustc ").to_owned())
}

/// The columns of the table; a layer that is in none of them counts as `rest`.
const COLUMNS: [&str; 10] = ["load", "trace", "world", "core", "array", "policy", "predictor", "drive", "disk", "rest"];

fn print_table(counted: &[Counted]) {
    let widest = |of: fn(&BudgetJob) -> usize| counted.iter().map(|(job, _)| of(job)).max().unwrap_or(0).max(9);
    let (names, groups) = (widest(|job| job.scene.name.chars().count()), widest(|job| job.group.len()));
    print!("{:<names$} {:<groups$} {:>6}", "scene", "drive", "total");
    COLUMNS.iter().for_each(|layer| print!(" {layer:>9}"));
    println!();
    for (job, layers) in counted {
        print!("{:<names$} {:<groups$} {:>6}", job.scene.name, job.group, layers.values().sum::<i64>());
        COLUMNS.iter().for_each(|layer| print!(" {:>9}", layers.get(*layer).copied().unwrap_or(0)));
        println!();
    }
}

fn print_json(counted: &[Counted]) {
    let scene = |(job, layers): &Counted| {
        let total: i64 = layers.values().sum();
        serde_json::json!({ "scene": job.scene.name, "drive": job.group, "instructions": total, "layers": layers })
    };
    println!("{:#}", serde_json::Value::Array(counted.iter().map(scene).collect()));
}

/// What each file of the source spends, the most first.
fn print_files((job, files): &Counted) {
    println!("{}, {}: {}", job.scene.name, job.group, files.values().sum::<i64>());
    let mut files: Vec<_> = files.iter().collect();
    files.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), name.as_str()));
    files.iter().for_each(|(name, count)| println!("{count:>8}  {name}"));
}
