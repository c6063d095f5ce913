//! The page of metrics, made of what a service with one volume tells.

use super::ServiceMetrics;
use crate::front::VolumeReport;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;

const HEAD: &str = "# Metrics\n\nWritten by `cargo test` from what a service tells. `metrics = \"127.0.0.1:9123\"` in `[serve]` has it \
answer `GET /metrics` there, in Prometheus's text format, version 0.0.4; a path in its place makes that a UNIX socket. \
Where a service has several devices, each line has the label `device`, too.\n\n\
```yaml\nscrape_configs:\n  - job_name: halfturn\n    static_configs:\n      - targets: [\"127.0.0.1:9123\"]\n```\n\n\
The 99th percentile of a volume's reads over five minutes:\n\n\
```\nhistogram_quantile(0.99, rate(halfturn_request_duration_seconds_bucket{volume=\"disk\",op=\"read\"}[5m]))\n```\n\n\
| metric | type | labels | what it is |\n|---|---|---|---|\n";

/// The page, as Markdown.
#[must_use]
pub fn reference() -> String {
    let array = Some(Value::Null);
    let text = ServiceMetrics { volumes: vec![VolumeReport::default()], array, ..ServiceMetrics::default() }.text();
    let mut page = String::from(HEAD);
    let labels = labels(&text);
    for line in text.lines().filter_map(|line| line.strip_prefix("# HELP ")) {
        let (name, help) = line.split_once(' ').unwrap_or((line, ""));
        let kind = text.lines().find_map(|line| line.strip_prefix("# TYPE ")?.strip_prefix(name)?.strip_prefix(' '));
        let labels = labels.get(name).map_or(String::new(), |labels| labels.join("<br>"));
        let _ = writeln!(page, "| `{name}` | {} | {labels} | {help} |", kind.unwrap_or_default());
    }
    page
}

/// The labels of each metric, with the values that a label has of itself.
fn labels(text: &str) -> BTreeMap<&str, Vec<String>> {
    let mut all: BTreeMap<&str, BTreeMap<&str, Vec<&str>>> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let Some((name, rest)) = line.split_once('{') else { continue };
        let name = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
        for label in rest.split('}').next().unwrap_or_default().split(',') {
            let Some((label, value)) = label.split_once('=') else { continue };
            let values = all.entry(name).or_default().entry(label).or_default();
            let value = value.trim_matches('"');
            if !value.is_empty() && label != "le" && !values.contains(&value) {
                values.push(value);
            }
        }
    }
    let tell = |(label, values): (&str, Vec<&str>)| match values.as_slice() {
        [] => format!("`{label}`"),
        values => format!("`{label}`: {}", values.join(", ")),
    };
    all.into_iter().map(|(name, labels)| (name, labels.into_iter().map(tell).collect())).collect()
}
