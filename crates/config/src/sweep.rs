//! A list where a value would stand: one run for each of its values, and for each combination of several.

use crate::Document;
use crate::tree::{Node, Scalar, TreeItem};
use block::BadInput;

/// The most runs one file may ask for.
const MOST_RUNS: usize = 10_000;

/// One run of a sweep: what was varied, with its value here, and the file with that value in place.
pub type Swept = (Vec<(String, Scalar)>, Document);

/// A list of scalars: the way to it, by position, and its values.
struct SweepAxis<'a> {
    /// Positions in tables and lists.
    way: Vec<usize>,
    /// The same in words; elements of lists go by name.
    path: Vec<String>,
    values: &'a [Node],
}

impl Document {
    /// Expands every list of scalars into one document for each of its values: the Cartesian product, in the order
    /// of the file, the first list slowest. Lists of keys in `lists` are left alone. A value of a key in `pairs` may be a list of
    /// two itself, inside the list: `[["0.3ms", "1.8ms"]]` is one run. A list is labelled by its key, or by its whole path where
    /// two share a key. Without lists there is one document, with no labels.
    ///
    /// # Errors
    /// When a list is empty, or there would be more than 10,000 runs.
    pub fn sweep(&self, lists: &[&str], pairs: &[&str]) -> Result<Vec<Swept>, BadInput> {
        let mut axes = Vec::new();
        self.find(&self.root, (lists, pairs), &mut Vec::new(), &mut Vec::new(), &mut axes)?;
        let runs = axes.iter().fold(1usize, |runs, axis| runs.saturating_mul(axis.values.len()));
        if runs > MOST_RUNS {
            let what = format!("the lists together ask for {runs} runs, more than {MOST_RUNS}");
            return Err(self.error(axes[0].values[0].origin, what, "shorten the lists"));
        }
        let labels: Vec<String> = axes.iter().map(|axis| label(axis, &axes)).collect();
        Ok((0..runs)
            .map(|run| {
                let mut document = self.clone();
                let mut values = Vec::with_capacity(axes.len());
                let mut rest = run;
                for (axis, label) in axes.iter().zip(&labels).rev() {
                    let node = &axis.values[rest % axis.values.len()];
                    rest /= axis.values.len();
                    values.extend(show_value(node).map(|value| (label.clone(), value)));
                    *follow(&mut document.root, &axis.way) = node.clone();
                }
                values.reverse();
                (values, document)
            })
            .collect())
    }

    /// Collects the axes under `node`.
    fn find<'a>(
        &self,
        node: &'a Node,
        (lists, pairs): (&[&str], &[&str]),
        way: &mut Vec<usize>,
        path: &mut Vec<String>,
        axes: &mut Vec<SweepAxis<'a>>,
    ) -> Result<(), BadInput> {
        match &node.item {
            TreeItem::Scalar(_) => {}
            // One of these is drawn later.
            TreeItem::Table(_) if node.is_drawn() => {}
            TreeItem::Table(table) => {
                for (index, (key, value)) in table.iter().enumerate() {
                    way.push(index);
                    path.push(key.clone());
                    match &value.item {
                        TreeItem::List(_) if lists.contains(&key.as_str()) => {}
                        TreeItem::List(list) if list.is_empty() => {
                            let what = format!("`{}` is an empty list: there is nothing to vary", path.join("."));
                            return Err(self.error(value.origin, what, "give a value, or a list of several"));
                        }
                        TreeItem::List(list)
                            if list
                                .iter()
                                .all(|node| is_scalar(node) || (pairs.contains(&key.as_str()) && is_pair(node))) =>
                        {
                            axes.push(SweepAxis { way: way.clone(), path: path.clone(), values: list });
                        }
                        _ => self.find(value, (lists, pairs), way, path, axes)?,
                    }
                    way.pop();
                    path.pop();
                }
            }
            TreeItem::List(list) => {
                for (index, element) in list.iter().enumerate() {
                    way.push(index);
                    path.push(element.name().map_or_else(|| index.to_string(), str::to_string));
                    self.find(element, (lists, pairs), way, path, axes)?;
                    way.pop();
                    path.pop();
                }
            }
        }
        Ok(())
    }
}

fn is_scalar(node: &Node) -> bool {
    matches!(node.item, TreeItem::Scalar(_))
}

/// Whether an element of a list is a list of values itself.
fn is_pair(node: &Node) -> bool {
    matches!(&node.item, TreeItem::List(list) if list.iter().all(is_scalar))
}

/// A value as labels show it, those of a pair with a stroke between them.
fn show_value(node: &Node) -> Option<Scalar> {
    match &node.item {
        TreeItem::Scalar(value) => Some(value.clone()),
        TreeItem::List(list) => {
            let values: Vec<String> = list.iter().filter_map(show_value).map(|value| value.to_string()).collect();
            Some(Scalar::Text(values.join("/")))
        }
        TreeItem::Table(_) => None,
    }
}

fn label(axis: &SweepAxis, axes: &[SweepAxis]) -> String {
    let alone = axes.iter().filter(|other| other.path.last() == axis.path.last()).count() == 1;
    if alone { axis.path.last().cloned().unwrap_or_default() } else { axis.path.join(".") }
}

/// The node at the end of `way`; ways come from [`Document::find`] on a tree of the same shape.
fn follow<'a>(mut node: &'a mut Node, way: &[usize]) -> &'a mut Node {
    for index in way {
        node = match &mut node.item {
            TreeItem::Table(table) => &mut table[*index].1,
            TreeItem::List(list) => &mut list[*index],
            TreeItem::Scalar(_) => unreachable!("a way leads through tables and lists"),
        };
    }
    node
}
