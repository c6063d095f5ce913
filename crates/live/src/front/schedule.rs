//! What is wrong with the volumes of a service: what it is told of, and what its file has come by itself.
//!
//! When a fault of the file comes is drawn from its seed alone, whatever clients ask and however late the engine looks: it begins and
//! ends at its own times, on the device's clock.

use super::ServedVolume;
use super::fault::{FaultSetting, FaultyThing, VolumeFault, name_fault};
use crate::unit::{Fault, FaultChange, FaultReach};
use crate::world::Hands;
use block::{BLOCK_BYTES, DiskId, Span, Time};
use load::Draw;
use load::experiment::{FaultOnset, FaultPlace, FaultPlan};

/// A fault that the file has come.
struct ScheduledFault {
    of: FaultyThing,
    /// What is wrong then; nothing: all is well again.
    fault: Option<(Fault, String)>,
    lasts: Option<Span>,
    /// How often a second it comes again.
    rate: Option<f64>,
    draw: Draw,
    /// When it begins next, if it does.
    begins: Option<Time>,
    /// Its number while it is there, and until when that is.
    there: Option<(u64, Option<Time>)>,
}

impl ScheduledFault {
    fn new(plan: &FaultPlan, index: usize) -> ScheduledFault {
        let of = match &plan.place {
            FaultPlace::Volume(name, range) => FaultyThing::Volume(name.clone(), *range),
            FaultPlace::Disk(disk) => FaultyThing::Disk(DiskId(*disk)),
        };
        let mut scheduled = ScheduledFault {
            of,
            fault: name_fault(plan.kind, plan.factor, plan.one_of),
            lasts: plan.lasts,
            rate: None,
            draw: Draw::new(plan.seed, index as u64),
            begins: None,
            there: None,
        };
        match plan.onset {
            FaultOnset::At(at) => scheduled.begins = Some(Time::ZERO + at),
            FaultOnset::Rate(rate, lasts) => {
                (scheduled.rate, scheduled.lasts) = (Some(rate), Some(lasts));
                scheduled.begins = scheduled.again(Time::ZERO);
            }
        }
        scheduled
    }

    /// When it comes after it was not there from this time on.
    fn again(&mut self, from: Time) -> Option<Time> {
        let rate = self.rate?;
        // More than any service lives is as much as never.
        Some(Time(from.0.saturating_add((self.draw.exponential() / rate * 1e9) as u64)))
    }

    /// When something becomes of it next.
    fn due(&self) -> Option<Time> {
        self.there.map_or(self.begins, |(_, until)| until)
    }
}

/// What is wrong, and what will be.
#[derive(Default)]
pub(super) struct FaultSchedule {
    scheduled: Vec<ScheduledFault>,
    /// How many there were.
    numbers: u64,
}

/// What becomes of a fault of the file.
#[derive(Clone, Debug, PartialEq)]
struct FaultEvent {
    /// The place of its table in the file.
    index: usize,
    at: Time,
    change: FaultChange,
    until: Option<Time>,
}

impl FaultSchedule {
    /// The faults of a file, whose volumes these are.
    ///
    /// # Errors
    /// When one of these is shorter than where its fault is to be: how.
    pub(super) fn new(plans: &[FaultPlan], volumes: &[ServedVolume]) -> Result<FaultSchedule, String> {
        let scheduled: Vec<_> =
            plans.iter().enumerate().map(|(index, plan)| ScheduledFault::new(plan, index)).collect();
        for one in &scheduled {
            let of = |volume: &&ServedVolume| matches!(&one.of, FaultyThing::Volume(name, _) if name == volume.name());
            if let Some(volume) = volumes.iter().find(of) {
                one.of.reach(volume)?;
            }
        }
        Ok(FaultSchedule { scheduled, numbers: 0 })
    }

    /// When something becomes of a fault next.
    pub(super) fn due(&self) -> Option<Time> {
        self.scheduled.iter().filter_map(ScheduledFault::due).min()
    }

    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// What became of one by now, the first before the others.
    fn next(&mut self, now: Time) -> Option<FaultEvent> {
        let due = |(index, one): (usize, &ScheduledFault)| Some((one.due()?, index));
        let (at, index) = self.scheduled.iter().enumerate().filter_map(due).min().filter(|(at, _)| *at <= now)?;
        if let Some((number, _)) = self.scheduled[index].there.take() {
            self.scheduled[index].begins = self.scheduled[index].again(at);
            return Some(FaultEvent { index, at, change: FaultChange::End(number), until: None });
        }
        let number = self.number();
        let one = &mut self.scheduled[index];
        one.begins = None;
        let Some((fault, _)) = one.fault else {
            return Some(FaultEvent { index, at, change: FaultChange::Back, until: None });
        };
        let until = one.lasts.map(|lasts| Time(at.0.saturating_add(lasts.0)));
        one.there = Some((number, until));
        let change = FaultChange::Begin(number, fault, one.draw.below(u64::MAX));
        Some(FaultEvent { index, at, change, until })
    }

