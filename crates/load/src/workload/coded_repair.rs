//! The repair of disks that were lost out of a group, as one of the others has it: blocks that it reads, and blocks that it writes.
//!
//! **A group agrees without talking.** What is read and written where, and when, is drawn from one seed for all disks of a group; each
//! goes through the whole plan and keeps what is its own. So every lost block is read from exactly as many disks as the code needs,
//! and written to one more, however the disks are spread over runs.

use super::kind::{Manual, Recipe};
use super::pattern::{self, AddressPattern, Addresses, PAGE, Pattern, Region, Sizes};
use super::{Draft, Workload, misfit};
use crate::draw::Draw;
use block::{BadInput, Extent, Op, Span, Time, units};
use config::{About, Section};
use std::collections::VecDeque;
use std::path::Path;

config::keys! {
    /// How many blocks of a stripe are data, and how many are parities: as many are read for each that is lost as are data.
    pub(crate) CODE: ErasureCode = form("code", "`DATA+PARITIES`, such as `10+4`", read_code).required();
    /// Over how many disks the stripes of each are spread, this one and those that are lost among them.
    pub(crate) GROUP: u32 = within("group", 2, MOST_DISKS).required();
    /// How much of each disk is in use, and has to be made anew.
    USED: u64 = size("used").required();
    /// What is lost is made anew within this time, evenly.
    pub(crate) WITHIN: Span = span("within").required();
    /// How much of a stripe lies on one disk. It is read or written at once.
    BLOCK: u32 = blocks("block").usually("4MiB");
    /// How many disks of the group are lost. In a `[fleet]` that has `annual_failures` they are drawn.
    pub(crate) LOST: u32 = within("lost", 0, MOST_DISKS).usually("1");
    /// Which of the disks that are left this one is, from 0. In a `[fleet]` that has `annual_failures` it is each in turn.
    pub(crate) DISK: u32 = within("disk", 0, MOST_DISKS).usually("0");
    /// What the plan of the repair is drawn from: the same for all disks of a group. In a `[fleet]` that has `annual_failures` it is
    /// drawn.
    pub(crate) SEED: u64 = whole("seed", 0, u64::MAX).usually("1");
}

/// What the kind is called.
pub(crate) const NAME: &str = "coded-repair";
/// Disks of a group at most.
const MOST_DISKS: u32 = 1 << 16;
/// Past this time nothing is due any more: six hundred years, and as much room for sums.
const NEVER: f64 = (1u64 << 63) as f64;

/// How stripes are coded: Reed-Solomon or any code that repairs from as many parts as are data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErasureCode {
    /// Blocks of data in a stripe; at least 1.
    pub data: u32,
    /// Blocks of a stripe that may be lost; at least 1.
    pub parities: u32,
}

fn read_code(section: &Section, about: &About) -> Result<Option<ErasureCode>, BadInput> {
    section.quantity(about.name, |text| {
        let numbers = text.split_once('+').and_then(|(data, parities)| {
            Some((data.trim().parse::<u32>().ok()?, parities.trim().parse::<u32>().ok()?))
        });
        match numbers {
            Some((data, parities)) if (1..=4096).contains(&data) && (1..=4096).contains(&parities) => {
                Ok(ErasureCode { data, parities })
            }
            _ => Err(format!("'{text}' is no code; write DATA+PARITIES, such as 10+4")),
        }
    })
}

/// What is lost of a group, how it is made anew, and which of the disks asks.
#[derive(Clone, Debug, PartialEq)]
pub struct CodedRepairPlan {
    /// How stripes are coded.
    pub code: ErasureCode,
    /// Disks of the group.
    pub group: u32,
    /// Blocks of a disk in use.
    pub used: u64,
    /// The time from the first to the last that is made anew; above 0.
    pub within: Span,
    /// Blocks of a part of a stripe; at least 1.
    pub blocks: u32,
    /// Disks that are lost.
    pub lost: u32,
    /// Which of those that are left this is.
    pub disk: u32,
    /// What the plan is drawn from.
    pub seed: u64,
    /// Where on the disk the parts lie.
    pub region: Region,
}

impl CodedRepairPlan {
    /// Parts of stripes that a lost disk had.
    fn parts(&self) -> u64 {
        self.used.div_ceil(u64::from(self.blocks))
    }

