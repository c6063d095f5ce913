//! A page on the papers: what each says, what of it holds here, what does not, and why. What they say is in docs/papers.toml, the
//! rest is what `halfturn reproduce` found.

use super::validation::figure;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use toml::Table;

pub const PAGE: &str = "docs/papers.md";
pub const SAID: &str = "docs/papers.toml";

/// What is told where nobody knows why a target is missed.
const UNKNOWN: &str = "cause not known";

/// Writes the page of what papers say and what came of it.
pub fn page(said: &str, reproduced: &Value) -> Result<String, String> {
    let mut text = String::from(
        "# The papers\n\nWritten by `cargo xtask docs` from what `halfturn reproduce` finds under one seed; each target is in \
         [reproduce](../reproduce), and\nwhat the words mean in the [guide](guide/reproduce.md).\n",
    );
    for paper in papers(said)? {
        text += &head(&paper)?;
        text += &tell_what_holds(&paper, reproduced)?;
    }
    Ok(text)
}

/// What of the page is not as it would be written; papers are not done again for this.
pub fn stale(said: &str, listed: &Value, page: &str) -> Result<Vec<String>, String> {
    let mut stale = Vec::new();
    for paper in papers(said)? {
        let id = word(&paper, "id")?;
        if !page.contains(&head(&paper)?) {
            stale.push(format!("{PAGE}: {id}"));
        }
        for (file, targets) in files(listed, id)? {
            if !page.contains(&format!("| `{file}` | {} |", targets.len())) {
                stale.push(format!("{PAGE}: {file}"));
            }
        }
    }
    Ok(stale)
}

fn papers(said: &str) -> Result<Vec<Table>, String> {
    let table: Table = said.parse().map_err(|error| format!("{SAID}: {error}"))?;
    let papers = table.get("paper").and_then(toml::Value::as_array).ok_or(format!("{SAID}: no [[paper]]"))?;
    papers.iter().map(|paper| paper.as_table().cloned().ok_or(format!("{SAID}: a paper is no table"))).collect()
}

fn word<'a>(paper: &'a Table, key: &str) -> Result<&'a str, String> {
    paper.get(key).and_then(toml::Value::as_str).ok_or_else(|| format!("{SAID}: a paper has no `{key}`"))
}

/// What the paper is and says.
fn head(paper: &Table) -> Result<String, String> {
    let [title, authors, venue, here] = ["title", "authors", "venue", "here"].map(|key| word(paper, key));
    let mut text = format!("\n## {}\n\n{}: {}.\n\n**What it says.**\n", title?, authors?, venue?);
    for line in paper.get("says").and_then(toml::Value::as_array).into_iter().flatten() {
        let _ = writeln!(text, "- {}", line.as_str().unwrap_or_default());
    }
    let _ = writeln!(text, "\n**How it is done here.** {}", here?);
    Ok(text)
}

/// The targets of a paper by file.
fn files<'a>(json: &'a Value, paper: &str) -> Result<BTreeMap<String, Vec<&'a Value>>, String> {
    let mut files = super::validation::files(json)?;
    files.retain(|file, _| file.split('.').next() == Some(paper));
    Ok(files)
}

/// What holds and what does not.
fn tell_what_holds(paper: &Table, json: &Value) -> Result<String, String> {
    let files = files(json, word(paper, "id")?)?;
    let mut text = format!(
        "\n**What holds.** {}\n\n| table, figure or claim | targets | held | source |\n|---|---:|---:|---|\n",
        sum(&files.values().flatten().copied().collect::<Vec<_>>())
    );
    for (file, targets) in &files {
        let held = targets.iter().filter(|target| is_held(target)).count();
        let source = targets[0]["source"].as_str().unwrap_or_default();
        let _ = writeln!(text, "| `{file}` | {} | {held} | {source} |", targets.len());
    }
    text += &misses(&files);
    Ok(text)
}

/// Whether a target is of one kind.
type IsKind<'a> = &'a dyn Fn(&Value) -> bool;

