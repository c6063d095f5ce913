//! Pages that `--report` writes, as a browser shows them: nothing is complained of, nothing asked of a network, every figure is drawn, in
//! light and dark; a phone has them without pushing anything aside; they open at once, and axe-core finds no fault with them.
//!
//! Chromium is told what to do over a pipe. axe-core is asked where `.ci/packages` has fetched it. A page of 10⁶ requests takes a minute of
//! a core: `cargo test -p halfturn --test clients -- --ignored million --nocapture`. Where `HALFTURN_PICTURES` names a folder, what was
//! seen is written there.

mod browser;

use crate::server::Folder;
use crate::tool::{run, skip};
use browser::{Browser, Screen, Tab, find_browser};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Bytes that a page may have.
const MOST_BYTES: u64 = 5_000_000;
/// Milliseconds of a processor until a page has loaded and its figures are drawn: other than by a clock it is the same beside
/// whatever else is run.
const MOST_MS: f64 = 2_000.0;

/// What axe-core judges is the same on the other two.
const SCREENS: [(Screen, bool); 4] = [
    (Screen { width: 1280, colours: "light" }, true),
    (Screen { width: 390, colours: "dark" }, true),
    (Screen { width: 1280, colours: "dark" }, false),
    (Screen { width: 390, colours: "light" }, false),
];

const LOOK: &str = include_str!("pages/look.js");
const ACT: &str = include_str!("pages/act.js");
/// Where `.ci/packages` leaves it.
const AXE: &str = "../../target/axe/package/axe.min.js";

/// Each kind of page that has figures: its name, the command, and how many figures it has.
fn kinds() -> Vec<(&'static str, String, usize)> {
    let small = "crates/halfturn/tests/cli/data/small.toml --set run.warmup=0s";
    let quick = "--set run.replications=1 --set scheduler.policy=fcfs";
    vec![
        ("simulate", format!("simulate {small} --set scheduler.policy=[fcfs,satf,sstf] --set run.requests=400"), 8),
        (
            "machine",
            "simulate examples/two-compressions.toml --window 20ms..90ms --set scheduler.policy=priority-2 --set run.replications=1 \
             --set workload.0.input=64KiB --set workload.0.output=32KiB"
                .into(),
            7,
        ),
        (
            "over-time",
            "simulate examples/scan-of-a-busy-disk.toml --set run.duration=5s --set scheduler.class.database.value=2".into(),
            9,
        ),
        ("sweep", format!("sweep {small} -o FOLDER/sweep --set workload.0.depth=[1,2,4,8] --set run.requests=200"), 4),
        ("bench", format!("bench {small} {quick} --set run.requests=40 --time-scale 10"), 3),
        ("advise", format!("advise {small} {quick} --goal mean --set run.requests=300"), 4),
        ("profile", "profile simulated:mimic-base --quick".into(), 2),
        ("validate", "drive validate st318437lw crates/halfturn/tests/cli/data/measured.csv".into(), 1),
        ("reproduce", "reproduce vio.fig1".into(), 1),
        ("trace", "trace info examples/traces/fio-mixed.blkparse.txt.gz".into(), 3),
        (
            "recorded",
            "trace info examples/traces/sqlite-beside-writer.pflow --window 100ms..130ms".into(),
            1,
        ),
    ]
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace above this crate")
}

/// Has a command write its page, and gives where it is.
fn write(folder: &Folder, name: &str, command: &str) -> PathBuf {
    let page = folder.0.join(format!("{name}.html"));
    let command = command.replace("FOLDER", &folder.0.display().to_string());
    let page_name = page.display().to_string();
    let arguments: Vec<&str> = command.split_whitespace().chain(["--report", &page_name]).collect();
    run(&root(), env!("CARGO_BIN_EXE_halfturn"), &arguments);
    page
}

/// A browser, or a loud SKIPPED.
fn browser() -> Option<Browser> {
    let found = find_browser();
    if found.is_none() {
        skip("apt-get install --no-install-recommends chromium-headless-shell, or run .ci/packages");
    }
    found.map(Browser::start)
}

fn axe() -> Option<String> {
    let axe = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(AXE)).ok();
    if axe.is_none() {
        skip("what axe-core says of pages; mend: run .ci/packages where npm is");
    }
    axe
}

/// A look at a page on a screen: what is wrong with it, and how long it took.
struct Look {
    faults: Vec<String>,
    busy_ms: f64,
    loaded_ms: f64,
}

