//! What a comparison comes to, in words: what was compared, which run won, by how much, and how sure that is.

use super::compare::known_busy;
use super::number;
use super::rows::{CaseRun, keys, label, rivals};
use load::results::{Class, ReplicationFigures, Run};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Loads that are answered for one by one, at most; of more it is counted who won how often.
const MOST_LOADS: usize = 4;
/// Values of what was varied that are listed, at most.
const MOST_VALUES: usize = 6;

/// A figure in three digits or more.
pub fn brief(figure: f64) -> String {
    let decimals = match figure.abs() {
        0.0 | 1.0.. => return number::plain(figure),
        0.1.. => 3,
        0.01.. => 4,
        _ => 5,
    };
    number::with_decimals(figure, decimals)
}

/// What runs are judged by.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Judged {
    Mean,
    P99,
    Throughput,
}

const ALL: [Judged; 3] = [Judged::Mean, Judged::P99, Judged::Throughput];

impl Judged {
    fn superlative(self) -> &'static str {
        match self {
            Judged::Mean => "Shortest mean response",
            Judged::P99 => "Shortest 99th percentile",
            Judged::Throughput => "Highest throughput",
        }
    }

    fn unit(self) -> &'static str {
        if self == Judged::Throughput { "MB/s" } else { "ms" }
    }

    /// Of two figures, whether the first is the better.
    fn is_better(self, one: f64, other: f64) -> bool {
        if self == Judged::Throughput { one > other } else { one < other }
    }

    fn of(self, class: &Class) -> f64 {
        match self {
            Judged::Throughput => class.throughput_mb_s,
            _ if class.requests_finished() == 0 => f64::NAN,
            Judged::Mean => class.response_ms.mean,
            Judged::P99 => class.response_ms.p99,
        }
    }

    fn of_replication(self, figures: &ReplicationFigures) -> f64 {
        match self {
            Judged::Mean => figures.mean_ms,
            Judged::P99 => figures.p99_ms,
            Judged::Throughput => figures.throughput_mb_s,
        }
    }

    fn gap(self, better: &Class, worse: &Class) -> Gap {
        let figures =
            |class: &Class| -> Vec<f64> { class.replications.iter().map(|one| self.of_replication(one)).collect() };
        let own = if self == Judged::Mean { [better.response_ms.ci95, worse.response_ms.ci95] } else { [None; 2] };
        Gap::between(&figures(better), &figures(worse), own)
    }
}

/// How sure the difference of two runs is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Gap {
    /// Half width of its 95 % interval over so many replications, each against that of the same requests.
    Paired {
        half: f64,
        pairs: usize,
    },
    /// The same from the intervals of the two runs, as if they had nothing in common: wider than it is.
    Apart {
        half: f64,
    },
    Unknown,
}

impl Gap {
    /// Of the figures of replications in order, and of the runs' own intervals.
    fn between(one: &[f64], other: &[f64], own: [Option<f64>; 2]) -> Gap {
        let differences: Vec<f64> = one.iter().zip(other).map(|(one, other)| other - one).collect();
        let pairs = differences.len();
        if one.len() == other.len()
            && let Some(half) = load::interval(&differences)
        {
            return Gap::Paired { half, pairs };
        }
        match own {
            [Some(one), Some(other)] => Gap::Apart { half: one.hypot(other) },
            _ => Gap::Unknown,
        }
    }

    /// In words, of a difference.
    fn tell(self, difference: f64, unit: &str) -> String {
        let sure = |half: f64| if difference.abs() > half { "sure at 95 %" } else { "which may be chance" };
        let width = |half: f64| format!("± {} {unit}", brief(half));
        match self {
            Gap::Paired { half, pairs } => {
                format!("{}, over {pairs} replications of the same requests: {}", width(half), sure(half))
            }
            Gap::Apart { half } => format!("{}, from each run's own interval: {}", width(half), sure(half)),
            Gap::Unknown => "one replication: run several, by `replications`, to see how sure that is".into(),
        }
    }
}

