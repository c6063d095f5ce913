//! What a service did between two looks at its counts.

use super::table::{Edge, table};
use serde_json::{Value, json};

/// What was done from one answer of a service to the next, so many seconds later.
pub fn activity(before: &Value, now: &Value, seconds: f64) -> Value {
    let rate = |before: &Value, now: &Value, key: &str| since(before, now, key) / seconds;
    let volumes = now["volumes"].as_array().into_iter().flatten().map(|volume| {
        let all = before["volumes"].as_array().into_iter().flatten();
        let old = all.clone().find(|old| old["name"] == volume["name"]).unwrap_or(&Value::Null);
        let took = |key: &str| latency(&old[key], &volume[key], &now["bounds_ms"]);
        json!({
            "name": volume["name"], "class": volume["class"], "priority": volume["priority"],
            "clients": volume["clients"], "in_flight": volume["in_flight"], "hangs": volume["hangs"],
            "flush_failed": volume["flush_failed"], "fault": volume["fault"], "device": volume["device"],
            "reads_per_s": rate(old, volume, "reads"), "writes_per_s": rate(old, volume, "writes"),
            "read_mb_per_s": rate(old, volume, "read_bytes") / 1e6,
            "written_mb_per_s": rate(old, volume, "written_bytes") / 1e6,
            "failed": since(old, volume, "failed") + since(old, volume, "dropped"),
            "reading_ms": took("reading"), "writing_ms": took("writing"),
        })
    });
    json!({
        "seconds": seconds, "volumes": volumes.collect::<Vec<_>>(), "waiting": now["waiting"],
        "preemptions_per_s": rate(before, now, "preemptions"), "jit_seeks_per_s": rate(before, now, "jit_seeks"),
        "jit_late_per_s": rate(before, now, "jit_late"), "jit_given_up": now["jit_given_up"],
        "host_lateness_ms": latency(&before["host_lateness"], &now["host_lateness"], &now["bounds_ms"]),
    })
}

/// By how much a count has grown.
fn since(before: &Value, now: &Value, key: &str) -> f64 {
    now[key].as_f64().unwrap_or(0.0) - before[key].as_f64().unwrap_or(0.0)
}

/// Mean and 99th percentile of what was counted in between, in ms: the percentile as a bound that it does not exceed, nothing where
/// it lies above all.
fn latency(before: &Value, now: &Value, bounds: &Value) -> Value {
    let counts = now["counts"].as_array().into_iter().flatten().enumerate();
    let old = |bucket: usize| before["counts"][bucket].as_u64().unwrap_or(0);
    let grown: Vec<u64> =
        counts.map(|(bucket, count)| count.as_u64().unwrap_or(0).saturating_sub(old(bucket))).collect();
    let all: u64 = grown.iter().sum();
    if all == 0 {
        return Value::Null;
    }
    let mut below = 0;
    let quantile = grown.iter().position(|count| {
        below += count;
        below * 100 >= all * 99
    });
    let p99 = quantile.map_or(&Value::Null, |bucket| &bounds[bucket]);
    json!({ "mean": since(before, now, "sum_ms") / all as f64, "p99": p99 })
}

/// The same as a table.
pub fn top(activity: &Value) -> String {
    let heads = [
        "volume", "class", "clients", "waiting", "reads/s", "writes/s", "MB/s", "read ms", "p99 ms", "write ms",
        "p99 ms", "failed",
    ];
    let edge = |head: &str| if matches!(head, "volume" | "class") { Edge::Left } else { Edge::Right };
    let mut heads: Vec<(String, Edge)> = heads.map(|head| (head.to_owned(), edge(head))).into();
    let volumes = || activity["volumes"].as_array().into_iter().flatten();
    let mut rows: Vec<Vec<String>> = volumes().map(row).collect();
    super::volumes::show_devices(volumes(), &mut heads, &mut rows);
    let number = |key: &str| activity[key].as_f64().unwrap_or(0.0);
    let late = &activity["host_lateness_ms"];
    let late = match late["mean"].as_f64() {
        None => String::new(),
        Some(mean) => format!("; the host is {mean:.3} ms late, p99 {}", show_percentile(&late["p99"])),
    };
    let timed = match activity["jit_given_up"] == true {
        true => "; too many just-in-time seeks were late: requests go at once".to_owned(),
        false if number("jit_seeks_per_s") == 0.0 => String::new(),
        false => format!(
            "; {:.1} just-in-time seeks/s, {:.1} of them late",
            number("jit_seeks_per_s"),
            number("jit_late_per_s")
        ),
    };
    let told = format!(
        " {} requests in the scheduler; {:.1} preemptions/s{timed}{late}\n",
        number("waiting"),
        number("preemptions_per_s")
    );
    table(&heads, &rows) + &told
}

