//! Tools of the project that are not shipped.

mod budget;
mod docs;
mod mutate;
mod search;
#[allow(dead_code, reason = "compiled into the instrumented copy")]
mod switch;
mod test;
mod words;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask test [ARGUMENTS OF CARGO TEST]
  Installs what the tests need, and runs them all

cargo xtask tolerances COMMIT
  Says whether a tolerance of reproduce/ was widened, or a target taken out, since a commit or a release

cargo xtask budget [OPTIONS]
  Counts what a command costs the simulator, in instructions by layer, and compares with tests/budget.toml

  --format json     Write JSON in place of a table
  --write           Make what was counted the budget
  --costs           Count the tables of docs/performance.md instead: by depth, length, drive, disks, chunk, format and feature
  --sample          Count four scenes, which takes a fifth of the time
  --only TEXT       Count only scenes with this text in 'SCENE, DRIVE'
  --files           Say what each file of the source spends; nothing is compared

cargo xtask docs [--check]
  Writes the pages of figures, docs/validation.md, docs/papers.md, docs/performance.md and the picture of README, or says
  which are stale

cargo xtask search NAME [--neighbours]
  Searches parameters that a paper does not print by all that it prints, as reproduce/search/NAME.toml says

cargo xtask mutate [OPTIONS]
  Plants bugs and says which of them the tests find

  --seed N          Draw by this seed instead of the one in tests/mutants/gate.toml
  --sample N        Try N of the gate's mutants, of crates soon built; --seed says which
  --crates A,B      Plant in these crates only
  --only TEXT       Try only those with this text in 'FILE:LINE: FUNCTION' or in their lines; may be repeated
  --again           Try only those that survived last time and are not listed
  --reserve         Try those planted in reserve instead: others of the same draw, for which no test was written
  --own             Run only the tests of the crate itself, also where others answer for it
  --list            Say which would be tried, and build nothing
  --jobs N          Run so many tests at a time [default: processors]
  --root FOLDER     The workspace [default: this one]
  --out FOLDER      Where it is built [default: target/mutants of the workspace]
  --verbose         Say what caught each
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.split_first().map(|(verb, rest)| (&**verb, rest)) {
        Some(("mutate", rest)) => options(rest).and_then(|options| mutate::run(&options)),
        Some(("budget", rest)) => parse_budget(rest).and_then(|options| budget::run(&mutate::root(), &options)),
        Some(("docs", rest)) => docs::run(&mutate::root(), rest),
        Some(("search", rest)) => search::run(&mutate::root(), rest),
        Some(("test", rest)) => test::run(&mutate::root(), rest),
        Some(("tolerances", rest)) => test::tolerances(&mutate::root(), rest),
        Some(("words", rest)) => words::run(&mutate::root(), rest),
        _ => Err(format!("{HELP}\n{}", words::HELP)),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn parse_budget(arguments: &[String]) -> Result<budget::BudgetOptions, String> {
    let mut options = budget::BudgetOptions::default();
    let mut rest = arguments.iter().map(String::as_str);
    while let Some(argument) = rest.next() {
        match argument {
            "--format" if rest.next() == Some("json") => options.json = true,
            "--format" => return Err("the only other format is json\n  mend: --format json".into()),
            "--write" => options.write = true,
            "--sample" => options.sample = true,
            "--files" => options.files = true,
            "--costs" => options.costs = true,
            "--only" => {
                options.only = Some(rest.next().ok_or("--only needs a text\n  mend: --only fcfs@1")?.to_owned())
            }
            "--help" => return Err(HELP.into()),
            other => return Err(format!("'{other}' is no option\n  mend: cargo xtask budget --help")),
        }
    }
    Ok(options)
}

fn options(arguments: &[String]) -> Result<mutate::Options, String> {
    let root = mutate::root();
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let mut options = mutate::Options {
        out: root.join("target/mutants"),
        root,
        seed: None,
        crates: Vec::new(),
        sample: None,
        only: Vec::new(),
        again: false,
        reserve: false,
        own: false,
        list: false,
        jobs,
        verbose: false,
    };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value =
            || rest.next().ok_or_else(|| format!("{argument} needs a value\n  mend: cargo xtask mutate --help"));
        match &**argument {
            "--seed" => options.seed = Some(number(value()?)?),
            "--sample" => options.sample = Some(number(value()?)? as usize),
            "--crates" => options.crates = value()?.split(',').map(str::to_owned).collect(),
            "--only" => options.only.push(value()?.clone()),
            "--again" => options.again = true,
            "--reserve" => options.reserve = true,
            "--own" => options.own = true,
            "--list" => options.list = true,
            "--jobs" => options.jobs = (number(value()?)? as usize).max(1),
            "--root" => options.root = value()?.into(),
            "--out" => options.out = value()?.into(),
            "--verbose" => options.verbose = true,
            "--help" => return Err(HELP.into()),
            other => return Err(format!("'{other}' is no option\n  mend: cargo xtask mutate --help")),
        }
    }
    options.root = options.root.canonicalize().map_err(|error| format!("{}: {error}", options.root.display()))?;
    std::fs::create_dir_all(&options.out).map_err(|error| format!("{}: {error}", options.out.display()))?;
    options.out = options.out.canonicalize().map_err(|error| format!("{}: {error}", options.out.display()))?;
    Ok(options)
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("'{text}' is no whole number\n  mend: write it in digits"))
}
