//! What an engine stands on: a clock, and someone who does what it is given and says when that is done.
//!
//! **One thread has it all.** Waking a thread on another core costs 40 to 70 µs here, as much as a RAM-backed request
//! takes in all; so ring, device, core and the sockets in transmission are one thread's, which sends and receives
//! what has gathered whenever nothing else is to be done. Handshakes, signals and the control socket are others', and
//! leave messages. Before a drive's completion or a just-in-time seek is due it sleeps until 150 µs before, and then
//! watches the clock: what sleeping is late by. Where waits were short of late it watches for 50 µs before it sleeps,
//! and ever more rarely where that is in vain: on a virtual machine falling asleep and waking costs more time, and
//! more of the processor, than that (`live::kernel::Habit`).

use crate::clock::Clock;
use crate::memory::Slice;
use crate::ring::{Backend, Ring, RingOp, RingToken};
use crate::threads::Threads;
use block::Time;
use load::experiment::IoBackend;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// So long before something is due the engine wakes, and watches the clock from then on: what sleeping may be late by.
const WATCH: Duration = Duration::from_micros(150);

/// A wait that is shorter than this is short. Going to sleep and waking up takes as long on some machines, so that it is worth
/// watching for a while whether somebody comes.
const SHORT: Duration = Duration::from_micros(100);
const WHILE: Duration = Duration::from_micros(50);

/// The kernel as an engine sees it.
pub trait Kernel {
    /// The present, on the clock that completions are stamped by.
    fn now(&self) -> Time;

    /// Has something done with a file.
    ///
    /// # Errors
    /// When it takes no more.
    fn push(&mut self, file: &Rc<OwnedFd>, token: RingToken, op: RingOp) -> io::Result<()>;

    /// The next that was done: whom it is for, and the result as the kernel gives it.
    fn take(&mut self) -> Option<(RingToken, i32)>;

    /// Waits until there is something to take, or until a time.
    ///
    /// # Errors
    /// When it does not go on.
    fn sleep(&mut self, until: Option<Time>) -> io::Result<()>;

    /// Sends so much of pieces as a socket takes at once: how many bytes. Whoever sent nothing pushes it, and is told why.
    fn send(&mut self, socket: &OwnedFd, pieces: &[Slice]) -> usize;

    /// Nothing more is received from a socket or sent to it; what is in flight comes back.
    fn shut(&mut self, socket: &OwnedFd);
}

/// A kernel that a test plays: it is told what is to be done, and does none of it.
#[cfg(test)]
pub(crate) trait PlayedKernel {
    fn time(&self) -> Time;

    fn note(&mut self, token: RingToken, op: RingOp);
}

#[cfg(test)]
impl<K: PlayedKernel> Kernel for K {
    fn now(&self) -> Time {
        self.time()
    }

    fn push(&mut self, _: &Rc<OwnedFd>, token: RingToken, op: RingOp) -> io::Result<()> {
        self.note(token, op);
        Ok(())
    }

    fn take(&mut self) -> Option<(RingToken, i32)> {
        None
    }

    fn sleep(&mut self, _: Option<Time>) -> io::Result<()> {
        Ok(())
    }

    fn send(&mut self, _: &OwnedFd, _: &[Slice]) -> usize {
        0
    }

    fn shut(&mut self, _: &OwnedFd) {}
}

/// Whether to watch before sleeping: where the waits of late were short and watching helped. Each time in a row that it does not,
/// which may be because it keeps the other side from running, twice as many short waits are slept through.
#[derive(Clone, Copy, Debug, Default)]
struct Habit {
    short: bool,
    asleep: u32,
    in_vain: u32,
}

impl Habit {
    const MOST: u32 = 10;

    fn watches(self) -> bool {
        self.short && self.asleep == 0
    }

    /// What it watched for came.
    fn note_catch(&mut self) {
        (self.in_vain, self.asleep) = (0, 0);
    }

