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
    root["$defs"] = json!({ "drawn": {
        "type": "object",
        "properties": {
            "draw": { "type": "array", "minItems": 1 },
            "shares": { "type": "array", "items": { "type": "number", "minimum": 0 } },
        },
        "required": ["draw"],
        "additionalProperties": false,
    } });
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

/// A value, a list of values that a sweep tries, or values of which one is drawn for each disk of a fleet.
fn property(key: &Declared) -> Value {
    let About { takes, missing, text, .. } = key.about;
    let one = kind(takes);
    let mut property = Map::new();
    let of = key.of.map(|(key, word)| format!("With {key} = \"{word}\". ")).unwrap_or_default();
    property.insert("description".into(), format!("{of}{text}").into());
    if let Missing::Value(value) = missing {
        property.insert("default".into(), literal(value));
    }
    let many = json!({ "type": "array", "items": value_in_list(takes, &one) });
    property.insert("oneOf".into(), json!([one, many, { "$ref": "#/$defs/drawn" }]));
    Value::Object(property)
}

/// A value of a sweep: where a key takes two times, these are a list inside the list.
fn value_in_list(takes: Takes, one: &Value) -> Value {
    match takes {
        Takes::Times | Takes::TimesOr(_) => json!({ "anyOf": [one, { "type": "array", "items": one, "maxItems": 2 }] }),
        _ => one.clone(),
    }
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
        Takes::Size => json!({ "type": "string", "pattern": SIZE }),
        Takes::Time => json!({ "type": "string", "pattern": TIME }),
        Takes::BoolOr(word) => json!({ "enum": [true, false, word] }),
        Takes::SizeOr(word) => json!({ "type": "string", "pattern": format!("{SIZE}|^{word}$") }),
        Takes::TimeOr(word) | Takes::TimesOr(word) => {
            json!({ "type": "string", "pattern": format!("{TIME}|^{word}$") })
        }
        Takes::Rate => json!({ "type": "string", "pattern": r"^\s*[0-9.]+\s*/\s*[a-z]+\s*$" }),
        Takes::Word(_) => {
            let words: Vec<Value> =
                words(takes).iter().map(|(word, text)| json!({ "const": word, "description": text })).collect();
            json!({ "oneOf": words })
        }
    }
}

/// A size with its unit.
const SIZE: &str = r"^\s*[0-9.]+\s*[A-Za-z]+\s*$";
/// A time with its unit.
const TIME: &str = r"^\s*[0-9.]+\s*[a-z]+\s*$";

#[cfg(test)]
mod tests {
    use super::*;
    use config::{Document, Section};

    /// What of the words of a schema a value keeps to; forms of texts are not looked at.
    fn accepts(schema: &Value, value: &Value) -> bool {
        let is = |word: &str| match word {
            "string" => value.is_string(),
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            "boolean" => value.is_boolean(),
            "array" => value.as_array().is_some_and(|list| list.iter().all(|each| accepts(&schema["items"], each))),
            other => panic!("a type that no key has: {other}"),
        };
        let typed = match &schema["type"] {
            Value::Array(words) => words.iter().filter_map(Value::as_str).any(is),
            Value::String(word) => is(word),
            _ => true,
        };
        let from = schema["minimum"].as_f64().is_none_or(|least| value.as_f64().is_some_and(|given| given >= least));
        let to = schema["maximum"].as_f64().is_none_or(|most| value.as_f64().is_some_and(|given| given <= most));
        typed && from && to && schema["enum"].as_array().is_none_or(|all| all.contains(value))
    }

    #[test]
    fn a_schema_takes_what_the_reader_of_a_key_takes_and_nothing_else() {
        type Reads = fn(&Section) -> bool;
        let readers: [(Takes, Reads); 14] = [
            (Takes::Text, |section| section.string("x").is_ok()),
            (Takes::Texts, |section| section.strings("x").is_ok()),
            (Takes::Name, |section| section.name("x").is_ok()),
            (Takes::Bool, |section| section.bool("x").is_ok()),
            (Takes::BoolOr("auto"), |section| section.bool_or("x", "auto").is_ok()),
            (Takes::Whole(2, 5), |section| section.within("x", 2, 5).is_ok()),
            (Takes::Whole(0, u64::MAX), |section| section.u64("x").is_ok()),
            (Takes::Number(f64::MIN, f64::MAX), |section| section.f64("x").is_ok()),
            (Takes::Numbers, |section| section.f64s("x").is_ok()),
            (Takes::Rows, |section| section.rows("x").is_ok()),
            (Takes::Share, |section| section.share("x").is_ok()),
            (Takes::Size, |section| section.size("x").is_ok()),
            (Takes::Time, |section| section.span("x").is_ok()),
            (Takes::Rate, |section| section.rate("x").is_ok()),
        ];
        let values = [
            "true",
            "false",
            "-1",
            "0",
            "1",
            "2",
            "5",
            "6",
            "0.5",
            "1.5",
            "-0.5",
            "\"auto\"",
            "\"a\"",
            "[\"a\"]",
            "[1, 2.5]",
            "[[1, 2.5]]",
            "[[\"a\"]]",
            "[true]",
        ];
        for (takes, reads) in readers {
            let schema = kind(takes);
            for given in values {
                let value: Value = serde_json::from_str(given).expect("JSON");
                // Of a text's form only the pattern says more.
                if value.is_string() && schema["pattern"].is_string() {
                    continue;
                }
                let document = Document::parse("f.toml", &format!("x = {given}")).expect("TOML");
                assert_eq!(accepts(&schema, &value), reads(&document.root()), "{given} as {schema}");
            }
        }
    }
}
