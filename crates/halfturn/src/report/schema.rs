//! A JSON Schema of experiment files, so that editors complete keys and check them.

use super::manual::words;
use config::{About, Missing, Takes};
use load::manual::{Declared, drive_keys, keys};
use serde_json::{Map, Value, json};

/// The schema, of draft 2020-12.
pub fn schema() -> Value {
    let mut root = table();
    for key in keys() {
        let required = key.about.missing == Missing::Refused && key.of.is_none();
        let table = descend(&mut root, key.heading);
        let properties = table["properties"].as_object_mut().expect("a table has properties");
        let known = properties.get(key.about.name).cloned();
        properties.insert(key.about.name.into(), join(known, property(&key)));
        // Which keys a word needs is known when the word is.
        if required && let Some(list) = table["required"].as_array_mut() {
            list.push(key.about.name.into());
        }
    }
    // Each of a drive's keys stands for what its file says, and so none is required.
    for key in drive_keys() {
        for place in ["drive", "disk"] {
            let heading = key.heading.replacen("drive", place, 1);
            let table = descend(&mut root, &heading);
            let properties = table["properties"].as_object_mut().expect("a table has properties");
            let known = properties.get(key.about.name).cloned();
            properties.insert(key.about.name.into(), join(known, property(&key)));
        }
    }
    root["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    root["title"] = "An experiment of halfturn".into();
    root
}

fn table() -> Value {
    json!({ "type": "object", "properties": {}, "required": [], "additionalProperties": false })
}

/// The table under a heading such as `[scheduler.class.NAME]` or `[[workload]]`, made where it is not there yet.
fn descend<'a>(root: &'a mut Value, heading: &str) -> &'a mut Value {
    let many = heading.starts_with("[[");
    let path = heading.trim_matches(['[', ']']);
    let parts: Vec<&str> = path.split('.').filter(|part| !part.is_empty()).collect();
    let mut at = root;
    for (depth, part) in parts.iter().enumerate() {
        // A part in capitals is any name.
        if part.chars().all(|c| c.is_ascii_uppercase()) {
            if !at["additionalProperties"].is_object() {
                at["additionalProperties"] = table();
            }
            at = &mut at["additionalProperties"];
            continue;
        }
        let properties = at["properties"].as_object_mut().expect("a table has properties");
        let last = depth + 1 == parts.len();
        // What is a value or a table, as `queue`, may be either.
        let inner = properties.entry(*part).or_insert_with(|| if many && last { list() } else { table() });
        if inner.get("properties").is_none() && inner.get("anyOf").is_none() && inner.get("items").is_none() {
            *inner = json!({ "anyOf": [table(), inner.clone()] });
        }
        at = if inner.get("items").is_some() {
            &mut inner["items"]
        } else if inner.get("anyOf").is_some() {
            &mut inner["anyOf"][0]
        } else {
            inner
        };
    }
    at
}

fn list() -> Value {
    json!({ "type": "array", "items": table() })
}

/// Where several words have a key of one name, what any of them takes.
fn join(known: Option<Value>, new: Value) -> Value {
    match known {
        Some(known) if known["properties"].is_object() => json!({ "anyOf": [known, new] }),
        Some(known) if known["oneOf"] != new["oneOf"] => {
            let all = [known["oneOf"].as_array(), new["oneOf"].as_array()];
            let all: Vec<&Value> = all.into_iter().flatten().flatten().collect();
            json!({ "description": known["description"], "anyOf": all })
        }
        Some(known) => known,
        None => new,
    }
}

/// A value, or a list of values that a sweep tries.
fn property(key: &Declared) -> Value {
    let About { takes, missing, text, .. } = key.about;
    let one = kind(takes);
    let mut property = Map::new();
    let of = key.of.map(|(key, word)| format!("With {key} = \"{word}\". ")).unwrap_or_default();
    property.insert("description".into(), format!("{of}{text}").into());
    if let Missing::Value(value) = missing {
        property.insert("default".into(), literal(value));
    }
    let many = json!({ "type": "array", "items": one });
    property.insert("oneOf".into(), json!([one, many]));
    Value::Object(property)
}

/// A value as a file has it: a number, true or false, or a text.
fn literal(value: &str) -> Value {
    serde_json::from_str(value).unwrap_or_else(|_| value.into())
}

fn kind(takes: Takes) -> Value {
    match takes {
        Takes::Text | Takes::Form(_) => json!({ "type": "string" }),
        Takes::Texts => json!({ "type": "array", "items": { "type": "string" } }),
        Takes::Name => json!({ "type": ["string", "integer"] }),
        Takes::Bool => json!({ "type": "boolean" }),
        Takes::Whole(least, u64::MAX) => json!({ "type": "integer", "minimum": least }),
        Takes::Whole(least, most) => json!({ "type": "integer", "minimum": least, "maximum": most }),
        Takes::Number(least, f64::MAX) => json!({ "type": "number", "minimum": least }),
        Takes::Number(least, most) => json!({ "type": "number", "minimum": least, "maximum": most }),
        Takes::Numbers => json!({ "type": "array", "items": { "type": "number" } }),
        Takes::Times => json!({ "type": "string", "pattern": TIME }),
        Takes::Rows => json!({ "type": "array", "items": { "type": "array", "items": { "type": "number" } } }),
        Takes::Share => json!({ "type": "number", "minimum": 0, "maximum": 1 }),
        Takes::Size => json!({ "type": "string", "pattern": r"^\s*[0-9.]+\s*[A-Za-z]+\s*$" }),
        Takes::Time => json!({ "type": "string", "pattern": TIME }),
        Takes::BoolOr(word) => json!({ "enum": [true, false, word] }),
        Takes::TimeOr(word) => json!({ "type": "string", "pattern": format!("{TIME}|^{word}$") }),
        Takes::Rate => json!({ "type": "string", "pattern": r"^\s*[0-9.]+\s*/\s*[a-z]+\s*$" }),
        Takes::Word(_) => {
            let words: Vec<Value> =
                words(takes).iter().map(|(word, text)| json!({ "const": word, "description": text })).collect();
            json!({ "oneOf": words })
        }
    }
}

/// A time with its unit.
const TIME: &str = r"^\s*[0-9.]+\s*[a-z]+\s*$";
