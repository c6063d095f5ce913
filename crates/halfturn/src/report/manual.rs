//! What help and the reference pages say of the keys of an experiment file.

use config::{About, Missing, Takes};
use load::manual::{Declared, Named, Whose, drive_keys, keys, list_all};
use serde_json::{Value, json};
use std::fmt::Write;

/// Every key that an experiment file may have, those among them that are a drive file's last.
fn all() -> Vec<Declared> {
    keys().into_iter().chain(drive_keys()).collect()
}

/// Those that this kind of file declares; all where none is named.
fn all_of(whose: Option<Whose>) -> Vec<Declared> {
    all().into_iter().filter(|key| whose.is_none_or(|whose| key.whose == whose)).collect()
}

/// Every key, a line each, table by table.
pub fn listed_keys(of: Option<Whose>) -> String {
    let keys = all_of(of);
    let width = keys.iter().map(|key| key.about.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    let mut heading = None;
    for key in &keys {
        if heading != Some(key.heading) {
            let gap = if heading.is_some() { "\n" } else { "" };
            let _ = writeln!(text, "{gap}{}", shown_heading(key.heading));
            heading = Some(key.heading);
        }
        let _ = writeln!(text, "  {:width$}  {}", key.about.name, plain(&describe_key(key)));
    }
    text
}

/// The same for programs: an array of objects.
pub fn keys_json(of: Option<Whose>) -> Value {
    all_of(of).iter().map(entry).collect()
}

fn entry(key: &Declared) -> Value {
    let about = key.about;
    let words: Vec<Value> =
        words(about.takes).iter().map(|(name, text)| json!({ "word": name, "text": text })).collect();
    json!({
        "table": key.heading,
        "key": about.name,
        "of": key.of.map(|(key, word)| json!({ "key": key, "word": word })),
        "takes": takes(about.takes),
        "words": words,
        "required": about.missing == Missing::Refused,
        "default": if let Missing::Value(value) = about.missing { Some(value) } else { None },
        "otherwise": if let Missing::Told(words) = about.missing { Some(words) } else { None },
        "text": about.text,
    })
}

/// What is to be said of a topic: a key, a table, a word that a key takes; nothing where there is none of the name.
pub fn explain(topic: &str) -> Option<String> {
    let (keys, named) = (all(), list_all());
    let mut parts: Vec<String> = named.iter().filter(|word| word.name == topic).map(explain_word).collect();
    parts.extend(keys.iter().filter(|key| key.about.name == topic).map(explain_key));
    let bare = |heading: &str| heading.trim_matches(['[', ']']).to_string();
    let inside: Vec<&Declared> =
        keys.iter().filter(|key| !key.heading.is_empty() && bare(key.heading) == bare(topic)).collect();
    if let Some(first) = inside.first() {
        let mut text = format!("{}\n", first.heading);
        for key in inside {
            let _ = writeln!(text, "\n{}", indent(&explain_key(key)));
        }
        parts.push(text);
    }
    for key in &keys {
        for (word, text) in words(key.about.takes) {
            if word == topic && !is_named(&named, key, word) {
                let place = shown_heading(key.heading);
                parts.push(format!("{} = \"{word}\" in {place}: {}\n", key.about.name, plain(text)));
            }
        }
    }
    (!parts.is_empty()).then(|| parts.join("\n"))
}

/// Whether the word of a key has an explanation of its own. `order` takes policies, too.
fn is_named(named: &[Named], key: &Declared, word: &str) -> bool {
    let has = |named: &Named| named.name == word && (named.place.1 == key.about.name || key.about.name == "order");
    named.iter().any(has)
}

/// All that can be explained.
pub fn topics() -> Vec<String> {
    let keys = all();
    let mut topics: Vec<String> = list_all().iter().map(|word| word.name.to_string()).collect();
    topics.extend(keys.iter().map(|key| key.about.name.to_string()));
    topics.extend(keys.iter().map(|key| key.heading.trim_matches(['[', ']']).to_string()).filter(|it| !it.is_empty()));
    topics.extend(keys.iter().flat_map(|key| words(key.about.takes)).map(|(word, _)| word.to_string()));
    topics.sort();
    topics.dedup();
    topics
}

fn explain_word(word: &Named) -> String {
    let (heading, key) = word.place;
    let mut text = format!("{key} = \"{}\" in {heading}\n\n{}\n", word.name, indent(&wrap(&plain(word.text), WIDTH)));
    for about in word.keys {
        let whose = if is_table(heading) { Whose::Experiment } else { Whose::Drive };
        let key = Declared { heading, of: Some((key, word.name)), about: *about, whose };
        let _ = writeln!(text, "\n{}", indent(&explain_key(&key)));
    }
    let _ = writeln!(text, "\nExample:\n{}", indent(&example(word)));
    text
}

/// Whether a place is a table, and not the top of another file.
fn is_table(place: &str) -> bool {
    place.starts_with('[')
}

/// Lines of a file that ask for a word.
fn example(word: &Named) -> String {
    let heading = word.place.0;
    if is_table(heading) { format!("{heading}\n{}", word.example) } else { word.example.into() }
}

fn explain_key(key: &Declared) -> String {
    let about = key.about;
    let mut place = shown_heading(key.heading);
    if let Some((key, word)) = key.of {
        let _ = write!(place, ", with {key} = \"{word}\"");
    }
    let mut text = format!("{}  in {place}\n\n{}\n", about.name, indent(&wrap(&plain(about.text), WIDTH)));
    let words = words(about.takes);
    if words.is_empty() {
        let _ = writeln!(text, "  Takes {}.", takes(about.takes));
    }
    for (word, said) in &words {
        let said = wrap(&format!("{word}: {}", plain(said)), WIDTH - 2);
        let _ = writeln!(text, "{}", indent(&indent(&said)));
    }
    let _ = match key.whose {
        Whose::Experiment => writeln!(text, "  {}", otherwise(about.missing)),
        Whose::Drive => {
            writeln!(text, "  In [drive], in place of what the drive's file says. There: {}", otherwise(about.missing))
        }
    };
    text
}

/// The width that texts are wrapped to, in columns.
const WIDTH: usize = 96;

/// The page of all keys, as Markdown.
pub fn keys_page() -> String {
    let mut page = String::from(
        "# Keys of an experiment file\n\nWritten by `cargo test` from the declarations that files are read by; \
         `halfturn help KEY` says the same. A list in place of a value makes a run of each of its values. Sizes have units \
         (`64KiB`; B, kB, MB, GB, TB, KiB, MiB, GiB, TiB), times (`20ms`; ns, us, ms, s, min, h, d), rates too (`10/s`). Paths are relative to the file. \
         `[drive]` may change what the drive's file says: a key of a table of \
         [that file](drive-files.md), as `segments` in `[drive.cache]`, or a key that one table alone has, as `rpm`.\n",
    );
    let (keys, named) = (keys(), list_all());
    let mut heading = None;
    for key in &keys {
        if heading != Some(key.heading) {
            let _ =
                write!(page, "\n## {}\n\n| key | value | default |\n|---|---|---|\n", markdown_heading(key.heading));
            heading = Some(key.heading);
        }
        let of = key.of.map(|(_, word)| format!("Of `{word}`. ")).unwrap_or_default();
        let mut value = format!("{of}{}", key.about.text);
        if !matches!(key.about.takes, Takes::Word(_)) {
            let _ = write!(value, " Takes {}.", takes(key.about.takes));
        }
        for (word, text) in words(key.about.takes) {
            // A policy, a kind of workload and the like have a section below.
            let text = if is_named(&named, key, word) { String::new() } else { format!(": {text}") };
            let _ = write!(value, "<br>`{word}`{text}");
        }
        let _ = writeln!(page, "| `{}` | {} | {} |", key.about.name, value.replace('|', "\\|"), default(key.about));
    }
    for word in named {
        let _ = write!(
            page,
            "\n## `{}`, a {}\n\n{}\n\n```toml\n{}\n```\n",
            word.name,
            word.what,
            word.text,
            example(&word)
        );
    }
    page
}

/// The keys of drive files, as Markdown: a part of the page on them.
pub fn drive_keys_page() -> String {
    let mut page = String::new();
    for table in disk::tables() {
        let _ = write!(
            page,
            "\n### {}\n\n{}\n\n| key | value | default |\n|---|---|---|\n",
            markdown_heading(table.heading),
            table.text
        );
        if table.heading == "[seek.write]" {
            page += "| as in `[seek]` | | |\n";
            continue;
        }
        table.keys.iter().for_each(|about| page += &row(about));
    }
    for form in disk::other::FORMS {
        let _ = write!(
            page,
            "\n### `kind = \"{}\"`\n\n{}\n\n| key | value | default |\n|---|---|---|\n",
            form.word, form.text
        );
        form.keys.iter().for_each(|about| page += &row(about));
        let _ = write!(page, "\n```toml\n{}\n```\n", form.example);
    }
    page
}

/// A key of a drive file as a row of a table.
fn row(about: &About) -> String {
    let words: String = words(about.takes).iter().map(|(word, text)| format!("<br>`{word}`: {text}")).collect();
    let value = format!("{}{words}", about.text).replace('|', "\\|");
    format!("| `{}` | {value} | {} |\n", about.name, default(*about))
}

fn markdown_heading(heading: &str) -> String {
    if heading.is_empty() { "The top of the file".into() } else { format!("`{heading}`") }
}

fn default(about: About) -> String {
    match about.missing {
        Missing::Refused => "must be given".into(),
        Missing::Value(value) => format!("`{value}`"),
        Missing::Told(words) => words.into(),
        Missing::Nothing => "–".into(),
    }
}

fn otherwise(missing: Missing) -> String {
    match missing {
        Missing::Refused => "It must be given.".into(),
        Missing::Value(value) => format!("Default: {value}."),
        Missing::Told(words) => format!("Default: {}.", plain(words)),
        Missing::Nothing => "Default: none.".into(),
    }
}

fn describe_key(key: &Declared) -> String {
    let of = key.of.map(|(_, word)| format!("{word}: ")).unwrap_or_default();
    let first = key.about.text.split_once(". ").map_or(key.about.text, |(first, _)| first);
    format!("{of}{}", first.trim_end_matches('.'))
}

/// What a key takes, in words.
fn takes(takes: Takes) -> String {
    match takes {
        Takes::Text => "a text".into(),
        Takes::Texts => "a list of texts".into(),
        Takes::Name => "a name".into(),
        Takes::Bool => "true or false".into(),
        Takes::Whole(least, u64::MAX) => format!("a whole number, {least} or more"),
        Takes::Whole(least, most) => format!("a whole number from {least} to {most}"),
        Takes::Number(f64::MIN_POSITIVE, f64::MAX) => "a number above 0".into(),
        Takes::Number(least, f64::MAX) => format!("a number, {least} or more"),
        Takes::Number(least, most) => format!("a number from {least} to {most}"),
        Takes::Numbers => "a list of numbers".into(),
        Takes::Times => "a time with its unit, such as 0.2ms, or a list of them".into(),
        Takes::Rows => "rows of numbers, such as [[0.8, 1.0], [1.0, 0.0]]".into(),
        Takes::Share => "a share from 0 to 1".into(),
        Takes::Size => "a size with its unit, such as 64KiB".into(),
        Takes::Time => "a time with its unit, such as 20ms".into(),
        Takes::BoolOr(word) => format!("true, false or {word}"),
        Takes::SizeOr(word) => format!("a size with its unit, such as 64KiB, or {word}"),
        Takes::TimesOr(word) => format!("a time with its unit, such as 0.2ms, or a list of them, or {word}"),
        Takes::TimeOr(word) => format!("a time with its unit, such as 20ms, or {word}"),
        Takes::Rate => "a rate with its unit, such as 10/s".into(),
        Takes::Word(_) => "one of its words".into(),
        Takes::Form(form) => form.into(),
    }
}

pub(super) fn words(takes: Takes) -> Vec<(&'static str, &'static str)> {
    if let Takes::Word(words) = takes { words() } else { Vec::new() }
}

fn shown_heading(heading: &str) -> String {
    if heading.is_empty() { "the top of the file".into() } else { heading.into() }
}

/// Without the marks of code.
fn plain(text: &str) -> String {
    text.replace('`', "")
}

fn indent(text: &str) -> String {
    text.lines()
        .map(|line| if line.is_empty() { String::new() } else { format!("  {line}") })
        .collect::<Vec<_>>()
        .join("\n")
}

/// Broken into lines of at most so many columns.
fn wrap(text: &str, width: usize) -> String {
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("there is always one");
        if !last.is_empty() && last.chars().count() + 1 + word.chars().count() > width {
            lines.push(word.into());
        } else {
            let gap = if last.is_empty() { "" } else { " " };
            let _ = write!(last, "{gap}{word}");
        }
    }
    lines.join("\n")
}
