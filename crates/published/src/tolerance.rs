//! How far a measured figure may be from what was published.

use crate::measure::Measured;
use crate::target::Published;
use std::fmt;

/// Room for the rounding of binary fractions, so that a figure on a bound is within it.
const ROUNDING: f64 = 1e-9;

/// What must hold of a measured figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// `5 %`: at most this share of the published number away from it.
    Share(f64),
    /// `0.02`: at most this much away from the published number, in its unit.
    Distance(f64),
    /// `50..80`: from the one to the other, both included.
    Within(f64, f64),
    /// At least so much: `>= 25`.
    AtLeast(f64),
    /// At most so much: `<= 0.15`.
    AtMost(f64),
    /// More than so much: `> 1`.
    Above(f64),
    /// Less than so much: `< 1`.
    Below(f64),
    /// `order`: the comparison of the measure holds.
    Order,
}

impl Tolerance {
    /// Of its text. It says what is wrong and, after `; `, the mend.
    ///
    /// # Errors
    /// When it is none of the forms.
    pub fn parse(text: &str) -> Result<Tolerance, String> {
        let bad = || format!("'{text}' is not a tolerance; write 5 %, 0.02, >= 25, <= 3, > 1, < 1, 50..80 or order");
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|n| n.is_finite()).ok_or_else(bad);
        let positive = |text: &str| number(text).and_then(|n| if n >= 0.0 { Ok(n) } else { Err(bad()) });
        let text = text.trim();
        if text == "order" {
            return Ok(Tolerance::Order);
        }
        if let Some(share) = text.strip_suffix('%') {
            return Ok(Tolerance::Share(positive(share)? / 100.0));
        }
        // The longer sign first: `>` begins `>=` too.
        for sign in [">=", "<=", ">", "<"] {
            let Some(bound) = text.strip_prefix(sign) else { continue };
            let bound = number(bound)?;
            return Ok(match sign {
                ">=" => Tolerance::AtLeast(bound),
                "<=" => Tolerance::AtMost(bound),
                ">" => Tolerance::Above(bound),
                _ => Tolerance::Below(bound),
            });
        }
        match text.split_once("..") {
            Some((from, to)) => {
                let (from, to) = (number(from)?, number(to)?);
                if from <= to { Ok(Tolerance::Within(from, to)) } else { Err(bad()) }
            }
            None => Ok(Tolerance::Distance(positive(text)?)),
        }
    }

    /// Whether it is of a distance from the published number.
    #[must_use]
    pub fn needs_number(self) -> bool {
        matches!(self, Tolerance::Share(_) | Tolerance::Distance(_))
    }

    /// Whether what was measured is what was published.
    #[must_use]
    pub fn holds(self, published: &Published, measured: &Measured) -> bool {
        let figure = match measured {
            Measured::Order { holds, .. } => return self == Tolerance::Order && *holds,
            Measured::Number(figure) => *figure,
        };
        let away = |most: &dyn Fn(f64) -> f64| match published {
            Published::Number(number) => {
                (figure - number).abs() <= most(number.abs()) + ROUNDING * number.abs().max(figure.abs())
            }
            Published::Words(_) => false,
        };
        let room = ROUNDING * figure.abs();
        match self {
            Tolerance::Share(share) => away(&|number| share * number),
            Tolerance::Distance(distance) => away(&|_| distance),
            Tolerance::Within(from, to) => figure >= from - room && figure <= to + room,
            Tolerance::AtLeast(bound) => figure >= bound - room,
            Tolerance::AtMost(bound) => figure <= bound + room,
            Tolerance::Above(bound) => figure > bound,
            Tolerance::Below(bound) => figure < bound,
            Tolerance::Order => false,
        }
    }
}

impl fmt::Display for Tolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // 0.07 × 100 is 7.000000000000001.
            Tolerance::Share(share) => write!(f, "{} %", (share * 1e8).round() / 1e6),
            Tolerance::Distance(distance) => write!(f, "{distance}"),
            Tolerance::Within(from, to) => write!(f, "{from}..{to}"),
            Tolerance::AtLeast(bound) => write!(f, ">= {bound}"),
            Tolerance::AtMost(bound) => write!(f, "<= {bound}"),
            Tolerance::Above(bound) => write!(f, "> {bound}"),
            Tolerance::Below(bound) => write!(f, "< {bound}"),
            Tolerance::Order => f.write_str("order"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(tolerance: &str, published: f64, measured: f64) -> bool {
        let tolerance = Tolerance::parse(tolerance).expect("a tolerance");
        tolerance.holds(&Published::Number(published), &Measured::Number(measured))
    }

    #[test]
    fn bounds_are_within_and_a_hair_beyond_is_not() {
        for (tolerance, published, within, beyond) in [
            ("5 %", 8.2, [7.79, 8.61], [7.789, 8.611]),
            ("5%", -8.2, [-7.79, -8.61], [-7.789, -8.611]),
            ("0.02", 1.1, [1.08, 1.12], [1.0799, 1.1201]),
            ("0", 61.0, [61.0, 61.0], [60.999, 61.001]),
            ("50..80", 65.0, [50.0, 80.0], [49.999, 80.001]),
        ] {
            assert!(within.iter().all(|figure| holds(tolerance, published, *figure)), "{tolerance}");
            assert!(!beyond.iter().any(|figure| holds(tolerance, published, *figure)), "{tolerance}");
        }
        assert!(holds(">= 25", 30.0, 25.0) && !holds(">= 25", 30.0, 24.999));
        assert!(holds("<= 0.15", 0.1, 0.15) && !holds("<= 0.15", 0.1, 0.1501));
        assert!(holds("> 1", 1.1, 1.0001) && !holds("> 1", 1.1, 1.0));
        assert!(holds("< 1", 0.9, 0.9999) && !holds("< 1", 0.9, 1.0));
    }

    #[test]
    fn what_is_no_number_matches_nothing() {
        for tolerance in ["5 %", "0.02", ">= 25", "<= 3", "> 1", "< 1", "50..80", "order"] {
            assert!(!holds(tolerance, 8.2, f64::NAN), "{tolerance}");
        }
    }

    #[test]
    fn an_order_holds_or_not_and_is_no_figure() {
        let of = |tolerance: &str, holds| {
            let measured = Measured::Order { holds, figures: Vec::new() };
            Tolerance::parse(tolerance).expect("a tolerance").holds(&Published::Words("rises".into()), &measured)
        };
        assert!(of("order", true) && !of("order", false) && !of("> 0", true));
        assert!(!holds("order", 1.0, 1.0));
    }

    #[test]
    fn is_shown_as_it_is_written_and_refused_if_it_is_none() {
        for text in ["5 %", "7 %", "0.02", ">= 25", "<= 3", "> 1", "< 1", "50..80", "order"] {
            assert_eq!(Tolerance::parse(text).expect("a tolerance").to_string(), text);
        }
        for bad in ["", "about", "-5 %", "-1", "80..50", ">=", "nan", "5 per cent"] {
            assert!(Tolerance::parse(bad).is_err(), "{bad}");
        }
    }
}
