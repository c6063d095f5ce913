//! Reading files, and changing them with `--set`.

use config::{Document, Section};
use std::path::Path;

const VALID: &str = r#"title = "a"
[scheduler]
policy = "fcfs"
[[workload]]
name = "stream"
size = "2MiB"
table = [[1, 2.5], [3, 4]]
[[workload]]
size = "4KiB"
[scheduler.class.video]
order = { by = "look", n = 0x10 }
"#;

fn with(sets: &[&str]) -> Document {
    let mut document = Document::parse("f.toml", VALID).expect("parses");
    for set in sets {
        document.set(set).expect("applies");
    }
    document
}

fn refused(set: &str) -> String {
    with(&[]).set(set).expect_err("is refused").to_string()
}

fn inside<'a>(section: &Section<'a>, key: &str) -> Section<'a> {
    section.section(key).expect("is a table").expect("is there")
}

#[test]
fn syntax_errors_name_the_line() {
    let wrong = |text: &str| Document::parse("f.toml", text).unwrap_err().to_string();
    assert!(wrong("a = 1\n\nsize = 4KiB\n").starts_with("f.toml:3: not TOML: string values must be quoted"));
    assert!(wrong("a = 1\r\na = 2").starts_with("f.toml:2: not TOML: duplicate key"));
    assert!(wrong("[drive\n").starts_with("f.toml:1: not TOML: unclosed table"));
    assert!(wrong("\nx = \"abc").starts_with("f.toml:2: not TOML: invalid basic string"));
    assert!(wrong("x = 1\ny = 999999999999999999999999999999999999999999").contains("f.toml:2: the number 9999"));
    assert!(wrong(&format!("{}b = 1", "a.".repeat(100_000))).contains("recursion limit"));
}

#[test]
fn lines_are_those_of_the_file() {
    for (newline, bom) in [("\n", ""), ("\r\n", ""), ("\n", "\u{feff}")] {
        let text = format!("{bom}# µ\n\ntext = \"\"\"\nthree\nlines\"\"\"\nx = 1\n[a]\n[[b]]\n[[b]]\ny.z = 2")
            .replace('\n', newline);
        let document = Document::parse("f.toml", &text).unwrap();
        let root = document.root();
        let line = |section: &Section, key: &str| section.error(key, "", "").at;
        assert_eq!(line(&root, "text"), block::At::Line(3));
        assert_eq!(line(&root, "x"), block::At::Line(6));
        assert_eq!(inside(&root, "a").here("", "").at, block::At::Line(7));
        let second = root.sections("b").unwrap().remove(1);
        assert_eq!(second.here("", "").at, block::At::Line(9));
        assert_eq!(line(&inside(&second, "y"), "z"), block::At::Line(10));
        assert_eq!(root.here("", "").at, block::At::File);
    }
}

