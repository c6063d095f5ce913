//! What is counted: ten experiments, on a drive of the catalogue and on an imported one.

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
    pub name: &'static str,
    /// Keys that go into `[scheduler]`.
    scheduler: &'static str,
    /// Keys of the one `[[workload]]`.
    workload: &'static str,
    /// Keys of other tables.
    rest: &'static str,
    /// Commands of a request.
    pub commands: u64,
    /// Whether it is among those that are soon counted, and between them pass through every layer.
    pub sample: bool,
}

const CLOSED: &str = "kind = \"closed\"\nsize = \"4KiB\"\ndepth = ";

/// One of random reads of 4 KiB at a fixed depth, under a policy.
const fn random(name: &'static str, scheduler: &'static str, depth: &'static str) -> BudgetScene {
    BudgetScene { name, scheduler, workload: depth, rest: "", commands: 1, sample: false }
}

/// The same, counted by `--sample`, too.
const fn in_sample(scene: BudgetScene) -> BudgetScene {
    BudgetScene { sample: true, ..scene }
}

pub const SCENES: [BudgetScene; 10] = [
    in_sample(random("fcfs@1", "policy = \"fcfs\"", "1")),
    random("c-look@50", "policy = \"c-look\"", "50"),
    random("sstf@50", "policy = \"sstf\"", "50"),
    random("satf@50", "policy = \"satf\"", "50"),
    in_sample(random("satf@1000", "policy = \"satf\"", "1000")),
    random("satf@10000", "policy = \"satf\"", "10000"),
    random("asatf@1000", "policy = \"asatf\"", "1000"),
    BudgetScene {
        name: "2MiB/16KiB",
        scheduler: "policy = \"fcfs\"\nio = \"semi-preemptible\"\nplan = { chunk = \"16KiB\" }",
        workload: "kind = \"closed\"\nsize = \"2MiB\"\ndepth = 1",
        rest: "",
        commands: 128,
        sample: true,
    },
    BudgetScene {
        name: "array",
        scheduler: "policy = \"satf\"",
        workload: "64",
        rest: "[array]\nlevel = \"0/1\"\ndisks = 8\n",
        commands: 1,
        sample: false,
    },
    BudgetScene {
        name: "trace",
        scheduler: "policy = \"fcfs\"",
        workload: "kind = \"trace\"\nformat = \"msr\"\nreplay = \"closed\"\ndepth = 1\nfile = \"TRACE\"",
        rest: "",
        commands: 1,
        sample: true,
    },
];

impl BudgetScene {
    /// The experiment with so many commands, on this model of a drive; `trace` is what is replayed, where anything is.
    pub fn experiment(&self, model: &str, commands: u64, trace: &Path) -> String {
        let requests = commands / self.commands;
        let workload = match self.workload.parse::<u32>() {
            Ok(depth) => format!("{CLOSED}{depth}"),
            Err(_) => self.workload.replace("TRACE", &trace.display().to_string()),
        };
        format!(
            "[drive]\nmodel = \"{model}\"\n[scheduler]\n{}\n{}[[workload]]\nname = \"load\"\n{workload}\n[run]\nrequests = \
             {requests}\n",
            self.scheduler, self.rest
        )
    }
}

/// A trace of random reads of 4 KiB as MSR Cambridge's are written, 10 ms apart.
pub fn trace(requests: u64) -> String {
    // Of both drives: 8 GB. What is beyond the requests counted is there for the load to settle.
    let (blocks, spare) = (2_000_000, 100);
    let mut text = String::from("Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n");
    let mut state = 1_u64;
    for i in 0..requests + spare {
        // Knuth's multiplier for MMIX; the high bits are the random ones.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let offset = (state >> 33) % blocks * 4096;
        let at = 128_166_372_000_000_000 + i * 100_000;
        let _ = writeln!(text, "{at},host,0,Read,{offset},4096,50000");
    }
    text
}
