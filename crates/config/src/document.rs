//! A parsed file, and the `--set`s that change it.

use crate::Section;
use crate::tree::{Builder, Node, Origin, Scalar, TreeItem};
use block::{At, BadInput, nearest};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use toml::de::{DeTable, DeValue};

/// The longest file read; a drive with every zone written out is a hundredth of it.
const LONGEST: u64 = 16 << 20;
/// The most parts a `--set` path may have, as in a file: deeper trees would only exhaust the stack.
const DEEPEST: usize = 64;

/// A parsed TOML file: its shown name and its tree.
#[derive(Clone, Debug)]
pub struct Document {
    name: String,
    /// The `--set`s as they were given; nodes refer to them by index.
    sets: Vec<String>,
    /// The file whose values were laid over those of this one.
    over: String,
    pub(crate) root: Node,
}

/// Two are the same that say the same, wherever they say it.
impl PartialEq for Document {
    fn eq(&self, other: &Document) -> bool {
        self.root == other.root
    }
}

fn too_long(name: &str) -> BadInput {
    BadInput::new(name, At::File, "is longer than 16 MiB", "this is hardly the file you meant")
}

impl Document {
    /// Parses `text`, shown as `name` in errors.
    ///
    /// # Errors
    /// When it is longer than 16 MiB, or not TOML: the line and what the parser expected there.
    pub fn parse(name: &str, text: &str) -> Result<Document, BadInput> {
        // No file is read that is longer, so that none is believed that is not in a file yet.
        if text.len() as u64 > LONGEST {
            return Err(too_long(name));
        }
        let starts: Vec<usize> = text.match_indices('\n').map(|(newline, _)| newline + 1).collect();
        let line = |offset: usize| starts.partition_point(|start| *start <= offset) as u64 + 1;
        let table = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(At::File, |span| At::Line(line(span.start)));
            let what = format!("not TOML: {}", error.message().replace('\n', ", "));
            let mend = match error.message() {
                "duplicate key" => "keep one of the two; tables of which there are several are headed [[...]]",
                _ => "write `key = value` lines under [section] headings, with texts in quotes",
            };
            BadInput::new(name, at, what, mend)
        })?;
        let builder = Builder { file: name, origin: &|offset| Origin::Line(line(offset)) };
        let item = builder.table(table.into_inner())?;
        Ok(Document {
            name: name.into(),
            sets: Vec::new(),
            over: String::new(),
            root: Node { origin: Origin::File, item },
        })
    }

    /// A file of one key, whose value is written as `--set` would have it.
    pub(crate) fn of_one(key: &str, value: &str) -> Document {
        let origin = Origin::File;
        let node = parse_override(key, value, origin)
            .unwrap_or(Node { origin, item: TreeItem::Scalar(Scalar::Text(value.into())) });
        let root = Node { origin, item: TreeItem::Table(vec![(key.into(), node)]) };
        Document { name: format!("the usual `{key}`"), sets: Vec::new(), over: String::new(), root }
    }

    /// Reads and parses a file.
    ///
    /// # Errors
    /// When it cannot be read, is longer than 16 MiB, is not UTF-8, or is not TOML.
    pub fn load(path: &Path) -> Result<Document, BadInput> {
        let name = path.display().to_string();
        let bad = |at, what: String, mend: &str| BadInput::new(&name, at, what, mend);
        let mut bytes = Vec::new();
        File::open(path)
            .and_then(|file| file.take(LONGEST + 1).read_to_end(&mut bytes))
            .map_err(|error| bad(At::File, format!("cannot be read: {error}"), "check the path and its permissions"))?;
        if bytes.len() as u64 > LONGEST {
            return Err(too_long(&name));
        }
        let text = str::from_utf8(&bytes).map_err(|error| {
            let line = bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
            bad(At::Line(line), "is not UTF-8 text".into(), "save it as UTF-8")
        })?;
        Document::parse(&name, text)
    }

    /// Applies `path=value`, as `--set` gives it: a dotted path of keys, where an element of a list goes by its
    /// `name` or its index from 0; missing tables are made. The value is TOML, and a text if it is not; the
    /// elements of a list may go without quotes too.
    ///
    /// # Errors
    /// When there is no `=`, a part of the path is empty, or it leads through something that is no table.
    pub fn set(&mut self, assignment: &str) -> Result<(), BadInput> {
        let shown = format!("--set {assignment}");
        let bad = |what: String, mend: &str| BadInput::new(&shown, At::File, what, mend);
        let (path, value) = assignment.split_once('=').ok_or_else(|| bad("no `=` in it".into(), "write KEY=VALUE"))?;
        let path: Vec<&str> = path.split('.').map(str::trim).collect();
        if path.iter().any(|part| part.is_empty()) || path.len() > DEEPEST {
            return Err(bad("not a path of keys before the `=`".into(), "write one like scheduler.policy=satf"));
        }
        let origin = Origin::Set(self.sets.len());
        let mut node = &mut self.root;
        for (depth, part) in path.iter().enumerate() {
            let here = node.describe();
            node = match &mut node.item {
                TreeItem::Table(table) => {
                    let index = table.iter().position(|(key, _)| key == part).unwrap_or_else(|| {
                        table.push(((*part).into(), Node { origin, item: TreeItem::Table(Vec::new()) }));
                        table.len() - 1
                    });
                    &mut table[index].1
                }
                TreeItem::List(list) => {
                    let index = element(list, part)
                        .map_err(|mend| bad(format!("`{}` has no element `{part}`", path[..depth].join(".")), &mend))?;
                    &mut list[index]
                }
                TreeItem::Scalar(_) => {
                    let what = format!("`{}` is {here}, not a table", path[..depth].join("."));
                    return Err(bad(what, "name a key of a table"));
                }
            };
        }
        *node = parse_override(&shown, value.trim(), origin)?;
        self.sets.push(shown);
        Ok(())
    }

    /// One of its tables as a document.
    pub(crate) fn part(&self, node: &Node) -> Document {
        Document { root: node.clone(), ..self.with(Vec::new()) }
    }

    /// A document of these keys of one of its tables.
    pub(crate) fn with(&self, keys: Vec<(String, Node)>) -> Document {
        let root = Node { origin: Origin::File, item: TreeItem::Table(keys) };
        Document { name: self.name.clone(), sets: self.sets.clone(), over: self.over.clone(), root }
    }

    /// Lays the values of another document over those here, table by table. Errors about them still name their own lines.
    pub fn overlay(&mut self, over: &Document) {
        let sets = self.sets.len();
        let origin = |origin| match origin {
            Origin::File => Origin::File,
            Origin::Line(line) | Origin::Over(line) => Origin::Over(line),
            Origin::Set(index) => Origin::Set(sets + index),
        };
        self.root.overlay(over.root.clone().with_origins(&origin));
        self.over = over.name.clone();
        self.sets.extend(over.sets.iter().cloned());
    }

    /// Takes keys out of one of its tables.
    pub fn take_out(&mut self, table: &str, keys: &[&str]) {
        self.take_out_at(&[table], keys);
    }

    /// Takes keys out of the table at the end of a path of names.
    pub fn take_out_at(&mut self, path: &[&str], keys: &[&str]) {
        if let Some(entries) = self.entries_at(path) {
            entries.retain(|(key, _)| !keys.contains(&key.as_str()));
        }
    }

    /// What stands in the table at the end of a path of names.
    fn entries_at(&mut self, path: &[&str]) -> Option<&mut Vec<(String, Node)>> {
        let mut table = &mut self.root;
        for part in path {
            let TreeItem::Table(entries) = &mut table.item else { return None };
            table = entries.iter_mut().find(|(name, _)| name == part).map(|(_, node)| node)?;
        }
        if let TreeItem::Table(entries) = &mut table.item { Some(entries) } else { None }
    }

    /// Puts a key of one table of the top into another, in the place of what is there under its name.
    pub fn move_key(&mut self, from: &str, key: &str, into: &str) {
        let Some(entries) = self.entries_at(&[from]) else { return };
        let Some(place) = entries.iter().position(|(name, _)| name == key) else { return };
        let moved = entries.remove(place);
        self.take_out_at(&[into], &[key]);
        if let Some(entries) = self.entries_at(&[into]) {
            entries.push(moved);
        }
    }

    /// One document for each table of the array under `key`: the same, with that table alone in the array's place.
    #[must_use]
    pub fn split(&self, key: &str) -> Vec<Document> {
        let node = self.root.get(key);
        let tables = match node.map(|node| &node.item) {
            Some(TreeItem::List(list)) => list.as_slice(),
            _ => node.map_or(&[][..], std::slice::from_ref),
        };
        let alone = |table: &Node| {
            let mut document = self.clone();
            let entries = document.entries_at(&[]).into_iter().flatten();
            entries.filter(|(name, _)| name == key).for_each(|(_, node)| *node = table.clone());
            document
        };
        tables.iter().map(alone).collect()
    }

    /// Keeps, of the array of tables under `key`, those of which `keeps` says so by their place.
    pub fn keep_tables(&mut self, key: &str, keeps: impl Fn(usize) -> bool) {
        let Some((_, node)) = self.entries_at(&[]).and_then(|top| top.iter_mut().find(|(name, _)| name == key)) else {
            return;
        };
        let mut place = 0..;
        let empty = match &mut node.item {
            TreeItem::List(list) => {
                list.retain(|_| place.next().is_some_and(&keeps));
                list.is_empty()
            }
            _ => !keeps(0),
        };
        if empty {
            self.take_out_of_root(key);
        }
    }

    /// Puts a number under a key of the table of this name, or of that at this place where there are several; the table is made if
    /// there is none.
    pub fn put_number(&mut self, name: &str, place: usize, key: &str, number: u64) {
        let TreeItem::Table(top) = &mut self.root.item else { return };
        let index = top.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
            top.push((name.into(), Node { origin: Origin::File, item: TreeItem::Table(Vec::new()) }));
            top.len() - 1
        });
        let table = match &mut top[index].1 {
            Node { item: TreeItem::List(list), .. } => list.get_mut(place),
            node => Some(node),
        };
        let Some(Node { origin, item: TreeItem::Table(entries) }) = table else { return };
        let node = Node { origin: *origin, item: TreeItem::Scalar(Scalar::Integer(number.into())) };
        match entries.iter_mut().find(|(known, _)| known == key) {
            Some((_, there)) => *there = node,
            None => entries.push((key.into(), node)),
        }
    }

    /// Takes a key out of what stands at the top.
    pub fn take_out_of_root(&mut self, key: &str) {
        if let TreeItem::Table(top) = &mut self.root.item {
            top.retain(|(name, _)| name != key);
        }
    }

    /// Puts a value that stands at the top into the table at the end of a path of names, where it then stands under its own name.
    ///
    /// # Errors
    /// When it stands there, too.
    pub fn put_into(&mut self, key: &str, path: &[&str]) -> Result<(), BadInput> {
        let TreeItem::Table(top) = &mut self.root.item else { return Ok(()) };
        let Some(index) = top.iter().position(|(name, _)| name == key) else { return Ok(()) };
        let (name, node) = top.remove(index);
        let (origin, mut table) = (node.origin, &mut self.root);
        for part in path {
            let TreeItem::Table(entries) = &mut table.item else { return Ok(()) };
            let index = entries.iter().position(|(name, _)| name == part).unwrap_or_else(|| {
                entries.push(((*part).into(), Node { origin, item: TreeItem::Table(Vec::new()) }));
                entries.len() - 1
            });
            table = &mut entries[index].1;
        }
        if table.get(key).is_some() {
            let what = format!("`{key}`, and `{}.{key}` too", path.join("."));
            return Err(self.error(origin, what, "keep one of them"));
        }
        if let TreeItem::Table(entries) = &mut table.item {
            entries.push((name, node));
        }
        Ok(())
    }

    /// The table of the whole file.
    #[must_use]
    pub fn root(&self) -> Section<'_> {
        Section::new(self, String::new(), &self.root)
    }

    /// An error about something that came from `origin`.
    pub(crate) fn error(&self, origin: Origin, what: impl Into<String>, mend: impl Into<String>) -> BadInput {
        match origin {
            Origin::File => BadInput::new(&self.name, At::File, what, mend),
            Origin::Line(line) => BadInput::new(&self.name, At::Line(line), what, mend),
            Origin::Over(line) => BadInput::new(&self.over, At::Line(line), what, mend),
            Origin::Set(index) => BadInput::new(&self.sets[index], At::File, what, mend),
        }
    }
}

