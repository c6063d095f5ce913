//! Every file of `tests/bad/experiment` is refused with exactly the words beside it.

use load::experiment;
use std::path::Path;

#[test]
fn bad_experiments_are_refused_with_file_line_and_mend() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/bad/experiment");
    let mut files: Vec<_> = std::fs::read_dir(&folder).expect("is there").map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    assert!(!files.is_empty());
    let mut wrong = String::new();
    for path in files {
        let name = path.file_name().unwrap().to_string_lossy();
        let expected = std::fs::read_to_string(path.with_extension("toml.expected")).unwrap_or_default();
        let found = match experiment::load(&path, &[], None) {
            Ok(_) => "no error".into(),
            // The folder differs between machines; the file's own name does not.
            Err(error) => error.to_string().replace(&*path.to_string_lossy(), &name),
        };
        if found.trim_end() != expected.trim_end() {
            wrong += &format!("--- {name}\nexpected {expected}\nfound    {found}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