fn look(browser: &mut Browser, page: &Path, screen: Screen, axe: Option<&str>) -> Look {
    let mut tab = browser.tab(screen);
    let before = tab.busy_ms();
    tab.open(&format!("file://{}", page.display()));
    let seen = tab.evaluate(LOOK);
    let busy_ms = tab.busy_ms() - before;
    if let Some(folder) = std::env::var_os("HALFTURN_PICTURES") {
        let name = page.file_stem().expect("a name").to_string_lossy();
        let file = Path::new(&folder).join(format!("{name}-{}-{}.png", screen.width, screen.colours));
        std::fs::write(file, tab.picture()).expect("a picture");
    }
    let mut faults = axe.map_or(Vec::new(), |axe| violations(&mut tab, axe));
    faults.extend(tab.complaints());
    faults.extend(misdrawn(&seen, screen));
    if busy_ms > MOST_MS {
        faults.push(format!("took {busy_ms:.0} ms of a processor"));
    }
    tab.close();
    Look { faults, busy_ms, loaded_ms: seen["loaded"].as_f64().expect("when it had loaded") }
}

/// What axe-core finds fault with, each with where.
fn violations(tab: &mut Tab, axe: &str) -> Vec<String> {
    tab.evaluate(&format!("{axe}\n0"));
    let told = tab.evaluate(
        "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.map((it) =>
           `${it.id}: ${it.help}: ${it.nodes.map((node) => node.target).slice(0, 3).join(' ')}`))",
    );
    texts(&told)
}

/// What is not to be seen that should be.
fn misdrawn(seen: &Value, screen: Screen) -> Vec<String> {
    let mut faults = Vec::new();
    if seen["wide"].as_f64().expect("pixels") > 0.0 {
        faults.push(format!("is {} pixels wider than the screen", seen["wide"]));
    }
    for figure in seen["figures"].as_array().expect("a list") {
        let mut wrong = |what: String| faults.push(format!("figure {}: {what}", figure["name"]));
        let lacking = texts(&figure["lacking"]);
        if !lacking.is_empty() {
            wrong(format!("nothing is seen of {}", lacking.join(", ")));
        } else if figure["coloured"].as_u64() == Some(0) {
            wrong("nothing is seen of it".into());
        }
        if figure["letters"].as_u64().expect("points") < 20 {
            wrong("has no letters at its axis".into());
        } else if (figure["light"].as_f64().expect("a share") > 0.5) != (screen.colours == "dark") {
            wrong(format!("its letters are not seen in {} colours", screen.colours));
        }
        if figure["told"].as_u64().expect("letters") < 10 {
            wrong("is not told to who does not see it".into());
        }
    }
    faults
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().expect("a list").iter().map(|it| it.as_str().expect("a text").to_owned()).collect()
}

/// Looks at a page on all screens, prints how soon it opened, and gives what is wrong with it.
fn judge(browser: &mut Browser, page: &Path, axe: Option<&str>) -> Vec<String> {
    let name = page.file_stem().expect("a name").to_string_lossy().into_owned();
    let bytes = page.metadata().expect("it was written").len();
    let mut faults = Vec::new();
    if bytes > MOST_BYTES {
        faults.push(format!("{name}: {bytes} bytes"));
    }
    let (mut busy_ms, mut loaded_ms) = (0.0_f64, f64::INFINITY);
    for (screen, is_judged) in SCREENS {
        let look = look(browser, page, screen, axe.filter(|_| is_judged));
        faults.extend(look.faults.iter().map(|fault| format!("{name}, {} {}: {fault}", screen.width, screen.colours)));
        (busy_ms, loaded_ms) = (busy_ms.max(look.busy_ms), loaded_ms.min(look.loaded_ms));
    }
    println!("{name}: {bytes} bytes, {busy_ms:.0} ms of a processor at most, loaded after {loaded_ms:.0} ms at best");
    faults
}

/// How many figures a page has.
fn count_figures(page: &Path) -> usize {
    std::fs::read_to_string(page).expect("a page").matches("<script type=\"application/json\" data-figure=").count()
}