/// The answer, a paragraph for each thing there is to say.
pub fn answer(pairs: &[CaseRun]) -> Vec<String> {
    let [single] = pairs else {
        let mut lines = vec![tell_compared(pairs)];
        let winners = winners(pairs);
        if winners.is_empty() {
            lines.extend(ranges(pairs));
        }
        lines.extend(winners);
        lines.extend(doubts(pairs));
        return lines;
    };
    let mut lines: Vec<String> = single.1.classes.iter().map(|(name, class)| alone(single, name, class)).collect();
    lines.extend(doubts(pairs));
    lines
}

/// What a run that has no rival came to.
fn alone((case, run): &CaseRun, name: &str, class: &Class) -> String {
    let whose = if run.classes.len() > 1 { format!("{name}: ") } else { String::new() };
    let policy = case.experiment.scheduler.policy.manual().name;
    let times = &class.response_ms;
    let spread = times.ci95.map_or_else(String::new, |half| format!(" ± {}", brief(half)));
    let told = |busy| format!("; the arm was busy {} of the time", number::percent(busy));
    let busy = known_busy(run).map_or_else(String::new, told);
    format!(
        "{whose}{} requests under {policy}: a mean response of {}{spread} ms, 99 % within {} ms, {} MB/s{busy}.",
        number::count(class.requests),
        brief(times.mean),
        brief(times.p99),
        brief(class.throughput_mb_s)
    )
}

/// How many runs there are, and what sets them apart.
fn tell_compared(pairs: &[CaseRun]) -> String {
    let varied: Vec<String> = keys(pairs)
        .into_iter()
        .map(|key| {
            let mut values: Vec<String> = Vec::new();
            for (case, _) in pairs {
                let value = case.labels.get(key).map_or_else(String::new, ToString::to_string);
                if !values.contains(&value) {
                    values.push(value);
                }
            }
            let more = values.len().saturating_sub(MOST_VALUES);
            values.truncate(MOST_VALUES);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("{key} ({}{more})", values.join(", "))
        })
        .collect();
    let groups: BTreeSet<usize> = rivals(pairs).into_iter().collect();
    let judged = match groups.len() {
        1 => "All were asked for the same requests.".into(),
        loads if loads == pairs.len() => "Each was asked for other requests: none has won over another.".into(),
        loads => format!("They are judged among those asked for the same requests, of which there are {loads} sets."),
    };
    format!("{} runs were compared, which differ in {}. {judged}", pairs.len(), varied.join(" and "))
}

/// Which runs won: load by load where these are few, else how often.
fn winners(pairs: &[CaseRun]) -> Vec<String> {
    let groups = rivals(pairs);
    let heads: BTreeSet<usize> = groups.iter().copied().collect();
    let fields: Vec<Vec<usize>> = heads
        .into_iter()
        .map(|head| (0..pairs.len()).filter(|row| groups[*row] == head).collect::<Vec<_>>())
        .filter(|field| field.len() > 1)
        .collect();
    let classes: BTreeSet<&String> = pairs.iter().flat_map(|(_, run)| run.classes.keys()).collect();
    let mut lines = Vec::new();
    for class in &classes {
        let whose = if classes.len() > 1 { format!("{class}: ") } else { String::new() };
        for judged in ALL {
            let races: Vec<Race> = fields.iter().filter_map(|field| Race::of(pairs, field, class, judged)).collect();
            if fields.len() <= MOST_LOADS {
                let load = |race: &Race| match fields.len() {
                    1 => String::new(),
                    _ => format!("{}: ", name_load(pairs, race.ranking[0].0)),
                };
                lines.extend(races.iter().map(|race| format!("{whose}{}{}", load(race), race.tell(pairs))));
            } else if !races.is_empty() {
                lines.push(format!("{whose}{}", tell_wins(pairs, &races, judged)));
            }
        }
    }
    lines
}

