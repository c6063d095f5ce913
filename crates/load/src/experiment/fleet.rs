//! `[fleet]`: many disks, each with a run of its own, as they are at one moment.
//!
//! **Drawn, not listed.** What stands as `{ draw = […] }` in the file is drawn for each disk. A disk that failed within the time in which
//! lost disks are made anew is lost at that moment, and has no run; those of its group serve its repair. All that is drawn of a disk
//! follows from the seed and its number, so that each setting that is swept meets the same fleet.

use super::workload::{KIND, workload};
use crate::draw::Draw;
use crate::workload::coded_repair;
use block::{BadInput, Span};
use config::{Document, Scalar, Section, Swept};
use std::collections::BTreeMap;

config::keys! {
    /// Many disks in place of one: each has a run and a row of its own, at one moment in the life of the fleet. Lists are varied as
    /// always: each of their values meets the same fleet.
    pub(super) fn fleet() -> "[fleet]";

    /// How many disks there are. A value of the file that is to differ from disk to disk is written as
    /// `{ draw = [A, B], shares = [3, 1] }`; without `shares` each is drawn as often as the others.
    DISKS: u32 = within("disks", 1, MOST_DISKS).required();
    /// The share of the disks that fails within a year. With it there is a `[[workload]]` of `kind = "coded-repair"`: a disk that
    /// failed within its time `within` is lost, and the others of its group serve the repair.
    ANNUAL_FAILURES: f64 = share("annual_failures").usually("0");
}

/// Disks of a fleet at most, and runs of all its settings together.
const MOST_DISKS: u32 = 100_000;
/// A year of 365.25 days.
const YEAR: Span = Span(31_557_600 * 1_000_000_000);
/// Seeds up to here are whole numbers in every reader of JSON.
const SEEDS: u64 = 1 << 53;
/// Apart from the draws of workloads, whose seeds are made from that of the run too.
const DISK_DRAWS: u64 = 0x6469_736b;
const GROUP_DRAWS: u64 = 0x6772_6f75;

/// Puts, in the place of each run of a sweep that is of a fleet, one for each of its disks that is there.
pub(super) fn spread(runs: Vec<Swept>) -> Result<Vec<Swept>, BadInput> {
    let count = runs.len();
    let mut all = Vec::with_capacity(count);
    for (labels, document) in runs {
        match Fleet::read(&document, count)? {
            Some(fleet) => fleet.spread(&labels, &document, &mut all)?,
            None => {
                document.refuse_draws("is drawn for each disk of a fleet, and there is none")?;
                all.push((labels, document));
            }
        }
    }
    Ok(all)
}

/// A fleet as the file tells of it.
struct Fleet {
    disks: u32,
    seed: u64,
    repair: Option<GroupRepair>,
}

/// How disks are lost and made anew.
struct GroupRepair {
    /// The place of the workload among all.
    workload: usize,
    group: u32,
    /// The share of disks that are lost at a moment.
    lost_share: f64,
    parities: u32,
}

/// Those of a group that are lost, and what its plan is drawn from.
struct DiskGroup {
    lost: u32,
    seed: u64,
}

impl Fleet {
    fn read(document: &Document, settings: usize) -> Result<Option<Fleet>, BadInput> {
        let root = document.root();
        let Some(section) = root.section(fleet().name())? else { return Ok(None) };
        let disks = section.value(&DISKS)?;
        let annual = section.value(&ANNUAL_FAILURES)?;
        section.close()?;
        if disks as usize * settings > MOST_DISKS as usize {
            let what = format!("{disks} disks under each of {settings} settings are more than {MOST_DISKS} runs");
            return Err(section.error(DISKS.name(), what, "give fewer disks, or shorten the lists"));
        }
        let run = root.section(super::run::run().name())?;
        let seed = run.map(|run| run.value(&super::run::SEED)).transpose()?.unwrap_or(1);
        let repair = if annual > 0.0 { Some(GroupRepair::read(&root, &section, disks, annual)?) } else { None };
        Ok(Some(Fleet { disks, seed, repair }))
    }

    /// What is drawn of a disk: its number is the stream.
    fn draw_of(&self, disk: u32) -> Draw {
        Draw::new(self.seed ^ DISK_DRAWS << 32, u64::from(disk))
    }

