//! What a scheduler is to reach, in a small closed language: `p99(interactive) <= 30ms, then throughput`.
//!
//! A goal is a list with commas. An entry with `<=` or `>=` is a bound; one after `then` is what the settings that keep all bounds are
//! compared by, in this order: times by which is shorter, throughput by which is more. A measure is of the class in brackets, or of
//! all requests.

use crate::results::{Bucket, Class, Run};
use block::{At, BLOCK_BYTES, BadInput, nearest, units};
use std::cmp::Ordering;
use std::fmt;

/// What is measured of a class, or of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoalFigure {
    /// The mean response time, ms.
    Mean,
    /// A percentile of the response times, in thousandths: 990 is p99; ms.
    Percentile(u32),
    /// The longest response time, ms.
    Longest,
    /// 10^6 bytes a second.
    Throughput,
}

/// The words for them.
const MEASURES: [(&str, GoalFigure); 7] = [
    ("mean", GoalFigure::Mean),
    ("p50", GoalFigure::Percentile(500)),
    ("p95", GoalFigure::Percentile(950)),
    ("p99", GoalFigure::Percentile(990)),
    ("p999", GoalFigure::Percentile(999)),
    ("max", GoalFigure::Longest),
    ("throughput", GoalFigure::Throughput),
];

/// A measure of the requests of a class; of all without one.
#[derive(Clone, Debug, PartialEq)]
pub struct GoalMeasure {
    what: GoalFigure,
    /// The name of the class.
    pub class: Option<String>,
}

/// What a measure may be at most, or for throughput at least.
#[derive(Clone, Debug, PartialEq)]
pub struct GoalBound {
    /// The figure that has the bound.
    pub of: GoalMeasure,
    /// Milliseconds or 10^6 bytes a second.
    pub value: f64,
}

/// Bounds, and what counts where all are kept.
#[derive(Clone, Debug, PartialEq)]
pub struct SettingGoal {
    /// A setting must keep them all.
    pub bounds: Vec<GoalBound>,
    /// The first decides; the others decide among equals.
    pub then: Vec<GoalMeasure>,
}

/// How near a run is to a goal: settings are compared by this.
#[derive(Clone, Debug, PartialEq)]
pub struct GoalScore {
    /// By how much bounds are missed in all, as shares of them; 0 where all are kept.
    pub missed: f64,
    /// What is to be little: times, and throughput with a minus.
    costs: Vec<f64>,
}

impl GoalScore {
    /// Of a setting that cannot be run, or whose run is not whole.
    #[must_use]
    pub fn worst() -> GoalScore {
        GoalScore { missed: f64::INFINITY, costs: Vec::new() }
    }

    /// Which of two settings comes nearer: the better is the lesser.
    #[must_use]
    pub fn compare(&self, other: &GoalScore) -> Ordering {
        let by_costs = || {
            let pairs = self.costs.iter().zip(&other.costs);
            pairs.map(|(one, other)| one.total_cmp(other)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        };
        self.missed.total_cmp(&other.missed).then_with(by_costs)
    }
}

impl SettingGoal {
    /// Reads a goal for an experiment with these classes.
    ///
    /// # Errors
    /// When it is none, with what to write instead.
    pub fn parse(text: &str, classes: &[&str]) -> Result<SettingGoal, BadInput> {
        let bad = |what: String, mend: String| BadInput::new("--goal", At::File, what, mend);
        let mut goal = SettingGoal { bounds: Vec::new(), then: Vec::new() };
        for entry in text.split(',').map(str::trim) {
            let (after, entry) = match entry.strip_prefix("then ") {
                Some(entry) => (true, entry.trim()),
                None => (false, entry),
            };
            let sign = ["<=", ">="].into_iter().find_map(|sign| Some((sign, entry.split_once(sign)?)));
            match sign {
                Some((_, _)) if after || !goal.then.is_empty() => {
                    let mend = "write bounds first: \"p99 <= 30ms, then throughput\"";
                    return Err(bad(format!("the bound '{entry}' stands behind `then`"), mend.into()));
                }
                Some((sign, (measure, value))) => {
                    let of = GoalMeasure::parse(measure.trim(), classes)?;
                    goal.bounds.push(GoalBound::parse(of, sign, value.trim())?);
                }
                None if entry.contains(['<', '>', '=']) => {
                    let mend = "bound a time by <= and throughput by >=".into();
                    return Err(bad(format!("'{entry}' has no <= or >="), mend));
                }
                None => goal.then.push(GoalMeasure::parse(entry, classes)?),
            }
        }
        Ok(goal)
    }

