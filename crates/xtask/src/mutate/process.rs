//! A test program that runs: for so long, with so much memory, and with all it starts.

use rustix::process::{Pid, Signal, kill_process_group};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Address space, in KiB: what a bug may ask for.
const MEMORY_KIB: u32 = 6 << 20;

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Passed,
    Failed,
    TimedOut,
}

/// What is to be run.
pub struct Task<'a> {
    pub program: &'a Path,
    pub folder: &'a Path,
    /// Its output.
    pub out: &'a Path,
    /// A folder for what it writes, emptied afterwards.
    pub scratch: &'a Path,
    pub most: Duration,
}

impl Task<'_> {
    /// Runs it with these arguments and variables, and ends whatever it has started.
    pub fn run(&self, arguments: &[&str], variables: &[(&str, String)]) -> std::io::Result<(End, Duration)> {
        std::fs::create_dir_all(self.scratch)?;
        let out = std::fs::File::create(self.out)?;
        let from = Instant::now();
        let mut child = Command::new("sh")
            .args(["-c", &format!("ulimit -v {MEMORY_KIB}; ulimit -c 0; exec \"$0\" \"$@\"")])
            .arg(self.program)
            .args(arguments)
            .current_dir(self.folder)
            .env("CARGO_MANIFEST_DIR", self.folder)
            .env("TMPDIR", self.scratch)
            .env("RUST_BACKTRACE", "0")
            .env("INSTA_UPDATE", "no")
            .env("PROPTEST_FAILURE_PERSISTENCE", "off")
            .env_remove("MUTANT")
            .env_remove("MUTANTS_REACHED")
            .envs(variables.iter().map(|(name, value)| (*name, value)))
            .stdin(Stdio::null())
            .stdout(out.try_clone()?)
            .stderr(out)
            .process_group(0)
            .spawn()?;
        let end = wait(&mut child, from, self.most);
        let took = from.elapsed();
        if let Some(group) = Pid::from_raw(child.id().cast_signed()) {
            // Nobody may be left of it: then this fails, and all is well.
            let _ = kill_process_group(group, Signal::KILL);
        }
        child.wait()?;
        let _ = std::fs::remove_dir_all(self.scratch);
        Ok((end?, took))
    }
}

fn wait(child: &mut Child, from: Instant, most: Duration) -> std::io::Result<End> {
    let mut pause = Duration::from_micros(500);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(if status.success() { End::Passed } else { End::Failed });
        }
        if from.elapsed() > most {
            return Ok(End::TimedOut);
        }
        std::thread::sleep(pause);
        pause = (pause * 5 / 4).min(Duration::from_millis(20));
    }
}
