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
