//! A volume as it is served, and how it fares.

use super::fault::VolumeFault;
use super::rules::{ConnectedClient, ServedAs};
use crate::identity::PeerMatch;
use crate::metrics::Buckets;
use block::errno::{EOPNOTSUPP, ETIMEDOUT};
use block::{BLOCK_BYTES, Ending, Span, Time};
use hdrhistogram::Histogram;
use load::experiment::{ClientMatch, Experiment, Volume, check_claim};
use load::{ARM_PARTS, divide_believed};
use nbd::{BlockSize, Export, Flags, RequestType};
use sched::value::Worth;
use sched::{Bill, Claim, Input, ShareRules};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A volume in service.
pub struct ServedVolume {
    volume: Volume,
    /// Its first block on the device.
    pub(super) from: u64,
    bytes: u64,
    /// The same, for the door to see.
    offered: Arc<AtomicU64>,
    pub(super) class: u8,
    classes: Vec<String>,
    /// What each class may have of the arm; nothing where that is not shared out.
    claims: Vec<Claim>,
    pub(super) priority: u8,
    pub(super) deadline: Option<Span>,
    pub(super) clients: u32,
    pub(super) hangs: bool,
    /// What is wrong with it.
    pub(super) faults: Vec<VolumeFault>,
    /// Whether a flush has failed since it was last told to go on: then none succeeds.
    pub(super) flush_failed: bool,
    pub(super) in_flight: u32,
    /// What its class's requests are worth, by class; and what those that were done were.
    worths: Vec<Worth>,
    yielded: f64,
    counts: VolumeCounts,
    reading: Buckets,
    writing: Buckets,
    response: Histogram<u64>,
    arm: [Span; ARM_PARTS],
}

/// What was done for the clients of a volume.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VolumeCounts {
    /// Reads that were done.
    pub reads: u64,
    /// Writes that were done.
    pub writes: u64,
    /// How many bytes were read.
    pub read_bytes: u64,
    /// How many bytes were written.
    pub written_bytes: u64,
    /// Flushes that were done.
    pub flushes: u64,
    /// Trims that were done.
    pub trims: u64,
    /// Requests that were answered with an error.
    pub failed: u64,
    /// Requests whose deadline passed while they waited.
    pub dropped: u64,
}

/// How a volume fares.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VolumeReport {
    /// The name by which clients ask for the export.
    pub name: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// The service class of its requests.
    pub class: String,
    /// The priority of its requests; larger is more urgent.
    pub priority: u8,
    /// The hard deadline of its requests, from their arrival.
    pub deadline: Option<Span>,
    /// What it may have of the arm, where that is shared out.
    pub claim: Option<Claim>,
    /// Whether its device does not answer: requests fail at once.
    pub hangs: bool,
    /// Who is connected, of many some.
    pub connected: Vec<ConnectedClient>,
    /// What is wrong with it, for tests.
    pub faults: Vec<VolumeFault>,
    /// Whether a flush has failed, so that no flush and no write with FUA succeeds until it is told to go on.
    pub flush_failed: bool,
    /// How many clients are connected.
    pub clients: u32,
    /// Requests that are not answered yet.
    pub in_flight: u32,
    /// What those that were done were worth then.
    pub yielded: f64,
    /// What was done for its clients so far.
    pub counts: VolumeCounts,
    /// Response times of reads.
    pub reading: Buckets,
    /// Response times of writes.
    pub writing: Buckets,
    /// Response times: mean, median and 99th percentile.
    pub response: [Span; 3],
    /// The device's time that it caused, by what it is believed to have gone to, as `load::PART_NAMES` has it.
    pub arm: [Span; ARM_PARTS],
}

/// What of a volume is to be otherwise from now on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Setting {
    /// The volume to change, by its name.
    pub volume: String,
    /// The service class of its requests.
    pub class: Option<String>,
    /// The new priority, if it changes.
    pub priority: Option<u8>,
    /// Their hard deadline; `Some(None)` takes it away.
    pub deadline: Option<Option<Span>>,
    /// Its weight, the least and the greatest part of the arm's time, each if it changes.
    pub shares: [Option<f64>; 3],
    /// Of which of its clients alone it is so.
    pub who: Option<PeerMatch>,
}

