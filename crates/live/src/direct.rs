//! A device in real time on its own, without a core: for whoever learns it from the times of commands.

use crate::claim::{Use, mount_point};
use crate::clock::Clock;
use crate::kernel::{Host, Kernel};
use crate::make;
use crate::memory::Pool;
use crate::ring::RingToken;
use crate::serve::kernel_error;
use crate::unit::{Done, LiveDevice, PageCache, ServedFile};
use block::errno::EIO;
use block::{At, BadInput, Caps, Command, Device, Outcome, Tag, Time};
use load::experiment::{DriveChoice, Held, IoBackend, Live};
use std::io;
use std::path::Path;

/// A unit with what it stands on. What is read goes nowhere, and what is written is anything.
pub struct Direct {
    host: Host,
    unit: Box<dyn LiveDevice>,
    pool: Pool,
    now: Time,
    /// A command that could not be given to the device.
    lost: Option<(Tag, i32)>,
}

/// An emulated drive on its own, on a clock so many times as fast. What is written to it is not kept.
///
/// # Errors
/// When there is no drive of this name, or the kernel gives no ring.
pub fn emulate(choice: &DriveChoice, seed: u64, scale: f64) -> Result<Direct, BadInput> {
    let live = Some(Live::Emulated(Held::Pattern));
    let made = make::device(&DriveChoice { live, ..choice.clone() }, Use::Writes, false, seed)?;
    Direct::new(Clock::of_the_machine(scale), made.unit).map_err(|error| kernel_error(&choice.model, &error))
}

/// A file or a block device on its own, to look at its times, or to write to it, too.
///
/// # Errors
/// When it cannot be opened, or is in use: somebody else's commands would be taken for its own slowness.
pub fn open(path: &Path, how: Use) -> Result<Direct, BadInput> {
    let name = path.display().to_string();
    if let Some(place) = mount_point(path) {
        let what = format!("is mounted on {place}");
        return Err(BadInput::new(name, At::File, what, "unmount it first"));
    }
    let file = ServedFile::open(path, 1, how, PageCache::Past).map_err(|error| make::open_error(path, how, &error))?;
    Direct::new(Clock::of_the_machine(1.0), Box::new(file)).map_err(|error| kernel_error(&name, &error))
}

impl Direct {
    /// A unit on a clock.
    ///
    /// # Errors
    /// When the kernel gives no ring.
    pub fn new(clock: Clock, unit: Box<dyn LiveDevice>) -> io::Result<Direct> {
        let host = Host::new(clock, IoBackend::Auto)?;
        Ok(Direct { host, unit, pool: Pool::default(), now: Time::ZERO, lost: None })
    }

    /// What came back by now.
    fn next_completion(&mut self) -> Option<Done> {
        if let Some((tag, errno)) = self.lost.take() {
            return Some(Done::now(self.now, tag, Outcome::Failed(errno)));
        }
        while let Some((token, result)) = self.host.take() {
            if let RingToken::Unit(tag) = token
                && let Err(error) = self.unit.on_completion(self.now, Tag(tag), result, &mut self.host)
            {
                self.lost = Some((Tag(tag), error.raw_os_error().unwrap_or(EIO)));
            }
        }
        self.unit.next_completion(self.now)
    }
}

impl Device for Direct {
    fn caps(&self) -> Caps {
        self.unit.caps()
    }

    fn now(&self) -> Time {
        self.now.max(self.host.now())
    }

    fn issue(&mut self, tag: Tag, command: Command) -> Time {
        self.now = self.now();
        let memory = command.verb.transfers().then(|| self.pool.nobodys(command.at.bytes() as usize));
        if let Err(error) = self.unit.issue(self.now, tag, &command, memory, &mut self.host) {
            self.lost = Some((tag, error.raw_os_error().unwrap_or(EIO)));
        }
        self.now
    }

    fn next(&mut self, until: Time) -> Option<(Time, Tag, Outcome)> {
        loop {
            self.now = self.now();
            if let Some(done) = self.next_completion() {
                return Some((done.happened, done.tag, done.outcome));
            }
            if self.now >= until {
                return None;
            }
            let due = self.unit.due().map_or(until, |due| due.min(until));
            let due = if due == Time::NEVER { None } else { Some(due) };
            if let Err(error) = self.host.sleep(due) {
                self.lost = Some((Tag(0), error.raw_os_error().unwrap_or(EIO)));
            }
        }
    }
}
