//! Links of the Markdown pages: relative ones lead to files, anchors to headings.

use crate::{Fault, Tree};
use std::collections::BTreeMap;

pub fn check(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (path, text) in tree.ending(".md") {
        for (number, line) in prose(text) {
            for target in targets(&without_code(line)) {
                if let Err((what, mend)) = follow(tree, path, &target) {
                    faults.push(Fault::new(path, number, format!("link to '{target}': {what}"), mend));
                }
            }
        }
    }
    faults
}

/// Lines outside fenced code, numbered from 1.
fn prose(text: &str) -> Vec<(usize, &str)> {
    let mut fence: Option<&str> = None;
    let mut lines = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let start = line.trim_start();
        let mark = &start[..start.len() - start.trim_start_matches(['`', '~']).len()];
        match fence {
            Some(open) if mark.starts_with(open) => fence = None,
            Some(_) => {}
            None if mark.starts_with("```") || mark.starts_with("~~~") => fence = Some(mark),
            None => lines.push((number + 1, line)),
        }
    }
    lines
}

/// A line without its `code`.
fn without_code(line: &str) -> String {
    let parts: Vec<&str> = line.split('`').collect();
    if parts.len().is_multiple_of(2) { line.into() } else { parts.into_iter().step_by(2).collect() }
}

/// Where the links of a line lead, without titles.
fn targets(line: &str) -> Vec<String> {
    let mut found: Vec<&str> = line.match_indices("](").map(|(at, _)| within_parentheses(&line[at + 2..])).collect();
    for attribute in ["href=\"", "src=\""] {
        let values = line.match_indices(attribute).filter_map(|(at, _)| line[at + attribute.len()..].split('"').next());
        found.extend(values);
    }
    let definition = line.trim_start().strip_prefix('[').filter(|rest| !rest.starts_with('^'));
    found.extend(definition.and_then(|rest| rest.split_once("]:")).map(|(_, target)| target));
    let bare = |target: &str| target.split_whitespace().next().unwrap_or_default().trim_matches(['<', '>']).to_owned();
    found.into_iter().map(bare).collect()
}

/// Up to the parenthesis that closes one already open.
fn within_parentheses(text: &str) -> &str {
    let mut depth = 1;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[..at];
        }
    }
    text
}

/// What is wrong with a link of `page`, and the mend.
fn follow(tree: &Tree, page: &str, target: &str) -> Result<(), (String, &'static str)> {
    if target.contains("://") || target.starts_with("mailto:") {
        return Ok(());
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = if file.is_empty() && !target.is_empty() { Some(page.to_owned()) } else { resolve(page, file) };
    let Some(path) = path.filter(|path| tree.has(path)) else {
        return Err(("no such file".into(), "write it relative to this page, or take the link out"));
    };
    if anchor.is_empty() || !path.ends_with(".md") || anchors(tree.text(&path)).contains_key(anchor) {
        return Ok(());
    }
    Err((format!("no heading '{anchor}' in {path}"), "use the heading's words, lower case, joined by '-'"))
}

/// A relative path from a page, from the root of the project; none if it leads out of it.
fn resolve(page: &str, file: &str) -> Option<String> {
    if file.is_empty() || file.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in file.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Anchors of a page, as the forges make them of headings; the value counts equal headings.
fn anchors(text: &str) -> BTreeMap<String, usize> {
    let mut seen = BTreeMap::new();
    for (_, line) in prose(text) {
        let title = line.trim_start_matches('#');
        if title.len() < line.len() && title.starts_with(' ') {
            let plain = slug(title);
            let count = seen.get(&plain).copied().unwrap_or(0);
            seen.insert(plain.clone(), count + 1);
            if count > 0 {
                seen.insert(format!("{plain}-{count}"), 1);
            }
        }
        for mark in ["id=\"", "name=\""] {
            let ids = line.match_indices(mark).filter_map(|(at, _)| line[at + mark.len()..].split('"').next());
            seen.extend(ids.map(|id| (id.to_owned(), 1)));
        }
    }
    seen
}

fn slug(title: &str) -> String {
    let mut text = title.trim().trim_end_matches('#').trim_end().to_owned();
    while let Some(at) = text.find("](") {
        let end = at + 2 + within_parentheses(&text[at + 2..]).len();
        text.replace_range(at..text.len().min(end + 1), "");
    }
    let kept = text.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
# The `seek` — curve (1)
[up](../README.md) [self](#the-seek--curve-1) [again](#same-1) [web](https://a.example/x) [folder](data/)
[gone](missing.md) ![image](data/x.png)
[bad anchor](#nowhere) [titled](../README.md#usage \"Usage\")
[out](../../x.md) [absolute](/README.md)
`[code](missing.md)` [both](../README.md) [lost](../lost(1).md)
```
[fenced](missing.md)
```
[reference]: ../nothing.md
## Same
## Same
<a href=\"data/none\">x</a>
";

    #[test]
    fn broken_links_and_anchors_are_found() {
        let tree = Tree::of(&[("docs/a.md", PAGE), ("README.md", "# Usage\n"), ("docs/data/y.png", "")]);
        let faults = check(&tree);
        let found: Vec<String> = faults.iter().map(|fault| format!("{} {}", fault.line, fault.what)).collect();
        assert_eq!(
            found,
            [
                "3 link to 'missing.md': no such file",
                "3 link to 'data/x.png': no such file",
                "4 link to '#nowhere': no heading 'nowhere' in docs/a.md",
                "5 link to '../../x.md': no such file",
                "5 link to '/README.md': no such file",
                "6 link to '../lost(1).md': no such file",
                "10 link to '../nothing.md': no such file",
                "13 link to 'data/none': no such file",
            ]
        );
    }
}