    /// It watched in vain.
    fn note_miss(&mut self) {
        self.in_vain = (self.in_vain + 1).min(Habit::MOST);
        self.asleep = 1 << self.in_vain;
    }

    fn note_sleep(&mut self, time: Duration) {
        self.short = time < SHORT;
        self.asleep = self.asleep.saturating_sub(u32::from(self.short));
    }
}

/// Whether to watch the clock before something is due. On a quiet machine that is in time; on a busy one it uses up what the kernel
/// gives a thread, which then has its turn later than one that has slept. There the engine tries both, and does what makes it less
/// late.
#[derive(Clone, Copy, Debug, Default)]
struct ClockWatch {
    /// By how much it was late of late, in ns: when it watched, and when it slept.
    watched: u64,
    slept: u64,
    /// How often the other was not tried since.
    since: u32,
}

impl ClockWatch {
    /// Who is less late than this watches.
    const LATE: u64 = 50_000;
    /// The other is tried one time in so many.
    const TRY: u32 = 32;
    /// A time counts for one of so many.
    const SHARE: u64 = 32;

    fn watches(&self) -> bool {
        let better = self.watched <= ClockWatch::LATE || self.watched <= self.slept;
        let tries = self.watched > ClockWatch::LATE && self.since >= ClockWatch::TRY;
        better != tries
    }

    fn note_watched(&mut self, late: Duration) {
        ClockWatch::learn(&mut self.watched, late);
        self.count_waking();
    }

    fn note_slept(&mut self, late: Duration) {
        ClockWatch::learn(&mut self.slept, late);
        self.count_waking();
    }

    fn learn(mean: &mut u64, late: Duration) {
        let late = (late.as_nanos() as u64).min(1 << 32);
        *mean = *mean - *mean / ClockWatch::SHARE + late / ClockWatch::SHARE;
    }

    fn count_waking(&mut self) {
        self.since = if self.since >= ClockWatch::TRY { 0 } else { self.since + 1 };
    }
}

/// That of this machine.
pub struct Host {
    clock: Clock,
    ring: Box<dyn Backend>,
    /// Why it is not io_uring, where that was not asked for.
    lacking: Option<io::Error>,
    /// Whether io_uring does what is asked.
    uring: bool,
    habit: Habit,
    watch: ClockWatch,
}

impl Host {
    /// What does I/O, and this clock.
    ///
    /// # Errors
    /// When the kernel gives no ring where one must be had, or has no descriptors left.
    pub fn new(clock: Clock, how: IoBackend) -> io::Result<Host> {
        let mut lacking = None;
        let mut uring = how != IoBackend::Threads;
        let ring: Box<dyn Backend> = match how {
            IoBackend::Uring => Box::new(Ring::new()?),
            IoBackend::Threads => Box::new(Threads::new()?),
            IoBackend::Auto => match Ring::new() {
                Ok(ring) => Box::new(ring),
                Err(error) => {
                    (lacking, uring) = (Some(error), false);
                    Box::new(Threads::new()?)
                }
            },
        };
        Ok(Host { clock, ring, lacking, uring, habit: Habit::default(), watch: ClockWatch::default() })
    }

    /// What a user must know.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        let lacking = self.lacking.as_ref()?;
        Some(format!("io_uring is not to be had ({lacking}): files are read and written by threads"))
    }

    /// Whether commands reach the drivers of devices: only io_uring has such.
    #[must_use]
    pub fn reaches_drivers(&self) -> bool {
        self.uring
    }

    /// Waits for a completion, so long at most.
    fn wait(&mut self, most: Option<Duration>) -> io::Result<()> {
        let begun = Instant::now();
        if self.habit.watches() {
            self.ring.submit()?;
            let mut came = self.ring.has_come();
            while !came && begun.elapsed() < WHILE {
                std::hint::spin_loop();
                came = self.ring.has_come();
            }
            if came {
                self.habit.note_catch()
            } else {
                self.habit.note_miss()
            }
            if came {
                return Ok(());
            }
        }
        self.ring.wait(most.map(|most| most.saturating_sub(begun.elapsed())))?;
        self.habit.note_sleep(begun.elapsed());
        Ok(())
    }
}

