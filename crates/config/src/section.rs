//! A table of a document, read key by key.

use crate::Document;
use crate::tree::{Node, Scalar, TreeItem};
use block::{BadInput, Span, nearest, units};
use std::cell::RefCell;
use std::fmt::Display;

/// A table of a document. It notes which keys were asked for, so that [`Section::close`] can tell which of
/// those in the file nobody knows. Readers return `None` for a key that is not there.
#[derive(Debug)]
pub struct Section<'a> {
    document: &'a Document,
    /// The dotted path, empty for the root.
    path: String,
    node: &'a Node,
    asked: RefCell<Vec<String>>,
    /// Keys that may stand here, too, and what they are called together.
    others: RefCell<Option<(Vec<&'static str>, &'static str)>>,
}

/// What a reader returns.
type ReadResult<T> = Result<Option<T>, BadInput>;

impl<'a> Section<'a> {
    pub(crate) fn new(document: &'a Document, path: String, node: &'a Node) -> Section<'a> {
        Section { document, path, node, asked: RefCell::default(), others: RefCell::default() }
    }

    // --- what is there ---

    /// Whether the key is there.
    pub fn has(&self, key: &str) -> bool {
        self.find(key).is_some()
    }

    /// The keys there, in the order of the file.
    pub fn keys(&self) -> impl Iterator<Item = &'a str> {
        let table: &'a [(String, Node)] = if let TreeItem::Table(table) = &self.node.item { table } else { &[] };
        table.iter().map(|(key, _)| key.as_str())
    }

    // --- tables ---

    /// The table under `key`.
    ///
    /// # Errors
    /// When it is something else.
    pub fn section(&self, key: &str) -> ReadResult<Section<'a>> {
        self.read(key, |node| match node.item {
            TreeItem::Table(_) => Ok(self.inner(key, node)),
            _ => Err(self.type_error(key, node, "a table", &format!("write it as [{}]", self.path_to(key)))),
        })
    }

    /// The table under `key` as a document of its own, whose errors still name the lines of this one.
    ///
    /// # Errors
    /// When it is something else.
    pub fn document(&self, key: &str) -> ReadResult<Document> {
        Ok(self.section(key)?.map(|section| self.document.part(section.node)))
    }

    /// Those of these keys that are there, as a document of their own, whose errors still name the lines of this one. They may
    /// stand here beside the keys that are read; `told` is what they are called together.
    pub fn others(&self, keys: Vec<&'static str>, told: &'static str) -> Document {
        let TreeItem::Table(table) = &self.node.item else { return self.document.with(Vec::new()) };
        let picked: Vec<_> = table.iter().filter(|(key, _)| keys.contains(&key.as_str())).cloned().collect();
        for (key, _) in &picked {
            self.find(key);
        }
        *self.others.borrow_mut() = Some((keys, told));
        self.document.with(picked)
    }

    /// The tables of the array under `key`; a single table counts as one, a missing one as none.
    ///
    /// # Errors
    /// When it is something else.
    pub fn sections(&self, key: &str) -> Result<Vec<Section<'a>>, BadInput> {
        let Some(node) = self.find(key) else { return Ok(Vec::new()) };
        let nodes = match &node.item {
            TreeItem::Table(_) => std::slice::from_ref(node),
            TreeItem::List(list) if list.iter().all(|node| matches!(node.item, TreeItem::Table(_))) => list,
            _ => {
                let mend = format!("write each as [[{}]]", self.path_to(key));
                return Err(self.type_error(key, node, "a table", &mend));
            }
        };
        Ok(nodes.iter().map(|node| self.inner(key, node)).collect())
    }

    // --- values ---

    /// A text.
    ///
    /// # Errors
    /// When it is something else.
    pub fn string(&self, key: &str) -> ReadResult<String> {
        self.read(key, |node| self.text_of(key, node))
    }

    /// A name: a text, or a whole number standing for its digits.
    ///
    /// # Errors
    /// When it is something else.
    pub fn name(&self, key: &str) -> ReadResult<String> {
        self.read(key, |node| match &node.item {
            TreeItem::Scalar(Scalar::Integer(number)) => Ok(number.to_string()),
            _ => self.text_of(key, node),
        })
    }

    /// A list of texts.
    ///
    /// # Errors
    /// When it is something else.
    pub fn strings(&self, key: &str) -> ReadResult<Vec<String>> {
        self.read(key, |node| self.list_of(key, node, "texts", Self::text_of))
    }

    /// `true` or `false`.
    ///
    /// # Errors
    /// When it is something else.
    pub fn bool(&self, key: &str) -> ReadResult<bool> {
        self.read(key, |node| match node.item {
            TreeItem::Scalar(Scalar::Boolean(truth)) => Ok(truth),
            _ => Err(self.type_error(key, node, "true or false", "write true or false, without quotes")),
        })
    }

    /// `true` or `false`, or a word that stands for neither.
    ///
    /// # Errors
    /// When it is something else.
    pub fn bool_or(&self, key: &str, word: &str) -> ReadResult<Option<bool>> {
        self.read(key, |node| match &node.item {
            TreeItem::Scalar(Scalar::Boolean(truth)) => Ok(Some(*truth)),
            TreeItem::Scalar(Scalar::Text(text)) if text == word => Ok(None),
            _ => {
                let takes = format!("true, false or \"{word}\"");
                Err(self.type_error(key, node, &takes, &format!("write {takes}")))
            }
        })
    }

    /// Whether this word stands there.
    #[must_use]
    pub fn is_word(&self, key: &str, word: &str) -> bool {
        self.find(key).is_some_and(|node| matches!(&node.item, TreeItem::Scalar(Scalar::Text(text)) if text == word))
    }

    /// A whole number, zero or more.
    ///
    /// # Errors
    /// When it is something else.
    pub fn u64(&self, key: &str) -> ReadResult<u64> {
        self.read(key, |node| {
            let mend = "give a whole number, zero or more";
            match node.item {
                TreeItem::Scalar(Scalar::Integer(number)) if number < 0 => {
                    Err(self.at(node, format!("`{key}` is negative: {number}"), mend))
                }
                TreeItem::Scalar(Scalar::Integer(number)) => u64::try_from(number)
                    .map_err(|_| self.at(node, format!("`{key}` is too large: {number}"), "give a smaller number")),
                _ => Err(self.type_error(key, node, "a whole number", mend)),
            }
        })
    }

    /// A whole number from `least` to `most`.
    ///
    /// # Errors
    /// When it is something else.
    pub fn within(&self, key: &str, least: u32, most: u32) -> ReadResult<u32> {
        self.read(key, |node| {
            let number = self.u64(key)?.unwrap_or_default();
            u32::try_from(number).ok().filter(|number| (least..=most).contains(number)).ok_or_else(|| {
                let mend = format!("give a whole number from {least} to {most}");
                self.at(node, format!("`{key}` is {number}"), mend)
            })
        })
    }

    /// A number, of any sign.
    ///
    /// # Errors
    /// When it is something else, or not finite.
    pub fn f64(&self, key: &str) -> ReadResult<f64> {
        self.read(key, |node| self.number_of(key, node))
    }

    /// A list of numbers.
    ///
    /// # Errors
    /// When it is something else.
    pub fn f64s(&self, key: &str) -> ReadResult<Vec<f64>> {
        self.read(key, |node| self.list_of(key, node, "numbers", Self::number_of))
    }

    /// A list of lists of numbers, such as `[[1, 2.5], [3, 4]]`.
    ///
    /// # Errors
    /// When it is something else.
    pub fn rows(&self, key: &str) -> ReadResult<Vec<Vec<f64>>> {
        self.read(key, |node| {
            self.list_of(key, node, "rows of numbers", |_, key, row| self.list_of(key, row, "numbers", Self::number_of))
        })
    }

    /// A share: a number from 0 to 1.
    ///
    /// # Errors
    /// When it is something else.
    pub fn share(&self, key: &str) -> ReadResult<f64> {
        self.read(key, |node| {
            let share = self.number_of(key, node)?;
            let bad = |what: String| self.at(node, what, "give a share from 0 to 1");
            match share {
                _ if share < 0.0 => Err(bad(format!("`{key}` is negative: {share}"))),
                _ if share > 1.0 => Err(bad(format!("`{key}` is {share}, more than 1"))),
                _ => Ok(share),
            }
        })
    }

    /// A size with its unit, in blocks.
    ///
    /// # Errors
    /// When it is something else.
    pub fn size(&self, key: &str) -> ReadResult<u64> {
        self.quantity(key, units::blocks)
    }

    /// A time with its unit.
    ///
    /// # Errors
    /// When it is something else.
    pub fn span(&self, key: &str) -> ReadResult<Span> {
        self.quantity(key, units::span)
    }

    /// A time with its unit, or a list of them; a single one counts as a list of one.
    ///
    /// # Errors
    /// When it is something else.
    pub fn spans(&self, key: &str) -> ReadResult<Vec<Span>> {
        self.read(key, |node| match &node.item {
            TreeItem::List(_) => {
                self.list_of(key, node, "times", |section, key, node| section.quantity_of(key, node, units::span))
            }
            _ => Ok(vec![self.quantity_of(key, node, units::span)?]),
        })
    }

    /// A rate with its unit, per second.
    ///
    /// # Errors
    /// When it is something else.
    pub fn rate(&self, key: &str) -> ReadResult<f64> {
        self.quantity(key, units::rate)
    }

    /// One of several words, as what stands beside it.
    ///
    /// # Errors
    /// When it is none of them: the nearest, and all.
    pub fn choice<T: Clone>(&self, key: &str, choices: &[(&str, T)]) -> ReadResult<T> {
        self.read(key, |node| {
            let given = self.text_of(key, node)?;
            choices.iter().find(|(name, _)| *name == given).map(|(_, value)| value.clone()).ok_or_else(|| {
                let names = choices.iter().map(|(name, _)| *name).collect::<Vec<_>>();
                self.at(node, format!("`{key}` cannot be '{given}'"), suggest(&given, "use", &names))
            })
        })
    }

    /// A text that `parse` makes something of. It says what is wrong and, after `; `, the mend, as [`units`] does.
    ///
    /// # Errors
    /// When `parse` says so, or it is neither a text nor a number.
    pub fn quantity<T>(&self, key: &str, parse: impl Fn(&str) -> Result<T, String>) -> ReadResult<T> {
        self.read(key, |node| self.quantity_of(key, node, &parse))
    }

    /// A value read of `key`, if it is `allowed`; else an error with this mend.
    pub(crate) fn check<T: Display>(
        &self,
        key: &str,
        value: Option<T>,
        allowed: impl Fn(&T) -> bool,
        mend: &str,
    ) -> ReadResult<T> {
        match value {
            Some(value) if !allowed(&value) => Err(self.error(key, format!("`{key}` is {value}"), mend)),
            value => Ok(value),
        }
    }

    // --- errors ---

    /// What a reader found, or an error that it is missing: at the header, or at a key that looks like a slip of it.
    ///
    /// # Errors
    /// When `found` is `None`.
    pub fn need<T>(&self, key: &str, found: Option<T>) -> Result<T, BadInput> {
        found.ok_or_else(|| {
            let what = format!("missing key `{key}`{}", self.place());
            match nearest(key, self.strangers()) {
                Some(slip) => self.error(slip, what, format!("add `{key}`; is `{slip}` meant to be it?")),
                None => self.here(what, format!("add `{key}`")),
            }
        })
    }

    /// An error if the key is there: `why` follows its name, e.g. `comes with arrays`. It is not thereby one of
    /// those that [`Section::close`] lists.
    ///
    /// # Errors
    /// When it is there.
    pub fn refuse(&self, key: &str, why: &str) -> Result<(), BadInput> {
        match self.node.get(key) {
            Some(node) => Err(self.at(node, format!("`{key}`{} {why}", self.place()), "take it out")),
            None => Ok(()),
        }
    }

    /// An error at a key, or at the section where the key is not there.
    pub fn error(&self, key: &str, what: impl Into<String>, mend: impl Into<String>) -> BadInput {
        self.at(self.node.get(key).unwrap_or(self.node), what, mend)
    }

    /// An error at the section's header.
    pub fn here(&self, what: impl Into<String>, mend: impl Into<String>) -> BadInput {
        self.at(self.node, what, mend)
    }

    /// Ends the reading of the section. Sections inside it are closed on their own.
    ///
    /// # Errors
    /// When the file has a key here that was not asked for: its nearest, and all that were.
    pub fn close(&self) -> Result<(), BadInput> {
        let Some(unknown) = self.strangers().next() else { return Ok(()) };
        let asked = self.asked.borrow();
        let known = asked.iter().map(String::as_str).collect::<Vec<_>>();
        let what = format!("unknown key `{unknown}`{}", self.place());
        let mend = match &*self.others.borrow() {
            None => suggest(unknown, "known here:", &known),
            Some((others, told)) => match nearest(unknown, known.iter().chain(others).copied()) {
                Some(name) if others.contains(&name) => format!("did you mean '{name}'?"),
                _ => format!("{told}; {}", suggest(unknown, "known here:", &known)),
            },
        };
        Err(self.error(unknown, what, mend))
    }

    /// The keys there that were not asked for.
    fn strangers(&self) -> impl Iterator<Item = &'a str> {
        self.keys().filter(|key| !self.asked.borrow().iter().any(|asked| asked == key))
    }

    fn at(&self, node: &Node, what: impl Into<String>, mend: impl Into<String>) -> BadInput {
        self.document.error(node.origin, what, mend)
    }

    fn type_error(&self, key: &str, node: &Node, wanted: &str, mend: &str) -> BadInput {
        self.at(node, format!("`{key}` is {}, not {wanted}", node.describe()), mend)
    }

    /// ` in [drive]`, or nothing at the root.
    fn place(&self) -> String {
        match (self.path.is_empty(), self.node.name()) {
            (true, _) => String::new(),
            (false, None) => format!(" in [{}]", self.path),
            (false, Some(name)) => format!(" in [{}] '{name}'", self.path),
        }
    }

    // --- reading ---

    fn find(&self, key: &str) -> Option<&'a Node> {
        let mut asked = self.asked.borrow_mut();
        if !asked.iter().any(|asked| asked == key) {
            asked.push(key.into());
        }
        self.node.get(key)
    }

    fn read<T>(&self, key: &str, read: impl FnOnce(&'a Node) -> Result<T, BadInput>) -> ReadResult<T> {
        self.find(key).map(read).transpose()
    }

    fn inner(&self, key: &str, node: &'a Node) -> Section<'a> {
        Section::new(self.document, self.path_to(key), node)
    }

    fn path_to(&self, key: &str) -> String {
        if self.path.is_empty() { key.into() } else { format!("{}.{key}", self.path) }
    }

    fn text_of(&self, key: &str, node: &Node) -> Result<String, BadInput> {
        match &node.item {
            TreeItem::Scalar(Scalar::Text(text)) => Ok(text.clone()),
            _ => Err(self.type_error(key, node, "a text", "put it in quotes")),
        }
    }

    fn number_of(&self, key: &str, node: &Node) -> Result<f64, BadInput> {
        match node.item {
            TreeItem::Scalar(Scalar::Integer(number)) => Ok(number as f64),
            TreeItem::Scalar(Scalar::Float(number)) if number.is_finite() => Ok(number),
            _ => Err(self.type_error(key, node, "a number", "give a finite number, without quotes or unit")),
        }
    }

    fn quantity_of<T>(&self, key: &str, node: &Node, parse: impl Fn(&str) -> Result<T, String>) -> Result<T, BadInput> {
        let text = match &node.item {
            // A bare number is given to the parser too: it says best which unit is missing.
            TreeItem::Scalar(value @ (Scalar::Text(_) | Scalar::Integer(_) | Scalar::Float(_))) => value.to_string(),
            _ => return Err(self.type_error(key, node, "a quantity", "write a number and its unit, in quotes")),
        };
        parse(&text).map_err(|wrong| {
            let (what, mend) = wrong.rsplit_once("; ").unwrap_or((&wrong, ""));
            self.at(node, format!("`{key}`: {what}"), mend)
        })
    }

    fn list_of<T>(
        &self,
        key: &str,
        node: &Node,
        of: &str,
        read: impl Fn(&Self, &str, &Node) -> Result<T, BadInput>,
    ) -> Result<Vec<T>, BadInput> {
        match &node.item {
            TreeItem::List(list) => list.iter().map(|node| read(self, key, node)).collect(),
            _ => Err(self.type_error(key, node, &format!("a list of {of}"), "write it in [ ]")),
        }
    }
}

/// `did you mean 'satf'? use fcfs, satf`: the likeliest of the names, and all of them.
fn suggest(given: &str, lead: &str, names: &[&str]) -> String {
    let all = format!("{lead} {}", if names.is_empty() { "nothing".into() } else { names.join(", ") });
    match nearest(given, names.iter().copied()) {
        Some(name) => format!("did you mean '{name}'? {all}"),
        None => all,
    }
}