/// How much of it holds: the numbers a paper prints by how near ours are, then what is counted apart from them.
fn sum(targets: &[&Value]) -> String {
    let printed = |target: &Value| target["basis"] == "published" || target["basis"] == "fitted";
    let is_number = |target: &Value| target["published"].is_number();
    let numbers: Vec<&Value> = targets.iter().filter(|it| printed(it) && is_number(it)).copied().collect();
    let count = |is: &dyn Fn(&Value) -> bool| numbers.iter().filter(|target| is(target)).count();
    let near = |word: &str| count(&|target| is_held(target) && target["near"] == word);
    let mut text = if numbers.is_empty() {
        "No number of its own is held against ours.".to_owned()
    } else {
        format!(
            "Of {} printed numbers ({} of them fitted), {} agree to the last printed digit, {} more within 10 %, {} \
             within 30 %, {} within a bound that\nthe paper words; {} do not.",
            numbers.len(),
            count(&|target| target["basis"] == "fitted"),
            near("printed"),
            near("10 %"),
            near("30 %"),
            near("words"),
            count(&|target| !is_held(target)),
        )
    };
    let apart: [(&str, IsKind); 5] = [
        ("orders and bounds", &|target| printed(target) && !is_number(target)),
        ("that follow from the numbers", &|target| target["basis"] == "derived"),
        ("repeats", &|target| target["basis"] == "repeat"),
        ("that cannot but hold", &|target| target["basis"] == "construction"),
        ("of our own", &|target| target["basis"] == "own"),
    ];
    let part = |(what, is): &(&str, IsKind)| {
        let those: Vec<&&Value> = targets.iter().filter(|target| is(target)).collect();
        let held = those.iter().filter(|target| is_held(target)).count();
        (!those.is_empty()).then(|| format!("{held} of {} {what}", those.len()))
    };
    let parts: Vec<String> = apart.iter().filter_map(part).collect();
    if !parts.is_empty() {
        text += &format!(" Counted apart, these hold: {}.", parts.join(", "));
    }
    text
}

/// What does not hold, by cause.
fn misses(files: &BTreeMap<String, Vec<&Value>>) -> String {
    let mut causes = BTreeMap::<(usize, &str), Vec<String>>::new();
    for target in files.values().flatten().filter(|target| !is_held(target)) {
        let cause = [&target["known_miss"], &target["note"]].into_iter().find_map(Value::as_str).unwrap_or(UNKNOWN);
        let id = target["id"].as_str().unwrap_or_default();
        let [published, measured] = [&target["published"], &target["measured"]].map(figure);
        let measured = if measured.is_empty() { "not measured".into() } else { measured };
        let last = usize::from(cause == UNKNOWN);
        causes.entry((last, cause)).or_default().push(format!("`{id}` {measured} ({published})"));
    }
    if causes.is_empty() {
        return "\n**What does not hold.** Nothing.\n".into();
    }
    let mut text = String::from("\n**What does not hold, and why.** Ours, and in parentheses the paper's.\n");
    for ((_, cause), targets) in causes {
        let _ = writeln!(text, "- {cause}: {}", targets.join(", "));
    }
    text
}

fn is_held(target: &Value) -> bool {
    target["verdict"] == "held"
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const SAYS: &str =
        "[[paper]]\nid = \"a\"\ntitle = \"T\"\nauthors = \"A\"\nvenue = \"V\"\nhere = \"H.\"\nsays = [\"It gains.\"]\n";

    fn target(id: &str, verdict: &str, near: &str, miss: Value) -> Value {
        json!({"id": id, "verdict": verdict, "near": near, "basis": "published", "published": 2.0, "measured": 1.5,
            "source": "S", "known_miss": miss})
    }

    fn repeat(verdict: &str) -> Value {
        let mut repeat = target("a.fig2.again", verdict, "printed", Value::Null);
        repeat["basis"] = json!("repeat");
        repeat
    }

    fn json() -> Value {
        json!({"targets": [target("a.fig1.x", "held", "10 %", Value::Null), target("a.fig1.y", "missed", "words", json!("why")),
            target("a.fig2.z", "undecided", "10 %", Value::Null), repeat("held"), repeat("undecided"),
            target("b.fig1.x", "held", "printed", Value::Null)]})
    }

    #[test]
    fn a_paper_says_what_holds_and_why_not() {
        let page = page(SAYS, &json()).expect("a page");
        for part in [
            "## T\n\nA: V.\n\n**What it says.**\n- It gains.\n",
            "Of 3 printed numbers (0 of them fitted), 0 agree to the last printed digit, 1 more within 10 %",
            "2 do not. Counted apart, these hold: 1 of 2 repeats.",
            "| `a.fig1` | 2 | 1 | S |",
            "- why: `a.fig1.y` 1.500 (2.000)\n- cause not known: `a.fig2.z` 1.500 (2.000), `a.fig2.again` 1.500 (2.000)\n",
        ] {
            assert!(page.contains(part), "{part}\n{page}");
        }
        assert!(!page.contains("b.fig1"), "of another paper");
    }

    #[test]
    fn a_target_more_or_another_word_makes_the_page_stale() {
        let written = page(SAYS, &json()).expect("a page");
        assert_eq!(stale(SAYS, &json(), &written), Ok(Vec::new()));
        let mut more = json();
        more["targets"].as_array_mut().expect("targets").push(target("a.fig2.more", "held", "10 %", Value::Null));
        assert_eq!(stale(SAYS, &more, &written), Ok(vec!["docs/papers.md: a.fig2".into()]));
        assert_eq!(stale(&SAYS.replace("gains", "loses"), &json(), &written), Ok(vec!["docs/papers.md: a".into()]));
    }
}
