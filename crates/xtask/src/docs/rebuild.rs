//! The picture of a rebuild: what readers wait beside it, by how fast it is, as Halfturn, md, ZFS and minio do it.

use super::plane::{Claim, Plane, Way};

const COMMAND: &str = "halfturn simulate examples/rebuild-as-others-do.toml";
/// What is set in place of what the file has, for a way; a rate that caps nothing.
const OURS: &str = "--set scheduler.policy=satf --set scheduler.io=semi-preemptible --set scheduler.preemption=always \
                    --set scheduler.plan.chunk=128KiB --set scheduler.plan.last_chunk_fua=false --set scheduler.class.rebuild.preempts=false";
const OURS_DEEP: &str = "--set workload.rebuild.rate=1000000/s --set workload.rebuild.depth=[2,8,32,64]";
const ZFS: &str = "--set scheduler.policy=zfs --set disk.0.queue=10 --set workload.rebuild.rate=1000000/s --set workload.rebuild.depth=[1,2,4,8,16]";
const MINIO: &str =
    "--set workload.rebuild.depth=1 --set workload.rebuild.rate=[\"20/s\",\"35/s\",\"70/s\",\"105/s\",\"1000000/s\"]";

/// The picture of the page on rebuilds.
pub const PLANE: Plane = Plane {
    command: COMMAND,
    sets: "rebuild.rs",
    background: "rebuild",
    users: "users",
    title: "Readers'",
    across: "rebuild, MB/s",
    unbeaten: "a rebuild as others do it is not beaten",
    page: "docs/guide/rebuild.md",
    ways: &[
        Way {
            name: "Halfturn: users step in, the rebuild capped or not",
            colour: "#d62728",
            claim: Claim::Beats,
            only: &[],
            commands: &[&[COMMAND, OURS], &[COMMAND, OURS, OURS_DEEP]],
        },
        Way {
            name: "md: a cap on its rate (sync_speed_max)",
            colour: "#1f77b4",
            claim: Claim::IsBeaten,
            only: &[],
            commands: &[&[COMMAND]],
        },
        Way {
            name: "ZFS: queues by kind, bytes in flight (zfs_scan_vdev_limit)",
            colour: "#2ca02c",
            claim: Claim::IsBeaten,
            only: &[],
            commands: &[&[COMMAND, ZFS]],
        },
        Way {
            name: "minio: one piece at a time, and a sleep of 10 to 0 times as long",
            colour: "#7f7f7f",
            claim: Claim::IsBeaten,
            only: &[],
            commands: &[&[COMMAND, MINIO]],
        },
    ],
};