/// A command, of a request of this volume if it is known, has kept the device for so long. Who interrupted is known by class; and a
/// request may have ended before its command.
pub(super) fn bill(volumes: &mut [ServedVolume], own: Option<(usize, u8)>, bill: &Bill, took: Span) {
    for (class, part, span) in divide_believed(bill, took) {
        let known = own.filter(|(_, its)| *its == class).map(|(volume, _)| volume);
        let volume = known.or_else(|| volumes.iter().position(|volume| volume.class == class));
        // Of a class that only some clients have, it is known by whose command it came.
        let volume = volume.or(own.map(|(volume, _)| volume));
        if let Some(volume) = volume {
            volumes[volume].arm[part as usize] += span;
        }
    }
}

impl VolumeReport {
    /// As the control socket and `--format json` say it.
    #[must_use]
    pub fn json(&self) -> Value {
        let ms = |span: Span| span.0 as f64 / 1e6;
        let [mean, p50, p99] = self.response.map(ms);
        let VolumeCounts { reads, writes, read_bytes, written_bytes, flushes, trims, failed, dropped } = self.counts;
        json!({
            "name": self.name, "bytes": self.bytes, "class": self.class, "priority": self.priority,
            "deadline_ms": self.deadline.map(ms),
            "share": self.claim.map(|claim| claim.share), "floor": self.claim.map(|claim| claim.floor),
            "limit": self.claim.map(|claim| claim.limit), "hangs": self.hangs, "fault": self.fault(), "flush_failed": self.flush_failed, "clients": self.clients, "reads": reads, "writes": writes, "flushes": flushes, "trims": trims,
            "in_flight": self.in_flight, "yield": self.yielded,
            "read_bytes": read_bytes, "written_bytes": written_bytes, "failed": failed, "dropped": dropped,
            "response_ms": { "mean": mean, "p50": p50, "p99": p99 },
            "connected": self.connected.iter().map(ConnectedClient::json).collect::<Vec<_>>(),
            "faults": self.faults.iter().map(VolumeFault::json).collect::<Vec<_>>(),
        })
    }

    /// What is wrong with it, in the words of `halfturn volume fault`.
    fn fault(&self) -> Option<String> {
        let all: Vec<&str> = self.faults.iter().map(VolumeFault::words).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }
}

/// Which clients are meant, where some are.
fn who(told: &Value) -> Option<ClientMatch> {
    let text = |key: &str| told[key].as_str().map(Into::into);
    let who = ClientMatch {
        user: text("user"),
        process: text("process"),
        cgroup: text("cgroup"),
        certificate: text("certificate"),
    };
    (!who.is_anyone()).then_some(who)
}

