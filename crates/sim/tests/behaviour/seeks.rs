//! Long seeks in parts on drives that have no command for a seek, so that each part is a read of one block.

use crate::files::results;
use block::SeekBy;
use load::experiment::DriveChoice;
use load::results::Run;

/// Runs random reads that are interrupted by more urgent ones, three times: with whole seeks, with parts of seeks that are commands, and
/// with parts that are reads.
fn runs(model: &str, plan: &str) -> Vec<Run> {
    let text = format!(
        r#"
        [drive]
        model = "{model}"
        seek_by = ["nothing", "command", "read"]
        [scheduler]
        policy = "fcfs"
        io = "semi-preemptible"
        preemption = "priority"
        preempt_at = "command"
        plan = {{ {plan} }}
        [[workload]]
        name = "random"
        kind = "closed"
        depth = 1
        size = "4KiB"
        [[workload]]
        name = "reader"
        kind = "open"
        rate = "4/s"
        size = "4KiB"
        priority = 1
        [run]
        duration = "2000s"
        warmup = "5s"
        "#
    );
    results(&text).runs
}

/// Found of a run: what who steps in waits for the command in progress, and 95 % of that mean, ms; random reads a second; parts of
/// seeks for each seek that was timed.
fn find(run: &Run) -> (f64, f64, f64, f64) {
    let waits = &run.classes["reader"].arrival_wait_ms;
    let service = run.service.as_ref().expect("short commands");
    let parts = service.sub_seeks as f64 / service.jit_seeks as f64;
    let found = (waits.mean, waits.ci95.expect("an interval"), run.classes["random"].requests as f64 / 2000.0, parts);
    println!("{:?}: {found:?}, {} late", run.labels, service.late);
    found
}

#[test]
fn parts_of_a_seek_that_are_reads_shorten_what_who_steps_in_waits() {
    for model in ["st318437lw", "nl20"] {
        let runs = runs(model, "split = \"always\", split_beyond = 0.2");
        let [nothing, command, read] = &runs[..] else { panic!("three ways") };
        let ((whole, give, alone, none), (least, ..)) = (find(nothing), find(command));
        let (wait, take, beside, parts) = find(read);
        assert_eq!(none, 0.0);
        assert!(parts > 0.5, "{model}: {parts} parts a seek");
        // A command of its own does without the block that is read.
        assert!(wait + give + take < whole && wait > least - give - take, "{model}: {wait}, not {whole}");
        // Parts that nothing hides cost who is interrupted their time, as parts by command do; and no revolutions.
        assert!(beside > 0.7 * alone, "{model}: {beside} a second, not {alone}");
    }
}

#[test]
fn what_is_no_disk_has_no_arm_to_move() {
    let choice = |seek_by| DriveChoice { seek_by, ..DriveChoice::plain("flash-x25m", 1) };
    let refused = |seek_by| choice(seek_by).make_model().err().map(|error| error.what);
    assert_eq!([None, Some(SeekBy::Nothing)].map(refused), [None, None]);
    assert!(refused(Some(SeekBy::Read)).is_some_and(|what| what.contains("only the arm of a disk")));
}

#[test]
fn parts_that_are_reads_cost_next_to_nothing_where_slack_is_to_hide_them() {
    for model in ["st318437lw", "nl20"] {
        let runs = runs(model, "split = \"masked\", split_beyond = 0.2");
        let [nothing, _, read] = &runs[..] else { panic!("three ways") };
        let ((whole, give, alone, _), (wait, take, beside, parts)) = (find(nothing), find(read));
        assert!(parts > 0.0, "{model}");
        assert!(beside > 0.99 * alone, "{model}: {beside} a second, not {alone}");
        // What is hidden was slack, in which nobody waited for a command: little is gained.
        assert!(wait < whole + give + take, "{model}: {wait}, not {whole}");
    }
}