    /// All measures of it, in its order.
    pub fn measures(&self) -> impl Iterator<Item = &GoalMeasure> {
        self.bounds.iter().map(|bound| &bound.of).chain(&self.then)
    }

    /// How near a run is to it. A run with requests that never ended, or without any of those that are measured, is the worst.
    #[must_use]
    pub fn score(&self, run: &Run) -> GoalScore {
        let values: Vec<f64> = self.measures().map(|measure| measure.of(run)).collect();
        if run.unfinished > 0 || values.iter().any(|value| value.is_nan()) {
            return GoalScore::worst();
        }
        let (bounded, costs) = values.split_at(self.bounds.len());
        let missed =
            self.bounds.iter().zip(bounded).map(|(bound, value)| bound.miss_by(*value)).fold(0.0, |all, one| all + one);
        let cost = |(measure, value): (&GoalMeasure, &f64)| if measure.is_rate() { -value } else { *value };
        GoalScore { missed, costs: self.then.iter().zip(costs).map(cost).collect() }
    }
}

impl GoalBound {
    fn parse(of: GoalMeasure, sign: &str, text: &str) -> Result<GoalBound, BadInput> {
        let bad = |what: String, mend: &str| BadInput::new("--goal", At::File, what, mend);
        let value = match (of.is_rate(), sign) {
            (true, "<=") => {
                return Err(bad(format!("{of} is bounded from above"), "write >=, such as throughput >= 20MB/s"));
            }
            (false, ">=") => return Err(bad(format!("{of} is bounded from below"), "write <=, such as p99 <= 30ms")),
            (true, _) => {
                let size = text.strip_suffix("/s").and_then(|size| units::blocks_in(size).ok());
                let size = size.ok_or_else(|| bad(format!("'{text}' is no throughput"), "write one like 20MB/s"))?;
                size as f64 * BLOCK_BYTES as f64 / 1e6
            }
            (false, _) => units::span(text).map_err(|what| bad(what, "write a time like 30ms"))?.as_ms(),
        };
        if value <= 0.0 {
            return Err(bad(format!("{of} is bounded by nothing"), "give more than 0"));
        }
        Ok(GoalBound { of, value })
    }

    /// By how much of itself it is missed.
    #[must_use]
    pub fn miss_by(&self, value: f64) -> f64 {
        let over = if self.of.is_rate() { 1.0 - value / self.value } else { value / self.value - 1.0 };
        over.max(0.0)
    }
}

impl GoalMeasure {
    fn parse(text: &str, classes: &[&str]) -> Result<GoalMeasure, BadInput> {
        let bad = |what: String, mend: String| BadInput::new("--goal", At::File, what, mend);
        let (word, class) = match text.split_once('(') {
            Some((word, rest)) => {
                let class = rest.strip_suffix(')').map(str::trim);
                let class =
                    class.ok_or_else(|| bad(format!("'{text}' has no closing bracket"), "write p99(CLASS)".into()))?;
                (word.trim(), Some(class))
            }
            None => (text, None),
        };
        let words = || MEASURES.iter().map(|(word, _)| *word);
        let Some((_, what)) = MEASURES.iter().find(|(name, _)| *name == word) else {
            let like = nearest(word, words()).map_or_else(String::new, |word| format!("did you mean {word}? "));
            let all = words().collect::<Vec<_>>().join(", ");
            return Err(bad(format!("'{word}' is no measure"), format!("{like}there are {all}")));
        };
        if let Some(class) = class.filter(|class| !classes.contains(class)) {
            let mend = format!("its classes are {}", classes.join(", "));
            return Err(bad(format!("the experiment has no class '{class}'"), mend));
        }
        Ok(GoalMeasure { what: *what, class: class.map(Into::into) })
    }