impl Setting {
    /// As the control socket is told of it: `volume`, and what of `class`, `priority`, `deadline_ms`, `share`, `floor` and `limit`
    /// is to change; of some of its clients alone, whose `user`, `process`, `cgroup` or `certificate` is given.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(told: &Value) -> Result<Setting, String> {
        let number = |key: &str| match &told[key] {
            Value::Null => Ok(None),
            value => value.as_f64().map(Some).ok_or_else(|| format!("`{key}` is no number")),
        };
        let priority = match number("priority")? {
            None => None,
            Some(priority) if (0.0..=255.0).contains(&priority) && priority.fract() == 0.0 => Some(priority as u8),
            Some(priority) => return Err(format!("a priority of {priority}; give a whole number from 0 to 255")),
        };
        let deadline = match number("deadline_ms")? {
            None => None,
            Some(ms) if ms > 0.0 && ms < 1e12 => Some(Some(Span((ms * 1e6) as u64))),
            Some(0.0) => Some(None),
            Some(ms) => return Err(format!("a deadline of {ms} ms; give a time, or 0 for none")),
        };
        let volume = told["volume"].as_str().ok_or("`volume` is missing")?.to_owned();
        let shares = [number("share")?, number("floor")?, number("limit")?];
        let who = who(told).map(|who| PeerMatch::new(&who)).transpose()?;
        Ok(Setting { volume, class: told["class"].as_str().map(Into::into), priority, deadline, shares, who })
    }

    /// Sets the volume, and says what the core is to be told.
    pub(super) fn apply(&self, volumes: &mut [ServedVolume]) -> Result<Option<Input>, String> {
        let volume = ServedVolume::find_volume(volumes, &self.volume)?;
        let number = self.class_of(volume)?.unwrap_or(volume.class);
        let claim = self.claim(volumes, number)?;
        if let Some(claim) = claim {
            volumes.iter_mut().for_each(|volume| volume.claims[usize::from(number)] = claim);
        }
        let volume = ServedVolume::find_volume(volumes, &self.volume)?;
        volume.class = number;
        volume.priority = self.priority.unwrap_or(volume.priority);
        volume.deadline = self.deadline.unwrap_or(volume.deadline);
        Ok(claim.map(|claim| Input::Claim(number, claim)))
    }

    /// The number of the class that is wanted, if one is.
    pub(super) fn class_of(&self, volume: &ServedVolume) -> Result<Option<u8>, String> {
        let Some(class) = &self.class else { return Ok(None) };
        let known = || volume.classes.join(", ");
        let found = volume.class_named(class);
        found.map(Some).ok_or_else(|| format!("there is no class '{class}'; name one of {}", known()))
    }

    /// What the class of the volume may have from now on, if that changes.
    fn claim(&self, volumes: &[ServedVolume], class: u8) -> Result<Option<Claim>, String> {
        if self.shares == [None; 3] {
            return Ok(None);
        }
        let claims = volumes.first().map_or(&[][..], |volume| &volume.claims);
        let Some(old) = claims.get(usize::from(class)) else {
            return Err("the arm's time is not shared out; give a volume or class a `share` in the service file".into());
        };
        if let Some(other) = volumes.iter().find(|other| other.class == class && other.volume.name != self.volume) {
            let (other, class) = (&other.volume.name, &other.classes[usize::from(class)]);
            return Err(format!("volume '{other}' has the class '{class}', too; give each a `class` of its own"));
        }
        let [share, floor, limit] = self.shares;
        let claim = Claim {
            share: share.unwrap_or(old.share),
            floor: floor.unwrap_or(old.floor),
            limit: limit.unwrap_or(old.limit),
            window: old.window,
        };
        check_claim(&claim).map_err(|(_, what, mend)| format!("{what}; {mend}"))?;
        let floors: f64 = claims.iter().map(|claim| claim.floor).sum::<f64>() - old.floor + claim.floor;
        if floors > 1.0 + 1e-9 {
            return Err(format!(
                "the floors are {floors:.2} of the arm together; give floors that are 1 at most together"
            ));
        }
        Ok(Some(claim))
    }
}

impl ServedVolume {
    /// The volumes of a service on a device of so many bytes, of which the last block need not be whole.
    ///
    /// # Errors
    /// When one of them does not fit: its name, and how.
    pub fn all(experiment: &Experiment, bytes: u64) -> Result<Vec<ServedVolume>, String> {
        let classes: Vec<String> = experiment.classes().into_iter().map(Into::into).collect();
        let worths: Vec<Worth> = experiment.scheduler.rules.classes.iter().map(|class| class.worth).collect();
        let claims: Vec<Claim> = experiment.scheduler.rules.shares.iter().flat_map(ShareRules::claims).collect();
        let new = |volume| {
            Ok(ServedVolume { claims: claims.clone(), ..ServedVolume::new(volume, &classes, &worths, bytes)? })
        };
        experiment.volumes.iter().map(new).collect()
    }