/// The index of the element that `part` names, or the mend.
fn element(list: &[Node], part: &str) -> Result<usize, String> {
    if let Some(index) = list.iter().position(|node| node.name() == Some(part)) {
        return Ok(index);
    }
    if let Some(index) = part.parse().ok().filter(|index| *index < list.len()) {
        return Ok(index);
    }
    let names: Vec<&str> = list.iter().filter_map(Node::name).collect();
    Err(match (nearest(part, names.iter().copied()), names.is_empty()) {
        (Some(name), _) => format!("did you mean `{name}`?"),
        (None, false) => format!("its elements are {}", names.join(", ")),
        (None, true) => format!("it has {}, counted from 0", list.len()),
    })
}

/// What `--set` was given, as TOML if it is TOML and as a text if not.
fn parse_override(shown: &str, text: &str, origin: Origin) -> Result<Node, BadInput> {
    if let Ok(value) = DeValue::parse(text) {
        return Builder { file: shown, origin: &|_| origin }.node(value);
    }
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).filter(|list| !list.contains(['[', ']']));
    let item = match bare {
        Some(list) => TreeItem::List(
            list.split(',').map(|part| parse_override(shown, part.trim(), origin)).collect::<Result<_, _>>()?,
        ),
        None => TreeItem::Scalar(Scalar::Text(text.into())),
    };
    Ok(Node { origin, item })
}