    fn check(&self, section: &Section) -> Result<(), BadInput> {
        let (data, parities) = (self.code.data, self.code.parities);
        let left = self.group.saturating_sub(self.lost);
        if self.group < data + parities {
            let what = format!("a stripe of {data}+{parities} does not fit a group of {} disks", self.group);
            return Err(section.error(GROUP.name(), what, format!("give {} disks or more", data + parities)));
        }
        if self.lost > parities {
            let what = format!("{} disks are lost, and {data}+{parities} makes up for {parities} of a stripe", self.lost);
            return Err(section.error(LOST.name(), what, "let fewer be lost, or take a code with more parities"));
        }
        // Where a stripe takes all disks there is none left to write to.
        if left <= data {
            let what = format!("of {} disks {left} are left: {data} are read, and none is left to write to", self.group);
            return Err(section.error(GROUP.name(), what, format!("give {} disks or more", data + self.lost + 1)));
        }
        if self.disk >= left {
            let what = format!("`{}` is {}, and {left} disks are left", DISK.name(), self.disk);
            return Err(section.error(DISK.name(), what, format!("give a number from 0 to {}", left - 1)));
        }
        if self.within == Span::ZERO {
            return Err(section.error(WITHIN.name(), "`within` is zero", "give the time that a repair may take"));
        }
        Ok(())
    }
}

impl Recipe for CodedRepairPlan {
    const MANUALS: &'static [Manual] = &[Manual {
        name: NAME,
        text: "The repair of disks that a group with an erasure code has lost, as one of the other disks has it. For each lost part of a stripe as many disks are read as the code has data, drawn from those that are left, and a further one is written. The disk reads and writes what falls to it, at random places.",
        keys: &[
            CODE.about,
            GROUP.about,
            USED.about,
            WITHIN.about,
            BLOCK.about,
            LOST.about,
            DISK.about,
            SEED.about,
            pattern::VOLUME.about,
            pattern::REGION.about,
        ],
        only: &[],
        example: "kind = \"coded-repair\"\ncode = \"10+4\"\ngroup = 100\nused = \"5GB\"\nwithin = \"1h\"",
        processes: false,
    }];

    fn read(_: &str, section: &Section, _: &Path) -> Result<CodedRepairPlan, BadInput> {
        let plan = CodedRepairPlan {
            code: section.value(&CODE)?,
            group: section.value(&GROUP)?,
            used: section.value(&USED)?,
            within: section.value(&WITHIN)?,
            blocks: section.value(&BLOCK)?,
            lost: section.value(&LOST)?,
            disk: section.value(&DISK)?,
            seed: section.value(&SEED)?,
            region: section.get(&pattern::REGION)?.unwrap_or(Region::WHOLE),
        };
        plan.check(section)?;
        Ok(plan)
    }

    fn build(&self, name: &str, blocks: u64, draw: Draw) -> Result<Box<dyn Workload>, BadInput> {
        if self.used > blocks {
            let (used, all) = (units::show_blocks(self.used), units::show_blocks(blocks));
            let what = format!("{used} of each disk are in use, and this one has {all}");
            return Err(misfit(name, what, "give less as `used`"));
        }
        let pattern = Pattern {
            blocks: self.blocks,
            sizes: Sizes::Fixed,
            read: 1.0,
            at: AddressPattern::Random,
            region: self.region,
            align: if self.blocks.is_multiple_of(PAGE) { PAGE } else { 1 },
        };
        let places = Addresses::new(name, &pattern, blocks, draw)?;
        let mut repair = CodedRepair::new(self, places);
        repair.look_ahead();
        Ok(Box::new(repair))
    }

    fn longest(&self) -> u32 {
        self.blocks
    }

    fn length(&self) -> Option<u32> {
        Some(self.blocks)
    }

    fn is_endless(&self) -> bool {
        false
    }

    fn is_open(&self) -> bool {
        true
    }

    fn confine(&mut self, region: Region) {
        self.region = region;
    }
}

/// A lost disk that is made anew.
struct LostDisk {
    /// What its plan is drawn from.
    draw: Draw,
    /// When its first part is due, in ns, and how far apart they are.
    first_ns: f64,
    apart_ns: f64,
    /// Parts done, and all.
    done: u64,
    all: u64,
    /// The disks that are left, in an order that is drawn on.
    others: Vec<u32>,
}

impl LostDisk {
    /// When the next part is due.
    fn due(&self) -> Option<f64> {
        let due = self.first_ns + self.done as f64 * self.apart_ns;
        (self.done < self.all && due < NEVER).then_some(due)
    }

    /// What this disk does for the next part: of the disks drawn the first are read, and the last is written.
    fn pass(&mut self, data: u32, this: u32) -> Option<Op> {
        self.done += 1;
        let mut ours = None;
        for place in 0..=data as usize {
            let left = self.others.len() - place;
            let drawn = place + self.draw.below(left as u64) as usize;
            self.others.swap(place, drawn);
            if self.others[place] == this {
                ours = Some(if place < data as usize { Op::Read } else { Op::Write { fua: false } });
            }
        }
        ours
    }
}

struct CodedRepair {
    lost: Vec<LostDisk>,
    data: u32,
    this: u32,
    /// What this disk does next.
    next: VecDeque<Draft>,
    places: Addresses,
}

