//! How DiskSim's parameters are written.

use block::Span;
use std::fmt::{Display, Write as _};

/// A time in ms; DiskSim takes a number for a word unless digits stand on both sides of its point.
pub(super) fn ms(time: Span) -> String {
    number(time.0 as f64 / 1e6)
}

/// A number with a fraction.
pub(super) fn number(value: f64) -> String {
    format!("{value:.6}")
}

/// A block of parameters under way.
pub(super) struct ParameterBlock {
    head: String,
    lines: Vec<String>,
}

impl ParameterBlock {
    pub(super) fn new(kind: &str, name: &str) -> ParameterBlock {
        let head = if name.is_empty() { kind.to_owned() } else { format!("{kind} {name}") };
        ParameterBlock { head, lines: Vec::new() }
    }

    pub(super) fn set(&mut self, parameter: &str, value: impl Display) {
        self.lines.push(format!("  {parameter} = {value}"));
    }

    pub(super) fn text(&self) -> String {
        format!("{} {{\n{}\n}}", self.head, self.lines.join(",\n"))
    }

    /// The text, as it stands inside another block.
    pub(super) fn inside(&self) -> String {
        self.text().replace('\n', "\n  ")
    }
}

/// A queue that is served by this policy, with nothing else that a scheduler may do.
pub(super) fn queue(policy: u32) -> ParameterBlock {
    let mut block = ParameterBlock::new("disksim_ioqueue", "");
    block.set("Scheduling policy", policy);
    block.set("Cylinder mapping strategy", 0);
    block.set("Write initiation delay", number(0.0));
    block.set("Read initiation delay", number(0.0));
    for parameter in [
        "Sequential stream scheme",
        "Maximum concat size",
        "Overlapping request scheme",
        "Sequential stream diff maximum",
        "Scheduling timeout scheme",
        "Timeout time/weight",
        "Timeout scheduling",
        "Scheduling priority scheme",
        "Priority scheduling",
    ] {
        block.set(parameter, 0);
    }
    block
}

/// Statistics of which DiskSim wants to be told, by the thing they are of.
const STATISTICS: [(&str, &str, &[&str]); 5] = [
    (
        "iodriver stats",
        "disksim_iodriver_stats",
        &[
            "size",
            "locality",
            "blocking",
            "interference",
            "queue",
            "crit",
            "idle",
            "intarr",
            "streak",
            "stamp",
            "per-device",
        ],
    ),
    ("bus stats", "disksim_bus_stats", &["idle", "arbwait"]),
    (
        "ctlr stats",
        "disksim_ctlr_stats",
        &[
            "cache",
            "size",
            "locality",
            "blocking",
            "interference",
            "queue",
            "crit",
            "idle",
            "intarr",
            "streak",
            "stamp",
            "per-device",
        ],
    ),
    (
        "device stats",
        "disksim_device_stats",
        &["queue", "crit", "idle", "intarr", "size", "seek", "latency", "xfer", "acctime", "interfere", "buffer"],
    ),
    ("process flow stats", "disksim_pf_stats", &["per-process", "per-CPU", "all interrupt", "sleep"]),
];

/// A whole simulation about the text of a disk: one driver, two buses, a controller that passes everything on.
/// `ways_ms`: what a block takes on the bus, read and written.
pub(super) fn around(disk: &str, text: &str, ways_ms: [f64; 2], blocks: u64) -> String {
    let mut all = String::new();
    let mut global = ParameterBlock::new("disksim_global", "Global");
    global.set("Init Seed", 42);
    global.set("Real Seed", 42);
    global.set("Stat definition file", "statdefs");
    let mut statistics = ParameterBlock::new("disksim_stats", "Stats");
    for (name, kind, which) in STATISTICS {
        let owner = match kind {
            "disksim_iodriver_stats" => "driver ",
            "disksim_bus_stats" => "bus ",
            "disksim_ctlr_stats" => "controller ",
            "disksim_device_stats" => "device ",
            _ => "",
        };
        let mut block = ParameterBlock::new(kind, "");
        which.iter().for_each(|what| block.set(&format!("Print {owner}{what} stats"), 0));
        statistics.set(name, block.inside());
    }
    let mut driver = ParameterBlock::new("disksim_iodriver", "DRIVER0");
    driver.set("type", 1);
    driver.set("Constant access time", number(0.0));
    driver.set("Scheduler", queue(1).inside());
    driver.set("Use queueing in subsystem", 1);
    let bus = |name: &str, [read, write]: [f64; 2]| {
        let mut bus = ParameterBlock::new("disksim_bus", name);
        bus.set("type", 1);
        bus.set("Arbitration type", 1);
        bus.set("Arbitration time", number(0.0));
        bus.set("Read block transfer time", number(read));
        bus.set("Write block transfer time", number(write));
        bus.set("Print stats", 1);
        bus
    };
    let mut controller = ParameterBlock::new("disksim_ctlr", "CTLR0");
    controller.set("type", 1);
    controller.set("Scale for delays", number(0.0));
    controller.set("Bulk sector transfer time", number(0.0));
    controller.set("Maximum queue length", 0);
    controller.set("Print stats", 1);
    for block in [&global, &statistics, &driver, &bus("BUS0", [0.0; 2]), &bus("BUS1", ways_ms), &controller] {
        all += &block.text();
        all.push_str("\n\n");
    }
    let _ = writeln!(all, "{text}\n");
    let parts = [
        ("statfoo", "Stats"),
        ("bus0", "BUS0"),
        ("bus1", "BUS1"),
        ("disk0", disk),
        ("driver0", "DRIVER0"),
        ("ctlr0", "CTLR0"),
    ];
    for (part, of) in parts {
        let _ = writeln!(all, "instantiate [ {part} ] as {of}");
    }
    all += "\ntopology disksim_iodriver driver0 [\n  disksim_bus bus0 [\n    disksim_ctlr ctlr0 [\n      disksim_bus bus1 [\n        \
            disksim_disk disk0 []\n      ]\n    ]\n  ]\n]\n\n";
    all += &addresses(blocks).text();
    all + "\n\ninstantiate [ org0 ] as ORG0\n"
}

/// One disk, as it is.
fn addresses(blocks: u64) -> ParameterBlock {
    let mut block = ParameterBlock::new("disksim_logorg", "ORG0");
    block.set("Addressing mode", "Parts");
    block.set("Distribution scheme", "Asis");
    block.set("Redundancy scheme", "Noredun");
    block.set("devices", "[ disk0 ]");
    block.set("Stripe unit", blocks);
    block.set("Synch writes for safety", 0);
    block.set("Number of copies", 2);
    block.set("Copy choice on read", 6);
    block.set("RMW vs. reconstruct", "0.5");
    block.set("Parity stripe unit", 64);
    block.set("Parity rotation type", 1);
    block.set("Time stamp interval", number(0.0));
    block.set("Time stamp start time", number(60000.0));
    block.set("Time stamp stop time", number(1e10));
    block.set("Time stamp file name", "stamps");
    block
}