/// From where to where figures go over runs that are not to be judged against one another.
fn ranges(pairs: &[CaseRun]) -> Vec<String> {
    let classes: BTreeSet<&String> = pairs.iter().flat_map(|(_, run)| run.classes.keys()).collect();
    let rows: Vec<usize> = (0..pairs.len()).collect();
    let tell = |class: &str, judged: Judged, what: &str| {
        let race = Race::of(pairs, &rows, class, judged)?;
        let mut ends = [race.ranking[0], race.ranking[race.ranking.len() - 1]];
        ends.sort_by(|(_, one), (_, other)| judged.of(one).total_cmp(&judged.of(other)));
        let end = |(row, of): (usize, &Class)| {
            format!("{} {} ({})", brief(judged.of(of)), judged.unit(), name_load(pairs, row))
        };
        let whose = if classes.len() > 1 { format!("{class}: ") } else { String::new() };
        if brief(judged.of(ends[0].1)) == brief(judged.of(ends[1].1)) {
            return None;
        }
        Some(format!("{whose}{what} goes from {} to {}.", end(ends[0]), end(ends[1])))
    };
    let judged =
        [(Judged::Mean, "Mean response"), (Judged::P99, "99th percentile"), (Judged::Throughput, "Throughput")];
    classes.iter().flat_map(|class| judged.iter().filter_map(|(judged, what)| tell(class, *judged, what))).collect()
}

