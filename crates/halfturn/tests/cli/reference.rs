//! The pages that are generated are as they would be generated now. `HALFTURN_BLESS=1` writes them.

use crate::{root, said};

#[test]
fn every_reference_page_is_up_to_date() {
    let drives = disk::catalogue::reference().unwrap_or_else(|error| panic!("{error}"));
    let keys = said(&["keys", "--format", "markdown"]);
    let drive_keys = between(&there("drive-files.md"), &said(&["keys", "--drive", "--format", "markdown"]));
    let pages = [
        ("drives.md", drives),
        ("drive-files.md", drive_keys),
        ("keys.md", keys),
        ("commands.md", commands()),
        ("metrics.md", live::metrics::reference()),
        ("trace-formats.md", trace::reference()),
    ];
    for (name, page) in pages {
        let path = root().join("docs/reference").join(name);
        if std::env::var_os("HALFTURN_BLESS").is_some() {
            std::fs::create_dir_all(root().join("docs/reference")).expect("a folder that can be made");
            std::fs::write(&path, &page).expect("a page that can be written");
        }
        assert!(
            there(name) == page,
            "docs/reference/{name} is stale: HALFTURN_BLESS=1 cargo test -p halfturn --test cli reference"
        );
    }
}

/// A page as it is.
fn there(name: &str) -> String {
    std::fs::read_to_string(root().join("docs/reference").join(name)).unwrap_or_default()
}

/// A page of which a part is generated, with that part as it would be now.
fn between(page: &str, part: &str) -> String {
    let (before, rest) = page.split_once("<!-- Generated").expect("where it begins");
    let (mark, rest) = rest.split_once("-->\n").expect("the end of the mark");
    let (_, after) = rest.split_once("<!-- End").expect("where it ends");
    format!("{before}<!-- Generated{mark}-->\n{part}\n<!-- End{after}")
}

/// The page of commands: what each says to `--help`.
fn commands() -> String {
    let mut page = String::from(
        "# Commands\n\nWritten by `cargo test` from what `halfturn VERB --help` says. `cargo install --path crates/halfturn --locked \
         --profile dist` installs the program, which carries its examples, catalogue and reference with it: `halfturn example \
         first-look && halfturn simulate first-look.toml`. Bad input ends with exit code 2, and names the file, the line and the \
         mend.\n",
    );
    add_help(&[], &mut page);
    page
}

/// Adds the help of a verb, and of those in it.
fn add_help(verb: &[&str], page: &mut String) {
    let help = said(&[verb, &["--help"]].concat());
    let title = [&["halfturn"], verb].concat().join(" ");
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    *page += &format!("\n## `{title}`\n\n```text\n{}\n```\n", lines.join("\n").trim_end());
    let listed = lines.iter().skip_while(|line| **line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    for inner in listed.filter_map(|line| line.strip_prefix("  ")?.split(' ').next().filter(|word| !word.is_empty())) {
        if inner != "help" || verb.is_empty() {
            add_help(&[verb, &[inner]].concat(), page);
        }
    }
}
