//! A document as TOML again: what was read, with every `--set` in its place. Comments are not kept.

use crate::Document;
use crate::tree::{Node, Scalar, TreeItem};
use std::fmt::Write;

impl Document {
    /// The document as the text of a file that says the same. Dates are texts.
    #[must_use]
    pub fn write(&self) -> String {
        let mut text = String::new();
        if let TreeItem::Table(root) = &self.root.item {
            write_table(&mut text, &mut Vec::new(), root);
        }
        text
    }

    /// The document as JSON, on one line.
    #[must_use]
    pub fn write_json(&self) -> String {
        let mut text = String::new();
        write_json(&mut text, &self.root);
        text
    }

    /// Puts another text in the place of each that stands under a key, or in a list under it, wherever that key is; `change` gets key
    /// and text, and gives nothing where it is to stay.
    pub fn change_texts(&mut self, change: &dyn Fn(&str, &str) -> Option<String>) {
        change_under("", &mut self.root, change);
    }
}

fn change_under(key: &str, node: &mut Node, change: &dyn Fn(&str, &str) -> Option<String>) {
    let drawn = node.is_drawn();
    match &mut node.item {
        TreeItem::Scalar(Scalar::Text(text)) => {
            if let Some(other) = change(key, text) {
                *text = other;
            }
        }
        TreeItem::Scalar(_) => {}
        TreeItem::List(list) => list.iter_mut().for_each(|node| change_under(key, node, change)),
        // What is drawn stands for the key that it is drawn for.
        TreeItem::Table(table) if drawn => table.iter_mut().for_each(|(_, node)| change_under(key, node, change)),
        TreeItem::Table(table) => table.iter_mut().for_each(|(key, node)| change_under(key, node, change)),
    }
}

type Table = Vec<(String, Node)>;

/// The tables of a list, where it is one of `[[…]]`.
fn tables(node: &Node) -> Option<Vec<&Table>> {
    let TreeItem::List(list) = &node.item else { return None };
    let table = |node: &'_ Node| matches!(node.item, TreeItem::Table(_));
    let tables =
        list.iter().filter_map(|node| if let TreeItem::Table(table) = &node.item { Some(table) } else { None });
    (!list.is_empty() && list.iter().all(table)).then(|| tables.collect())
}

/// Values first: what stands under a heading belongs to it.
fn write_table(text: &mut String, path: &mut Vec<String>, table: &Table) {
    let headed = |node: &Node| matches!(node.item, TreeItem::Table(_)) || tables(node).is_some();
    for (key, node) in table.iter().filter(|(_, node)| !headed(node)) {
        let _ = writeln!(text, "{} = {}", write_key(key), write_value(node));
    }
    for (key, node) in table {
        path.push(write_key(key));
        let name = path.join(".");
        if let TreeItem::Table(table) = &node.item {
            let _ = writeln!(text, "\n[{name}]");
            write_table(text, path, table);
        }
        for table in tables(node).into_iter().flatten() {
            let _ = writeln!(text, "\n[[{name}]]");
            write_table(text, path, table);
        }
        path.pop();
    }
}

fn write_key(key: &str) -> String {
    let bare = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    if bare { key.into() } else { quote(key) }
}

fn write_value(node: &Node) -> String {
    let list = |parts: Vec<String>| parts.join(", ");
    match &node.item {
        TreeItem::Scalar(Scalar::Text(text)) => quote(text),
        // Its shortest form with a point or an exponent: without one it would be a whole number.
        TreeItem::Scalar(Scalar::Float(number)) => match format!("{number:?}") {
            infinite if infinite.contains("inf") || infinite.contains("NaN") => infinite.to_lowercase(),
            finite => finite,
        },
        TreeItem::Scalar(scalar) => scalar.to_string(),
        TreeItem::List(nodes) => format!("[{}]", list(nodes.iter().map(write_value).collect())),
        TreeItem::Table(table) => {
            let pairs = table.iter().map(|(key, node)| format!("{} = {}", write_key(key), write_value(node)));
            format!("{{ {} }}", list(pairs.collect()))
        }
    }
}

