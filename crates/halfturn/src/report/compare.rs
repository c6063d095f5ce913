//! The comparison that `simulate` prints: what was asked of what, a picture, the table, what to know of it.

use super::figures::{Better, FigureColumn};
use super::rows::{CaseRun, assemble, keys, label, rivals, shown_parts};
use super::{bars, bills, notes, service, setting, system};
use load::experiment::Case;
use load::results::{Class, Disk, Operations, Results, Run};

/// Lines a picture may have.
const MOST_BARS: usize = 10;
const BAR_WIDTH: usize = 48;

/// The page that compares runs: table, bars and notes.
pub fn comparison(cases: &[Case], results: &Results) -> String {
    let mut pairs: Vec<CaseRun> = cases.iter().zip(&results.runs).collect();
    let groups = rivals(&pairs);
    let mut order: Vec<usize> = (0..pairs.len()).collect();
    order.sort_by_key(|row| groups[*row]);
    pairs = order.into_iter().map(|row| pairs[row]).collect();
    let mut text = setting::setting(cases);
    text.push('\n');
    if let Some(picture) = picture(&pairs) {
        text += &picture;
        text.push('\n');
    }
    let mut tables = runs_table(&pairs);
    if !are_single(&pairs) {
        tables += &format!("\n{}", classes_table(&pairs));
    }
    let more = [bills::table(&pairs), service::table(&pairs), system::table(&pairs), system::processes(&pairs)];
    for table in more.into_iter().flatten() {
        tables += &format!("\n{table}");
    }
    text += &tables;
    text.push('\n');
    text + &notes::footer(&pairs, &tables)
}

/// Whether no run has more than one class, so that classes need not be told apart.
fn are_single(pairs: &[CaseRun]) -> bool {
    pairs.iter().all(|(_, run)| run.classes.len() == 1)
}

/// Mean response times as bars, if they are not too many.
fn picture(pairs: &[CaseRun]) -> Option<String> {
    let (mut entries, keys) = (Vec::new(), keys(pairs));
    for (case, run) in pairs {
        for (name, class) in &run.classes {
            let label = label(case, &keys).join(" ");
            let label = if are_single(pairs) { label } else { format!("{label} {name}") };
            if class.requests_finished() > 0 {
                entries.push((label.trim().to_owned(), class.response_ms.mean));
            }
        }
    }
    let worth = (2..=MOST_BARS).contains(&entries.len());
    worth.then(|| format!(" mean response time, ms\n{}", bars::bars(&entries, BAR_WIDTH)))
}

/// A row for each run.
fn runs_table(pairs: &[CaseRun]) -> String {
    let of = |f: &dyn Fn(&Run) -> f64| pairs.iter().map(|(_, run)| f(run)).collect::<Vec<_>>();
    let mut columns = vec![FigureColumn::new("requests", Better::Neither, of(&|run| run.requests as f64)).decimals(0)];
    if are_single(pairs) {
        let classes: Vec<&Class> = pairs.iter().filter_map(|(_, run)| run.classes.values().next()).collect();
        columns.extend(responses(&classes));
        columns.extend(operations(&classes));
        columns.extend(losses(&classes));
    }
    columns.push(FigureColumn::new("MB/s", Better::More, of(&|run| run.throughput_mb_s)));
    if pairs.iter().any(|(_, run)| !run.disks.is_empty()) {
        columns.extend(arm_columns(pairs));
    }
    let keys = keys(pairs);
    let labels: Vec<Vec<String>> = pairs.iter().map(|(case, _)| label(case, &keys)).collect();
    assemble(&keys, labels, &columns, &rivals(pairs))
}

/// How busy the disks were, and with what. Of a device that is no simulated drive nobody knows.
fn arm_columns(pairs: &[CaseRun]) -> Vec<FigureColumn> {
    let of = |f: &dyn Fn(&Run) -> f64| pairs.iter().map(|(_, run)| f(run)).collect::<Vec<_>>();
    let mut columns = vec![FigureColumn::new("busy\n%", Better::Neither, of(&|run| busy(run) * 100.0)).decimals(1)];
    let shown = shown_parts(pairs);
    for part in &shown {
        let share = |run: &Run| share(run, &|name| name == *part);
        columns.push(FigureColumn::new(&format!("{part}\n%"), Better::Neither, of(&share)).decimals(0));
    }
    let other = |run: &Run| share(run, &|name| !shown.contains(&name));
    columns.push(FigureColumn::new("other\n%", Better::Neither, of(&other)).decimals(0));
    columns
}

