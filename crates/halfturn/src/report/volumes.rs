//! How the volumes of a service fare.

use super::table::{Edge, table};
use block::units;
use live::{Lateness, VolumeReport};
use serde_json::{Value, json};

/// At the end of a service.
pub fn volumes(reports: &[VolumeReport], lateness: &Lateness) -> String {
    let all: Vec<Value> = reports.iter().map(VolumeReport::json).collect();
    let late = super::lateness(lateness).map(|line| super::notes::wrap(&line));
    listed_volumes(&json!({ "volumes": all })) + &late.unwrap_or_default()
}

/// As a running service tells it.
pub fn listed_volumes(answer: &Value) -> String {
    let heads = ["volume", "size", "class", "clients", "reads", "writes", "failed", "mean ms", "p50 ms", "p99 ms"];
    let edge = |head: &&str| if matches!(*head, "volume" | "class") { Edge::Left } else { Edge::Right };
    let mut heads: Vec<(String, Edge)> = heads.iter().map(|head| ((*head).to_owned(), edge(head))).collect();
    let volumes = || answer["volumes"].as_array().into_iter().flatten();
    let mut rows: Vec<Vec<String>> = volumes().map(row).collect();
    show_devices(volumes(), &mut heads, &mut rows);
    let devices = answer["devices"].as_array().into_iter().flatten().map(|device| {
        let learned = tell_learned(&device["learned"]);
        let silent = if device["answers"] == true { "" } else { " does not answer" };
        let name = device["name"].as_str().unwrap_or_default();
        if learned.is_empty() && silent.is_empty() { learned } else { format!("\n device {name}{silent}{learned}") }
    });
    table(&heads, &rows) + &tell_learned(&answer["learned"]) + &devices.collect::<String>()
}

/// Has rows that are of one volume each name its device, where there are several.
pub(super) fn show_devices<'a>(
    volumes: impl Iterator<Item = &'a Value> + Clone,
    heads: &mut Vec<(String, Edge)>,
    rows: &mut [Vec<String>],
) {
    if volumes.clone().all(|volume| volume["device"].is_null()) {
        return;
    }
    heads.insert(1, ("device".into(), Edge::Left));
    for (row, volume) in rows.iter_mut().zip(volumes) {
        row.insert(1, volume["device"].as_str().unwrap_or_default().into());
    }
}

/// What `policy = "auto"` has learned of the device, and how sure it is; nothing where nothing is learned in use.
pub(super) fn tell_learned(told: &Value) -> String {
    let figure = |key: &str| told[key].as_f64().unwrap_or(0.0);
    let order = match (&told["in_use"], &told["by_arrival"]) {
        (in_use, _) if in_use == true => "requests go by that",
        (_, by_arrival) if by_arrival == true => "requests go in order of arrival, since distance gains nothing",
        _ => "requests go by distance",
    };
    match figure("turn_ms") {
        _ if told.is_null() => String::new(),
        turn if turn > 0.0 => format!(
            "\n learned: a revolution takes {turn:.3} ms ({:.0} rpm), angles of {:.1} % of the blocks; times are told within {:.2} ms, by \
             distance alone within {:.2} ms; {order}\n",
            60e3 / turn,
            100.0 * figure("known_blocks"),
            figure("error_ms"),
            figure("error_by_distance_ms"),
        ),
        _ => format!("\n learned: nothing is known to turn; {order}\n"),
    }
}

/// What is wrong with a volume.
pub(super) fn state(volume: &Value) -> String {
    let fault = volume["fault"].as_str().map(|fault| format!("fault: {fault}"));
    let known = [("flush_failed", "a flush failed"), ("hangs", "device hangs")];
    let known = known.into_iter().filter(|(key, _)| volume[*key] == true).map(|(_, what)| what.to_owned());
    let all: Vec<String> = known.chain(fault).collect();
    if all.is_empty() { String::new() } else { format!(" ({})", all.join(", ")) }
}

fn row(volume: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let count = |key: &str| volume[key].as_u64().unwrap_or(0);
    let ms = |key: &str| format!("{:.2}", volume["response_ms"][key].as_f64().unwrap_or(0.0));
    vec![
        text(&volume["name"]),
        units::show_bytes(count("bytes") as f64),
        text(&volume["class"]) + &state(volume),
        count("clients").to_string(),
        count("reads").to_string(),
        count("writes").to_string(),
        (count("failed") + count("dropped")).to_string(),
        ms("mean"),
        ms("p50"),
        ms("p99"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_requests_go_by_is_told_in_each_case() {
        for (in_use, by_arrival, told) in [
            (false, false, "requests go by distance"),
            (false, true, "requests go in order of arrival, since distance gains nothing"),
            (true, false, "requests go by that"),
        ] {
            let learned = tell_learned(&json!({ "turn_ms": 0.0, "in_use": in_use, "by_arrival": by_arrival }));
            assert_eq!(learned, format!("\n learned: nothing is known to turn; {told}\n"));
        }
        assert_eq!(tell_learned(&Value::Null), "");
    }
}
