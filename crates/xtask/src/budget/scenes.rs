//! What is counted: twelve experiments, on a drive of the catalogue and on an imported one.

use std::fmt::Write as _;
use std::path::Path;

/// The two lengths of which the difference is what a request costs once everything is under way.
pub const LENGTHS: [u64; 2] = [2_000, 22_000];

/// Whose layout is a few arithmetic zones, and whose lists every defect.
pub const DRIVES: [SceneDrive; 2] = [
    SceneDrive { name: "catalogue", model: "atlas10k" },
    SceneDrive { name: "imported", model: "../shared/drives/disksim/atlas10k.parv" },
];

/// A drive, by a name of the catalogue or by a file as seen from the workspace.
pub struct SceneDrive {
    pub name: &'static str,
    pub model: &'static str,
}

impl SceneDrive {
    /// What stands for `model` in an experiment; nothing where its file is not there.
    pub fn model(&self, root: &Path) -> Option<String> {
        if !self.model.contains('/') {
            return Some(self.model.into());
        }
        let file = root.join(self.model);
        file.is_file().then(|| file.display().to_string())
    }
}

/// One experiment. What is counted is divided by commands, which are requests where each is one command.
pub struct BudgetScene {
    pub name: String,
    /// In place of the drive that is asked for: a name of the catalogue.
    pub model: Option<&'static str>,
    /// Keys that go into `[drive]`.
    pub drive: String,
    /// Keys that go into `[scheduler]`.
    pub scheduler: String,
    /// Keys of the one `[[workload]]`; `TRACE` stands for the path of what is replayed, without its ending.
    pub workload: String,
    /// Keys of other tables.
    pub rest: String,
    /// Commands of a request.
    pub commands: u64,
    /// The commands of a short run and of a long one.
    pub lengths: [u64; 2],
    /// Whether it is among those that are soon counted, and between them pass through every layer.
    pub sample: bool,
}

impl Default for BudgetScene {
    fn default() -> BudgetScene {
        BudgetScene {
            name: String::new(),
            model: None,
            drive: String::new(),
            scheduler: String::new(),
            workload: String::new(),
            rest: String::new(),
            commands: 1,
            lengths: LENGTHS,
            sample: false,
        }
    }
}

/// A workload of random reads of 4 KiB, so many outstanding at once.
pub fn random_reads(depth: u32) -> String {
    format!("kind = \"closed\"\nsize = \"4KiB\"\ndepth = {depth}")
}

/// One of random reads of 4 KiB under a policy, with so many waiting.
fn random(policy: &str, depth: u32) -> BudgetScene {
    let scheduler = format!("policy = \"{policy}\"");
    BudgetScene {
        name: format!("{policy}@{depth}"),
        scheduler,
        workload: random_reads(depth),
        ..BudgetScene::default()
    }
}

/// Those that every change is held to.
pub fn scenes() -> Vec<BudgetScene> {
    vec![
        BudgetScene { sample: true, ..random("fcfs", 1) },
        random("c-look", 50),
        random("sstf", 50),
        random("satf", 50),
        BudgetScene { sample: true, ..random("satf", 1_000) },
        random("satf", 10_000),
        BudgetScene {
            name: "satf@10000/crowd".into(),
            workload: format!("{}\nregion = \"0B..20000 blocks\"", random_reads(10_000)),
            ..random("satf", 10_000)
        },
        random("asatf", 1_000),
        BudgetScene {
            name: "2MiB/16KiB".into(),
            scheduler: "policy = \"fcfs\"\nio = \"semi-preemptible\"\nplan = { chunk = \"16KiB\" }".into(),
            workload: "kind = \"closed\"\nsize = \"2MiB\"\ndepth = 1".into(),
            commands: 128,
            sample: true,
            ..BudgetScene::default()
        },
        BudgetScene {
            name: "array".into(),
            rest: "[array]\nlevel = \"0/1\"\ndisks = 8\n".into(),
            ..random("satf", 64)
        },
        streams_on_an_array(),
        BudgetScene {
            name: "trace".into(),
            workload: "kind = \"trace\"\nformat = \"msr\"\nreplay = \"closed\"\ndepth = 1\nfile = \"TRACE.msr.csv\""
                .into(),
            sample: true,
            ..random("fcfs", 1)
        },
    ]
}

/// Streams written and read in short commands on mirrored stripes with a write buffer, and interactive reads that interrupt them
/// (Preemptive RAID Scheduling, Figure 20). A request is 156 commands on the average: 210 of a write, 105 of a read, 52 of an
/// interactive one, by how many come in a second.
fn streams_on_an_array() -> BudgetScene {
    let streams = |name: &str, rate: f64, more: &str| {
        format!(
            "[[workload]]\nname = \"{name}\"\nkind = \"open\"\nrate = \"{rate}/s\"\narrivals = \"constant\"\nsize = \"2MiB\"\n{more}\n"
        )
    };
    BudgetScene {
        name: "array/20KiB".into(),
        scheduler: "policy = \"look\"\nio = \"semi-preemptible\"\npreemption = \"always\"\nplan = { chunk = \"20KiB\", split = \"never\" \
                    }\nclass = { reads = { preempts = false }, writes = { preempts = false }, load = { preempts = true } }"
            .into(),
        rest: "[array]\nlevel = \"0/1\"\ndisks = 8\nstripe = \"2MiB\"\nbuffer = \"128MiB\"\nbuffer_until = \"drive\"\n".into(),
        workload: format!(
            "kind = \"open\"\nrate = \"10/s\"\nsize = \"1MiB\"\n{}{}",
            streams("writes", 23.84, "read = 0.0"),
            streams("reads", 4.768, "deadline = \"4.19s\"")
        ),
        commands: 156,
        lengths: [15_600, 156_000],
        ..BudgetScene::default()
    }
}

impl BudgetScene {
    /// The experiment with so many commands, on this model of a drive; `trace` is what is replayed, without its ending.
    pub fn experiment(&self, model: &str, commands: u64, trace: &Path) -> String {
        let requests = commands / self.commands;
        let workload = self.workload.replace("TRACE", &trace.display().to_string());
        format!(
            "[drive]\nmodel = \"{}\"\n{}[scheduler]\n{}\n{}[[workload]]\nname = \"load\"\n{workload}\n[run]\nrequests = \
             {requests}\n",
            self.model.unwrap_or(model),
            self.drive,
            self.scheduler,
            self.rest
        )
    }
}

/// A trace of random reads of 4 KiB, 10 ms apart, in each of the forms that need no library, by its ending: as MSR Cambridge's,
/// SPC's and Alibaba's are written.
pub fn traces(requests: u64) -> [(&'static str, String); 3] {
    // Of both drives: 8 GB. What is beyond the requests counted is there for the load to settle.
    let (blocks, spare) = (2_000_000, 100);
    let mut msr = String::from("Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n");
    let (mut spc, mut alibaba) = (String::new(), String::new());
    let mut state = 1_u64;
    for i in 0..requests + spare {
        // Knuth's multiplier for MMIX; the high bits are the random ones.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let offset = (state >> 33) % blocks * 4096;
        let at = 128_166_372_000_000_000 + i * 100_000;
        let _ = writeln!(msr, "{at},host,0,Read,{offset},4096,50000");
        let _ = writeln!(spc, "0,{},4096,r,{}.{:02}", offset / 512, i / 100, i % 100);
        let _ = writeln!(alibaba, "0,R,{offset},4096,{}", 1_577_808_000_000_000 + i * 10_000);
    }
    [("msr.csv", msr), ("spc", spc), ("alibaba.csv", alibaba)]
}
