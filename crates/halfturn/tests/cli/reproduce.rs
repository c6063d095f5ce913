//! `halfturn reproduce`.

use crate::{root, run_in, said};
use serde_json::Value;

#[test]
fn a_table_of_arithmetic() {
    insta::assert_snapshot!(said(&["reproduce", "vio.eq2"]));
}

#[test]
fn json_has_the_keys_of_each_target() {
    let json: Value = serde_json::from_str(&said(&["reproduce", "vio.eq1.seek", "vio.disk.outer", "--format", "json"]))
        .expect("JSON");
    let targets = json["targets"].as_array().expect("targets");
    let ids: Vec<&Value> = targets.iter().map(|target| &target["id"]).collect();
    assert_eq!(ids, ["vio.disk.outer", "vio.eq1.seek"], "in order of ids");
    assert_eq!(json["summary"]["published_numbers"]["targets"], 1, "the construction counts apart");
    for target in targets {
        for key in ["claim", "published", "measured", "tolerance", "pass", "source", "basis", "verdict", "by_seed"] {
            assert!(!target[key].is_null(), "{key} of {target}");
        }
    }
    assert_eq!((&targets[1]["published"], &targets[1]["measured"]), (&Value::from(7.0), &Value::from(7.0)));
}

#[test]
fn a_known_miss_is_shown_as_one_and_is_no_failure() {
    let text = said(&["reproduce", "vio.fig11.tail.50"]);
    assert!(text.contains("MISSED") && text.contains("Of 1 published numbers: 1 missed"), "{text}");
}

#[test]
fn seeds_give_a_mean_its_margin_and_a_verdict_over_all() {
    let json: Value =
        serde_json::from_str(&said(&["reproduce", "vio.fig1", "--seeds", "3", "--format", "json"])).expect("JSON");
    let [parts, rotation] = json["targets"].as_array().expect("targets").as_slice() else { panic!("two targets") };
    assert_eq!(rotation["by_seed"].as_array().map(Vec::len), Some(3));
    let seeds: Vec<f64> = rotation["by_seed"].as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
    let mean = rotation["measured"].as_f64().expect("a mean");
    assert!((mean - seeds.iter().sum::<f64>() / 3.0).abs() < 1e-9 && seeds[0] != seeds[1], "{rotation}");
    assert!(rotation["margin"].as_f64().is_some_and(|margin| margin > 0.0), "{rotation}");
    assert_eq!((&parts["verdict"], &parts["basis"]), (&Value::from("held"), &Value::from("construction")));
}

#[test]
fn the_list_names_every_target_and_runs_nothing() {
    let list = said(&["reproduce", "--list"]);
    let json: Value = serde_json::from_str(&said(&["reproduce", "--list", "--format", "json"])).expect("JSON");
    let targets = json["targets"].as_array().expect("targets");
    assert!(targets.len() > 100);
    assert!(targets.iter().all(|target| list.contains(target["id"].as_str().expect("an id"))));
}

#[test]
fn the_page_opens_offline_with_published_points() {
    let path = std::env::temp_dir().join(format!("halfturn-reproduce-{}.html", std::process::id()));
    let output = run_in(&root(), &["reproduce", "vio.fig9.npio", "--report", &path.to_string_lossy()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = std::fs::read_to_string(&path).expect("the page");
    std::fs::remove_file(&path).expect("it is ours");
    assert!(page.contains("npIO, published") && page.contains("45.4") && !page.contains("<script src"));
    let (sum, all) = (page.find("orders and bounds: 1 held"), page.find("All targets"));
    assert!(sum.is_some() && sum < all, "the page begins with the sum");
}

#[test]
fn figures_of_a_page_are_zoomed_and_asked_with_the_pointer() {
    let node = std::process::Command::new("node").arg("--version").output();
    if node.is_err() {
        println!("SKIPPED: there is no node; figures were NOT tried with a pointer");
        return;
    }
    let path = std::env::temp_dir().join(format!("halfturn-pointer-{}.html", std::process::id()));
    run_in(&root(), &["reproduce", "vio.fig9.npio", "--report", &path.to_string_lossy()]);
    let script = root().join(crate::data("pointer.js"));
    let tried = std::process::Command::new("node").arg(script).arg(&path).output().expect("node starts");
    std::fs::remove_file(&path).expect("it is ours");
    assert!(tried.status.success(), "{}", String::from_utf8_lossy(&tried.stderr));
}

#[test]
fn the_page_has_the_bars_of_timing_diagrams() {
    let path = std::env::temp_dir().join(format!("halfturn-timing-{}.html", std::process::id()));
    let output = run_in(&root(), &["reproduce", "vio.fig4", "--report", &path.to_string_lossy()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = std::fs::read_to_string(&path).expect("the page");
    std::fs::remove_file(&path).expect("it is ours");
    let bars = ["slack", "overhead", "seek", "rotation", "transfer"].map(|kind| format!("\"name\":\"{kind}\""));
    let rows = ["regular IO: requests", "IO with JIT-seek: requests"].map(str::to_owned);
    for part in bars.iter().chain(&rows) {
        assert!(page.contains(part), "no {part}");
    }
}
