//! Numbers as people read them.

/// A whole number with commas between thousands.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with so many decimals, and commas between thousands.
pub fn with_decimals(number: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", number.abs());
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), count);
    let sign = if number < 0.0 { "-" } else { "" };
    if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

/// Decimals that suit a column whose largest number is this.
pub fn decimals(largest: f64) -> usize {
    match largest {
        ..10.0 => 2,
        ..1000.0 => 1,
        _ => 0,
    }
}

/// A number with the decimals that suit its own size.
pub fn plain(number: f64) -> String {
    with_decimals(number, decimals(number.abs()))
}

/// A bound that somebody gave: one so small that it would seem to be none has all its digits.
pub fn bound(number: f64) -> String {
    if number.abs() < 0.01 && number != 0.0 { format!("{number}") } else { plain(number) }
}

/// A share of 1 in per cent.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// A time in the unit that suits it.
pub fn seconds(seconds: f64) -> String {
    match seconds {
        ..1e-3 => format!("{} µs", plain(seconds * 1e6)),
        ..1.0 => format!("{} ms", plain(seconds * 1e3)),
        ..600.0 => format!("{} s", plain(seconds)),
        ..36_000.0 => format!("{} min", plain(seconds / 60.0)),
        ..864_000.0 => format!("{} h", plain(seconds / 3600.0)),
        _ => format!("{} days", plain(seconds / 86_400.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_bound_is_shown_as_none_unless_it_is() {
        assert_eq!([0.001, 0.0025, 0.0, 0.5, 30.0].map(bound), ["0.001", "0.0025", "0.00", "0.50", "30.0"]);
    }

    #[test]
    fn thousands_are_set_apart() {
        let counts = [0, 999, 1000, 1_234_567].map(count);
        assert_eq!(counts, ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(
            (with_decimals(-1234.56, 1), with_decimals(0.05, 1), with_decimals(999.96, 1)),
            ("-1,234.6".into(), "0.1".into(), "1,000.0".into())
        );
    }

    #[test]
    fn times_come_in_a_unit_that_suits() {
        let times = [0.0, 0.0005, 0.25, 3.39, 604_000.0, 864_000.0].map(seconds);
        assert_eq!(times, ["0.00 µs", "500.0 µs", "250.0 ms", "3.39 s", "167.8 h", "10.0 days"]);
    }
}
