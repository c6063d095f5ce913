//! What a section hands out, and what its errors say.

use block::Span;
use config::{Document, Section};

fn document(text: &str) -> Document {
    Document::parse("f.toml", text).expect("parses")
}

/// The message of what `read` says of the root of `text`.
fn wrong<T: std::fmt::Debug>(text: &str, read: impl Fn(&Section) -> Result<T, block::BadInput>) -> String {
    read(&document(text).root()).expect_err("is refused").to_string()
}

const VALID: &str = r#"
title = "all kinds"
count = 3
big = 18446744073709551615
float = -2.5
share = 0.25
truth = true
names = ["a", "b"]
numbers = [1, 2.5]
rows = [[1, 2.5],
        [3, 4]]
size = "4KiB"
time = "1.5ms"
rate = "6/min"
order = "fcfs"

[one]
x = 1
[[many]]
name = "first"
[[many]]
name = "second"
"#;

#[test]
fn typed_values_come_out() {
    let document = document(VALID);
    let root = document.root();
    assert_eq!(root.string("title").unwrap().as_deref(), Some("all kinds"));
    assert_eq!(root.u64("count"), Ok(Some(3)));
    assert_eq!(root.within("count", 1, 3), Ok(Some(3)));
    assert_eq!(root.f64("count"), Ok(Some(3.0)));
    assert_eq!(root.u64("big"), Ok(Some(u64::MAX)));
    assert_eq!(root.f64("float"), Ok(Some(-2.5)));
    assert_eq!(root.share("share"), Ok(Some(0.25)));
    assert_eq!(root.bool("truth"), Ok(Some(true)));
    assert_eq!(root.strings("names"), Ok(Some(vec!["a".into(), "b".into()])));
    assert_eq!(root.f64s("numbers"), Ok(Some(vec![1.0, 2.5])));
    assert_eq!(root.rows("rows"), Ok(Some(vec![vec![1.0, 2.5], vec![3.0, 4.0]])));
    assert_eq!(root.size("size"), Ok(Some(8)));
    assert_eq!(root.span("time"), Ok(Some(Span(1_500_000))));
    assert_eq!(root.rate("rate"), Ok(Some(0.1)));
    assert_eq!(root.choice("order", &[("look", 1), ("fcfs", 2)]), Ok(Some(2)));
    let one = root.section("one").unwrap().unwrap();
    assert_eq!(one.u64("x"), Ok(Some(1)));
    one.close().unwrap();
    let many = root.sections("many").unwrap();
    assert_eq!(many[1].string("name").unwrap().as_deref(), Some("second"));
    assert_eq!(root.keys().next(), Some("title"));
    root.close().unwrap();
}

#[test]
fn missing_keys_are_none_and_needed_ones_an_error() {
    let document = document("\n[drive]\n");
    let root = document.root();
    assert_eq!(root.u64("x"), Ok(None));
    assert!(root.section("y").unwrap().is_none() && root.sections("z").unwrap().is_empty() && !root.has("x"));
    let drive = root.section("drive").unwrap().unwrap();
    let error = drive.need("model", drive.string("model").unwrap()).unwrap_err();
    assert_eq!(error.to_string(), "f.toml:2: missing key `model` in [drive]\n  mend: add `model`");
    let slip = self::document("[drive]\nmodle = 1");
    let drive = slip.root().section("drive").unwrap().unwrap();
    let error = drive.need("model", drive.string("model").unwrap()).unwrap_err();
    assert!(
        error.to_string().starts_with("f.toml:2: missing")
            && error.to_string().ends_with("mend: add `model`; is `modle` meant to be it?")
    );
    let error = root.need("run", root.section("run").unwrap().map(|_| ())).unwrap_err();
    assert_eq!(error.to_string(), "f.toml: missing key `run`\n  mend: add `run`");
}

#[test]
fn a_single_table_counts_as_an_array_of_one() {
    let document = document("[disk]\nx = 1\n");
    assert_eq!(document.root().sections("disk").unwrap()[0].u64("x"), Ok(Some(1)));
}

#[test]
fn wrong_types_say_what_is_there_and_what_is_wanted() {
    assert_eq!(
        wrong("\na = 5", |root| root.string("a")),
        "f.toml:2: `a` is the number 5, not a text\n  mend: put it in quotes"
    );
    assert!(wrong("a = \"5\"", |root| root.f64("a")).starts_with("f.toml:1: `a` is the text \"5\", not a number\n"));
    assert!(wrong("a = 1.5", |root| root.u64("a")).contains("`a` is the number 1.5, not a whole number"));
    assert!(wrong("a = 1", |root| root.bool("a")).contains("`a` is the number 1, not true or false"));
    assert!(wrong("a = 1", |root| root.section("a").map(|_| ())).contains("not a table\n  mend: write it as [a]"));
    assert!(wrong("a = [1]", |root| root.sections("a").map(|_| ())).contains("`a` is a list, not a table"));
    assert!(wrong("a = [1]", |root| root.span("a")).contains("`a` is a list, not a quantity"));
    assert!(wrong("a = nan", |root| root.f64("a")).contains("`a` is the number NaN, not a number"));
    assert!(wrong("a = [\n[1],\n[true]]", |root| root.rows("a")).starts_with("f.toml:3: `a` is true, not a number"));
    assert!(wrong("a = 3", |root| root.rows("a")).contains("not a list of rows of numbers"));
}

