//! How far a measured figure may be from what was published.

use crate::measure::MeasuredValue;
use crate::target::PublishedValue;
use std::fmt;

/// Room for the rounding of binary fractions, so that a figure on a bound is within it.
const ROUNDING: f64 = 1e-9;
/// The share of a printed number beyond which agreement says nothing: the widest that needs no words of the paper.
pub const WIDEST: f64 = 0.3;

/// What must hold of a measured figure: all of its bounds, as in `30 %, >= 1.8`.
#[derive(Clone, Debug, PartialEq)]
pub struct Tolerance(Vec<ToleranceBound>);

/// One condition of a tolerance.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ToleranceBound {
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
        let bounds: Vec<ToleranceBound> =
            text.split(',').map(|part| bound(part.trim(), text)).collect::<Result<_, _>>()?;
        if bounds.len() > 1 && bounds.contains(&ToleranceBound::Order) {
            return Err(format!("'{text}' is an order and more; write `order` alone"));
        }
        Ok(Tolerance(bounds))
    }

    /// Whether it is the order that the measure states.
    #[must_use]
    pub fn is_order(&self) -> bool {
        self.0 == [ToleranceBound::Order]
    }

    /// Whether it is of a distance from the published number.
    #[must_use]
    pub fn needs_number(&self) -> bool {
        self.0.iter().any(|bound| matches!(bound, ToleranceBound::Share(_) | ToleranceBound::Distance(_)))
    }

    /// The least and the most that it lets pass around this number; infinite where a side is open.
    #[must_use]
    pub fn interval(&self, number: Option<f64>) -> (f64, f64) {
        let open = (f64::NEG_INFINITY, f64::INFINITY);
        self.0.iter().fold(open, |(least, most), bound| {
            let (low, high) = bound.interval(number).unwrap_or(open);
            (least.max(low), most.min(high))
        })
    }

    /// Whether both sides lie within 30 % of this printed number; around zero, whether both sides are closed.
    #[must_use]
    pub fn is_narrow(&self, number: f64) -> bool {
        let (least, most) = self.interval(Some(number));
        let widest = if number == 0.0 { f64::MAX } else { (WIDEST + ROUNDING) * number.abs() };
        least >= number - widest && most <= number + widest
    }

    /// Whether what was measured is what was published.
    #[must_use]
    pub fn holds(&self, published: &PublishedValue, measured: &MeasuredValue) -> bool {
        match measured {
            MeasuredValue::Order { holds, .. } => self.is_order() && *holds,
            MeasuredValue::Number(figure) => self.0.iter().all(|bound| bound.holds(published.number(), *figure)),
        }
    }
}

/// One bound of a tolerance, whose whole text is named in errors.
fn bound(part: &str, text: &str) -> Result<ToleranceBound, String> {
    let bad = || {
        format!(
            "'{text}' is not a tolerance; write 5 %, 0.02, >= 25, <= 3, > 1, < 1, 50..80, several of these or order"
        )
    };
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|n| n.is_finite()).ok_or_else(bad);
    let positive = |text: &str| number(text).and_then(|n| if n >= 0.0 { Ok(n) } else { Err(bad()) });
    if part == "order" {
        return Ok(ToleranceBound::Order);
    }
    if let Some(share) = part.strip_suffix('%') {
        return Ok(ToleranceBound::Share(positive(share)? / 100.0));
    }
    // The longer sign first: `>` begins `>=` too.
    for sign in [">=", "<=", ">", "<"] {
        let Some(bound) = part.strip_prefix(sign) else { continue };
        let bound = number(bound)?;
        return Ok(match sign {
            ">=" => ToleranceBound::AtLeast(bound),
            "<=" => ToleranceBound::AtMost(bound),
            ">" => ToleranceBound::Above(bound),
            _ => ToleranceBound::Below(bound),
        });
    }
    match part.split_once("..") {
        Some((from, to)) => {
            let (from, to) = (number(from)?, number(to)?);
            if from <= to { Ok(ToleranceBound::Within(from, to)) } else { Err(bad()) }
        }
        None => Ok(ToleranceBound::Distance(positive(part)?)),
    }
}

