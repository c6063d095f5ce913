//! Horizontal bars of eighths of a character.

use super::number;

/// Eighths of a character, from one to eight.
const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// A bar for `share` of the width; what is more than nothing is seen.
pub fn bar(share: f64, width: usize) -> String {
    if share <= 0.0 || !share.is_finite() {
        return String::new();
    }
    let eighths = ((share.min(1.0) * width as f64 * 8.0).round() as usize).max(1);
    let mut text: String = std::iter::repeat_n(EIGHTHS[7], eighths / 8).collect();
    if !eighths.is_multiple_of(8) {
        text.push(EIGHTHS[eighths % 8 - 1]);
    }
    text
}

/// A line for each entry: its name, its bar on a common scale from zero, its value.
pub fn bars(entries: &[(String, f64)], width: usize) -> String {
    let most = entries.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    let names = entries.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let decimals = number::decimals(most);
    let line = |(name, value): &(String, f64)| {
        let bar = bar(if most > 0.0 { value / most } else { 0.0 }, width);
        format!(" {name:<names$}  {bar} {}\n", number::with_decimals(*value, decimals))
    };
    entries.iter().map(line).collect()
}

/// A line for each entry that is a count of a whole: its name, its share as a bar and in per cent.
pub fn shares(entries: &[(String, u64)], whole: u64, width: usize) -> String {
    let most = entries.iter().map(|(_, count)| *count).max().unwrap_or(0).max(1);
    let names = entries.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let line = |(name, count): &(String, u64)| {
        let share = *count as f64 / whole.max(1) as f64;
        let bar = bar(*count as f64 / most as f64, width);
        let line = format!("   {name:>names$}  {:>6}  {bar}", format!("{:.1} %", share * 100.0));
        format!("{}\n", line.trim_end())
    };
    entries.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_grow_by_eighths_and_never_vanish() {
        let bars = [0.0, 1e-9, 0.5, 0.97, 1.0, 2.0, f64::NAN].map(|share| bar(share, 2));
        assert_eq!(bars, ["", "▏", "█", "██", "██", "██", ""]);
        assert_eq!(bar(3.0 / 16.0, 2), "▍");
    }

    #[test]
    fn the_longest_fills_the_width() {
        let text = super::bars(&[("fcfs".into(), 40.0), ("c-look".into(), 10.0)], 4);
        assert_eq!(text, " fcfs    ████ 40.0\n c-look  █ 10.0\n");
    }
}