fn write_json(text: &mut String, node: &Node) {
    let mut separator = "";
    match &node.item {
        TreeItem::Table(table) => {
            text.push('{');
            for (key, node) in table {
                let _ = write!(text, "{separator}{}:", quote(key));
                write_json(text, node);
                separator = ",";
            }
            text.push('}');
        }
        TreeItem::List(list) => {
            text.push('[');
            for node in list {
                text.push_str(separator);
                write_json(text, node);
                separator = ",";
            }
            text.push(']');
        }
        // JSON has no such numbers.
        TreeItem::Scalar(Scalar::Float(number)) if !number.is_finite() => *text += &quote(&number.to_string()),
        TreeItem::Scalar(_) => *text += &write_value(node),
    }
}

/// A text in quotes, as TOML and JSON have it.
#[must_use]
pub fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\n' => quoted += "\\n",
            '\t' => quoted += "\\t",
            letter if letter.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(letter));
            }
            letter => quoted.push(letter),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_says_the_same_when_it_was_written_and_read() {
        let text = "
            title = 'a \"quoted\" \\ text'
            'odd key' = 1
            when = 1979-05-27
            nothing = []
            mixed = [1, { a = 'b' }]
            [scheduler]
            policy = ['fcfs', 'satf']
            weight = [1.0, 2.5, 1e300, -0.125]
            [scheduler.class.'the users']
            deadline = \"1\\n2\\u0007\"
            [[workload]]
            name = 'a'
            phases = [[1, 2.5], [3, 4]]
            [workload.region]
            from = true
            [[workload]]
            name = 'b'
        ";
        let mut document = Document::parse("f.toml", text).unwrap();
        document.set("workload.b.rate=[1/s,2/s]").unwrap();
        document.set("run.seed=18446744073709551615").unwrap();
        let written = document.write();
        let again = Document::parse("again.toml", &written).unwrap_or_else(|error| panic!("{error}\n{written}"));
        let sorted = |document: &Document| {
            let mut lines: Vec<String> = document.write().lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        assert_eq!(sorted(&document), sorted(&again), "{written}");
        assert_eq!(again.write(), written, "a second time it is the same");
        assert!(written.contains("weight = [1.0, 2.5, 1e300, -0.125]\n"), "{written}");
    }

    #[test]
    fn every_number_is_read_back_as_it_was_written() {
        let numbers = [0.0, -0.0, 1.0, -2.0, 0.1, 1e15, 1e16, 1e300, -5e-324, f64::MAX, f64::MIN_POSITIVE];
        let all = numbers.into_iter().chain([f64::INFINITY, f64::NEG_INFINITY, f64::NAN]);
        for number in all {
            let text = format!("x = {}", format!("{number:?}").to_lowercase());
            let float = |text: &str| {
                let read = Document::parse("f.toml", text).unwrap_or_else(|error| panic!("{error}\n{text}"));
                match read.root.get("x").map(|node| &node.item) {
                    Some(TreeItem::Scalar(Scalar::Float(number))) => (*number, read.write(), read.write_json()),
                    other => panic!("{text} is no longer a fraction: {other:?}"),
                }
            };
            let (read, written, json) = float(&text);
            let (again, ..) = float(&written);
            assert!(read.to_bits() == again.to_bits() || read.is_nan() && again.is_nan(), "{number:?}: {written}");
            // JSON has no number that is not finite.
            assert_eq!(json.ends_with("\"}"), !number.is_finite(), "{json}");
        }
    }

    #[test]
    fn texts_are_changed_by_their_key_and_nowhere_else() {
        let mut document =
            Document::parse("f.toml", "file = 'a'\nname = 'a'\n[x]\nfile = ['a', 'b']\n[[w]]\nfile = 'a'").unwrap();
        document.change_texts(&|key, text| (key == "file" && text == "a").then(|| "/a".into()));
        assert_eq!(
            document.write(),
            "file = \"/a\"\nname = \"a\"\n\n[x]\nfile = [\"/a\", \"b\"]\n\n[[w]]\nfile = \"/a\"\n"
        );
    }
}