impl ToleranceBound {
    /// What it lets pass; nothing is said of an order, or of a distance from no number.
    fn interval(self, number: Option<f64>) -> Option<(f64, f64)> {
        let around = |most: f64| number.map(|number| (number - most, number + most));
        match self {
            ToleranceBound::Share(share) => around(share * number?.abs()),
            ToleranceBound::Distance(distance) => around(distance),
            ToleranceBound::Within(from, to) => Some((from, to)),
            ToleranceBound::AtLeast(bound) | ToleranceBound::Above(bound) => Some((bound, f64::INFINITY)),
            ToleranceBound::AtMost(bound) | ToleranceBound::Below(bound) => Some((f64::NEG_INFINITY, bound)),
            ToleranceBound::Order => None,
        }
    }

    fn holds(self, number: Option<f64>, figure: f64) -> bool {
        let Some((least, most)) = self.interval(number) else { return false };
        let room = ROUNDING * figure.abs().max(number.unwrap_or(0.0).abs());
        match self {
            ToleranceBound::Above(bound) => figure > bound,
            ToleranceBound::Below(bound) => figure < bound,
            _ => figure >= least - room && figure <= most + room,
        }
    }
}

impl fmt::Display for Tolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, bound) in self.0.iter().enumerate() {
            write!(f, "{}{bound}", if i > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

impl fmt::Display for ToleranceBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // 0.07 × 100 is 7.000000000000001.
            ToleranceBound::Share(share) => write!(f, "{} %", (share * 1e8).round() / 1e6),
            ToleranceBound::Distance(distance) => write!(f, "{distance}"),
            ToleranceBound::Within(from, to) => write!(f, "{from}..{to}"),
            ToleranceBound::AtLeast(bound) => write!(f, ">= {bound}"),
            ToleranceBound::AtMost(bound) => write!(f, "<= {bound}"),
            ToleranceBound::Above(bound) => write!(f, "> {bound}"),
            ToleranceBound::Below(bound) => write!(f, "< {bound}"),
            ToleranceBound::Order => f.write_str("order"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(tolerance: &str, published: f64, measured: f64) -> bool {
        let tolerance = Tolerance::parse(tolerance).expect("a tolerance");
        tolerance.holds(&PublishedValue::from(published), &MeasuredValue::Number(measured))
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
        for tolerance in ["5 %", "0.02", ">= 25", "<= 3", "> 1", "< 1", "50..80", "5 %, > 1", "order"] {
            assert!(!holds(tolerance, 8.2, f64::NAN), "{tolerance}");
        }
    }

    #[test]
    fn an_order_holds_or_not_and_is_no_figure() {
        let of = |tolerance: &str, holds| {
            let measured = MeasuredValue::Order { holds, figures: Vec::new() };
            Tolerance::parse(tolerance).expect("a tolerance").holds(&PublishedValue::Words("rises".into()), &measured)
        };
        assert!(of("order", true) && !of("order", false) && !of("> 0", true));
        assert!(!holds("order", 1.0, 1.0));
    }

    #[test]
    fn is_shown_as_it_is_written_and_refused_if_it_is_none() {
        for text in ["5 %", "7 %", "0.02", ">= 25", "<= 3", "> 1", "< 1", "50..80", "30 %, >= 1.8", "order"] {
            assert_eq!(Tolerance::parse(text).expect("a tolerance").to_string(), text);
        }
        for bad in ["", "about", "-5 %", "-1", "80..50", ">=", "nan", "5 per cent", "5 %,", "order, 5 %"] {
            assert!(Tolerance::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn all_bounds_must_hold() {
        assert!(holds("30 %, >= 1.8", 2.15, 1.8) && holds("30 %, >= 1.8", 2.15, 2.79));
        assert!(!holds("30 %, >= 1.8", 2.15, 1.79) && !holds("30 %, >= 1.8", 2.15, 2.80));
    }

    #[test]
    fn narrow_is_closed_on_both_sides_within_30_per_cent() {
        let narrow = |text: &str, number| Tolerance::parse(text).expect("a tolerance").is_narrow(number);
        for text in ["30 %", "0", "30", "70..130", "70..101", "> 70, < 130", "30 %, >= 80"] {
            assert!(
                narrow(text, 100.0) && narrow(text, if text.contains(['.', '>']) { 100.0 } else { -100.0 }),
                "{text}"
            );
        }
        for text in ["31 %", "30.1", "69..130", "70..131", ">= 80", "<= 120", "> 70", "< 130", "order"] {
            assert!(!narrow(text, 100.0), "{text}");
        }
        assert!(narrow("0.001", 0.0) && narrow("-1..1", 0.0) && !narrow("<= 1", 0.0));
    }
}