impl CodedRepair {
    fn new(plan: &CodedRepairPlan, places: Addresses) -> CodedRepair {
        let all = plan.parts();
        let apart_ns = plan.within.0 as f64 / all as f64;
        let lost = (0..plan.lost).map(|number| {
            let mut draw = Draw::new(plan.seed, u64::from(number));
            let first_ns = draw.unit() * apart_ns;
            LostDisk { draw, first_ns, apart_ns, done: 0, all, others: (0..plan.group - plan.lost).collect() }
        });
        CodedRepair {
            lost: lost.collect(),
            data: plan.code.data,
            this: plan.disk,
            next: VecDeque::with_capacity(1),
            places,
        }
    }

    /// Goes through the plan up to what falls to this disk next.
    fn look_ahead(&mut self) {
        while self.next.is_empty() {
            let due = self.lost.iter().enumerate().filter_map(|(index, lost)| Some((lost.due()?, index)));
            let Some((due, index)) = due.min_by(|(a, _), (b, _)| a.total_cmp(b)) else { return };
            if let Some(op) = self.lost[index].pass(self.data, self.this) {
                let (_, at) = self.places.draft();
                self.next.push_back(Draft { arrives: Time(due as u64), op, at });
            }
        }
    }
}

impl Workload for CodedRepair {
    fn due(&self) -> Option<Time> {
        self.next.front().map(|draft| draft.arrives)
    }

    fn make(&mut self) -> Result<Draft, BadInput> {
        let draft = self.next.pop_front().expect("a request is due");
        self.look_ahead();
        Ok(draft)
    }

    fn end_request(&mut self, _: Time, _: Extent) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn plan(code: (u32, u32), group: u32, lost: u32) -> CodedRepairPlan {
        CodedRepairPlan {
            code: ErasureCode { data: code.0, parities: code.1 },
            group,
            used: 1000 * 8192,
            within: Span(10_000_000_000),
            blocks: 8192,
            lost,
            disk: 0,
            seed: 7,
            region: Region::WHOLE,
        }
    }

    /// All requests of all disks that are left: when, of which disk, and whether it is read.
    fn play(plan: &CodedRepairPlan) -> Vec<(u64, u32, bool)> {
        let mut all = Vec::new();
        for disk in 0..plan.group - plan.lost {
            let one = CodedRepairPlan { disk, ..plan.clone() };
            let mut workload = one.build("repair", 1 << 24, Draw::new(disk.into(), 0)).expect("it fits");
            let mut last = Time(0);
            while let Some(due) = workload.due() {
                let draft = workload.make().expect("nothing is read of files");
                assert!(draft.arrives == due && due >= last && draft.at.blocks == 8192, "{draft:?}");
                last = due;
                all.push((due.0, disk, matches!(draft.op, Op::Read)));
            }
        }
        all
    }

    #[test]
    fn as_many_blocks_are_read_as_the_code_needs_for_each_that_is_lost_and_one_is_written() {
        for (code, group, lost) in [((10, 4), 40, 1), ((10, 4), 40, 3), ((2, 1), 4, 1), ((6, 3), 10, 3), ((1, 1), 3, 1)] {
            let plan = plan(code, group, lost);
            let all = play(&plan);
            let parts = 1000 * lost as usize;
            assert_eq!(all.iter().filter(|(.., reads)| *reads).count(), parts * code.0 as usize, "{plan:?}");
            assert_eq!(all.iter().filter(|(.., reads)| !*reads).count(), parts, "{plan:?}");
            assert!(all.iter().all(|(due, ..)| *due <= plan.within.0), "{plan:?}");
            // What is drawn for a part are different disks: none is told twice at once.
            let mut parts_of = BTreeMap::<u64, Vec<u32>>::new();
            all.iter().for_each(|(due, disk, _)| parts_of.entry(*due).or_default().push(*disk));
            for disks in parts_of.values_mut() {
                let count = disks.len();
                disks.dedup();
                assert!(disks.len() == count && count.is_multiple_of(code.0 as usize + 1), "{plan:?}: {disks:?}");
            }
        }
    }

    #[test]
    fn each_disk_has_its_part_of_it() {
        let mut reads = vec![0; 39];
        play(&plan((10, 4), 40, 1)).iter().filter(|(.., is_read)| *is_read).for_each(|(_, disk, _)| reads[*disk as usize] += 1);
        // 256 of 1,000 on average, with a deviation of 14.
        assert!(reads.iter().all(|count| (190..=325).contains(count)), "{reads:?}");
    }

    #[test]
    fn where_nothing_is_lost_nothing_is_asked() {
        assert!(play(&plan((10, 4), 40, 0)).is_empty());
    }

    #[test]
    fn more_in_use_than_a_disk_holds_is_refused() {
        let error = plan((2, 1), 4, 1).build("repair", 8192, Draw::new(1, 0)).err().expect("too much").to_string();
        assert!(error.contains("of each disk are in use, and this one has"), "{error}");
    }
}
