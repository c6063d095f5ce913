//! What came of a target: the verdict over all seeds, and how near the printed number it is.

use crate::file::TargetFile;
use crate::measure::MeasuredValue;
use crate::target::{Expected, PublishedTarget};
use crate::tolerance::WIDEST;

/// 97.5 % quantiles of Student's t, by degrees of freedom from 1 on; beyond them the normal distribution's.
const STUDENT: [f64; 29] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045,
];
const NORMAL: f64 = 1.96;
/// Room for binary fractions at the border of two grades.
const ROUNDING: f64 = 1e-9;

/// A target with what was measured.
#[derive(Clone, Debug)]
pub struct TargetOutcome<'a> {
    /// The target that is judged.
    pub target: &'a PublishedTarget,
    /// The file that it stands in.
    pub file: &'a TargetFile,
    /// What was measured, seed by seed; once where no seed changes it, and nothing where it is not measured.
    pub measured: Vec<MeasuredValue>,
    /// Whether the target holds.
    pub verdict: Verdict,
}

/// Whether a target holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It holds under every seed.
    Held,
    /// It holds under no seed.
    Missed,
    /// It holds under some seeds.
    Undecided,
    /// There is no measure for it yet.
    Unmeasured,
}

/// How near a held number is to the printed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Near {
    /// It rounds to it.
    Printed,
    /// Within 10 % of the published number.
    Tenth,
    /// Within 30 % of the published number.
    Third,
    /// Farther, as the paper's own words let it be; or there is no number.
    Words,
}

impl<'a> TargetOutcome<'a> {
    /// Of what was measured under each seed.
    #[must_use]
    pub fn new(
        file: &'a TargetFile,
        target: &'a PublishedTarget,
        mut measured: Vec<MeasuredValue>,
    ) -> TargetOutcome<'a> {
        let holds = |measured: &&MeasuredValue| target.tolerance.holds(&target.published, measured);
        let held = measured.iter().filter(holds).count();
        let verdict = match held {
            _ if measured.is_empty() => Verdict::Unmeasured,
            0 => Verdict::Missed,
            _ if held == measured.len() => Verdict::Held,
            _ => Verdict::Undecided,
        };
        if measured.windows(2).all(|pair| pair[0] == pair[1]) {
            measured.truncate(1);
        }
        TargetOutcome { target, file, measured, verdict }
    }

    /// Under how many seeds it holds.
    #[must_use]
    pub fn seeds_held(&self) -> usize {
        let holds = |measured: &&MeasuredValue| self.target.tolerance.holds(&self.target.published, measured);
        self.measured.iter().filter(holds).count()
    }

    /// The mean over the seeds; none of an order.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        let numbers = self.numbers()?;
        Some(numbers.iter().sum::<f64>() / numbers.len() as f64)
    }

    /// The standard deviation from seed to seed; none of a single one.
    #[must_use]
    pub fn deviation(&self) -> Option<f64> {
        let (numbers, mean) = (self.numbers()?, self.mean()?);
        let squares: f64 = numbers.iter().map(|number| (number - mean) * (number - mean)).sum();
        (numbers.len() > 1).then(|| (squares / (numbers.len() - 1) as f64).sqrt())
    }

    /// Half the width of the 95 % interval of the mean.
    #[must_use]
    pub fn margin(&self) -> Option<f64> {
        let seeds = self.measured.len();
        let student = STUDENT.get(seeds.checked_sub(2)?).copied().unwrap_or(NORMAL);
        Some(student * self.deviation()? / (seeds as f64).sqrt())
    }

    /// By what share of the printed number the mean is off; none around zero.
    #[must_use]
    pub fn off(&self) -> Option<f64> {
        let number = self.target.published.number().filter(|number| *number != 0.0)?;
        Some((self.mean()? - number) / number.abs())
    }

    /// How near it is.
    #[must_use]
    pub fn near(&self) -> Near {
        let published = &self.target.published;
        let (Some(mean), Some(number), Some(precision)) = (self.mean(), published.number(), published.precision())
        else {
            return Near::Words;
        };
        let away = (mean - number).abs();
        let within = |most: f64| away <= most + ROUNDING * number.abs();
        match () {
            () if within(precision) => Near::Printed,
            () if within(0.1 * number.abs()) => Near::Tenth,
            () if within(WIDEST * number.abs()) => Near::Third,
            () => Near::Words,
        }
    }

    /// Whether it fails though its file does not say so.
    #[must_use]
    pub fn is_unforeseen(&self) -> bool {
        self.verdict == Verdict::Missed && self.target.expected == Expected::Held
    }

    fn numbers(&self) -> Option<Vec<f64>> {
        let number = |measured: &MeasuredValue| match measured {
            MeasuredValue::Number(number) => Some(*number),
            MeasuredValue::Order { .. } => None,
        };
        self.measured.iter().map(number).collect::<Option<Vec<_>>>().filter(|numbers| !numbers.is_empty())
    }
}
