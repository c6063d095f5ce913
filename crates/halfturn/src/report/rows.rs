//! Runs as the rows of a table: what each is called, and with which it may be compared.

use super::figures::FigureColumn;
use super::table::{Edge, table};
use load::experiment::{Case, Predictor};
use load::results::Run;

/// A part of the busy time that is worth a column.
const LARGE: f64 = 0.1;

/// Cases and their runs, side by side.
pub type CaseRun<'a> = (&'a Case, &'a Run);

/// What was varied, what all rivals share first; `policy` where nothing was.
pub fn keys<'a>(pairs: &[CaseRun<'a>]) -> Vec<&'a str> {
    let groups = rivals(pairs);
    let mut keys: Vec<&str> =
        pairs.first().map_or_else(Vec::new, |(case, _)| case.labels.keys().map(String::as_str).collect());
    let differs = |key: &str| {
        pairs.iter().zip(&groups).any(|((case, _), group)| case.labels.get(key) != pairs[*group].0.labels.get(key))
    };
    keys.sort_by_key(|key| differs(key));
    if keys.is_empty() { vec!["policy"] } else { keys }
}

/// What a row is called: its values of what was varied.
pub fn label(case: &Case, keys: &[&str]) -> Vec<String> {
    let value = |key: &&str| {
        case.labels
            .get(*key)
            .map_or_else(|| case.experiment.scheduler.policy.manual().name.to_owned(), ToString::to_string)
    };
    let mut label: Vec<String> = keys.iter().map(value).collect();
    let oracle =
        case.experiment.scheduler.predictor == Some(Predictor::Oracle) && !case.labels.contains_key("predictor");
    if let Some(last) = label.last_mut().filter(|_| oracle) {
        last.push_str(" (oracle)");
    }
    label
}

/// For each run the first that it may be compared with: those asked for the same. A bound is no rival of a scheduler.
pub fn rivals(pairs: &[CaseRun]) -> Vec<usize> {
    let bound = |case: &Case| case.experiment.scheduler.predictor == Some(Predictor::Oracle);
    let same = |a: &Case, b: &Case| {
        let (x, y) = (&a.experiment, &b.experiment);
        x.workloads == y.workloads && x.run == y.run && bound(a) == bound(b)
    };
    pairs.iter().map(|(case, _)| pairs.iter().position(|(first, _)| same(first, case)).unwrap_or(0)).collect()
}

/// The parts of an arm's time that have a column: the three everyone knows, and what takes a tenth somewhere.
pub fn shown_parts<'a>(pairs: &[CaseRun<'a>]) -> Vec<&'a str> {
    let mut shown = vec!["seek", "rotation", "transfer"];
    let disks = pairs.iter().flat_map(|(_, run)| run.disks.iter());
    let large = disks.flat_map(|disk| disk.parts.iter().filter(|(_, part)| **part >= disk.busy * LARGE));
    for (name, _) in large {
        if !shown.contains(&name.as_str()) {
            shown.push(name);
        }
    }
    shown
}

/// Labels and figures as one table. A label is not repeated from row to row.
pub fn assemble(keys: &[&str], labels: Vec<Vec<String>>, columns: &[FigureColumn], groups: &[usize]) -> String {
    let mut heads: Vec<(String, Edge)> = keys.iter().map(|key| ((*key).to_owned(), Edge::Left)).collect();
    let mut rows = labels.clone();
    for (pair, row) in labels.windows(2).zip(rows.iter_mut().skip(1)) {
        let same = pair[0].iter().zip(&pair[1]).take_while(|(above, here)| above == here).count();
        row.iter_mut().take(same.min(keys.len() - 1)).for_each(String::clear);
    }
    for column in columns {
        heads.push((column.head.clone(), Edge::Right));
        for (row, cell) in rows.iter_mut().zip(column.cells(groups)) {
            row.push(cell);
        }
    }
    table(&heads, &rows)
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use load::results::{Disk, Results};

    /// Experiments that are soon run: one 4 KiB reader of a small drive, with these lines in `[scheduler]`, which say the policy or leave it to FCFS.
    pub fn short_experiment(title: &str, scheduler: &str) -> Vec<Case> {
        let policy = if scheduler.contains("policy = ") { "" } else { "policy = \"fcfs\"\n" };
        let text = format!(
            "title = {title}\n[drive]\nmodel = \"st318437lw\"\n[scheduler]\n{policy}{scheduler}\n[[workload]]\n\
             name = \"readers\"\nkind = \"closed\"\ndepth = 4\nsize = \"256KiB\"\n[run]\nrequests = 40\n"
        );
        load::experiment::parse("f.toml", &text, &[], None).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    /// What they come to.
    pub fn run(cases: &[Case]) -> Results {
        sim::simulate(cases, &sim::Unwatched).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn a_part_has_a_column_where_it_takes_a_tenth_of_some_busy_time() {
        let cases = short_experiment("\"a\"", "");
        let mut run = run(&cases).runs.remove(0);
        let disk = |busy: f64, parts: &[(&str, f64)]| Disk {
            busy,
            background: 0.0,
            idle: 1.0 - busy,
            parts: parts.iter().map(|(name, part)| ((*name).to_owned(), *part)).collect(),
        };
        run.disks = vec![
            disk(1.0, &[("bus", 0.1), ("seek", 0.7), ("settle", 0.099), ("switch", 0.101)]),
            disk(0.5, &[("overhead", 0.05), ("external", 0.049), ("seek", 0.4)]),
        ];
        assert_eq!(shown_parts(&[(&cases[0], &run)]), ["seek", "rotation", "transfer", "bus", "switch", "overhead"]);
        run.disks.remove(0);
        assert_eq!(shown_parts(&[(&cases[0], &run)]), ["seek", "rotation", "transfer", "overhead"]);
    }
}
