//! The board for Grafana: every metric it shows is one that a service tells.

use serde_json::Value;
use std::path::Path;

fn read(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The metrics of a text, by their names.
fn metrics(text: &str) -> Vec<&str> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.filter(|word| word.starts_with("halfturn_")).collect()
}

/// Whether a metric is among those that the reference page lists; one of a histogram's by its suffix.
fn is_told(metric: &str, page: &str) -> bool {
    let row = |name: &str| page.lines().find(|line| line.starts_with(&format!("| `{name}` ")));
    let ends = ["_bucket", "_sum", "_count"];
    let whole = ends.iter().find_map(|end| metric.strip_suffix(end));
    row(metric).is_some_and(|row| !row.contains("| histogram |"))
        || whole.and_then(row).is_some_and(|row| row.contains("| histogram |"))
}

#[test]
fn every_metric_of_the_board_is_told_and_every_metric_told_is_on_it() {
    let (board, page) = (read("examples/grafana/halfturn.json"), read("docs/reference/metrics.md"));
    let found = metrics(&board);
    assert!(found.len() > 20, "{found:?}");
    let unknown: Vec<&&str> = found.iter().filter(|metric| !is_told(metric, &page)).collect();
    assert!(unknown.is_empty(), "no service tells {unknown:?}");
    let listed = page.lines().filter_map(|line| line.strip_prefix("| `halfturn_")?.split_once('`'));
    // What requests are worth is of interest under policies by value alone.
    let wanted = listed.map(|(name, _)| format!("halfturn_{name}")).filter(|name| name != "halfturn_yield_total");
    let absent: Vec<String> = wanted.filter(|name| !found.iter().any(|metric| metric.starts_with(name))).collect();
    assert!(absent.is_empty(), "the board does not show {absent:?}");
}

#[test]
fn every_panel_asks_something_and_has_its_place() {
    let board: Value = serde_json::from_str(&read("examples/grafana/halfturn.json")).expect("JSON");
    let panels = board["panels"].as_array().expect("panels");
    let place = |panel: &Value| ["x", "y", "w", "h"].map(|key| panel["gridPos"][key].as_u64().expect("a number"));
    for (number, panel) in panels.iter().enumerate() {
        let targets = panel["targets"].as_array().expect("targets");
        assert!(targets.iter().all(|target| target["expr"].as_str().is_some_and(|expr| expr.contains("halfturn_"))));
        assert!(!targets.is_empty() && panel["title"].is_string());
        let [x, y, w, h] = place(panel);
        assert!(x + w <= 24, "Grafana is 24 wide");
        for other in &panels[..number] {
            let [left, top, width, height] = place(other);
            let apart = x >= left + width || left >= x + w || y >= top + height || top >= y + h;
            assert!(apart, "{} lies on {}", panel["title"], other["title"]);
        }
    }
}

#[test]
fn a_metric_that_nobody_tells_is_found() {
    let page = "| `halfturn_clients` | gauge | `volume` | Clients. |\n| `halfturn_took` | histogram | | Time. |\n";
    for (metric, told) in [
        ("halfturn_clients", true),
        ("halfturn_client", false),
        ("halfturn_clients_sum", false),
        ("halfturn_took_bucket", true),
        ("halfturn_took", false),
    ] {
        assert_eq!(is_told(metric, page), told, "{metric}");
    }
}