    fn new(volume: &Volume, classes: &[String], worths: &[Worth], bytes: u64) -> Result<ServedVolume, String> {
        let blocks = bytes.div_ceil(BLOCK_BYTES);
        let (from, to) = volume.region().on(blocks);
        if from >= to || to > blocks {
            let show = block::units::show_blocks;
            let (name, from, to) = (&volume.name, show(from), show(to));
            return Err(format!("volume '{name}' is to reach from {from} to {to}; the device has {}", show(blocks)));
        }
        let own = bytes.min(to * BLOCK_BYTES) - from * BLOCK_BYTES;
        Ok(ServedVolume {
            from,
            bytes: own,
            offered: Arc::new(AtomicU64::new(own)),
            class: classes.iter().position(|class| *class == volume.class).unwrap_or(0) as u8,
            classes: classes.to_vec(),
            claims: Vec::new(),
            priority: volume.priority,
            deadline: volume.deadline,
            clients: 0,
            hangs: false,
            faults: Vec::new(),
            flush_failed: false,
            in_flight: 0,
            worths: worths.to_vec(),
            yielded: 0.0,
            reading: Buckets::default(),
            writing: Buckets::default(),
            counts: VolumeCounts::default(),
            response: Histogram::new_with_bounds(1, 3_600_000_000_000, 2).expect("the bounds are in order"),
            arm: [Span::ZERO; ARM_PARTS],
            volume: volume.clone(),
        })
    }

    /// The device has so many bytes from now on: a volume without a size has more.
    pub(super) fn resize(&mut self, bytes: u64) {
        if self.volume.blocks.is_none() {
            self.bytes = bytes.saturating_sub(self.from * BLOCK_BYTES).max(self.bytes);
            self.offered.store(self.bytes, Ordering::Relaxed);
        }
    }

