//! What a command costs by how much there is of something: tables for `docs/performance.md`, each of which could show that a cost
//! grows where it should not.

use super::scenes::{BudgetScene, LENGTHS, random_reads};

/// Scenes side by side: of each the name is `ROW, COLUMN`.
pub struct CostTable {
    pub title: &'static str,
    /// What it shows, in a sentence or two.
    pub about: &'static str,
    /// What stands over its rows.
    pub rows: &'static str,
    pub scenes: Vec<BudgetScene>,
}

const POLICIES: [&str; 5] = ["fcfs", "c-look", "sstf", "satf", "asatf"];

/// Every table, in the order of the page.
pub fn cost_tables() -> Vec<CostTable> {
    vec![waiting(), lengths(), drives(), disks(), chunks(), traces(), features()]
}

/// The table with this title.
pub fn table_titled(title: &str) -> Option<CostTable> {
    cost_tables().into_iter().find(|table| table.title == title)
}

/// Under this policy, with so many waiting.
fn random(name: String, policy: &str, depth: u32) -> BudgetScene {
    BudgetScene {
        name,
        scheduler: format!("policy = \"{policy}\""),
        workload: random_reads(depth),
        ..BudgetScene::default()
    }
}

fn waiting() -> CostTable {
    let scenes = POLICIES.iter().flat_map(|policy| {
        [1, 10, 100, 1_000, 10_000].map(|depth| random(format!("{policy}, {depth} waiting"), policy, depth))
    });
    CostTable {
        title: "Requests that wait",
        about: "Random reads of 4 KiB on `atlas10k`, so many outstanding at once. No decision looks at all that waits.",
        rows: "policy",
        scenes: scenes.collect(),
    }
}

fn lengths() -> CostTable {
    let ends = [(22_000, "22,000"), (220_000, "220,000"), (1_020_000, "1,020,000")];
    let scenes = [("fcfs", 1), ("satf", 100)].into_iter().flat_map(|(policy, depth)| {
        ends.map(|(end, told)| BudgetScene {
            lengths: [end - (LENGTHS[1] - LENGTHS[0]), end],
            ..random(format!("{policy}; {depth} waiting, the last 20,000 of {told}"), policy, depth)
        })
    });
    CostTable {
        title: "Length of a run",
        about: "The last requests of a run cost what the first do.",
        rows: "policy",
        scenes: scenes.collect(),
    }
}

fn drives() -> CostTable {
    let models = ["hp-335h", "atlas10k", "st318437lw", "nl20", "exos-x24", "exos-2x14", "archive-8tb"];
    let scenes = models.into_iter().flat_map(|model| {
        [("fcfs", 1), ("satf", 100)].map(|(policy, depth)| BudgetScene {
            model: Some(model),
            ..random(format!("`{model}`, {policy} with {depth} waiting"), policy, depth)
        })
    });
    CostTable {
        title: "Drives",
        about: "From 335 MB to 24 TB; `exos-2x14` has two actuators, `archive-8tb` shingles.",
        rows: "drive",
        scenes: scenes.collect(),
    }
}

fn disks() -> CostTable {
    let scenes = ["0/1", "5"].into_iter().flat_map(|level| {
        [4, 8, 16, 64].map(|disks| BudgetScene {
            rest: format!("[array]\nlevel = \"{level}\"\ndisks = {disks}\n"),
            ..random(format!("RAID {level}, {disks} disks"), "satf", 8 * disks)
        })
    });
    CostTable {
        title: "Disks of an array",
        about: "Random reads of 4 KiB, eight outstanding for each disk, under `satf`.",
        rows: "level",
        scenes: scenes.collect(),
    }
}

fn chunks() -> CostTable {
    const REQUEST_KIB: u64 = 2048;
    let scenes = ["read", "write"].into_iter().flat_map(|op| {
        [16, 64, 256, 2048].map(|chunk| BudgetScene {
            name: format!("{op}s, {chunk} KiB"),
            scheduler: format!("policy = \"fcfs\"\nio = \"semi-preemptible\"\nplan = {{ chunk = \"{chunk}KiB\" }}"),
            workload: format!("kind = \"closed\"\nsize = \"2MiB\"\ndepth = 1\nread = {}", u8::from(op == "read")),
            commands: REQUEST_KIB / chunk,
            ..BudgetScene::default()
        })
    });
    CostTable {
        title: "Chunks",
        about: "Requests of 2 MiB in short commands of such a size, a command.",
        rows: "2 MiB",
        scenes: scenes.collect(),
    }
}

/// Endings of the traces that are replayed, as the example `budget` writes them, and what they are.
pub const TRACES: [(&str, &str); 8] = [
    ("msr.csv", "MSR's CSV"),
    ("msr.csv.gz", "the same in gzip"),
    ("msr.csv.zst", "the same in zstd"),
    ("trace", "DiskSim's ASCII"),
    ("iolog", "fio's iolog 3"),
    ("parquet", "Parquet"),
    ("spc", "SPC"),
    ("alibaba.csv", "Alibaba's CSV"),
];

fn traces() -> CostTable {
    let scenes = TRACES.map(|(ending, told)| BudgetScene {
        workload: format!("kind = \"trace\"\nreplay = \"closed\"\ndepth = 1\nfile = \"TRACE.{ending}\""),
        ..random(format!("{told}, a request"), "fcfs", 1)
    });
    CostTable {
        title: "Formats of traces",
        about: "The same requests replayed one at a time under `fcfs`: what is more than under \"Requests that wait\" is reading, \
                decompressing and taking apart.",
        rows: "format",
        scenes: scenes.into(),
    }
}

fn features() -> CostTable {
    let on = |told: &str, scheduler: &str, rest: &str, workload: &str| {
        let plain = random(format!("{told}, a request"), "satf", 50);
        BudgetScene {
            scheduler: format!("{}\n{scheduler}", plain.scheduler),
            workload: format!("{}\n{workload}", plain.workload),
            rest: rest.into(),
            ..plain
        }
    };
    let drive = |told: &str, drive: &str| BudgetScene { drive: drive.into(), ..on(told, "", "", "") };
    CostTable {
        title: "What is on",
        about: "Random reads under `satf` with 50 waiting, and one thing more. What is off is a test that fails, and the budget above \
                holds it.",
        rows: "feature",
        scenes: vec![
            on("nothing", "", "", ""),
            drive("seeks without noise", "noise = false\n"),
            drive("seeks that drift", "drift = { at = \"1s\", seek = 0.1 }\n"),
            BudgetScene { model: Some("nl20"), ..on("on `nl20` nothing", "", "", "") },
            BudgetScene { model: Some("nl20"), ..drive("on `nl20` eight commands in the drive", "queue = 8\n") },
            on("a class", "", "[scheduler.class.load]\nretries = 1\n", "class = \"load\""),
            on("a class with a share", "", "[scheduler.class.load]\nshare = 2\n", "class = \"load\""),
            on("a class with a floor", "", "[scheduler.class.load]\nfloor = 0.2\n", "class = \"load\""),
            on("short commands", "io = \"semi-preemptible\"", "", ""),
            on("writes among the reads", "", "", "read = 0.5"),
        ],
    }
}