impl Kernel for Host {
    fn now(&self) -> Time {
        self.clock.now()
    }

    fn push(&mut self, file: &Rc<OwnedFd>, token: RingToken, op: RingOp) -> io::Result<()> {
        self.ring.push(file, token, op)
    }

    fn take(&mut self) -> Option<(RingToken, i32)> {
        self.ring.take()
    }

    fn sleep(&mut self, until: Option<Time>) -> io::Result<()> {
        let Some(until) = until else { return self.wait(None) };
        let left = |clock: &Clock| clock.real(until.since(clock.now()));
        let watches = self.watch.watches();
        let watch = if watches { WATCH } else { Duration::ZERO };
        let begun = left(&self.clock);
        match begun {
            long if long > watch => self.wait(Some(long - watch))?,
            _ => self.ring.submit()?,
        }
        while !self.ring.has_come() && self.clock.now() < until && left(&self.clock) <= watch {
            std::hint::spin_loop();
        }
        // What was over when it came here, and what was not waited for, says nothing.
        let now = self.clock.now();
        if begun > Duration::ZERO && now >= until {
            let late = self.clock.real(now.since(until));
            if watches { self.watch.note_watched(late) } else { self.watch.note_slept(late) }
        }
        Ok(())
    }

    fn send(&mut self, socket: &OwnedFd, pieces: &[Slice]) -> usize {
        crate::ring::send(socket, pieces)
    }

    fn shut(&mut self, socket: &OwnedFd) {
        // Of a socket whose peer is gone nothing is left to shut.
        let _ = rustix::net::shutdown(socket, rustix::net::Shutdown::Both);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_is_watched_unless_that_makes_it_late() {
        let mut watch = ClockWatch::default();
        let (quick, slow) = (Duration::from_micros(40), Duration::from_millis(1));
        for _ in 0..1000 {
            assert!(watch.watches(), "{watch:?}");
            watch.note_watched(quick);
        }
        let run = |watch: &mut ClockWatch, watching, sleeping| {
            let mut watched = 0;
            for _ in 0..1000 {
                let now = watch.watches();
                watched += u32::from(now);
                if now { watch.note_watched(watching) } else { watch.note_slept(sleeping) }
            }
            watched
        };
        let watched = run(&mut watch, slow, quick);
        assert!((20..200).contains(&watched), "{watched} of 1000 where sleeping is less late");
        let watched = run(&mut watch, slow, 2 * slow);
        assert!(watched > 500, "{watched} of 1000 where that is more late");
        let watched = run(&mut watch, Duration::ZERO, quick);
        assert!(watched > 900, "{watched} of 1000 on a quiet machine");
        assert!(watch.watches());
    }

    #[test]
    fn it_is_watched_while_that_helps_and_ever_less_while_it_does_not() {
        let mut habit = Habit::default();
        assert!(!habit.watches(), "nothing is known");
        habit.note_sleep(SHORT / 2);
        habit.note_catch();
        assert!(habit.watches());
        habit.note_sleep(2 * SHORT);
        assert!(!habit.watches(), "whoever takes his time is not watched for");
        let mut watched = 0;
        for _ in 0..10_000 {
            habit.note_sleep(SHORT / 2);
            if habit.watches() {
                watched += 1;
                habit.note_miss();
            }
        }
        assert!((10..30).contains(&watched), "{watched} of 10,000 in vain");
        (0..1 << Habit::MOST).for_each(|_| habit.note_sleep(SHORT / 2));
        assert!(habit.watches(), "it is tried again");
        habit.note_catch();
        habit.note_sleep(SHORT / 2);
        assert!(habit.watches());
    }
}
