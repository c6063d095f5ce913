//! A list where a value would stand makes one run of each of its values.

use config::{Document, Scalar};

fn labels(text: &str, lists: &[&str]) -> Vec<String> {
    let document = Document::parse("f.toml", text).expect("parses");
    let runs = document.sweep(lists, &[]).expect("expands");
    let show = |labels: Vec<(String, Scalar)>| {
        labels.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
    };
    runs.into_iter().map(|(labels, _)| show(labels)).collect()
}

fn refused(text: &str) -> String {
    Document::parse("f.toml", text).expect("parses").sweep(&[], &[]).map(|_| ()).expect_err("is refused").to_string()
}

#[test]
fn no_list_is_one_run_without_labels() {
    assert_eq!(labels("a = 1\n[b]\nc = 2", &[]), [""]);
}

#[test]
fn the_first_list_of_the_file_varies_slowest() {
    let text = "[z]\npolicy = [\"fcfs\", \"satf\"]\n[[a]]\nname = \"w\"\ndepth = [1, 10.5, true]";
    assert_eq!(
        labels(text, &[]),
        [
            "policy=fcfs depth=1",
            "policy=fcfs depth=10.5",
            "policy=fcfs depth=true",
            "policy=satf depth=1",
            "policy=satf depth=10.5",
            "policy=satf depth=true"
        ]
    );
}

#[test]
fn each_run_has_its_values_in_place() {
    let document = Document::parse("f.toml", "[[a]]\nn = 7\n[[a]]\nn = [1, 2]\nm = [3, 4]").unwrap();
    let runs = document.sweep(&[], &[]).unwrap();
    let read = |document: &Document, key: &str| document.root().sections("a").unwrap()[1].u64(key).unwrap().unwrap();
    let values: Vec<_> = runs.iter().map(|(_, document)| (read(document, "n"), read(document, "m"))).collect();
    assert_eq!(values, [(1, 3), (1, 4), (2, 3), (2, 4)]);
}

#[test]
fn lists_that_share_a_key_are_labelled_by_their_path() {
    let text = "[[w]]\nname = \"x\"\nsize = [\"1MiB\"]\n[[w]]\nsize = [\"2MiB\"]\nread = [1]";
    assert_eq!(labels(text, &[]), ["w.x.size=1MiB w.1.size=2MiB read=1"]);
}

#[test]
fn real_lists_and_rows_are_left_alone() {
    assert_eq!(labels("keys = [1, 2]\nrows = [[1, 2], [3, 4]]\nn = [5]", &["keys"]), ["n=5"]);
}

#[test]
fn a_value_may_be_a_pair_inside_the_list() {
    let text = "[d]\ntimes = [[\"1ms\", \"2ms\"], \"3ms\"]\nrows = [[1, 2]]";
    let runs = Document::parse("f.toml", text).unwrap().sweep(&[], &["times"]).unwrap();
    let times = |document: &Document| document.root().sections("d").unwrap()[0].spans("times").unwrap().unwrap();
    let read: Vec<_> = runs.iter().map(|(labels, document)| (labels[0].1.to_string(), times(document).len())).collect();
    assert_eq!(read, [("1ms/2ms".to_owned(), 2), ("3ms".to_owned(), 1)]);
}

#[test]
fn a_set_list_sweeps_too() {
    let mut document = Document::parse("f.toml", "[s]\npolicy = \"fcfs\"\nn = [1, 2]").unwrap();
    document.set("s.policy=[look, satf]").unwrap();
    let runs = document.sweep(&[], &[]).unwrap();
    assert_eq!(runs.len(), 4);
    assert_eq!(runs[3].0, [("policy".into(), Scalar::Text("satf".into())), ("n".into(), Scalar::Integer(2))]);
}

#[test]
fn errors_keep_the_line_of_the_value() {
    let document = Document::parse("f.toml", "n = [1,\n \"two\"]").unwrap();
    let runs = document.sweep(&[], &[]).unwrap();
    assert_eq!(runs[0].1.root().u64("n"), Ok(Some(1)));
    assert!(runs[1].1.root().u64("n").unwrap_err().to_string().starts_with("f.toml:2: `n` is the text \"two\""));
}

#[test]
fn an_empty_list_is_an_error() {
    assert_eq!(
        refused("a = 1\n[s]\npolicy = []"),
        "f.toml:3: `s.policy` is an empty list: there is nothing to vary\n  mend: give a value, or a list of several"
    );
}

#[test]
fn runs_are_bounded() {
    let list = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]";
    let text = format!("a = {list}\nb = {list}\nc = {list}\nd = {list}\n");
    assert_eq!(labels(&text, &[]).len(), 10_000);
    assert!(refused(&format!("{text}e = [1, 2]")).contains("ask for 20000 runs, more than 10000"));
    assert!(refused(&(0..100).map(|i| format!("x{i} = {list}\n")).collect::<String>()).contains("shorten the lists"));
}
