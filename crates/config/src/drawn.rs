//! A table `{ draw = […], shares = […] }` where a value would stand: one of its values, drawn.

use crate::Document;
use crate::sweep::Swept;
use crate::tree::{Node, Scalar, TreeItem};
use block::BadInput;

/// The keys of the table: the values, and how often each is drawn.
const DRAW: &str = "draw";
const SHARES: &str = "shares";

/// Values of which one is drawn, and up to where each goes of the sum of their shares.
struct DrawnValues<'a> {
    values: &'a [Node],
    until: Vec<f64>,
}

impl Node {
    /// Whether it stands for a value that is to be drawn.
    pub(crate) fn is_drawn(&self) -> bool {
        self.get(DRAW).is_some_and(|node| matches!(node.item, TreeItem::List(_)))
    }
}

impl Document {
    /// Puts one of its values in the place of each `{ draw = […], shares = […] }`, in the order of the file, by a number from
    /// `unit`, which gives numbers in [0, 1). What was drawn is labelled as what is swept, and by its whole path where its key is
    /// among `taken` or drawn twice.
    ///
    /// # Errors
    /// When there is nothing to draw, or the shares do not belong to the values.
    pub fn draw(&self, taken: &[&str], unit: &mut dyn FnMut() -> f64) -> Result<Swept, BadInput> {
        let mut document = self.clone();
        let mut drawn = Vec::new();
        self.draw_under(&mut document.root, &mut Vec::new(), unit, &mut drawn)?;
        let last = |path: &[String]| path.last().cloned().unwrap_or_default();
        let alone = |key: &str| {
            !taken.contains(&key)
                && drawn.iter().filter(|(path, _): &&(Vec<String>, Scalar)| last(path) == key).count() == 1
        };
        let label = |path: &[String]| if alone(&last(path)) { last(path) } else { path.join(".") };
        let labels = drawn.iter().map(|(path, value)| (label(path), value.clone())).collect();
        Ok((labels, document))
    }

    /// An error if a value is to be drawn: `why` follows its key.
    ///
    /// # Errors
    /// When a value is to be drawn.
    pub fn refuse_draws(&self, why: &str) -> Result<(), BadInput> {
        match find("", &self.root) {
            Some((key, node)) => {
                Err(self.error(node.origin, format!("`{key}` {why}"), "give one value, or add [fleet]"))
            }
            None => Ok(()),
        }
    }

    fn draw_under(
        &self,
        node: &mut Node,
        path: &mut Vec<String>,
        unit: &mut dyn FnMut() -> f64,
        drawn: &mut Vec<(Vec<String>, Scalar)>,
    ) -> Result<(), BadInput> {
        if node.is_drawn() {
            let values = self.drawn_values(path, node)?;
            let sum = values.until.last().copied().unwrap_or_default();
            let at = unit() * sum;
            let value =
                values.values[values.until.partition_point(|until| *until <= at).min(values.values.len() - 1)].clone();
            if let TreeItem::Scalar(scalar) = &value.item {
                drawn.push((path.clone(), scalar.clone()));
            }
            *node = value;
            return Ok(());
        }
        let mut each = |name: String, inner: &mut Node| {
            path.push(name);
            let done = self.draw_under(inner, path, unit, drawn);
            path.pop();
            done
        };
        match &mut node.item {
            TreeItem::Scalar(_) => Ok(()),
            TreeItem::Table(table) => table.iter_mut().try_for_each(|(key, inner)| each(key.clone(), inner)),
            TreeItem::List(list) => list.iter_mut().enumerate().try_for_each(|(index, inner)| {
                let name = inner.name().map_or_else(|| index.to_string(), str::to_owned);
                each(name, inner)
            }),
        }
    }

    /// What is drawn from at the end of a path.
    fn drawn_values<'a>(&self, path: &[String], node: &'a Node) -> Result<DrawnValues<'a>, BadInput> {
        let key = path.join(".");
        let (Some(TreeItem::List(values)), TreeItem::Table(table)) =
            (node.get(DRAW).map(|node| &node.item), &node.item)
        else {
            unreachable!("it is drawn");
        };
        if let Some((other, inner)) = table.iter().find(|(name, _)| name != DRAW && name != SHARES) {
            let what = format!("unknown key `{other}` beside `{DRAW}` of `{key}`");
            return Err(self.error(inner.origin, what, format!("known here: {DRAW}, {SHARES}")));
        }
        if values.is_empty() || values.iter().any(|value| !matches!(value.item, TreeItem::Scalar(_))) {
            let what = format!("`{DRAW}` of `{key}` is not a list of values");
            return Err(self.error(node.origin, what, "give each value that is to be drawn"));
        }
        let shares = match node.get(SHARES) {
            None => vec![1.0; values.len()],
            Some(list) => self.shares(&key, list, values.len())?,
        };
        let mut sum = 0.0;
        let until = shares.into_iter().map(|share| {
            sum += share;
            sum
        });
        Ok(DrawnValues { values, until: until.collect() })
    }

    fn shares(&self, key: &str, list: &Node, count: usize) -> Result<Vec<f64>, BadInput> {
        let share = |node: &Node| match node.item {
            TreeItem::Scalar(Scalar::Integer(number)) => Some(number as f64),
            TreeItem::Scalar(Scalar::Float(number)) => Some(number),
            _ => None,
        };
        let shares: Option<Vec<f64>> = match &list.item {
            TreeItem::List(list) => list.iter().map(share).collect(),
            _ => None,
        };
        let sane = |shares: &Vec<f64>| {
            shares.iter().all(|share| share.is_finite() && *share >= 0.0) && shares.iter().sum::<f64>() > 0.0
        };
        match shares.filter(sane) {
            Some(shares) if shares.len() == count => Ok(shares),
            Some(shares) => {
                let what = format!("`{SHARES}` of `{key}` has {}, and `{DRAW}` has {count}", shares.len());
                Err(self.error(list.origin, what, "give a share for each value"))
            }
            None => {
                let what = format!("`{SHARES}` of `{key}` is not a list of shares");
                Err(self.error(list.origin, what, "give numbers, 0 or more, of which one is above 0"))
            }
        }
    }
}