    /// Has come about what was to by now, and says so in the log.
    pub(super) fn follow(&mut self, now: Time, volumes: &mut [ServedVolume], hands: &mut Hands) {
        while let Some(event) = self.next(now) {
            let one = &self.scheduled[event.index];
            let what = match (&one.of, change(&one.of, &event, one, now, volumes, hands)) {
                (_, Err(why)) => format!("fault {} of the file cannot be: {why}", event.index + 1),
                (FaultyThing::Volume(name, _), Ok(what)) => format!("volume '{name}': {what}"),
                (FaultyThing::Disk(disk), Ok(what)) => format!("disk {}: {what}", disk.0),
            };
            eprintln!("{:.3} s: {what}", event.at.0 as f64 / 1e9);
        }
    }

    /// Has something be wrong from now on, or not any more, as the control socket is told.
    pub(super) fn set(
        &mut self,
        setting: &FaultSetting,
        volumes: &mut [ServedVolume],
        hands: &mut Hands,
    ) -> Result<(), String> {
        let now = hands.kernel.now();
        let begin = setting.fault.map(|(fault, seed)| FaultChange::Begin(self.number(), fault, seed));
        let name = match &setting.of {
            FaultyThing::Volume(name, _) => name,
            FaultyThing::Disk(disk) => {
                hands.unit.fault_disk(now, *disk, FaultChange::Back, hands.kernel)?;
                return begin.map_or(Ok(()), |begin| hands.unit.fault_disk(now, *disk, begin, hands.kernel));
            }
        };
        let volume = ServedVolume::find_volume(volumes, name)?;
        let reach = setting.of.reach(volume)?;
        let Some(begin) = begin else { return end_all(now, reach, volume, hands) };
        // It takes the place of what it was told before of the same blocks.
        let replaced = volume.faults.iter().filter(|other| other.table.is_none() && other.reach == reach);
        for number in replaced.map(|other| other.number).collect::<Vec<_>>() {
            hands.unit.fault(now, reach, FaultChange::End(number), hands.kernel)?;
            volume.faults.retain(|other| other.number != number);
        }
        hands.unit.fault(now, reach, begin, hands.kernel)?;
        let shown = setting.shown.clone().unwrap_or_default();
        volume.faults.push(VolumeFault { since: now, ..describe(self.numbers, shown, reach, volume) });
        Ok(())
    }
}

/// All is well again with what is in reach of a volume.
fn end_all(now: Time, reach: FaultReach, volume: &mut ServedVolume, hands: &mut Hands) -> Result<(), String> {
    hands.unit.fault(now, reach, FaultChange::Back, hands.kernel)?;
    volume.faults.retain(|other| !other.reach.is_inside(reach));
    Ok(())
}

/// A fault of a volume, as it is shown.
fn describe(number: u64, shown: String, reach: FaultReach, volume: &ServedVolume) -> VolumeFault {
    let (FaultReach::All(from, end) | FaultReach::Blocks(from, end)) = reach;
    let bytes = ((from - volume.from) * BLOCK_BYTES, (end - from) * BLOCK_BYTES);
    VolumeFault { number, shown, reach, bytes, since: Time::ZERO, until: None, table: None }
}

