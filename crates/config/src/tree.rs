//! The tree of a parsed file. Tables are lists of pairs, in the order the file gives them.

use block::{At, BadInput};
use std::fmt;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Where a node came from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Origin {
    /// The file as a whole: its root table.
    File,
    /// A line of the file, counted from 1.
    Line(u64),
    /// The `--set` of this index among the document's.
    Set(usize),
    /// A line of another file, whose values were laid over those of this one.
    Over(u64),
}

/// A value that is neither a list nor a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    /// A text in quotes; a date is kept as its text.
    Text(String),
    /// A whole number, wide enough for every `u64`.
    Integer(i128),
    /// A number with a point or an exponent.
    Float(f64),
    /// A boolean: `true` or `false`.
    Boolean(bool),
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Text(text) => f.write_str(text),
            Scalar::Integer(number) => write!(f, "{number}"),
            Scalar::Float(number) => write!(f, "{number}"),
            Scalar::Boolean(truth) => write!(f, "{truth}"),
        }
    }
}

/// What stands at a place in the tree.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TreeItem {
    Scalar(Scalar),
    List(Vec<Node>),
    Table(Vec<(String, Node)>),
}

/// An item and where it came from.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) origin: Origin,
    pub(crate) item: TreeItem,
}

/// What comes from elsewhere is the same where it says the same.
impl PartialEq for Node {
    fn eq(&self, other: &Node) -> bool {
        self.item == other.item
    }
}

impl Node {
    /// The node of a table's key.
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        match &self.item {
            TreeItem::Table(table) => table.iter().find(|(name, _)| name == key).map(|(_, node)| node),
            _ => None,
        }
    }

    /// Changes where it, and all in it, came from.
    pub(crate) fn with_origins(mut self, to: &impl Fn(Origin) -> Origin) -> Node {
        self.origin = to(self.origin);
        self.item = match self.item {
            TreeItem::List(list) => TreeItem::List(list.into_iter().map(|node| node.with_origins(to)).collect()),
            TreeItem::Table(table) => {
                TreeItem::Table(table.into_iter().map(|(key, node)| (key, node.with_origins(to))).collect())
            }
            scalar @ TreeItem::Scalar(_) => scalar,
        };
        self
    }

    /// Lays another over it: of two tables key by key, else in its place.
    pub(crate) fn overlay(&mut self, over: Node) {
        match (&mut self.item, over.item) {
            (TreeItem::Table(under), TreeItem::Table(over)) => {
                for (key, node) in over {
                    match under.iter_mut().find(|(name, _)| *name == key) {
                        Some((_, under)) => under.overlay(node),
                        None => under.push((key, node)),
                    }
                }
            }
            (_, item) => *self = Node { origin: over.origin, item },
        }
    }

    /// The text under `name` of a table: what people call an element of an array of tables.
    pub(crate) fn name(&self) -> Option<&str> {
        match self.get("name").map(|node| &node.item) {
            Some(TreeItem::Scalar(Scalar::Text(name))) => Some(name),
            _ => None,
        }
    }

    /// What it is, as a message says it: `the text "7"`, `a list`.
    pub(crate) fn describe(&self) -> String {
        match &self.item {
            TreeItem::Scalar(Scalar::Text(text)) => format!("the text {text:?}"),
            TreeItem::Scalar(Scalar::Integer(number)) => format!("the number {number}"),
            TreeItem::Scalar(Scalar::Float(number)) => format!("the number {number}"),
            TreeItem::Scalar(Scalar::Boolean(truth)) => format!("{truth}"),
            TreeItem::List(_) => "a list".into(),
            TreeItem::Table(_) => "a table".into(),
        }
    }
}

/// Turns what the `toml` crate parsed into nodes; `origin` gives the origin of a byte offset.
pub(crate) struct Builder<'a> {
    pub(crate) file: &'a str,
    pub(crate) origin: &'a dyn Fn(usize) -> Origin,
}

impl Builder<'_> {
    pub(crate) fn table(&self, table: DeTable<'_>) -> Result<TreeItem, BadInput> {
        // The crate sorts keys; sweeps and messages want them as the file has them.
        let mut entries: Vec<_> = table.into_iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        let nodes = entries.into_iter().map(|(key, value)| Ok((key.into_inner().into_owned(), self.node(value)?)));
        Ok(TreeItem::Table(nodes.collect::<Result<_, _>>()?))
    }

    pub(crate) fn node(&self, value: Spanned<DeValue<'_>>) -> Result<Node, BadInput> {
        let origin = (self.origin)(value.span().start);
        let too_large = |number: &str| {
            let at = if let Origin::Line(line) = origin { At::Line(line) } else { At::File };
            BadInput::new(self.file, at, format!("the number {number} is too large"), "give a smaller one")
        };
        let item = match value.into_inner() {
            DeValue::String(text) => TreeItem::Scalar(Scalar::Text(text.into_owned())),
            DeValue::Integer(number) => i128::from_str_radix(number.as_str(), number.radix())
                .map(|number| TreeItem::Scalar(Scalar::Integer(number)))
                .map_err(|_| too_large(number.as_str()))?,
            DeValue::Float(number) => {
                TreeItem::Scalar(Scalar::Float(number.as_str().parse().map_err(|_| too_large(number.as_str()))?))
            }
            DeValue::Boolean(truth) => TreeItem::Scalar(Scalar::Boolean(truth)),
            DeValue::Datetime(date) => TreeItem::Scalar(Scalar::Text(date.to_string())),
            DeValue::Array(list) => {
                TreeItem::List(list.into_iter().map(|value| self.node(value)).collect::<Result<_, _>>()?)
            }
            DeValue::Table(table) => self.table(table)?,
        };
        Ok(Node { origin, item })
    }
}