#[test]
fn every_kind_of_page_is_whole_in_a_browser() {
    let Some(mut browser) = browser() else { return };
    let (axe, folder) = (axe(), Folder::new());
    let mut faults = Vec::new();
    for (name, command, figures) in kinds() {
        let page = write(&folder, name, &command);
        assert_eq!(count_figures(&page), figures, "figures of {name}");
        faults.extend(judge(&mut browser, &page, axe.as_deref()));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let mut tab = browser.tab(SCREENS[0].0);
    tab.open(&format!("file://{}", folder.0.join("simulate.html").display()));
    let failed = tab.evaluate(ACT);
    assert_eq!(texts(&failed), Vec::<String>::new(), "what a reader does");
    tab.close();
}

/// A page that is spoilt in one way has that fault, and no page is called whole that nobody looked at.
#[test]
fn each_fault_of_a_page_is_found() {
    let Some(mut browser) = browser() else { return };
    let (axe, folder) = (axe(), Folder::new());
    let page = write(&folder, "trace", &kinds().into_iter().find(|kind| kind.0 == "trace").expect("that kind").1);
    let whole = std::fs::read_to_string(&page).expect("a page");
    let (screen, _) = SCREENS[1];
    let mut spoil = |from: &str, to: &str, fault: &str| {
        assert!(whole.contains(from), "{from}");
        std::fs::write(&page, whole.replacen(from, to, 1)).expect("a page");
        let faults = look(&mut browser, &page, screen, axe.as_deref()).faults;
        assert!(faults.iter().any(|it| it.contains(fault)), "{fault}: {faults:?}");
    };
    spoil("addDot(pen, series", "if (0) addDot(pen, series", "nothing is seen of");
    spoil("this.drawAxes(pen, at);", "", "has no letters at its axis");
    spoil("getComputedStyle(this.place).color", "\"black\"", "its letters are not seen in dark colours");
    spoil("setAttribute(\"aria-label\", place", "setAttribute(\"title\", place", "is not told to who does not see it");
    spoil("<main>", "<main><p style=\"width: 500px\">wide</p>", "pixels wider than the screen");
    spoil("\"use strict\";", "console.error(\"lost\");", "lost");
    spoil("\"use strict\";", "setTimeout(() => lost());", "lost is not defined");
    spoil("<main>", "<main><img alt=\"\" src=\"http://127.0.0.1:9/a.png\">", "asked for http://127.0.0.1:9/a.png");
    if axe.is_some() {
        spoil("<html lang=\"en\">", "<html>", "html-has-lang");
        spoil("line-height: 1.4; }", "line-height: 1.4; color: #777; background: #555 }", "color-contrast");
    }
}

/// A page that computes before it is drawn takes that much longer.
#[test]
fn what_a_page_takes_of_a_processor_is_counted() {
    let Some(mut browser) = browser() else { return };
    let folder = Folder::new();
    let mut busy_ms = |count: &str| {
        let page = folder.0.join("busy.html");
        let sums =
            format!("(() => {{ let sum = 0.5; for (let i = 0; i < {count}; i++) sum += i; window.sum = sum; }})();");
        std::fs::write(&page, format!("<!doctype html><title>busy</title><script>{sums}</script>")).expect("a page");
        look(&mut browser, &page, SCREENS[0].0, None).busy_ms
    };
    let (short, long) = (busy_ms("1"), busy_ms("2e8"));
    assert!(long > short + 60.0, "{short} ms, then {long} ms");
}

#[test]
#[ignore = "a minute of a core"]
fn pages_of_a_million_requests_are_whole_in_a_browser() {
    let Some(mut browser) = browser() else { return };
    let (axe, folder) = (axe(), Folder::new());
    let small = "crates/halfturn/tests/cli/data/small.toml --set run.replications=1 --set run.requests=1000000";
    let iolog = folder.0.join("million.csv");
    million(&iolog);
    let mut faults = Vec::new();
    for (name, command) in [
        ("million-simulated", format!("simulate {small}")),
        ("million-swept", format!("sweep {small} -o FOLDER/sweep")),
        ("million-traced", format!("trace info {}", iolog.display())),
    ] {
        faults.extend(judge(&mut browser, &write(&folder, name, &command), axe.as_deref()));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Writes a trace of 10⁶ requests in the form of MSR Cambridge, 1 ms apart, anywhere on 1 TB.
fn million(file: &Path) {
    let line = |number: u64| {
        let at = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) % 244_140_625 * 4096;
        let way = if number.is_multiple_of(3) { "Write" } else { "Read" };
        format!("{},web,0,{way},{at},4096,{}\n", 128_166_372_000_000_000 + number * 10_000, 100 + number % 5000)
    };
    std::fs::write(file, (0..1_000_000).map(line).collect::<String>()).expect("a trace");
}