/// Has a fault of the file begin or end; what is said of that.
fn change(
    of: &FaultyThing,
    event: &FaultEvent,
    one: &ScheduledFault,
    now: Time,
    volumes: &mut [ServedVolume],
    hands: &mut Hands,
) -> Result<String, String> {
    let shown = one.fault.as_ref().map(|(_, shown)| shown.clone()).unwrap_or_default();
    let said = match event.change {
        FaultChange::Begin(..) => shown.clone(),
        FaultChange::End(_) => format!("{shown} is over"),
        FaultChange::Back => "back".into(),
    };
    let name = match of {
        FaultyThing::Volume(name, _) => name,
        FaultyThing::Disk(disk) => {
            hands.unit.fault_disk(now, *disk, event.change, hands.kernel)?;
            return Ok(said);
        }
    };
    let volume = ServedVolume::find_volume(volumes, name)?;
    let reach = of.reach(volume)?;
    match event.change {
        FaultChange::Back => end_all(now, reach, volume, hands)?,
        FaultChange::End(number) => {
            hands.unit.fault(now, reach, event.change, hands.kernel)?;
            volume.faults.retain(|other| other.number != number);
        }
        FaultChange::Begin(number, ..) => {
            hands.unit.fault(now, reach, event.change, hands.kernel)?;
            let (since, until, table) = (event.at, event.until, Some(event.index + 1));
            let fault = describe(number, shown, reach, volume);
            volume.faults.push(VolumeFault { since, until, table, ..fault });
        }
    }
    Ok(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The schedule of a file of one volume with these tables.
    fn schedule(tables: &str, seed: u64) -> FaultSchedule {
        let text = format!(
            "drive = {{ path = \"ram:1MiB\" }}\nscheduler = {{ policy = \"fcfs\" }}\nrun = {{ seed = {seed} }}\n\
             volume = [{{ name = \"a\" }}]\n{tables}"
        );
        let experiment = load::experiment::parse_service("a.toml", &text, &[]).expect("a service file");
        let volumes = ServedVolume::all(&experiment, 1 << 20).expect("volumes");
        FaultSchedule::new(&experiment.faults, &volumes).expect("a schedule")
    }

    /// What comes of it until then, which is looked at so often.
    fn events(mut schedule: FaultSchedule, every: u64, until: u64) -> Vec<FaultEvent> {
        let looks = (0..=until / every).map(|look| Time(look * every));
        let mut all = Vec::new();
        for now in looks {
            while let Some(event) = schedule.next(now) {
                assert!(event.at <= now);
                all.push(event);
            }
            assert!(schedule.due().is_none_or(|due| due > now));
        }
        all
    }

    const SECOND: u64 = 1_000_000_000;
    const OFTEN: &str = "
        [[fault]]\nvolume = \"a\"\nkind = \"stall\"\nrate = \"2/s\"\nfor = \"100ms\"
        [[fault]]\nvolume = \"a\"\nkind = \"error\"\nrate = \"1/s\"\nfor = \"1s\"\none_of = 3
        [[fault]]\nvolume = \"a\"\nkind = \"slow\"\nat = \"3s\"\nfor = \"2s\"";

    #[test]
    fn the_same_seed_has_the_same_faults_however_late_they_are_seen() {
        let of = |seed, every| events(schedule(OFTEN, seed), every, 60 * SECOND);
        let told = of(7, SECOND / 1000);
        assert!(told.len() > 100, "{}", told.len());
        assert_eq!(told, of(7, 20 * SECOND));
        assert_ne!(told, of(8, SECOND / 1000));
    }

    #[test]
    fn each_lasts_as_long_as_it_is_to_and_comes_as_often() {
        let told = events(schedule(OFTEN, 3), SECOND, 2000 * SECOND);
        assert!(told.is_sorted_by_key(|event| event.at));
        for (index, lasts, gap) in [(0, 0.1, 0.5), (1, 1.0, 1.0)] {
            let own: Vec<_> = told.iter().filter(|event| event.index == index).collect();
            let mut healthy = Vec::new();
            for pair in own.windows(2) {
                let took = pair[1].at.since(pair[0].at).as_secs();
                match (pair[0].change, pair[1].change) {
                    (FaultChange::Begin(one, ..), FaultChange::End(other)) => {
                        assert_eq!((one, pair[0].until), (other, Some(pair[1].at)));
                        assert!((took - lasts).abs() < 1e-9, "{took}");
                    }
                    (FaultChange::End(_), FaultChange::Begin(..)) => healthy.push(took),
                    other => panic!("{other:?}"),
                }
            }
            let mean = healthy.iter().sum::<f64>() / healthy.len() as f64;
            assert!((mean / gap - 1.0).abs() < 0.15, "{mean} s between faults of table {index}");
        }
        let once: Vec<_> = told.iter().filter(|event| event.index == 2).map(|event| event.at).collect();
        assert_eq!(once, [Time(3 * SECOND), Time(5 * SECOND)]);
    }

    #[test]
    fn what_has_no_end_stays_and_what_is_back_is_said_once() {
        let tables = "
            [[fault]]\nvolume = \"a\"\nkind = \"cut\"\nat = \"1s\"
            [[fault]]\nvolume = \"a\"\nkind = \"back\"\nat = \"4s\"";
        let told = events(schedule(tables, 1), SECOND / 10, 100 * SECOND);
        let at: Vec<_> = told.iter().map(|event| (event.index, event.at)).collect();
        assert_eq!(at, [(0, Time(SECOND)), (1, Time(4 * SECOND))]);
        assert_eq!((told[0].until, told[1].change), (None, FaultChange::Back));
    }

    #[test]
    fn a_fault_behind_the_end_of_its_volume_is_refused() {
        let text = "drive = { path = \"ram:1MiB\" }\nscheduler = { policy = \"fcfs\" }\nvolume = [{ name = \"a\" }]\n\
            fault = [{ volume = \"a\", kind = \"error\", at = \"1s\", offset = \"1MiB\" }]";
        let experiment = load::experiment::parse_service("a.toml", text, &[]).expect("a service file");
        let volumes = ServedVolume::all(&experiment, 1 << 20).expect("volumes");
        assert!(FaultSchedule::new(&experiment.faults, &volumes).is_err_and(|why| why.contains("no such blocks")));
    }
}
