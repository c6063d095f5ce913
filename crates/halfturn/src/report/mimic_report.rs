//! What a Disk Mimic learned of a device.

use super::number;
use super::table::{Edge, table};
use block::{Span, units};
use sched::predict::mimic::Learned;

/// As people read it: times by distance, and what it took to learn them.
pub fn mimic_report(name: &str, learned: &Learned, written: Option<&str>) -> String {
    let time = |distance: i64| {
        learned.time(distance).map_or(String::new(), |time: Span| number::with_decimals(time.as_ms(), 2))
    };
    let mut rows = vec![vec!["0".into(), time(0), time(0)]];
    // The mean of a few, since times of single distances vary by a revolution.
    let around = |distance: i64| {
        let near = (0..64).filter_map(|i| learned.time(distance + distance * i / 128));
        let times: Vec<f64> = near.map(Span::as_ms).collect();
        number::with_decimals(times.iter().sum::<f64>() / times.len().max(1) as f64, 2)
    };
    for distance in (4..63).step_by(3).map(|bit| 1i64 << bit).take_while(|it| *it as u64 * 2 < learned.blocks()) {
        rows.push(vec![units::show_blocks(distance as u64), around(distance), around(-distance)]);
    }
    let heads = [("distance", Edge::Left), ("onward, ms", Edge::Right), ("back, ms", Edge::Right)];
    let heads = heads.map(|(head, edge)| (head.to_owned(), edge));
    let effort = learned.effort;
    let mut text = format!(
        " {name}: {} ({} blocks)\n\n{}\n {} distances in {:.0} KiB; {} of all are interpolated, of {} only the curve is known\n \
         {} commands, {} of device time\n",
        units::show_blocks(learned.blocks()),
        number::count(learned.blocks()),
        table(&heads, &rows),
        number::count(learned.len() as u64),
        learned.bytes() as f64 / 1024.0,
        number::percent(effort.interpolated),
        number::percent(effort.coarse),
        number::count(effort.commands),
        number::seconds(effort.time.as_secs()),
    );
    if let Some(file) = written {
        text += &format!(" Written to {file}\n");
    }
    text
}
