//! The picture of a scrub: what readers wait beside it, by how fast it is, as Halfturn, dmClock, ZFS and Linux do it.

use super::plane::{Claim, Plane, Way};

const OTHERS: &str = "halfturn simulate examples/what-others-do.toml";
const ANY_ORDER: &str = "halfturn simulate examples/scan-with-a-floor.toml --set drive.queue=4 \
                         --set scheduler.class.scrub.floor=[0,0.05,0.15,0.3,0.45,0.6]";
const IN_ORDER: &str =
    "halfturn simulate examples/scrub-with-a-floor.toml --set scheduler.class.scrub.floor=[0.05,0.15,0.3,0.45,0.6]";
/// Limits of the scrub, in requests a second; what the simulation that comes with dmClock gives each client.
const LIMITS: &str =
    "--set scheduler.class.readers.dmclock.reservation=[20,80] --set scheduler.class.scrub.dmclock.limit=[10,20,30]";
const DMCLOCK_SIM: &str = "--set scheduler.class.readers.dmclock.reservation=20 --set scheduler.class.readers.dmclock.limit=60 \
                           --set scheduler.class.readers.dmclock.weight=1 --set scheduler.class.scrub.dmclock.reservation=20 \
                           --set scheduler.class.scrub.dmclock.limit=60";
const DEPTHS: &str = "--set drive.queue=[4,10] --set workload.scrub.depth=[1,2,8]";
const LINUX: &str =
    "--set scheduler.policy=[\"mq-deadline\",\"kyber\",\"bfq\",\"dmclock\"] --set workload.scrub.depth=[1,8]";
/// Where it is not told who goes first, bfq shares out the disk.
const EQUALS: &str = "--set workload.readers.priority=0";

/// The picture of the page on shares of the arm.
pub const PLANE: Plane = Plane {
    command: OTHERS,
    sets: "scrub.rs",
    background: "scrub",
    users: "readers",
    title: "Readers'",
    across: "scrub, MB/s",
    unbeaten: "a scrub as others do it is not beaten",
    page: "docs/guide/share-the-arm.md",
    ways: &[
        Way {
            name: "Halfturn: blocks in any order, what is free and a floor of 0 to 0.6",
            colour: "#d62728",
            claim: Claim::Beats,
            only: &[],
            commands: &[&[ANY_ORDER]],
        },
        Way {
            name: "Halfturn: in order, a floor of 0.05 to 0.6",
            colour: "#ff7f0e",
            claim: Claim::Nothing,
            only: &[],
            commands: &[&[IN_ORDER]],
        },
        Way {
            name: "Ceph's dmClock: limits of 10 to 30 a second, and as its own simulation sets it",
            colour: "#1f77b4",
            claim: Claim::IsBeaten,
            only: &["dmclock"],
            commands: &[&[OTHERS, LIMITS], &[OTHERS, DMCLOCK_SIM]],
        },
        Way {
            name: "ZFS: queues by kind, the scrub 1 to 8 requests deep",
            colour: "#2ca02c",
            claim: Claim::IsBeaten,
            only: &["zfs"],
            commands: &[&[OTHERS, DEPTHS]],
        },
        Way {
            name: "Linux: mq-deadline, kyber, bfq",
            colour: "#7f7f7f",
            claim: Claim::Nothing,
            only: &["mq-deadline", "kyber", "bfq"],
            commands: &[&[OTHERS, LINUX], &[OTHERS, LINUX, EQUALS]],
        },
    ],
};
