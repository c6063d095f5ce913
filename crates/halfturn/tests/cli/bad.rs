//! Bad input: exit code 2, nothing on stdout, and the message that stands in `tests/bad/cli/NAME.expected` beside the
//! words of the command in `NAME.args`. `HALFTURN_BLESS=1` writes the messages.

use crate::{root, run_in};
use std::fs;

#[test]
fn bad_input_is_told_with_place_and_mend() {
    let folder = root().join("tests/bad/cli");
    let entries = fs::read_dir(&folder).expect("the folder is there");
    let mut cases: Vec<_> = entries.map(|entry| entry.expect("a readable entry").path()).collect();
    cases.retain(|path| path.extension().is_some_and(|end| end == "args"));
    cases.sort();
    assert!(cases.len() > 10, "{} has lost its cases", folder.display());
    let mut wrong = Vec::new();
    for case in cases {
        let words = fs::read_to_string(&case).expect("the words of the command");
        let output = run_in(&root(), &words.split_whitespace().collect::<Vec<_>>());
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        if std::env::var_os("HALFTURN_BLESS").is_some() {
            fs::write(case.with_extension("expected"), &told).expect("a folder to write in");
        }
        let expected = fs::read_to_string(case.with_extension("expected")).unwrap_or_default();
        if output.status.code() != Some(2) || !output.stdout.is_empty() || told != expected {
            wrong.push(format!("{}: {}\n{told}expected\n{expected}", case.display(), output.status));
        }
    }
    assert!(wrong.is_empty(), "{} differ\n\n{}", wrong.len(), wrong.join("\n"));
}

/// As systemd hands sockets over; this is a file.
#[test]
fn what_is_handed_over_and_is_no_socket_of_a_path_is_refused() {
    let command = "LISTEN_FDS=1 LISTEN_PID=$$ exec \"$0\" serve --emulate st318437lw 3<Cargo.toml";
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", command, env!("CARGO_BIN_EXE_halfturn")]).current_dir(root());
    let output = shell.output().expect("a shell");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && told.contains("handed over") && told.contains("mend"), "{told}");
}
