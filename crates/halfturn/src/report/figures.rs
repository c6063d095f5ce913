//! Columns of figures over comparable rows, the best of each marked.

use super::number;

/// Which of two figures is the better.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Better {
    Less,
    More,
    /// Neither: it describes, it does not judge.
    Neither,
}

/// One column: a figure for each row.
pub struct FigureColumn {
    /// What stands above it.
    pub head: String,
    /// One for each row; what is no number stands for nothing measured, and is no rival.
    pub values: Vec<f64>,
    /// Half the width of the interval of each, where there are intervals.
    pub spreads: Vec<Option<f64>>,
    /// Decimals; none for those that suit the largest value of the group.
    pub decimals: Option<usize>,
    /// Which way is good.
    pub better: Better,
}

impl FigureColumn {
    /// A column of figures without confidence intervals.
    pub fn new(head: &str, better: Better, values: Vec<f64>) -> FigureColumn {
        FigureColumn { head: head.into(), values, spreads: Vec::new(), decimals: None, better }
    }

    /// The same with so many decimals.
    pub fn decimals(self, decimals: usize) -> FigureColumn {
        FigureColumn { decimals: Some(decimals), ..self }
    }

    /// The same with intervals.
    pub fn spreads(self, spreads: Vec<Option<f64>>) -> FigureColumn {
        FigureColumn { spreads, ..self }
    }

    /// The cells. Rows of one number in `groups` are comparable; the best of each group has a `*` before it, all of
    /// those that print the same, and none if the whole group does.
    pub fn cells(&self, groups: &[usize]) -> Vec<String> {
        let decimals: Vec<usize> = (0..self.values.len()).map(|row| self.decimals_of(groups[row], groups)).collect();
        let text = |(value, decimals): (&f64, &usize)| match value.is_nan() {
            true => "–".into(),
            false => number::with_decimals(*value, *decimals),
        };
        let texts: Vec<String> = self.values.iter().zip(&decimals).map(text).collect();
        let spread =
            |row: usize| self.spreads.get(row).copied().flatten().map(|s| number::with_decimals(s, decimals[row]));
        let widest = (0..texts.len()).filter_map(|row| Some(spread(row)?.len())).max();
        let cell = |row: usize| {
            let star = if self.is_best(row, groups, &texts) { "*" } else { "" };
            let spread = match (self.spreads.get(row).map(|_| spread(row)), widest) {
                (Some(Some(spread)), Some(widest)) => format!(" ± {spread:>widest$}"),
                (Some(None), Some(widest)) => " ".repeat(widest + 3),
                _ => String::new(),
            };
            format!("{star}{}{spread}", texts[row])
        };
        (0..texts.len()).map(cell).collect()
    }

    /// Decimals that suit the largest of a group, so that what is compared is comparable at a glance.
    fn decimals_of(&self, group: usize, groups: &[usize]) -> usize {
        let members = self.values.iter().zip(groups).filter(|(_, other)| **other == group);
        self.decimals.unwrap_or(number::decimals(members.map(|(value, _)| *value).fold(0.0, f64::max)))
    }

    fn is_best(&self, row: usize, groups: &[usize], texts: &[String]) -> bool {
        let measured = |row: &usize| !self.values[*row].is_nan();
        let rivals = || (0..texts.len()).filter(measured).filter(|other| groups[*other] == groups[row]);
        let best = match self.better {
            Better::Neither => return false,
            _ if !measured(&row) => return false,
            Better::Less => rivals().min_by(|a, b| self.values[*a].total_cmp(&self.values[*b])),
            Better::More => rivals().max_by(|a, b| self.values[*a].total_cmp(&self.values[*b])),
        };
        best.is_some_and(|best| texts[best] == texts[row]) && rivals().any(|other| texts[other] != texts[row])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_of_each_group_is_marked_with_its_ties() {
        let figures = FigureColumn::new("mean", Better::Less, vec![2.0, 1.004, 1.0, 5.0, 5.0, 95.0]);
        assert_eq!(figures.cells(&[0, 0, 0, 1, 1, 2]), ["2.00", "*1.00", "*1.00", "5.00", "5.00", "95.0"]);
        let more = FigureColumn::new("MB/s", Better::More, vec![2.0, 1.0]);
        assert_eq!(more.cells(&[0, 0]), ["*2.00", "1.00"]);
        assert_eq!(more.cells(&[0, 1]), ["2.00", "1.00"]);
    }

    #[test]
    fn what_was_not_measured_is_a_dash_and_no_best() {
        let none = f64::NAN;
        let less = FigureColumn::new("mean", Better::Less, vec![none, 2.0, 3.0, none]);
        assert_eq!(less.cells(&[0; 4]), ["–", "*2.00", "3.00", "–"]);
        let more = FigureColumn::new("MB/s", Better::More, vec![none, 2.0, 3.0]);
        assert_eq!(more.cells(&[0; 3]), ["–", "2.00", "*3.00"]);
        assert_eq!(more.cells(&[0, 0, 1]), ["–", "2.00", "3.00"], "the only one measured is no best");
    }

    #[test]
    fn intervals_line_up() {
        let spreads = vec![Some(12.0), None, Some(3.5)];
        let figures = FigureColumn::new("mean", Better::Neither, vec![100.0, 50.0, 20.0]).spreads(spreads);
        assert_eq!(figures.cells(&[0, 0, 0]), ["100.0 ± 12.0", "50.0       ", "20.0 ±  3.5"]);
    }
}
