//! A drive made of a data sheet is written, told of, and simulated at once.

use crate::said;

#[test]
fn a_drive_of_a_data_sheet_is_simulated_at_once() {
    let folder = std::env::temp_dir().join(format!("halfturn-made-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("mine.toml").display().to_string();
    let sheet = ["--rpm", "7200", "--capacity", "6TB", "--outer", "255", "--seek", "7.4", "--platters", "4"];
    let text = said(&[&["drive", "new"], &sheet[..]].concat());
    assert!(text.contains("heads = 8\n") && text.contains("mean_seek_ms = 7.4\n"), "{text}");
    let report = said(&[&["drive", "new", "-o", &file], &sheet[..]].concat());
    assert!(report.contains("settling before a random write") && report.contains("1.48"), "{report}");
    let row = |what: &str| report.lines().find(|line| line.contains(what)).unwrap_or_else(|| panic!("{report}"));
    assert!(row("outermost, MB/s").contains(" 255   25"), "{report}");
    assert_eq!(std::fs::read_to_string(&file).expect("the file"), text);
    let runs = said(&["simulate", "examples/chunk.toml", "--drive", &file, "--set", "run.replications=1"]);
    assert!(runs.contains("6.0 TB at 7200 rpm"), "{runs}");
    std::fs::remove_dir_all(&folder).expect("the folder is there");
}