#[test]
fn values_out_of_range_say_so() {
    assert!(
        wrong("a = -5", |root| root.u64("a"))
            .contains("`a` is negative: -5\n  mend: give a whole number, zero or more")
    );
    assert!(wrong("a = 18446744073709551616", |root| root.u64("a")).contains("`a` is too large"));
    assert!(
        wrong("a = 9", |root| root.within("a", 1, 8)).contains("`a` is 9\n  mend: give a whole number from 1 to 8")
    );
    assert!(
        wrong("a = -0.1", |root| root.share("a")).contains("`a` is negative: -0.1\n  mend: give a share from 0 to 1")
    );
    assert!(wrong("a = 1.1", |root| root.share("a")).contains("`a` is 1.1, more than 1"));
}

#[test]
fn the_bounds_of_a_range_are_in_it() {
    let document = Document::parse("a.toml", "none = 0.0\nall = 1.0\none = 1\neight = 8\n").unwrap();
    let root = document.root();
    assert_eq!([root.share("none"), root.share("all")], [Ok(Some(0.0)), Ok(Some(1.0))]);
    assert_eq!([root.within("one", 1, 8), root.within("eight", 1, 8)], [Ok(Some(1)), Ok(Some(8))]);
}

#[test]
fn quantities_carry_the_mend_of_their_parser() {
    assert_eq!(
        wrong("a = 4096", |root| root.size("a")),
        "f.toml:1: `a`: '4096' has no unit\n  mend: write 4096KiB, 4096B or 4096 blocks"
    );
    assert_eq!(
        wrong("a = \"-1s\"", |root| root.span("a")),
        "f.toml:1: `a`: '-1s' is negative\n  mend: a time is zero or more"
    );
    assert!(wrong("a = 10", |root| root.rate("a")).contains("`a`: '10' is not a rate\n  mend: write one like 10/s"));
}

#[test]
fn a_wrong_word_suggests_the_nearest() {
    let choices = [("look", 1), ("c-look", 2)];
    assert_eq!(
        wrong("a = \"clook\"", |root| root.choice("a", &choices)),
        "f.toml:1: `a` cannot be 'clook'\n  mend: did you mean 'c-look'? use look, c-look"
    );
    assert!(wrong("a = \"zebra\"", |root| root.choice("a", &choices)).ends_with("mend: use look, c-look"));
}

#[test]
fn a_key_nobody_asked_for_is_an_error_with_the_nearest() {
    let document = document("[scheduler]\npolicy = \"x\"\npolcy = 1\n[[workload]]\nname = \"w\"\nzebra = 2\n");
    let root = document.root();
    let scheduler = root.section("scheduler").unwrap().unwrap();
    scheduler.string("policy").unwrap();
    scheduler.string("predictor").unwrap();
    assert_eq!(
        scheduler.close().unwrap_err().to_string(),
        "f.toml:3: unknown key `polcy` in [scheduler]\n  mend: did you mean 'policy'? known here: policy, predictor"
    );
    let workload = root.sections("workload").unwrap().remove(0);
    workload.string("name").unwrap();
    assert_eq!(
        workload.close().unwrap_err().to_string(),
        "f.toml:6: unknown key `zebra` in [workload] 'w'\n  mend: known here: name"
    );
}

#[test]
fn a_key_of_a_later_feature_is_refused_by_name() {
    assert_eq!(
        wrong("\n\narray = 5", |root| root.refuse("array", "comes with arrays")),
        "f.toml:3: `array` comes with arrays\n  mend: take it out"
    );
    document("x = 1").root().refuse("array", "comes with arrays").unwrap();
}

#[test]
fn errors_about_what_was_laid_over_name_its_own_file_and_line() {
    let mut below = document("x = 1\ny = 2");
    below.overlay(&Document::parse("over.toml", "\n\nx = 9").unwrap());
    assert_eq!(below.root().u64("x").unwrap(), Some(9));
    let error = below.root().string("x").unwrap_err().to_string();
    assert!(error.starts_with("over.toml:3: "), "{error}");
    let error = below.root().string("y").unwrap_err().to_string();
    assert!(error.starts_with("f.toml:2: "), "{error}");
}

#[test]
fn an_unknown_key_beside_those_of_another_document_is_told_what_they_are_called() {
    let document = document("model = \"a\"\nrpm = 7200\nzebra = 1");
    let root = document.root();
    root.string("model").unwrap();
    assert_eq!(root.others(vec!["rpm"], "the keys of a drive").root().u64("rpm").unwrap(), Some(7200));
    let error = root.close().unwrap_err().to_string();
    assert!(error.starts_with("f.toml:3: unknown key `zebra`") && error.contains("the keys of a drive"), "{error}");
}

#[test]
fn a_word_stands_for_neither_and_no_other_does() {
    let read = |text: &str| document(text).root().bool_or("mine", "auto").map_err(|error| error.to_string());
    assert_eq!(read("mine = true"), Ok(Some(Some(true))));
    assert_eq!(read("mine = false"), Ok(Some(Some(false))));
    assert_eq!(read("mine = \"auto\""), Ok(Some(None)));
    assert_eq!(read(""), Ok(None));
    for text in ["mine = \"never\"", "mine = 1"] {
        assert!(read(text).unwrap_err().contains("true, false or \"auto\""), "{text}");
    }
}
