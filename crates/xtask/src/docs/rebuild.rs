//! The picture of a rebuild: what readers wait beside it, by how fast it is, as Halfturn, md, ZFS and minio do it.

use super::Program;
use super::picture::{PANELS, Panel, PanelPoint};
use serde_json::Value;
use std::fmt::Write as _;

const COMMAND: &str = "halfturn simulate examples/rebuild-as-others-do.toml";
/// What is set in place of what the file has, for a way; a rate that caps nothing.
const OURS: &str = "--set scheduler.policy=satf --set scheduler.io=semi-preemptible --set scheduler.preemption=always \
                    --set scheduler.plan.chunk=128KiB --set scheduler.plan.last_chunk_fua=false --set scheduler.class.rebuild.preempts=false";
const OURS_DEEP: &str = "--set workload.rebuild.rate=1000000/s --set workload.rebuild.depth=[2,8,32,64]";
const ZFS: &str = "--set scheduler.policy=zfs --set disk.0.queue=10 --set workload.rebuild.rate=1000000/s --set workload.rebuild.depth=[1,2,4,8,16]";
const MINIO: &str =
    "--set workload.rebuild.depth=1 --set workload.rebuild.rate=[\"20/s\",\"35/s\",\"70/s\",\"105/s\",\"1000000/s\"]";
/// A way: what it is called, its colour, and what is set for it, once or twice.
const WAYS: [(&str, &str, &[&[&str]]); 4] = [
    ("Halfturn: users step in, the rebuild capped or not", "#d62728", &[&[OURS], &[OURS, OURS_DEEP]]),
    ("md: a cap on its rate (sync_speed_max)", "#1f77b4", &[&[]]),
    ("ZFS: queues by kind, bytes in flight (zfs_scan_vdev_limit)", "#2ca02c", &[&[ZFS]]),
    ("minio: one piece at a time, and a sleep of 10 to 0 times as long", "#7f7f7f", &[&[MINIO]]),
];

/// How fast the rebuild is, and what readers wait beside it: MB/s, mean and 99th percentile in ms.
type RebuildFigures = [f64; 3];

/// Draws the picture of the page on rebuilds, as an SVG.
pub fn draw(program: &Program) -> Result<String, String> {
    let mut ways = Vec::new();
    for (way, _, settings) in WAYS {
        let mut found = Vec::new();
        for sets in settings {
            let json = program.json(&[&[COMMAND], *sets].concat().join(" "))?;
            let runs = json["runs"].as_array().ok_or_else(|| format!("{way}: no runs"))?;
            for run in runs {
                found.push(find(run).ok_or_else(|| format!("{way}: a run without its figures"))?);
            }
        }
        ways.push(found);
    }
    if let Some(why) = find_unbeaten(&ways) {
        return Err(why);
    }
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 810 400\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <!-- {COMMAND}, with what crates/xtask/src/docs/rebuild.rs sets -->\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for ((name, at), left) in [("Readers' mean response", 1), ("Their 99th percentile", 2)].into_iter().zip(PANELS) {
        let point = |(way, colour): (&str, &'static str), found: &RebuildFigures| PanelPoint {
            x: found[0],
            y: found[at],
            told: format!("{way}: {:.0} MB/s, mean {:.2} ms, p99 {:.1} ms", found[0], found[1], found[2]),
            colour,
        };
        let points: Vec<PanelPoint> = WAYS
            .iter()
            .zip(&ways)
            .flat_map(|((way, colour, _), found)| found.iter().map(move |found| point((way, colour), found)))
            .collect();
        Panel { name, left, across: "rebuild, MB/s", aside: "ms" }.draw(&mut svg, &points);
    }
    for (line, (name, colour, _)) in WAYS.iter().enumerate() {
        let (x, y) = (PANELS[0], 322.0 + 18.0 * line as f64);
        let _ = writeln!(svg, "<circle cx=\"{}\" cy=\"{}\" r=\"5\" fill=\"{colour}\"/>", x + 5.0, y - 4.0);
        let _ = writeln!(svg, "<text x=\"{}\" y=\"{y}\">{name}</text>", x + 16.0);
    }
    Ok(svg + "</svg>\n")
}

fn find(run: &Value) -> Option<RebuildFigures> {
    let classes = &run["classes"];
    let waits = &classes["users"]["response_ms"];
    Some([classes["rebuild"]["throughput_mb_s"].as_f64()?, waits["mean"].as_f64()?, waits["p99"].as_f64()?])
}

/// A point of another way that none of ours is better than: as fast to a thousandth, with less to wait in the mean and at the end.
fn find_unbeaten(ways: &[Vec<RebuildFigures>]) -> Option<String> {
    let (ours, others) = ways.split_first()?;
    let beats = |own: &RebuildFigures, it: &RebuildFigures| own[0] >= 0.999 * it[0] && own[1] < it[1] && own[2] < it[2];
    let unbeaten = others.iter().flatten().find(|it| !ours.iter().any(|own| beats(own, it)))?;
    Some(format!(
        "a rebuild as others do it is not beaten: MB/s, mean and p99 {unbeaten:.2?}; say so in docs/guide/rebuild.md"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_as_fast_and_lets_wait_less_beats_another() {
        let ours = vec![[100.0, 10.0, 20.0], [400.0, 12.0, 30.0]];
        assert_eq!(find_unbeaten(&[ours.clone(), vec![[100.05, 10.5, 20.5], [300.0, 13.0, 31.0]]]), None);
        for better in [[500.0, 13.0, 31.0], [300.0, 11.0, 31.0], [300.0, 13.0, 29.0]] {
            assert!(find_unbeaten(&[ours.clone(), vec![better]]).is_some(), "{better:?}");
        }
    }
}
