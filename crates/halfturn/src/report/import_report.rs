//! What was read from foreign parameters.

use super::number;
use block::units;
use disk::disksim::{Ignored, Import};

/// What an import gave, and what it left out.
pub fn import_report(import: &Import, written: Option<&str>) -> String {
    let mechanics = &import.drive.sheet.mechanics;
    let layout = &mechanics.layout;
    let mut text = format!(
        " {}: {} ({} blocks), {} rpm, {} cylinders, {} heads, mean seek {} ms\n",
        import.plan.title,
        units::show_blocks(layout.blocks()),
        number::count(layout.blocks()),
        import.plan.rpm,
        number::count(u64::from(layout.cylinders())),
        layout.heads(),
        number::with_decimals(mechanics.seek.mean_ms(), 2),
    );
    for warning in &import.warnings {
        text += &format!(" note: {warning}\n");
    }
    let (neutral, ignored): (Vec<&Ignored>, Vec<&Ignored>) = import.ignored.iter().partition(|it| it.neutral);
    if ignored.is_empty() {
        text += " Every parameter that bears on times is modelled.\n";
    } else {
        text += " Not modelled:\n";
        for it in ignored {
            text += &format!("   {}:{}: {} = {}\n", it.file, it.line, it.parameter, it.value);
        }
    }
    if !neutral.is_empty() {
        let named: Vec<String> = neutral.iter().map(|it| format!("{} = {}", it.parameter, it.value)).collect();
        text += &format!(" Not modelled, and without effect as they stand: {}\n", named.join("; "));
    }
    if let Some(file) = written {
        text += &format!(" Written to {file}\n");
    }
    text
}