    /// Where the door sees how many bytes it has.
    #[must_use]
    pub fn size_offered(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.offered)
    }

    /// Its first block on the device, and the one behind its last.
    pub(super) fn blocks(&self) -> (u64, u64) {
        (self.from, self.from + self.bytes.div_ceil(BLOCK_BYTES))
    }

    pub(super) fn name(&self) -> &str {
        &self.volume.name
    }

    /// The number of a class.
    pub(super) fn class_named(&self, name: &str) -> Option<u8> {
        self.classes.iter().position(|class| class == name).map(|class| class as u8)
    }

    /// The name of a class.
    pub(super) fn class_name(&self, class: u8) -> &str {
        self.classes.get(usize::from(class)).map_or("", String::as_str)
    }

    /// The one of this name.
    pub(super) fn find_volume<'a>(volumes: &'a mut [ServedVolume], name: &str) -> Result<&'a mut ServedVolume, String> {
        let names: Vec<String> = volumes.iter().map(|volume| format!("'{}'", volume.volume.name)).collect();
        let volume = volumes.iter_mut().find(|volume| volume.volume.name == name);
        volume.ok_or_else(|| format!("there is no volume '{name}'; name one of {}", names.join(", ")))
    }

    /// As an NBD client sees it; whether the device turns.
    #[must_use]
    pub fn export(&self, rotational: bool) -> Export {
        let mut flags = [
            Flags::SEND_FLUSH,
            Flags::SEND_FUA,
            Flags::SEND_TRIM,
            Flags::SEND_WRITE_ZEROES,
            Flags::SEND_FAST_ZERO,
            Flags::SEND_DF,
            Flags::CAN_MULTI_CONN,
            Flags::SEND_CACHE,
            Flags::BLOCK_STATUS_PAYLOAD,
        ]
        .into_iter()
        .fold(Flags::default(), Flags::with);
        if self.volume.read_only {
            flags = flags.with(Flags::READ_ONLY);
        }
        if rotational {
            flags = flags.with(Flags::ROTATIONAL);
        }
        let maximum = load::experiment::LONGEST as u32;
        Export {
            name: self.volume.name.clone(),
            description: format!("class {}", self.volume.class),
            size: self.bytes,
            block: BlockSize { minimum: 1, preferred: 4096, maximum },
            flags,
            secured: !self.volume.clients.is_empty(),
        }
    }

    /// Something was not even asked of the device; of one that hangs, only what it has counts, and who asks for zeros
    /// only if they are fast is told that they are not.
    pub(super) fn count_refusal(&mut self, errno: i32) {
        self.counts.failed += u64::from(errno != ETIMEDOUT && errno != EOPNOTSUPP);
    }

    /// A request has ended, that arrived then and was served so.
    pub(super) fn count_ending(
        &mut self,
        now: Time,
        request: &nbd::ClientRequest,
        (arrived, served): (Time, ServedAs),
        how: Ending,
    ) {
        let counts = &mut self.counts;
        match how {
            Ending::Failed(_) => counts.failed += 1,
            Ending::Dropped => counts.dropped += 1,
            Ending::Finished => {
                let (requests, bytes, times) = match request.command {
                    RequestType::Read => (&mut counts.reads, &mut counts.read_bytes, &mut self.reading),
                    RequestType::Flush => return counts.flushes += 1,
                    RequestType::Trim => return counts.trims += 1,
                    _ => (&mut counts.writes, &mut counts.written_bytes, &mut self.writing),
                };
                let took = now.since(arrived);
                times.add(took);
                *requests += 1;
                *bytes += request.length;
                self.response.saturating_record(took.0.max(1));
                let qos = served.qos(self, arrived);
                let worth = self.worths.get(usize::from(qos.class)).copied().unwrap_or(Worth::USUAL);
                let blocks = request.length.div_ceil(BLOCK_BYTES).min(u32::MAX.into()) as u32;
                self.yielded += worth.at(blocks, &qos, arrived, now);
            }
        }
    }

    pub(super) fn report(&self) -> VolumeReport {
        let quantile = |share| Span(if self.response.is_empty() { 0 } else { self.response.value_at_quantile(share) });
        VolumeReport {
            name: self.volume.name.clone(),
            bytes: self.bytes,
            class: self.classes[usize::from(self.class)].clone(),
            priority: self.priority,
            deadline: self.deadline,
            claim: self.claims.get(usize::from(self.class)).copied(),
            hangs: self.hangs,
            connected: Vec::new(),
            faults: self.faults.clone(),
            flush_failed: self.flush_failed,
            clients: self.clients,
            in_flight: self.in_flight,
            yielded: self.yielded,
            counts: self.counts,
            reading: self.reading,
            writing: self.writing,
            response: [Span(self.response.mean() as u64), quantile(0.5), quantile(0.99)],
            arm: self.arm,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::errno::{EINVAL, EIO};

    fn volumes(lines: &str) -> Vec<ServedVolume> {
        let text =
            format!("[drive]\npath = \"ram:1MiB\"\n[scheduler]\npolicy = \"look\"\n[[volume]]\nname = \"a\"\n{lines}");
        let experiment = load::experiment::parse_service("f.toml", &text, &[]).expect("a service file");
        ServedVolume::all(&experiment, 1 << 20).expect("they fit")
    }

    #[test]
    fn an_export_says_of_its_volume_what_is_so() {
        for read_only in [false, true] {
            let volume = &volumes(&format!("read_only = {read_only}\nclass = \"gold\""))[0];
            for rotational in [false, true] {
                let export = volume.export(rotational);
                assert_eq!(export.flags.has(Flags::ROTATIONAL), rotational);
                assert_eq!(export.flags.has(Flags::READ_ONLY), read_only);
                assert!(export.flags.has(Flags::SEND_FLUSH.with(Flags::SEND_FUA).with(Flags::CAN_MULTI_CONN)));
                assert_eq!((export.name.as_str(), export.size, export.fault()), ("a", 1 << 20, None));
                assert_eq!((export.description.as_str(), export.secured), ("class gold", false));
            }
        }
    }

    #[test]
    fn what_was_refused_counts_as_failed_unless_the_device_hangs_or_only_speed_was_lacking() {
        let volume = &mut volumes("")[0];
        let failed = [EIO, ETIMEDOUT, EINVAL, EOPNOTSUPP, EIO].map(|errno| {
            volume.count_refusal(errno);
            volume.report().counts.failed
        });
        assert_eq!(failed, [1, 1, 2, 2, 3]);
    }
}
