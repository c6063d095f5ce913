//! A trace instance of one's own under Linux's tracefs: the kernel's events in a ring of their own, gone with it.

use block::{At, BadInput};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Where tracefs may be mounted.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// Events without which there is nothing to tell.
const NEEDED: [&str; 5] = [
    "sched/sched_switch",
    "sched/sched_waking",
    "block/block_rq_insert",
    "block/block_rq_issue",
    "block/block_rq_complete",
];

/// Events that tell more, where the kernel has them.
const MORE: [&str; 15] = [
    "sched/sched_wakeup_new",
    "sched/sched_process_fork",
    "sched/sched_process_exit",
    "irq/irq_handler_entry",
    "irq/irq_handler_exit",
    "irq/softirq_entry",
    "irq/softirq_exit",
    "irq_vectors/local_timer_entry",
    "irq_vectors/local_timer_exit",
    "irq_vectors/reschedule_entry",
    "irq_vectors/reschedule_exit",
    "irq_vectors/call_function_single_entry",
    "irq_vectors/call_function_single_exit",
    "exceptions/page_fault_user",
    "exceptions/page_fault_kernel",
];

/// System calls that are told of.
const CALLS: [&str; 12] = [
    "read",
    "write",
    "pread64",
    "pwrite64",
    "fsync",
    "fdatasync",
    "openat",
    "execve",
    "wait4",
    "unlink",
    "rename",
    "io_uring_enter",
];

/// One of one's own; it goes away with this.
pub struct Instance {
    folder: PathBuf,
}

impl Instance {
    /// Makes one with a ring of so many KiB for each processor, not yet recording.
    pub fn new(ring_kib: u64) -> Result<Instance, BadInput> {
        let Some(root) = PLACES.iter().map(Path::new).find(|place| place.join("instances").is_dir()) else {
            // Who may not look into the folder does not see that it is mounted.
            let what = "tracefs is not mounted, or not to be seen by this user: nothing can be recorded";
            let mend = "run as root; if that is so, mount -t tracefs tracefs /sys/kernel/tracing";
            return Err(BadInput::new(PLACES[0], At::File, what, mend));
        };
        let folder = root.join("instances").join(format!("halfturn-{}", std::process::id()));
        fs::create_dir(&folder).map_err(|error| {
            let mend = match error.kind() {
                ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                    "run as root, where the machine is not locked down"
                }
                _ => "check the kernel: it needs CONFIG_FTRACE",
            };
            let what = format!("a trace instance cannot be made: {error}");
            BadInput::new(folder.display().to_string(), At::File, what, mend)
        })?;
        let instance = Instance { folder };
        instance.set("tracing_on", "0")?;
        instance.set("trace_clock", "mono")?;
        instance.set("buffer_size_kb", &ring_kib.to_string())?;
        for event in NEEDED {
            instance.set(&format!("events/{event}/enable"), "1")?;
        }
        for event in MORE {
            instance.try_event(event);
        }
        for call in CALLS {
            instance.try_event(&format!("syscalls/sys_enter_{call}"));
            instance.try_event(&format!("syscalls/sys_exit_{call}"));
        }
        Ok(instance)
    }

    /// What another kernel does not have is done without.
    fn try_event(&self, event: &str) {
        let _ = fs::write(self.folder.join(format!("events/{event}/enable")), "1");
    }

    fn set(&self, file: &str, value: &str) -> Result<(), BadInput> {
        let path = self.folder.join(file);
        fs::write(&path, value).map_err(|error| {
            let what = format!("cannot be set to {value}: {error}");
            BadInput::new(path.display().to_string(), At::File, what, "this kernel cannot record it; use a newer one")
        })
    }

    /// Begins to record what the kernel tells.
    pub fn start(&self) -> Result<(), BadInput> {
        self.set("tracing_on", "1")
    }

    /// Ends the recording; what is there stays to be read.
    pub fn stop(&self) -> Result<(), BadInput> {
        self.set("tracing_on", "0")
    }

    /// What was recorded, as text.
    pub fn text(&self) -> PathBuf {
        self.folder.join("trace")
    }

    /// Events that were dropped before they reached the ring; those overwritten in it the text tells of itself.
    pub fn dropped_events(&self) -> u64 {
        let cpus = fs::read_dir(self.folder.join("per_cpu")).into_iter().flatten().flatten();
        let stats = cpus.filter_map(|cpu| fs::read_to_string(cpu.path().join("stats")).ok());
        stats.map(|stats| parse_dropped(&stats)).sum()
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // Nothing more can be done about it.
        let _ = fs::remove_dir(&self.folder);
    }
}

fn parse_dropped(stats: &str) -> u64 {
    let counts = stats.lines().filter_map(|line| line.strip_prefix("dropped events: "));
    counts.filter_map(|count| count.trim().parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_events_are_counted() {
        assert_eq!(parse_dropped("entries: 5\noverrun: 7\ndropped events: 12\nread events: 3\n"), 12);
        assert_eq!(parse_dropped(""), 0);
    }
}