/// Words with commas, and an `and` before the last.
fn enumerate(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Who won how often.
fn tell_wins(pairs: &[CaseRun], races: &[Race], judged: Judged) -> String {
    let mut wins: Vec<(String, usize)> = Vec::new();
    for race in races {
        let name = name_among(pairs, race.ranking[0].0);
        match wins.iter_mut().find(|(winner, _)| *winner == name) {
            Some((_, count)) => *count += 1,
            None => wins.push((name, 1)),
        }
    }
    wins.sort_by_key(|(_, count)| Reverse(*count));
    let wins: Vec<String> = wins.iter().map(|(name, count)| format!("{name} in {count}")).collect();
    format!("{}: {} of {} loads.", judged.superlative(), wins.join(", "), races.len())
}

/// What a run is called among its rivals: what they do not share.
fn name_among(pairs: &[CaseRun], row: usize) -> String {
    let groups = rivals(pairs);
    let differing: Vec<&str> = keys(pairs)
        .into_iter()
        .filter(|key| {
            let of = |row: usize| pairs[row].0.labels.get(*key);
            (0..pairs.len()).any(|other| groups[other] == groups[row] && of(other) != of(row))
        })
        .collect();
    label(pairs[row].0, &differing).join(" ")
}

/// What all rivals of a run share of what was varied.
fn name_load(pairs: &[CaseRun], row: usize) -> String {
    let groups = rivals(pairs);
    let shared = keys(pairs).into_iter().filter(|key| {
        let of = |row: usize| pairs[row].0.labels.get(*key);
        (0..pairs.len()).all(|other| groups[other] != groups[row] || of(other) == of(row))
    });
    let shared: Vec<String> =
        shared.filter_map(|key| Some(format!("{key} = {}", pairs[row].0.labels.get(key)?))).collect();
    shared.join(", ")
}

/// Rivals, the best first, by one figure of one class.
struct Race<'a> {
    judged: Judged,
    ranking: Vec<(usize, &'a Class)>,
}

impl<'a> Race<'a> {
    /// Of these rows; none where fewer than two have the figure.
    fn of(pairs: &[CaseRun<'a>], field: &[usize], class: &str, judged: Judged) -> Option<Race<'a>> {
        let mut ranking: Vec<(usize, &Class)> = field
            .iter()
            .filter_map(|row| Some((*row, pairs[*row].1.classes.get(class)?)))
            .filter(|(_, class)| !judged.of(class).is_nan())
            .collect();
        let sign = if judged == Judged::Throughput { -1.0 } else { 1.0 };
        ranking.sort_by(|(_, one), (_, other)| (sign * judged.of(one)).total_cmp(&(sign * judged.of(other))));
        (ranking.len() > 1).then_some(Race { judged, ranking })
    }

    fn tell(&self, pairs: &[CaseRun]) -> String {
        let Race { judged, ranking } = self;
        let (_, best) = ranking[0];
        let (last, worst) = ranking[ranking.len() - 1];
        let (value, unit) = (judged.of(best), judged.unit());
        let alike = |row: &&(usize, &Class)| brief(judged.of(row.1)) == brief(value);
        let names: Vec<String> = ranking.iter().take_while(alike).map(|(row, _)| name_among(pairs, *row)).collect();
        let lead = format!("{}: {}, {} {unit}", judged.superlative(), enumerate(&names), brief(value));
        let Some((second, next)) = ranking.get(names.len()) else { return format!("{lead}: none is ahead.") };
        let mut text = format!(
            "{lead}. That is {} than {}, the next, by {} {unit} ({}).",
            self.by(value, judged.of(next)),
            name_among(pairs, *second),
            brief((judged.of(next) - value).abs()),
            judged.gap(best, next).tell(judged.of(next) - value, unit)
        );
        if ranking.len() > names.len() + 1 {
            text += &format!(" It is {} than {}, the last.", self.by(value, judged.of(worst)), name_among(pairs, last));
        }
        text
    }

    /// By how much a figure is better than another, in per cent of that; of nothing there is no share.
    fn by(&self, value: f64, other: f64) -> String {
        debug_assert!(!self.judged.is_better(other, value));
        let word = if self.judged == Judged::Throughput { "more" } else { "less" };
        match (value - other).abs() / other {
            _ if other <= 0.0 => word.to_owned(),
            1.0.. if word == "more" => format!("{}× as much, {word}", brief(value / other)),
            share => format!("{} {word}", number::percent(share)),
        }
    }
}

/// What makes figures hard to believe.
fn doubts(pairs: &[CaseRun]) -> Vec<String> {
    let broken = pairs.iter().filter(|(_, run)| run.unfinished > 0).count();
    let mut lines = Vec::new();
    if broken > 0 {
        lines.push(format!("In {broken} of the runs some requests never ended: do not believe their figures."));
    }
    let behind = super::notes::count_overloaded(pairs);
    if behind > 0 {
        let which = if behind == pairs.len() { "all runs".into() } else { format!("{behind} of {} runs", pairs.len()) };
        lines.push(format!(
            "The drive is overloaded in {which}: their response times compare backlogs, not schedulers."
        ));
    }
    let failed: u64 =
        pairs.iter().flat_map(|(_, run): &(_, &Run)| run.classes.values()).map(|class| class.failed).sum();
    if failed > 0 {
        lines.push(format!("{} requests ended in an error.", number::count(failed)));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_paired_where_both_have_the_same_replications() {
        // Each run varies by 10, their difference by 1.
        let gap = Gap::between(&[10.0, 20.0, 30.0], &[14.0, 25.0, 36.0], [Some(1.0), Some(1.0)]);
        let Gap::Paired { half, pairs: 3 } = gap else { panic!("{gap:?}") };
        assert!((half - 4.303 / 3f64.sqrt()).abs() < 1e-3, "{half}");
        assert_eq!(gap.tell(5.0, "ms"), "± 2.48 ms, over 3 replications of the same requests: sure at 95 %");
        assert!(gap.tell(-2.0, "ms").ends_with("which may be chance"));
        assert!(gap.tell(-5.0, "ms").ends_with("sure at 95 %"), "more throughput is a difference below nothing");
    }

    #[test]
    fn of_a_class_that_got_nothing_no_multiple_is_told() {
        let race = |judged| Race { judged, ranking: Vec::new() };
        assert_eq!(race(Judged::Throughput).by(0.3, 0.0), "more");
        assert_eq!(race(Judged::Throughput).by(6.0, 2.0), "3.00× as much, more");
        assert_eq!(race(Judged::Throughput).by(3.0, 2.0), "50.0 % more");
        assert_eq!(race(Judged::Mean).by(1.0, 4.0), "75.0 % less");
    }

    #[test]
    fn without_pairs_the_intervals_of_both_runs_count() {
        let apart = Gap::between(&[1.0, 2.0], &[1.0], [Some(3.0), Some(4.0)]);
        assert_eq!(apart, Gap::Apart { half: 5.0 });
        assert!(apart.tell(5.0, "ms").ends_with("chance") && apart.tell(5.1, "ms").ends_with("sure at 95 %"));
        assert_eq!(Gap::between(&[1.0], &[2.0], [Some(1.0), None]), Gap::Unknown);
    }
}