    /// Whether more of it is better.
    #[must_use]
    pub fn is_rate(&self) -> bool {
        self.what == GoalFigure::Throughput
    }

    /// The unit in which its bound is given.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        if self.is_rate() { "MB/s" } else { "ms" }
    }

    /// Its value in a run; no number where no request ended.
    #[must_use]
    pub fn of(&self, run: &Run) -> f64 {
        let classes: Vec<&Class> = match &self.class {
            Some(name) => run.classes.get(name).into_iter().collect(),
            None => run.classes.values().collect(),
        };
        let ended = |class: &Class| class.requests_finished() as f64;
        let whole: f64 = classes.iter().map(|class| ended(class)).sum();
        match self.what {
            GoalFigure::Throughput => classes.iter().map(|class| class.throughput_mb_s).sum(),
            _ if whole == 0.0 => f64::NAN,
            GoalFigure::Mean => classes.iter().map(|class| class.response_ms.mean * ended(class)).sum::<f64>() / whole,
            GoalFigure::Longest => classes.iter().map(|class| class.response_ms.max).fold(0.0, f64::max),
            GoalFigure::Percentile(thousandths) => percentile(&classes, thousandths),
        }
    }
}

/// A percentile of the response times of these classes together.
fn percentile(classes: &[&Class], thousandths: u32) -> f64 {
    if let [class] = classes {
        let times = &class.response_ms;
        return match thousandths {
            500 => times.p50,
            950 => times.p95,
            990 => times.p99,
            _ => times.p999,
        };
    }
    let mut buckets: Vec<Bucket> =
        classes.iter().flat_map(|class| class.response_histogram_ms.iter().copied()).collect();
    buckets.sort_by(|one, other| one.0.total_cmp(&other.0));
    let whole: u64 = buckets.iter().map(|bucket| bucket.1).sum();
    let rank = (whole as f64 * f64::from(thousandths) / 1e3).ceil().max(1.0) as u64;
    let mut below = 0;
    let reached = buckets.iter().find(|bucket| {
        below += bucket.1;
        below >= rank
    });
    reached.map_or(f64::NAN, |bucket| bucket.0)
}

impl fmt::Display for GoalMeasure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = MEASURES.iter().find(|(_, what)| *what == self.what).map_or("", |(word, _)| *word);
        match &self.class {
            Some(class) => write!(f, "{word}({class})"),
            None => f.write_str(word),
        }
    }
}

