//! The pages that are generated are as they would be generated now. `HALFTURN_BLESS=1` writes them.

use crate::root;

#[test]
fn every_reference_page_is_up_to_date() {
    let drives = disk::catalogue::reference().unwrap_or_else(|error| panic!("{error}"));
    let pages = [("drives.md", drives), ("trace-formats.md", trace::reference())];
    for (name, page) in pages {
        let path = root().join("docs/reference").join(name);
        if std::env::var_os("HALFTURN_BLESS").is_some() {
            std::fs::create_dir_all(root().join("docs/reference")).expect("a folder that can be made");
            std::fs::write(&path, &page).expect("a page that can be written");
        }
        let there = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            there == page,
            "docs/reference/{name} is stale: HALFTURN_BLESS=1 cargo test -p halfturn --test cli reference"
        );
    }
}
