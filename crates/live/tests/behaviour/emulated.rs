//! An emulated drive keeps the time of its model.

use load::experiment;

const RANDOM: &str = r#"
[drive]
path = "emulated:st318437lw"
[scheduler]
policy = "satf"
[[workload]]
name = "random"
kind = "closed"
depth = 8
size = "4KiB"
read = 0.7
[run]
requests = 200
"#;

/// On any machine, however busy, nothing happens before its time; and most of it soon after.
#[test]
fn nothing_is_early_and_little_is_late() {
    let cases = experiment::parse("random.toml", RANDOM, &[], None).expect("an experiment");
    let benched = live::bench(&cases[0], 1.0, &|_| {}).expect("it runs");
    assert_eq!(benched.run.requests, 200);
    assert_eq!(benched.lateness.count(), benched.run.commands.count);
    assert!(benched.lateness.quantile(0.5) < block::Span(2_000_000), "{:?}", benched.lateness.quantile(0.5));
    let [disk] = &benched.run.disks[..] else { panic!("one disk") };
    assert!(disk.busy > 0.5, "{disk:?}");
}
