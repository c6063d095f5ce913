//! The parameters of a block, read by name and type; what nobody asked for is told at the end.

use super::parse::{Block, Param, ParamValue};
use block::{At, BadInput};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A parameter that is not modelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ignored {
    /// The parameter's name in DiskSim's words.
    pub parameter: String,
    /// Its value, as short as may be.
    pub value: String,
    /// The file it stands in.
    pub file: String,
    /// The line it stands on, from 1.
    pub line: u32,
    /// Whether it is at a value at which it does nothing.
    pub neutral: bool,
}

/// A block that is read.
pub(crate) struct Params<'a> {
    pub(crate) block: &'a Block,
    files: &'a [String],
    asked: RefCell<Vec<&'static str>>,
}

impl<'a> Params<'a> {
    pub(crate) fn new(block: &'a Block, files: &'a [String]) -> Params<'a> {
        Params { block, files, asked: RefCell::default() }
    }

    /// Another block of the same files.
    pub(crate) fn inner(&self, block: &'a Block) -> Params<'a> {
        Params::new(block, self.files)
    }

    pub(crate) fn find(&self, name: &'static str) -> Option<&'a Param> {
        self.asked.borrow_mut().push(name);
        self.block.find(name)
    }

    /// The number that parameter `name` gives; none if it is absent.
    pub(crate) fn number(&self, name: &'static str) -> Result<Option<f64>, BadInput> {
        match self.find(name) {
            None => Ok(None),
            Some(Param { value: ParamValue::Number(number), .. }) => Ok(Some(*number)),
            Some(param) => Err(self.type_error(param, "a number")),
        }
    }

    /// A number that must be there.
    pub(crate) fn need(&self, name: &'static str) -> Result<f64, BadInput> {
        self.number(name)?.ok_or_else(|| self.missing(name))
    }

    /// A number, or 0.
    pub(crate) fn or_zero(&self, name: &'static str) -> Result<f64, BadInput> {
        Ok(self.number(name)?.unwrap_or(0.0))
    }

    /// A whole number from 0 to `most` that must be there.
    pub(crate) fn whole(&self, name: &'static str, most: f64) -> Result<u64, BadInput> {
        let number = self.need(name)?;
        if number >= 0.0 && number <= most && number.fract() == 0.0 {
            return Ok(number as u64);
        }
        Err(self.error(name, format!("`{name}` is {number}"), format!("give a whole number from 0 to {most}")))
    }

    /// A whole number from 0 to `most`, or 0.
    pub(crate) fn whole_or_zero(&self, name: &'static str, most: f64) -> Result<u64, BadInput> {
        if self.find(name).is_none() { Ok(0) } else { self.whole(name, most) }
    }

    /// A flag, or `false`.
    pub(crate) fn flag(&self, name: &'static str) -> Result<bool, BadInput> {
        Ok(self.or_zero(name)? != 0.0)
    }

    /// The word that parameter `name` gives; none if it is absent.
    pub(crate) fn word(&self, name: &'static str) -> Result<Option<&'a str>, BadInput> {
        match self.find(name) {
            None => Ok(None),
            Some(Param { value: ParamValue::Word(word), .. }) => Ok(Some(word)),
            Some(param) => Err(self.type_error(param, "a word")),
        }
    }

    /// The block of parameters that `name` opens; none if it is absent.
    pub(crate) fn block(&self, name: &'static str) -> Result<Option<&'a Block>, BadInput> {
        match self.find(name) {
            None => Ok(None),
            Some(Param { value: ParamValue::Block(block), .. }) => Ok(Some(block)),
            Some(param) => Err(self.type_error(param, "a block")),
        }
    }

    /// A list, or an empty one.
    pub(crate) fn list(&self, name: &'static str) -> Result<&'a [ParamValue], BadInput> {
        match self.find(name) {
            None => Ok(&[]),
            Some(Param { value: ParamValue::List(list), .. }) => Ok(list),
            Some(param) => Err(self.type_error(param, "a list")),
        }
    }

    /// A list of numbers, or an empty one.
    pub(crate) fn numbers(&self, name: &'static str) -> Result<Vec<f64>, BadInput> {
        let number = |value: &ParamValue| match value {
            ParamValue::Number(number) => Ok(*number),
            _ => Err(self.error(name, format!("`{name}` holds what is no number"), "give numbers, separated by ','")),
        };
        self.list(name)?.iter().map(number).collect()
    }

    /// An error at a parameter, or at the block if it is not there.
    pub(crate) fn error(&self, name: &str, what: impl Into<String>, mend: impl Into<String>) -> BadInput {
        let place = self.block.find(name).map_or(self.block.place, |param| param.place);
        let file = self.files.get(place.file as usize).map_or("", String::as_str);
        BadInput::new(file, At::Line(u64::from(place.line.max(1))), what, mend)
    }

    /// An error at the block.
    pub(crate) fn here(&self, what: impl Into<String>, mend: impl Into<String>) -> BadInput {
        self.error("", what, mend)
    }

    pub(crate) fn missing(&self, name: &str) -> BadInput {
        let block = self.block.name.as_deref().unwrap_or(&self.block.kind);
        self.here(format!("`{name}` is missing in '{block}'"), format!("add `{name} = …`"))
    }

    fn type_error(&self, param: &Param, wanted: &str) -> BadInput {
        let mend = match &param.value {
            ParamValue::Word(word) if word.parse::<f64>().is_ok_and(f64::is_finite) => {
                "write a number as 5, 0.5 or 5.0e+6: digits on both sides of the point, a sign in the exponent".into()
            }
            _ => format!("give {wanted}"),
        };
        self.error(&param.name, format!("`{}` is not {wanted}", param.name), mend)
    }

    /// What nobody asked for, but for what bears on nothing; of what is set twice, what it is set to in the end.
    pub(crate) fn rest(&self, harmless: &[&str]) -> Vec<Ignored> {
        let mut told: BTreeSet<&str> = self.asked.borrow().iter().chain(harmless).copied().collect();
        let last_first = self.block.params.iter().rev();
        let mut rest: Vec<Ignored> =
            last_first.filter(|param| told.insert(&param.name)).map(|param| self.ignored_param(param)).collect();
        rest.reverse();
        rest
    }

    /// Where the file lies that a parameter names: beside the file it stands in, or else beside the first one, `top`.
    pub(crate) fn beside(&self, parameter: &str, name: &str, top: &Path) -> PathBuf {
        let at_top = top.parent().unwrap_or(Path::new("")).join(name);
        let file = self.block.find(parameter).map_or(0, |param| param.place.file);
        match self.files.get(file as usize).and_then(|file| Path::new(file).parent()) {
            Some(folder) if file > 0 && folder.join(name).exists() => folder.join(name),
            _ => at_top,
        }
    }

    /// A parameter as one that is not modelled.
    pub(crate) fn ignored_param(&self, param: &Param) -> Ignored {
        let value = match &param.value {
            ParamValue::Number(number) => number.to_string(),
            ParamValue::Word(word) => word.clone(),
            ParamValue::List(list) => format!("a list of {}", list.len()),
            ParamValue::Block(block) => format!("a block {}", block.kind),
            ParamValue::Component(component) => format!("a component {}", component.name),
        };
        let file = self.files.get(param.place.file as usize).cloned().unwrap_or_default();
        let neutral = param.value == ParamValue::Number(0.0);
        Ignored { parameter: param.name.clone(), value, file, line: param.place.line, neutral }
    }
}