    fn spread(&self, labels: &[(String, Scalar)], document: &Document, all: &mut Vec<Swept>) -> Result<(), BadInput> {
        let mut bare = document.clone();
        bare.take_out_of_root(fleet().name());
        let taken: Vec<&str> = labels.iter().map(|(key, _)| key.as_str()).chain([DISK, LOST]).collect();
        let mut draws: Vec<(Draw, bool)> = (0..self.disks).map(|disk| (self.draw_of(disk), false)).collect();
        for (draw, lost) in &mut draws {
            // Drawn of each, whether it matters or not: a fleet without failures has the same disks.
            let unit = draw.unit();
            *lost = self.repair.as_ref().is_some_and(|repair| unit < repair.lost_share);
        }
        let groups = self.groups(document, &draws)?;
        let mut places = BTreeMap::<u32, u64>::new();
        let before = all.len();
        for (disk, (mut draw, lost)) in draws.into_iter().enumerate() {
            if lost {
                continue;
            }
            let mut labels = labels.to_vec();
            labels.push((DISK.into(), Scalar::Integer(disk as i128)));
            let (drawn, mut document) = bare.draw(&taken, &mut || draw.unit())?;
            labels.extend(drawn);
            document.put_number("run", 0, super::run::SEED.name(), draw.below(SEEDS));
            if let Some(repair) = &self.repair {
                let number = disk as u32 / repair.group;
                let DiskGroup { lost, seed } = groups[number as usize];
                let place = places.entry(number).or_default();
                let mut put = |key, value| document.put_number(workload().name(), repair.workload, key, value);
                put(coded_repair::LOST.name(), lost.into());
                put(coded_repair::DISK.name(), *place);
                put(coded_repair::SEED.name(), seed);
                *place += 1;
                labels.push((LOST.into(), Scalar::Integer(lost.into())));
            }
            all.push((labels, document));
        }
        if all.len() == before {
            let what = format!("all of {} disks are lost", self.disks);
            return Err(self.here(document, what, "lower `annual_failures`"));
        }
        Ok(())
    }

    /// The groups, in their order.
    fn groups(&self, document: &Document, draws: &[(Draw, bool)]) -> Result<Vec<DiskGroup>, BadInput> {
        let Some(repair) = &self.repair else { return Ok(Vec::new()) };
        let group = |(number, disks): (usize, &[(Draw, bool)])| {
            let lost = disks.iter().filter(|(_, lost)| *lost).count() as u32;
            if lost > repair.parities {
                let what = format!(
                    "{lost} disks of group {number} are lost at once, and its code makes up for {} of a stripe: data are lost",
                    repair.parities
                );
                let mend = "lower `annual_failures` or `within`, or give smaller groups or a code with more parities";
                return Err(self.here(document, what, mend));
            }
            Ok(DiskGroup { lost, seed: Draw::new(self.seed ^ GROUP_DRAWS << 32, number as u64).below(SEEDS) })
        };
        draws.chunks(repair.group as usize).enumerate().map(group).collect()
    }

    /// An error at what is said of failures.
    fn here(&self, document: &Document, what: String, mend: &str) -> BadInput {
        let root = document.root();
        match root.section(fleet().name()) {
            Ok(Some(section)) => section.error(ANNUAL_FAILURES.name(), what, mend),
            _ => root.here(what, mend),
        }
    }
}

/// What labels tell of each disk: its number, and how many of its group are lost.
const DISK: &str = "disk";
const LOST: &str = "lost";

impl GroupRepair {
    fn read(root: &Section, fleet: &Section, disks: u32, annual: f64) -> Result<GroupRepair, BadInput> {
        let workloads = root.sections(workload().name())?;
        let kind = |section: &Section| section.is_word(KIND.name(), coded_repair::NAME);
        let mut repairs = workloads.iter().enumerate().filter(|(_, section)| kind(section));
        let Some((place, section)) = repairs.next() else {
            let what = "disks fail, and no [[workload]] makes them anew";
            let mend = "add one of kind = \"coded-repair\", or take `annual_failures` out";
            return Err(fleet.error(ANNUAL_FAILURES.name(), what, mend));
        };
        if let Some((_, other)) = repairs.next() {
            return Err(other.here("a second workload of kind = \"coded-repair\" in a fleet", "keep one of them"));
        }
        for key in [coded_repair::LOST.name(), coded_repair::DISK.name(), coded_repair::SEED.name()] {
            section.refuse(key, "is drawn for each disk of a fleet in which disks fail")?;
        }
        let group = section.value(&coded_repair::GROUP)?;
        if !disks.is_multiple_of(group) {
            let what = format!("{disks} disks are no whole number of groups of {group}");
            let (fewer, more) = (disks / group * group, (disks / group + 1) * group);
            let mend = if fewer == 0 { format!("give {more} disks") } else { format!("give {fewer} or {more} disks") };
            return Err(fleet.error(DISKS.name(), what, mend));
        }
        let within = section.value(&coded_repair::WITHIN)?;
        let years = within.0 as f64 / YEAR.0 as f64;
        let lost_share = -libm::expm1(years * libm::log1p(-annual));
        let parities = section.value(&coded_repair::CODE)?.parities;
        Ok(GroupRepair { workload: place, group, lost_share, parities })
    }
}