/// A row for each class of each run.
fn classes_table(pairs: &[CaseRun]) -> String {
    let mut keys = keys(pairs);
    let names: Vec<&String> = pairs.first().map_or_else(Vec::new, |(_, run)| run.classes.keys().collect());
    let (mut labels, mut classes, mut groups) = (Vec::new(), Vec::new(), Vec::new());
    for ((case, run), group) in pairs.iter().zip(rivals(pairs)) {
        for (index, name) in names.iter().enumerate() {
            let Some(class) = run.classes.get(*name) else { continue };
            let mut row = label(case, &keys);
            row.push((*name).clone());
            labels.push(row);
            classes.push(class);
            groups.push(group * names.len() + index);
        }
    }
    let of = |f: &dyn Fn(&Class) -> f64| classes.iter().map(|class| f(class)).collect::<Vec<_>>();
    let mut columns =
        vec![FigureColumn::new("requests", Better::Neither, of(&|class| class.requests as f64)).decimals(0)];
    columns.extend(responses(&classes));
    columns.extend(operations(&classes));
    columns.extend(losses(&classes));
    columns.push(FigureColumn::new("MB/s", Better::More, of(&|class| class.throughput_mb_s)));
    keys.push("class");
    assemble(&keys, labels, &columns, &groups)
}

/// Response times of a class in each row.
fn responses(classes: &[&Class]) -> Vec<FigureColumn> {
    // What finished nothing has no response times.
    let of = |f: &dyn Fn(&Class) -> f64| {
        classes.iter().map(|class| if class.requests_finished() > 0 { f(class) } else { f64::NAN }).collect::<Vec<_>>()
    };
    let spread = |class: &&Class| class.response_ms.ci95.filter(|_| class.requests_finished() > 0);
    let spreads: Vec<Option<f64>> = classes.iter().map(spread).collect();
    let sure = spreads.iter().any(Option::is_some);
    let head = if sure { "response ms\nmean ± 95 %" } else { "response\nmean ms" };
    let mean = FigureColumn::new(head, Better::Less, of(&|class| class.response_ms.mean));
    vec![
        if sure { mean.spreads(spreads) } else { mean },
        FigureColumn::new("p50\nms", Better::Less, of(&|class| class.response_ms.p50)),
        FigureColumn::new("p99\nms", Better::Less, of(&|class| class.response_ms.p99)),
        FigureColumn::new("max\nms", Better::Less, of(&|class| class.response_ms.max)),
    ]
}

/// Response times of operations of several requests, where there are such.
fn operations(classes: &[&Class]) -> Vec<FigureColumn> {
    let of = |f: &dyn Fn(&Operations) -> f64| {
        let finished = |operations: &&Operations| operations.count > operations.dropped + operations.failed;
        classes.iter().map(|class| class.operations.as_ref().filter(finished).map_or(f64::NAN, f)).collect::<Vec<_>>()
    };
    if classes.iter().all(|class| class.operations.is_none()) {
        return Vec::new();
    }
    vec![
        FigureColumn::new("operation\nmean ms", Better::Less, of(&|it| it.response_ms.mean)),
        FigureColumn::new("p99\nms", Better::Less, of(&|it| it.response_ms.p99)),
    ]
}

/// What missed its deadline, was dropped or failed, where anything did.
fn losses(classes: &[&Class]) -> Vec<FigureColumn> {
    let of = |f: &dyn Fn(&Class) -> u64| classes.iter().map(|class| f(class) as f64).collect::<Vec<_>>();
    let columns = [
        ("missed", of(&|class| class.missed_deadlines)),
        ("operations\nmissed", of(&|class| class.operations.as_ref().map_or(0, |it| it.missed_deadlines))),
        ("dropped", of(&|class| class.dropped)),
        ("failed", of(&|class| class.failed)),
    ];
    let any = columns.into_iter().filter(|(_, counts)| counts.iter().any(|count| *count > 0.0));
    any.map(|(head, counts)| FigureColumn::new(head, Better::Less, counts).decimals(0)).collect()
}

/// The share of time in which a command was in service, over all disks.
fn busy(run: &Run) -> f64 {
    mean(run, &|disk| disk.busy)
}

/// The same, where it is known: of a device that is no simulated drive it is not.
pub(super) fn known_busy(run: &Run) -> Option<f64> {
    (!run.disks.is_empty()).then(|| busy(run))
}

/// Of the busy time, the per cent spent on these parts.
fn share(run: &Run, wanted: &dyn Fn(&str) -> bool) -> f64 {
    let spent = |disk: &Disk| disk.parts.iter().filter(|(name, _)| wanted(name)).map(|(_, part)| part).sum::<f64>();
    let busy = busy(run);
    if busy > 0.0 { mean(run, &spent) / busy * 100.0 } else { 0.0 }
}

fn mean(run: &Run, of: &dyn Fn(&Disk) -> f64) -> f64 {
    run.disks.iter().map(of).sum::<f64>() / run.disks.len().max(1) as f64
}
