//! What of the arm's time each class caused.

use super::figures::{Better, FigureColumn};
use super::rows::{CaseRun, assemble, keys, label};
use load::results::ArmSeconds;

/// A row for each class of each run; nothing where that is not known.
pub fn table(pairs: &[CaseRun]) -> Option<String> {
    let mut keys = keys(pairs);
    let (mut labels, mut shares, mut billed) = (Vec::new(), Vec::new(), Vec::new());
    for (case, run) in pairs {
        let arm = |class: &load::results::Class| class.arm_seconds.as_ref().map_or(0.0, ArmSeconds::total);
        let all: f64 = run.classes.values().map(arm).sum();
        // Of a class that is alone the table above says it all.
        for (name, class) in run.classes.iter().filter(|_| run.classes.len() > 1) {
            let Some(seconds) = &class.arm_seconds else { continue };
            let mut row = label(case, &keys);
            row.push(name.clone());
            labels.push(row);
            shares.push(100.0 * seconds.total() / all.max(f64::MIN_POSITIVE));
            billed.push(seconds);
        }
    }
    let columns = |f: &dyn Fn(&ArmSeconds) -> f64| billed.iter().map(|it| f(it)).collect::<Vec<_>>();
    let column =
        |head: &str, f: &dyn Fn(&ArmSeconds) -> f64| FigureColumn::new(head, Better::Neither, columns(f)).decimals(2);
    let all = [
        FigureColumn::new("of the arm's\ntime %", Better::Neither, shares).decimals(1),
        column("arm\ns", &ArmSeconds::total),
        column("seek\ns", &|it| it.seek),
        column("rotation\ns", &|it| it.rotation),
        column("transfer\ns", &|it| it.transfer),
        column("write-back\ns", &|it| it.write_back),
        column("detour\ns", &|it| it.detour),
        column("slack\ns", &|it| it.slack),
    ];
    keys.push("class");
    let groups = vec![0; billed.len()];
    (!billed.is_empty()).then(|| assemble(&keys, labels, &all, &groups))
}