fn row(volume: &Value) -> Vec<String> {
    let number = |key: &str| volume[key].as_f64().unwrap_or(0.0);
    let mean = |key: &str| volume[key]["mean"].as_f64().map_or("-".into(), |mean| format!("{mean:.2}"));
    let p99 = |key: &str| if volume[key].is_null() { "-".into() } else { show_percentile(&volume[key]["p99"]) };
    vec![
        volume["name"].as_str().unwrap_or_default().to_owned(),
        volume["class"].as_str().unwrap_or_default().to_owned() + &super::volumes::state(volume),
        number("clients").to_string(),
        number("in_flight").to_string(),
        format!("{:.0}", number("reads_per_s")),
        format!("{:.0}", number("writes_per_s")),
        format!("{:.2}", number("read_mb_per_s") + number("written_mb_per_s")),
        mean("reading_ms"),
        p99("reading_ms"),
        mean("writing_ms"),
        p99("writing_ms"),
        number("failed").to_string(),
    ]
}

/// A percentile that is known by a bound of its bucket.
fn show_percentile(p99: &Value) -> String {
    p99.as_f64().map_or("> 10000".into(), |bound| format!("<= {bound}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(reads: u64, counts: [u64; 3], sum_ms: f64) -> Value {
        let volume = json!({
            "name": "a", "class": "interactive", "priority": 1, "clients": 2, "in_flight": 3, "hangs": false,
            "flush_failed": false, "fault": null, "reads": reads, "writes": 0, "read_bytes": reads * 4096,
            "written_bytes": 0, "failed": 0, "dropped": 0, "reading": { "counts": counts, "sum_ms": sum_ms },
            "writing": { "counts": [0, 0, 0], "sum_ms": 0.0 },
        });
        json!({
            "volumes": [volume], "bounds_ms": [1.0, 2.0], "waiting": 3, "preemptions": reads / 10, "jit_seeks": 0,
            "jit_late": 0, "jit_given_up": false, "host_lateness": { "counts": [0, 0, 0], "sum_ms": 0.0 },
        })
    }

    #[test]
    fn what_is_told_is_of_the_time_in_between() {
        let told = activity(&counted(100, [100, 0, 0], 50.0), &counted(300, [200, 100, 0], 300.0), 2.0);
        let volume = &told["volumes"][0];
        assert_eq!((&volume["reads_per_s"], &volume["read_mb_per_s"]), (&json!(100.0), &json!(0.4096)));
        assert_eq!(volume["reading_ms"], json!({ "mean": 1.25, "p99": 2.0 }));
        assert_eq!(volume["writing_ms"], Value::Null);
        assert_eq!(told["preemptions_per_s"], 10.0);
        let shown = top(&told);
        assert!(
            shown.contains("interactive") && shown.contains("<= 2") && shown.contains("10.0 preemptions/s"),
            "{shown}"
        );
    }

    #[test]
    fn a_percentile_above_all_bounds_is_said_to_be() {
        let told = activity(&counted(0, [0; 3], 0.0), &counted(100, [98, 0, 2], 40_000.0), 1.0);
        assert_eq!(told["volumes"][0]["reading_ms"]["p99"], Value::Null);
        assert!(top(&told).contains("> 10000"));
        // One of a hundred is not above the 99th percentile.
        let told = activity(&counted(0, [0; 3], 0.0), &counted(100, [99, 0, 1], 20_000.0), 1.0);
        assert_eq!(told["volumes"][0]["reading_ms"]["p99"], 1.0);
    }
}
