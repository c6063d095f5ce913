//! Installs what the tests need, and runs them all.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// What stands outside the first build, and is tried and checked too: with the same features everywhere, all is built once.
pub(crate) const FEATURES: &str = "halfturn/tls,halfturn/vhost-user,halfturn/parquet";

/// What lies beside the repository, and the tests that only it allows.
const SHARED: &str = "measured traces, DiskSim's answers, drives of others";

/// Whether all tests pass. `arguments` go to `cargo test`.
///
/// # Errors
/// When a command cannot be started.
pub fn run(root: &Path, arguments: &[String]) -> Result<bool, String> {
    let began = Instant::now();
    // Much of it is waiting for the network, which the compiler need not wait for.
    let mut install = Command::new(root.join(".ci/packages"));
    let mut packages = install.current_dir(root).spawn().map_err(|error| cannot_run(&install, &error))?;
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let tests = |and: &[&str]| {
        let tests = ["test", "--workspace", "--locked", "--features", FEATURES];
        succeeds(Command::new(&cargo).args(tests).args(and).args(arguments).current_dir(root))
    };
    let built = tests(&["--no-run"])?;
    if !packages.wait().is_ok_and(|status| status.success()) {
        if std::env::var_os("CI").is_some() {
            return Ok(false);
        }
        println!("some NBD clients are not there: their tests are SKIPPED");
    }
    let passed = built && tests(&[])?;
    let minutes = began.elapsed().as_secs_f64() / 60.0;
    let told = if passed { "all tests passed" } else { "some tests FAILED" };
    let skipped = match root.join("../shared").is_dir() {
        true => String::new(),
        false => format!("; SKIPPED for want of ../shared: {SHARED}"),
    };
    println!("{told} in {minutes:.1} min{skipped}");
    Ok(passed)
}

/// Whether no tolerance was widened since the commit that `arguments` names.
///
/// # Errors
/// When cargo cannot be started.
pub fn tolerances(root: &Path, arguments: &[String]) -> Result<bool, String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let example = ["run", "--quiet", "--locked", "--package", "halfturn-published", "--example", "tolerances", "--"];
    succeeds(Command::new(cargo).args(example).args(arguments).current_dir(root))
}

fn succeeds(command: &mut Command) -> Result<bool, String> {
    let status = command.status().map_err(|error| cannot_run(command, &error))?;
    Ok(status.success())
}

fn cannot_run(command: &Command, error: &std::io::Error) -> String {
    format!("{}: {error}", command.get_program().to_string_lossy())
}
