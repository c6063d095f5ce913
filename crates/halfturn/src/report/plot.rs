//! A curve in braille dots, two across and four down a character, between two labelled axes.

use super::number;

/// Characters across and down.
const WIDTH: usize = 60;
const HEIGHT: usize = 13;
/// Characters between two labels of the upright axis.
const TICK: usize = 3;

/// The curve of `value` over 0 to `last`, both from zero, with what the axes mean.
pub fn curve(value: impl Fn(u32) -> f64, last: u32, across: &str, up: &str) -> String {
    curves(&[&value], last, across, up)
}

/// The same for two, of which the second is dotted.
pub fn two_curves(value: impl Fn(u32) -> f64, other: impl Fn(u32) -> f64, last: u32, across: &str, up: &str) -> String {
    curves(&[&value, &other], last, across, up)
}

fn curves(curves: &[&dyn Fn(u32) -> f64], last: u32, across: &str, up: &str) -> String {
    let (columns, rows) = (WIDTH * 2, HEIGHT * 4);
    let at = |column: usize| (u64::from(last) * column as u64 / (columns as u64 - 1)) as u32;
    let values: Vec<Vec<f64>> =
        curves.iter().map(|value| (0..columns).map(|column| value(at(column))).collect()).collect();
    let top = ceiling(values.iter().flatten().copied().fold(0.0, f64::max));
    let row = |value: f64| rows - 1 - ((value / top * (rows as f64 - 1.0)).round() as usize).min(rows - 1);
    let mut cells = [[0u8; WIDTH]; HEIGHT];
    for (curve, values) in values.iter().enumerate() {
        for (column, pair) in values.windows(2).enumerate() {
            let (from, to) = (row(pair[0]), row(pair[1]));
            for y in from.min(to)..=from.max(to) {
                // A second curve is dotted.
                if curve == 0 || (column + y) % 4 == 0 {
                    cells[y / 4][column / 2] |= dot(column % 2, y % 4);
                }
            }
        }
    }
    let mut text = format!(" {up}\n");
    for (y, cells) in cells.iter().enumerate() {
        let tick = match y % TICK {
            0 => number::with_decimals(top * (HEIGHT - 1 - y) as f64 / (HEIGHT - 1) as f64, 1),
            _ => String::new(),
        };
        let line: String = cells.iter().map(|bits| char::from_u32(0x2800 + u32::from(*bits)).unwrap_or(' ')).collect();
        let line = line.replace('\u{2800}', " ");
        text += format!(" {tick:>6} ┤{line}").trim_end();
        text.push('\n');
    }
    let (half, end) = (number::count(u64::from(last / 2)), number::count(u64::from(last)));
    let rule = format!("        └{}┴{}┘", "─".repeat(WIDTH / 2 - 1), "─".repeat(WIDTH / 2 - 1));
    let labels = format!("        0{half:^w$}{end:>r$}", w = WIDTH - 1 - end.len().max(1), r = end.len() + 1);
    format!("{text}{rule}\n{labels}\n{:^80}", across).trim_end().to_owned() + "\n"
}

/// The bit of a dot in a braille character.
fn dot(x: usize, y: usize) -> u8 {
    match (x, y) {
        (0, 3) => 0x40,
        (_, 3) => 0x80,
        (0, y) => 1 << y,
        (_, y) => 8 << y,
    }
}

/// A round number of at least this much.
fn ceiling(value: f64) -> f64 {
    let mut scale = 1e-6;
    loop {
        for step in [1.0, 1.2, 1.6, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0] {
            if step * scale >= value {
                return step * scale;
            }
        }
        scale *= 10.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_straight_line_goes_from_corner_to_corner() {
        let text = curve(f64::from, 1000, "x", "y");
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].starts_with(" 1,000.0 ┤") || lines[1].contains("1,000.0 ┤"), "{text}");
        assert_eq!(lines.len(), 1 + HEIGHT + 3);
        assert!(lines.iter().all(|line| line.chars().count() <= 80 && !line.ends_with(' ')), "{text}");
    }

    #[test]
    fn round_numbers_lie_above() {
        assert_eq!([0.9, 1.1, 16.2, 21.0].map(ceiling).map(|n| (n * 10.0).round()), [10.0, 12.0, 200.0, 250.0]);
        assert!(ceiling(0.0) > 0.0);
    }
}
