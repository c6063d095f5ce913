//! Help, the list of keys and the schema, each from the declarations that files are read by.

use crate::{root, run_in, said};
use serde_json::Value;

fn keys() -> Vec<Value> {
    serde_json::from_str(&said(&["keys", "--format", "json"])).expect("an array of keys")
}

#[test]
fn every_key_and_every_word_is_explained() {
    let keys = keys();
    let text = |value: &Value| value.as_str().expect("a text").to_string();
    for key in &keys {
        let mut topics = vec![text(&key["key"])];
        topics.extend(key["words"].as_array().expect("words").iter().map(|word| text(&word["word"])));
        for topic in topics {
            assert!(said(&["help", &topic]).contains(&topic), "{topic}");
        }
        assert!(text(&key["text"]).ends_with('.'), "{key} is not explained in sentences");
    }
    assert!(keys.len() > 30, "{}", keys.len());
}

#[test]
fn what_is_unknown_is_told_with_what_may_be_meant() {
    let told = run_in(&root(), &["help", "lattency"]);
    let stderr = String::from_utf8_lossy(&told.stderr);
    assert!(told.status.code() == Some(2) && told.stdout.is_empty(), "{stderr}");
    assert!(stderr.contains("did you mean 'latency'?"), "{stderr}");
    assert!(said(&["help", "drive", "list"]).contains("halfturn drive list"));
}

/// The keys of a table that the schema does not have.
fn unknown(schema: &Value, value: &toml::Value, path: &str, found: &mut Vec<String>) {
    match value {
        toml::Value::Table(table) => {
            for (key, value) in table {
                let path = format!("{path}.{key}");
                let any = [&schema["properties"][key], &schema["additionalProperties"]];
                match any.into_iter().find(|schema| schema.is_object()) {
                    Some(schema) => {
                        let table =
                            if schema["anyOf"][0]["properties"].is_object() { &schema["anyOf"][0] } else { schema };
                        unknown(table, value, &path, found);
                    }
                    None => found.push(path),
                }
            }
        }
        toml::Value::Array(list) => list.iter().filter(|value| value.is_table()).for_each(|value| {
            unknown(&schema["items"], value, path, found);
        }),
        _ => {}
    }
}

#[test]
fn the_schema_has_every_key_of_the_scheduler_that_the_examples_use() {
    let schema: Value = serde_json::from_str(&said(&["schema"])).expect("JSON");
    let mut tried = 0;
    for file in std::fs::read_dir(root().join("examples")).expect("examples") {
        let path = file.expect("an entry").path();
        if path.extension().is_none_or(|ending| ending != "toml") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("an example");
        let example: toml::Value = toml::from_str(&text).expect("TOML");
        let Some(scheduler) = example.get("scheduler") else { continue };
        let mut found = Vec::new();
        unknown(&schema["properties"]["scheduler"], scheduler, "scheduler", &mut found);
        assert!(found.is_empty(), "{}: {found:?}", path.display());
        tried += 1;
    }
    assert!(tried > 5, "{tried} examples have a scheduler");
}
