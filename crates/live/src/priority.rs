//! How soon the kernel lets a thread run that has something to do.
//!
//! Each command that a thread gives to a drive too late may cost a turn. So it asks for real-time priority, which a process has
//! that runs as root, with CAP_SYS_NICE, or with RLIMIT_RTPRIO above zero; failing that, for the shortest slice of time, which
//! anybody may, and for timers that are not put off: from Linux 6.12 on a thread that wakes up takes over from those that have longer
//! slices. Threads that it begins have no such priority.
#![allow(unsafe_code)]

use std::io;

/// The least of the real-time priorities: above all that have none.
const LEAST: u32 = 1;
/// The shortest slice that the kernel gives, in ns.
const SLICE: u64 = 100_000;

/// What was asked for of a thread, and became of it.
#[derive(Debug)]
pub(crate) enum ThreadPriority {
    /// It runs as it did: nothing is due in it.
    Usual,
    /// It has real-time priority.
    RealTime,
    /// Real-time priority was refused, for this reason.
    Refused(io::Error),
}

/// Asks for it, for the thread that calls.
pub(crate) fn ask_for_priority() -> ThreadPriority {
    match set(&attributes(libc::SCHED_FIFO, 0, LEAST, 0)) {
        Ok(()) => ThreadPriority::RealTime,
        Err(refused) => {
            // A kernel that has no slices goes on as it did.
            let nice = rustix::process::getpriority_process(None).unwrap_or(0);
            let _ = set(&attributes(libc::SCHED_OTHER, nice, 0, SLICE));
            // SAFETY: a number is set of the calling thread.
            let _ = unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
            ThreadPriority::Refused(refused)
        }
    }
}

fn attributes(policy: i32, nice: i32, priority: u32, runtime: u64) -> libc::sched_attr {
    libc::sched_attr {
        size: size_of::<libc::sched_attr>() as u32,
        sched_policy: policy as u32,
        sched_flags: libc::SCHED_FLAG_RESET_ON_FORK as u64,
        sched_nice: nice,
        sched_priority: priority,
        sched_runtime: runtime,
        sched_deadline: 0,
        sched_period: 0,
    }
}

fn set(attributes: &libc::sched_attr) -> io::Result<()> {
    // SAFETY: the kernel only reads the attributes, of which it is told how long they are; 0 is the thread that calls.
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, std::ptr::from_ref(attributes), 0) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Policy and reset on fork, as the kernel tells them.
    fn policy() -> i32 {
        // SAFETY: nothing but a number is asked of the calling thread.
        unsafe { libc::sched_getscheduler(0) }
    }

    #[test]
    fn a_thread_has_real_time_priority_or_is_told_why_not_and_its_children_have_none() {
        std::thread::spawn(|| {
            let asked = ask_for_priority();
            let wanted = match asked {
                ThreadPriority::RealTime => libc::SCHED_FIFO,
                _ => libc::SCHED_OTHER,
            };
            assert_eq!(policy(), wanted | libc::SCHED_RESET_ON_FORK, "{asked:?}");
            let child = std::thread::spawn(policy).join().expect("it does not panic");
            assert_eq!(child, libc::SCHED_OTHER);
        })
        .join()
        .expect("it does not panic");
    }
}