#[test]
fn what_cannot_be_read_is_said_plainly() {
    let folder = std::env::temp_dir().join(format!("config-documents-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let load = |path: &Path| Document::load(path).map(|_| ()).map_err(|error| error.to_string());
    assert!(load(&folder.join("none.toml")).unwrap_err().contains("none.toml: cannot be read: No such file"));
    assert!(load(&folder).unwrap_err().contains("cannot be read: Is a directory"));
    std::fs::write(folder.join("latin.toml"), b"a = 1\nb = \"\xe9\"\n").unwrap();
    assert!(load(&folder.join("latin.toml")).unwrap_err().contains("latin.toml:2: is not UTF-8 text"));
    std::fs::write(folder.join("long.toml"), vec![b'#'; (16 << 20) + 1]).unwrap();
    assert!(load(&folder.join("long.toml")).unwrap_err().contains("longer than 16 MiB"));
    let long = Document::parse("long.toml", &"#".repeat((16 << 20) + 1)).unwrap_err().to_string();
    assert!(long.contains("longer than 16 MiB"), "of a text that no file may hold");
    std::fs::write(folder.join("good.toml"), VALID).unwrap();
    assert_eq!(load(&folder.join("good.toml")), Ok(()));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn set_replaces_adds_and_makes_tables() {
    let document = with(&["scheduler.policy=satf", "run.duration = 600s", "run.seed=7", "title=\"b c\"", "empty="]);
    let root = document.root();
    assert_eq!(inside(&root, "scheduler").string("policy").unwrap().as_deref(), Some("satf"));
    assert_eq!(inside(&root, "run").string("duration").unwrap().as_deref(), Some("600s"));
    assert_eq!(inside(&root, "run").u64("seed"), Ok(Some(7)));
    assert_eq!(root.string("title").unwrap().as_deref(), Some("b c"));
    assert_eq!(root.string("empty").unwrap().as_deref(), Some(""));
}

#[test]
fn set_finds_elements_by_name_or_index() {
    let document = with(&["workload.stream.size=1MiB", "workload.1.name=other", "workload.other.size=8KiB"]);
    let workloads = document.root().sections("workload").unwrap();
    assert_eq!(workloads[0].size("size"), Ok(Some(2048)));
    assert_eq!(workloads[1].size("size"), Ok(Some(16)));
}

#[test]
fn set_takes_lists_with_and_without_quotes() {
    let document = with(&["a=[\"x\", \"y\"]", "b=[x, 10/s]", "c=[1, 2.5]", "d=[50%..]"]);
    let root = document.root();
    assert_eq!(root.strings("a"), Ok(Some(vec!["x".into(), "y".into()])));
    assert_eq!(root.strings("b"), Ok(Some(vec!["x".into(), "10/s".into()])));
    assert_eq!(root.f64s("c"), Ok(Some(vec![1.0, 2.5])));
    assert_eq!(root.strings("d"), Ok(Some(vec!["50%..".into()])));
}

#[test]
fn a_bad_set_is_shown_as_it_was_given() {
    assert_eq!(refused("policy"), "--set policy: no `=` in it\n  mend: write KEY=VALUE");
    assert!(refused("=3").starts_with("--set =3: not a path of keys"));
    assert!(refused("a..b=3").contains("not a path of keys"));
    assert!(refused(&format!("a{}=3", ".a".repeat(1000))).contains("not a path of keys"));
    assert!(refused("title.x=3").contains("`title` is the text \"a\", not a table"));
    assert!(
        refused("workload.strem.size=1MiB")
            .contains("`workload` has no element `strem`\n  mend: did you mean `stream`?")
    );
    assert!(refused("workload.7.size=1MiB").contains("no element `7`\n  mend: its elements are stream"));
    let document = with(&["workload.stream.size=1000"]);
    let error = document.root().sections("workload").unwrap()[0].size("size").unwrap_err();
    assert!(error.to_string().starts_with("--set workload.stream.size=1000: `size`: '1000' has no unit\n"));
}

/// Reads everything in every way; only panics matter.
fn read_all(section: &Section) {
    for key in section.keys() {
        let _ = (section.string(key), section.u64(key), section.f64(key), section.bool(key), section.rows(key));
        let _ = (section.size(key), section.span(key), section.rate(key), section.share(key), section.f64s(key));
        let _ = (section.choice(key, &[("fcfs", 1)]), section.within(key, 1, 3), section.strings(key));
        section.section(key).into_iter().flatten().for_each(|section| read_all(&section));
        section.sections(key).into_iter().flatten().for_each(|section| read_all(&section));
    }
    let _ = section.close();
}

#[test]
fn mutated_files_never_panic() {
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut below = |bound: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % bound as u64) as usize
    };
    for _ in 0..5_000 {
        let mut bytes = VALID.as_bytes().to_vec();
        for _ in 0..=below(6) {
            let (at, from) = (below(bytes.len()), below(bytes.len()));
            match below(4) {
                0 => bytes[at] = b"[]{}=\"'.,#-0e\n\\x \t\xff\x00"[below(20)],
                1 => drop(bytes.remove(at)),
                2 => bytes.insert(at, bytes[from]),
                _ => bytes.extend_from_within(from..(from + 20).min(VALID.len() / 2).max(from)),
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        let Ok(mut document) = Document::parse("f.toml", &text) else { continue };
        let (at, to) = (below(bytes.len()), below(bytes.len()));
        let _ = document.set(&String::from_utf8_lossy(&bytes[at.min(to)..at.max(to)]));
        read_all(&document.root());
        document.sweep(&[], &[]).into_iter().flatten().take(20).for_each(|(_, document)| read_all(&document.root()));
    }
}

#[test]
fn numbers_beyond_all_bounds_are_written_as_they_are_read() {
    let text = Document::parse("f.toml", "up = inf\ndown = -inf\nnone = nan\nlarge = 1e300\n").unwrap().write();
    for line in ["up = inf", "down = -inf", "none = nan", "large = 1e300"] {
        assert!(text.lines().any(|written| written == line), "{line} is not in {text}");
    }
    assert_eq!(Document::parse("f.toml", &text).unwrap().write(), text);
}

const TABLES: &str = "title = \"t\"\n[[disk]]\nname = \"a\"\n[[disk]]\nname = \"b\"\n[[disk]]\nname = \"c\"\n[from]\nx = 1\ny = 2\n[into]\nx = 3\n";

#[test]
fn tables_of_an_array_are_kept_by_their_place_and_an_empty_array_is_gone() {
    let kept = |keeps: &[usize]| {
        let mut document = Document::parse("f.toml", TABLES).unwrap();
        document.keep_tables("disk", |place| keeps.contains(&place));
        let text = document.write();
        assert!(text.contains("title = \"t\"") && text.contains("[into]"), "{text}");
        ["a", "b", "c"].map(|name| text.contains(&format!("name = \"{name}\"")))
    };
    assert_eq!(kept(&[0, 2]), [true, false, true]);
    assert_eq!(kept(&[1]), [false, true, false]);
    assert_eq!(kept(&[]), [false; 3]);
    let mut single = Document::parse("f.toml", "[disk]\nname = \"a\"\n").unwrap();
    single.keep_tables("disk", |place| place == 0);
    assert!(single.write().contains("[disk]"));
    single.keep_tables("disk", |_| false);
    single.keep_tables("no such key", |_| false);
    assert!(!single.write().contains("disk"), "{}", single.write());
}

#[test]
fn each_table_of_an_array_makes_a_document_of_its_own() {
    let parts = Document::parse("f.toml", TABLES).unwrap().split("disk");
    let texts: Vec<String> = parts.iter().map(Document::write).collect();
    assert_eq!(texts.len(), 3);
    for (text, name) in texts.iter().zip(["a", "b", "c"]) {
        let has = |name: &str| text.contains(&format!("name = \"{name}\""));
        assert!(has(name) && ["a", "b", "c"].into_iter().filter(|other| has(other)).count() == 1, "{text}");
    }
}

#[test]
fn a_key_takes_the_place_of_another_of_its_name() {
    let mut document = Document::parse("f.toml", TABLES).unwrap();
    document.move_key("from", "x", "into");
    let number = |table: &str, key: &str| -> Option<u64> {
        let root = document.root();
        inside(&root, table).u64(key).ok().flatten()
    };
    assert_eq!([number("from", "x"), number("from", "y"), number("into", "x")], [None, Some(2), Some(1)]);
}
