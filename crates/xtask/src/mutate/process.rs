//! A test program that runs: for so long, with so much memory, and with all it starts.

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Passed,
    Failed,
    TimedOut,
}

/// How long a program took.
#[derive(Debug, Clone, Copy)]
pub struct Took {
    pub elapsed: Duration,
    /// Of processor time: the same on a machine that is busy.
    pub cpu: Duration,
}

/// How long a program may take.
#[derive(Debug, Clone, Copy)]
pub struct Most {
    pub elapsed: Duration,
    /// Of processor time: a busy machine does not change it.
    pub cpu_seconds: Option<u64>,
}

impl From<Duration> for Most {
    fn from(elapsed: Duration) -> Most {
        Most { elapsed, cpu_seconds: None }
    }
}

/// What is to be run.
pub struct ChildProcess<'a> {
    pub program: &'a Path,
    pub folder: &'a Path,
    /// The file that takes its output.
    pub out: &'a Path,
    /// A folder for what it writes, emptied afterwards.
    pub scratch: &'a Path,
    pub most: Most,
    /// Address space: what a bug may ask for.
    pub memory_mib: u64,
}

impl ChildProcess<'_> {
    /// Runs it with these arguments and variables, and ends whatever it has started.
    pub fn run(&self, arguments: &[&str], variables: &[(&str, String)]) -> std::io::Result<(End, Took)> {
        std::fs::create_dir_all(self.scratch)?;
        let out = std::fs::File::create(self.out)?;
        let from = Instant::now();
        let cpu = self.most.cpu_seconds.map_or_else(String::new, |seconds| format!("ulimit -S -t {seconds}; "));
        let limits = format!("ulimit -v {}; ulimit -c 0; {cpu}", self.memory_mib << 10);
        let mut child = Command::new("sh")
            .args(["-c", &format!("{limits}exec \"$0\" \"$@\"")])
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
        let (end, cpu) = wait(&mut child, from, self.most.elapsed);
        let took = Took { elapsed: from.elapsed(), cpu };
        if let Some(group) = Pid::from_raw(child.id().cast_signed()) {
            // Nobody may be left of it: then this fails, and all is well.
            let _ = kill_process_group(group, Signal::KILL);
        }
        child.wait()?;
        let _ = std::fs::remove_dir_all(self.scratch);
        Ok((end?, took))
    }
}

fn wait(child: &mut Child, from: Instant, most: Duration) -> (std::io::Result<End>, Duration) {
    let mut pause = Duration::from_micros(500);
    let pid = Pid::from_raw(child.id().cast_signed());
    let ended = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    loop {
        // It is left unwaited for, so that its times are still there.
        let gone = pid.is_none_or(|pid| !matches!(waitid(WaitId::Pid(pid), ended), Ok(None)));
        if gone || from.elapsed() > most {
            let cpu = processor_time(child.id());
            let end = if gone { child.wait().map(end_of) } else { Ok(End::TimedOut) };
            return (end, cpu);
        }
        std::thread::sleep(pause);
        pause = (pause * 5 / 4).min(Duration::from_millis(20));
    }
}

fn end_of(status: ExitStatus) -> End {
    match status.success() {
        true => End::Passed,
        false if status.signal() == Some(Signal::XCPU.as_raw()) => End::TimedOut,
        false => End::Failed,
    }
}

/// What a process and those it has waited for have used, from `/proc`, whose ticks are 10 ms.
fn processor_time(pid: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name before may hold anything but is closed by the last parenthesis; the times are 11 words after the state.
    let words = stat.rsplit_once(") ").map_or("", |(_, rest)| rest).split(' ');
    let ticks: u64 = words.skip(11).take(4).filter_map(|word| word.parse::<u64>().ok()).sum();
    Duration::from_millis(10 * ticks)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a script; says how it ended, and what it printed.
    fn run(name: &str, script: &str, most: impl Into<Most>) -> (End, String) {
        let folder = std::env::temp_dir().join(format!("process-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let out = folder.join("out");
        let scratch = folder.join("scratch");
        let (program, most) = (Path::new("/bin/sh"), most.into());
        let task = ChildProcess { program, folder: &folder, out: &out, scratch: &scratch, most, memory_mib: 64 };
        let end = task.run(&["-c", script], &[]).unwrap().0;
        let said = std::fs::read_to_string(&out).unwrap();
        assert!(!scratch.exists(), "what it wrote is gone");
        std::fs::remove_dir_all(&folder).unwrap();
        (end, said)
    }

    /// Whether the process of this number ends within some seconds.
    fn goes(number: &str) -> bool {
        let state = Path::new("/proc").join(number.trim()).join("stat");
        let gone = || std::fs::read_to_string(&state).map_or(true, |stat| stat.contains(") Z "));
        let wait = |_| {
            std::thread::sleep(Duration::from_millis(20));
            gone()
        };
        gone() || (0..200).any(wait)
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn what_takes_too_long_is_ended_with_all_it_started() {
        let (end, said) = run("long", "sleep 50 & echo $!; wait", Duration::from_millis(200));
        assert_eq!(end, End::TimedOut);
        assert!(goes(&said), "{said}");
    }

    #[test]
    fn what_takes_too_much_processor_time_is_ended_and_waiting_takes_none() {
        let most = Most { elapsed: LONG, cpu_seconds: Some(1) };
        assert_eq!(run("busy", "while :; do :; done", most).0, End::TimedOut);
        assert_eq!(run("waiting", "sleep 1.5", most).0, End::Passed);
    }

    #[test]
    fn processor_time_is_told_apart_from_time() {
        let used = |script| {
            let scratch = std::env::temp_dir().join(format!("process-times-{}", std::process::id()));
            std::fs::create_dir_all(&scratch).unwrap();
            let out = scratch.with_extension("out");
            let (program, folder) = (Path::new("/bin/sh"), Path::new("/"));
            let task =
                ChildProcess { program, folder, out: &out, scratch: &scratch, most: LONG.into(), memory_mib: 64 };
            let took = task.run(&["-c", script], &[]).unwrap().1;
            std::fs::remove_file(out).unwrap();
            took
        };
        let idle = used("sleep 0.5");
        assert!(idle.cpu < Duration::from_millis(200) && idle.elapsed >= Duration::from_millis(500), "{idle:?}");
        let busy = used("i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done");
        assert!(busy.cpu > Duration::from_millis(30) && busy.cpu <= busy.elapsed * 2, "{busy:?}");
    }

    #[test]
    fn what_a_process_leaves_behind_is_ended() {
        let (end, said) = run("left", "sleep 50 & echo $!", LONG);
        assert_eq!(end, End::Passed);
        assert!(goes(&said), "{said}");
    }

    #[test]
    fn what_asks_for_too_much_memory_fails() {
        assert_eq!(run("memory", "tail /dev/zero", LONG).0, End::Failed);
        assert_eq!(run("little", "head -c 1000 /dev/zero | tail > /dev/null", LONG).0, End::Passed);
    }
}