/// The first value that is to be drawn, with its key.
fn find<'a>(key: &'a str, node: &'a Node) -> Option<(&'a str, &'a Node)> {
    if node.is_drawn() {
        return Some((key, node));
    }
    match &node.item {
        TreeItem::Scalar(_) => None,
        TreeItem::Table(table) => table.iter().find_map(|(key, inner)| find(key, inner)),
        TreeItem::List(list) => list.iter().find_map(|inner| find(key, inner)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
rate = { draw = ["1/s", "2/s", "3/s"], shares = [1, 0, 3] }
[[w]]
name = "a"
depth = { draw = [1, 2] }
[[w]]
name = "b"
depth = 7
"#;

    fn draw(text: &str, units: &[f64]) -> Result<(Vec<String>, String), String> {
        let document = Document::parse("f.toml", text).expect("TOML");
        let mut units = units.iter();
        let (labels, drawn) =
            document.draw(&[], &mut || *units.next().expect("no more draws")).map_err(|error| error.to_string())?;
        let labels = labels.into_iter().map(|(key, value)| format!("{key}={value}")).collect();
        Ok((labels, drawn.write_json()))
    }

    #[test]
    fn each_value_is_drawn_for_its_share() {
        let rate = |unit: f64| draw(FILE, &[unit, 0.0]).expect("a draw").0[0].clone();
        assert_eq!([0.0, 0.249, 0.25, 0.999].map(rate), ["rate=1/s", "rate=1/s", "rate=3/s", "rate=3/s"]);
        let (labels, json) = draw(FILE, &[0.9, 0.5]).expect("a draw");
        assert_eq!(labels, ["rate=3/s", "depth=2"]);
        assert_eq!(json, r#"{"rate":"3/s","w":[{"name":"a","depth":2},{"name":"b","depth":7}]}"#);
    }

    #[test]
    fn two_that_share_a_key_are_told_apart_and_so_is_one_that_is_swept() {
        let (labels, _) = draw(&FILE.replace("depth = 7", "depth = { draw = [7] }"), &[0.0; 3]).expect("a draw");
        assert_eq!(labels, ["rate=1/s", "w.a.depth=1", "w.b.depth=7"]);
        let document = Document::parse("f.toml", FILE).expect("TOML");
        let (labels, _) = document.draw(&["depth"], &mut || 0.0).expect("a draw");
        assert_eq!(labels[1].0, "w.a.depth");
    }

    #[test]
    fn what_is_drawn_is_not_swept() {
        let text = format!("policy = [\"x\", \"y\"]\n{FILE}");
        let document = Document::parse("f.toml", &text).expect("TOML");
        let swept = document.sweep(&[], &[]).expect("runs");
        assert_eq!(swept.len(), 2);
        assert_eq!(
            document.refuse_draws("is drawn").unwrap_err().to_string().lines().next(),
            Some("f.toml:3: `rate` is drawn")
        );
    }

    #[test]
    fn what_cannot_be_drawn_from_is_told() {
        let error = |value: &str| draw(&format!("rate = {value}"), &[0.0]).expect_err("bad");
        assert!(error("{ draw = [] }").contains("f.toml:1: `draw` of `rate` is not a list of values"));
        assert!(error("{ draw = [[1]] }").contains("is not a list of values"));
        assert!(error("{ draw = [1, 2], shares = [1] }").contains("`shares` of `rate` has 1, and `draw` has 2"));
        assert!(error("{ draw = [1], shares = [0] }").contains("is not a list of shares"));
        assert!(error("{ draw = [1], shares = [-1] }").contains("is not a list of shares"));
        assert!(error("{ draw = [1], share = [1] }").contains("unknown key `share` beside `draw` of `rate`"));
    }
}