impl fmt::Display for SettingGoal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bound = |bound: &GoalBound| {
            let (sign, unit) = if bound.of.is_rate() { (">=", "MB/s") } else { ("<=", "ms") };
            format!("{} {sign} {}{unit}", bound.of, bound.value)
        };
        let mut entries: Vec<String> = self.bounds.iter().map(bound).collect();
        let before = entries.len();
        entries.extend(self.then.iter().map(ToString::to_string));
        if let Some(first) = entries.get_mut(before).filter(|_| before > 0) {
            first.insert_str(0, "then ");
        }
        f.write_str(&entries.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Distribution;
    use crate::{Meter, results::Disk};
    use block::Time;

    const CLASSES: [&str; 2] = ["fast", "bulk"];

    fn parse(text: &str) -> Result<SettingGoal, String> {
        SettingGoal::parse(text, &CLASSES).map_err(|error| error.to_string())
    }

    fn run(fast: (u64, f64, f64), bulk: (u64, f64, f64)) -> Run {
        let mut run =
            Run::of(Default::default(), &Meter::new(std::iter::empty(), Time::ZERO), Vec::<Disk>::new(), vec![]);
        for (name, (requests, ms, mb_s)) in CLASSES.into_iter().zip([fast, bulk]) {
            let response_ms = Distribution { mean: ms, p50: ms, p95: ms, p99: ms, p999: ms, max: 2.0 * ms, ci95: None };
            let response_histogram_ms = vec![Bucket(ms, requests)];
            let class =
                Class { requests, throughput_mb_s: mb_s, response_ms, response_histogram_ms, ..Class::default() };
            run.classes.insert(name.into(), class);
        }
        run
    }

    #[test]
    fn a_goal_is_bounds_and_what_counts_then() {
        let goal = parse("p99(fast) <= 30ms, throughput(bulk) >= 20MB/s, then throughput, mean").unwrap();
        let measures: Vec<String> = goal.measures().map(ToString::to_string).collect();
        assert_eq!(measures, ["p99(fast)", "throughput(bulk)", "throughput", "mean"]);
        assert_eq!((goal.bounds[0].value, goal.bounds[1].value), (30.0, (20e6f64 / 512.0).floor() * 512.0 / 1e6));
        assert_eq!(parse("mean").unwrap().then.len(), 1, "without bounds there need be no `then`");
        for text in ["p99(fast) <= 30ms, mean <= 2.5ms, then throughput, mean", "mean, max(bulk)", "p50 <= 1ms"] {
            assert_eq!(parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_goal_is_told_with_the_mend() {
        for (text, what) in [
            ("p98 <= 30ms", "did you mean p"),
            ("p99(slow) <= 30ms", "its classes are fast, bulk"),
            ("p99(fast <= 30ms", "no closing bracket"),
            ("p99 >= 30ms", "from below"),
            ("throughput <= 3MB/s", "from above"),
            ("throughput >= 3ms", "no throughput"),
            ("p99 <= 30", "a time like 30ms"),
            ("p99 <= 0ms", "more than 0"),
            ("p99 < 30ms", "no <= or >="),
            ("then mean, p99 <= 3ms", "behind `then`"),
            ("", "is no measure"),
        ] {
            let told = parse(text).unwrap_err();
            assert!(told.contains(what), "{text}: {told}");
        }
    }

    #[test]
    fn measures_of_all_join_the_classes() {
        let run = run((900, 10.0, 1.0), (100, 50.0, 9.0));
        let of = |text: &str| parse(text).unwrap().then[0].of(&run);
        assert_eq!((of("mean"), of("throughput"), of("max")), (14.0, 10.0, 100.0));
        assert_eq!((of("p50"), of("p99"), of("p99(fast)"), of("mean(bulk)")), (10.0, 50.0, 10.0, 50.0));
    }

    #[test]
    fn bounds_come_first_and_then_the_rest_in_order() {
        let goal = parse("p99(fast) <= 20ms, then throughput, mean").unwrap();
        let score = |fast, bulk| goal.score(&run(fast, bulk));
        let kept = score((10, 20.0, 1.0), (10, 90.0, 4.0));
        let more = score((10, 15.0, 1.0), (10, 99.0, 5.0));
        let late = score((10, 30.0, 1.0), (10, 10.0, 50.0));
        assert_eq!((kept.missed, late.missed), (0.0, 0.5));
        assert!(kept.compare(&late).is_lt() && more.compare(&kept).is_lt());
        let shorter = score((10, 10.0, 1.0), (10, 90.0, 4.0));
        assert!(shorter.compare(&kept).is_lt(), "of equal throughput the shorter mean");
        assert!(late.compare(&score((0, 1.0, 1.0), (10, 1.0, 1.0))).is_lt(), "what was not asked at all is the worst");
    }
}
