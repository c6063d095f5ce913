//! Keys, declared once: what a key is called, what it takes, what stands where it is missing and what it is for. Readers read
//! by the declaration, and everything that is said of keys — help, reference pages, schema — is written from it.

use crate::{Document, Section};
use block::{BadInput, Span, units};

/// A declared key whose value is read as a `T`.
#[derive(Clone, Copy, Debug)]
pub struct Key<T> {
    /// What is said of it.
    pub about: About,
    read: fn(&Section, &About) -> Result<Option<T>, BadInput>,
}

/// What is said of a key, whatever it is read as.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// The key as a file spells it.
    pub name: &'static str,
    /// What may stand behind it.
    pub takes: Takes,
    /// What holds where it is missing.
    pub missing: Missing,
    /// What it is for: plain sentences, Markdown for code.
    pub text: &'static str,
    /// Whether its text may be the path of a file.
    pub names: NamedBy,
}

/// What the text of a key is the name of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedBy {
    /// Nothing on the disk.
    Nothing,
    /// A file; a relative path is relative to the folder of the file that has the key.
    File,
    /// A file, if there is one of that path, or something that is known by its name.
    FileOrKnown,
}

/// What may stand behind a key.
#[derive(Clone, Copy, Debug)]
pub enum Takes {
    /// Any text in quotes.
    Text,
    /// A list of texts.
    Texts,
    /// A text, or a whole number that stands for its digits.
    Name,
    /// A boolean: `true` or `false`.
    Bool,
    /// `true`, `false` or a word.
    BoolOr(&'static str),
    /// A whole number from the first to the second.
    Whole(u64, u64),
    /// A number from the first to the second.
    Number(f64, f64),
    /// An array of rows of numbers.
    Rows,
    /// A list of numbers.
    Numbers,
    /// A number from 0 to 1.
    Share,
    /// A size with its unit.
    Size,
    /// A time with its unit.
    Time,
    /// A time with its unit, or a word.
    TimeOr(&'static str),
    /// A time with its unit, or a list of them.
    Times,
    /// A time with its unit, a list of them, or a word.
    TimesOr(&'static str),
    /// A size with its unit, or a word.
    SizeOr(&'static str),
    /// A rate with its unit.
    Rate,
    /// One of these words, each with what it means.
    Word(fn() -> Vec<(&'static str, &'static str)>),
    /// A text of this form.
    Form(&'static str),
}

/// What holds where a key is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// It must be given.
    Refused,
    /// This value, as a file would have it.
    Value(&'static str),
    /// What these words say.
    Told(&'static str),
    /// Nothing: what the key brings is left out.
    Nothing,
}

/// An enumeration whose values are words of files.
pub trait Words: Copy + 'static {
    /// Each word, its value and what it means.
    const WORDS: &'static [Word<Self>];
}

/// A word of a file.
#[derive(Clone, Copy, Debug)]
pub struct Word<T> {
    /// The word as a file spells it.
    pub name: &'static str,
    /// What it stands for.
    pub value: T,
    /// What users are told the word means.
    pub text: &'static str,
}

impl<T> Word<T> {
    /// A word, its value and what it means.
    pub const fn new(name: &'static str, value: T, text: &'static str) -> Word<T> {
        Word { name, value, text }
    }
}

/// Says of each kind of key how it is declared and read.
macro_rules! kinds {
    ($($(#[$doc:meta])* $make:ident($($given:ident: $type:ty),*) -> $value:ty = $takes:expr, $read:expr;)*) => {
        $(impl Key<$value> {
            $(#[$doc])*
            #[must_use]
            pub const fn $make(name: &'static str, $($given: $type),*) -> Key<$value> {
                Key { about: About { name, takes: $takes, missing: Missing::Nothing, text: "", names: NamedBy::Nothing }, read: $read }
            }
        })*
    };
}

kinds! {
    /// A text.
    text() -> String = Takes::Text, |section, about| section.string(about.name);
    /// A text, or a whole number that stands for its digits.
    named() -> String = Takes::Name, |section, about| section.name(about.name);
    /// A list of texts.
    texts() -> Vec<String> = Takes::Texts, |section, about| section.strings(about.name);
    /// `true` or `false`.
    bool() -> bool = Takes::Bool, |section, about| section.bool(about.name);
    /// `true` or `false`, or the word, which stands for neither.
    bool_or(word: &'static str) -> Option<bool> = Takes::BoolOr(word), bool_or;
    /// A whole number.
    whole(least: u64, most: u64) -> u64 = Takes::Whole(least, most), whole;
    /// A whole number.
    within(least: u32, most: u32) -> u32 = Takes::Whole(least as u64, most as u64), within;
    /// A number.
    number(least: f64, most: f64) -> f64 = Takes::Number(least, most), number;
    /// A number from 0 to 1.
    share() -> f64 = Takes::Share, |section, about| section.share(about.name);
    /// A rate with its unit, per second.
    rate() -> f64 = Takes::Rate, |section, about| section.rate(about.name);
    /// Rows of numbers, such as `[[1, 2.5], [3, 4]]`.
    rows() -> Vec<Vec<f64>> = Takes::Rows, |section, about| section.rows(about.name);
    /// A list of numbers.
    numbers() -> Vec<f64> = Takes::Numbers, |section, about| section.f64s(about.name);
    /// A time with its unit, or a list of them.
    times() -> Vec<Span> = Takes::Times, |section, about| section.spans(about.name);
    /// A size with its unit, in blocks.
    size() -> u64 = Takes::Size, |section, about| section.size(about.name);
    /// A size with its unit, of at least one block, in blocks.
    blocks() -> u32 = Takes::Size, blocks;
    /// A time with its unit.
    span() -> Span = Takes::Time, |section, about| section.span(about.name);
    /// One of the words that `words` lists, each with what it means.
    one_of(words: fn() -> Vec<(&'static str, &'static str)>) -> &'static str = Takes::Word(words), one_of;
    /// A time with its unit, or the word, which stands for none.
    span_or(word: &'static str) -> Option<Span> = Takes::TimeOr(word), span_or;
    /// A time with its unit, a list of them, or the word, which stands for none.
    times_or(word: &'static str) -> Option<Vec<Span>> = Takes::TimesOr(word), times_or;
    /// A size with its unit, in blocks, or the word, which stands for none.
    size_or(word: &'static str) -> Option<u64> = Takes::SizeOr(word), size_or;
}

impl<T: Words> Key<T> {
    /// One of the words of `T`.
    #[must_use]
    pub const fn word(name: &'static str) -> Key<T> {
        let takes = Takes::Word(|| T::WORDS.iter().map(|word| (word.name, word.text)).collect());
        Key { about: About { name, takes, missing: Missing::Nothing, text: "", names: NamedBy::Nothing }, read: word }
    }
}

impl<T> Key<T> {
    /// A text of the form that `form` names, of which `read` makes something.
    #[must_use]
    pub const fn form(
        name: &'static str,
        form: &'static str,
        read: fn(&Section, &About) -> Result<Option<T>, BadInput>,
    ) -> Key<T> {
        Key {
            about: About {
                name,
                takes: Takes::Form(form),
                missing: Missing::Nothing,
                text: "",
                names: NamedBy::Nothing,
            },
            read,
        }
    }

    /// It must be given.
    #[must_use]
    pub const fn required(mut self) -> Key<T> {
        self.about.missing = Missing::Refused;
        self
    }

    /// Where it is missing this value stands for it, as a file would have it.
    #[must_use]
    pub const fn usually(mut self, value: &'static str) -> Key<T> {
        self.about.missing = Missing::Value(value);
        self
    }

    /// Where it is missing, what these words say.
    #[must_use]
    pub const fn else_told(mut self, words: &'static str) -> Key<T> {
        self.about.missing = Missing::Told(words);
        self
    }

    /// Its text may be the path of a file.
    #[must_use]
    pub const fn naming(mut self, names: NamedBy) -> Key<T> {
        self.about.names = names;
        self
    }

    /// What it is for.
    #[must_use]
    pub const fn about(mut self, text: &'static str) -> Key<T> {
        self.about.text = text;
        self
    }

    /// The key as a file spells it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.about.name
    }
}

impl Section<'_> {
    /// The value of a key, if it is there.
    ///
    /// # Errors
    /// When the key takes something else.
    pub fn get<T>(&self, key: &Key<T>) -> Result<Option<T>, BadInput> {
        (key.read)(self, &key.about)
    }

    /// The value of a key that must be there, or that has a usual value.
    ///
    /// # Errors
    /// When the key takes something else, or must be given and is not there.
    ///
    /// # Panics
    /// When the declared usual value is none that the key takes.
    pub fn value<T>(&self, key: &Key<T>) -> Result<T, BadInput> {
        match (self.get(key)?, key.about.missing) {
            (Some(value), _) => Ok(value),
            (None, Missing::Value(text)) => Ok(key.usual(text)),
            (None, _) => self.need(key.about.name, None),
        }
    }
}

impl<T> Key<T> {
    /// What a declared usual value is read as.
    fn usual(&self, text: &'static str) -> T {
        let document = Document::of_one(self.about.name, text);
        let value = (self.read)(&document.root(), &self.about);
        let value = value.unwrap_or_else(|error| panic!("the usual `{}`: {error}", self.about.name));
        value.unwrap_or_else(|| panic!("the usual `{}` is not read", self.about.name))
    }
}

fn whole(section: &Section, about: &About) -> Result<Option<u64>, BadInput> {
    let Takes::Whole(least, most) = about.takes else { return section.u64(about.name) };
    let mend = match most {
        u64::MAX => format!("give a whole number, {least} or more"),
        _ => format!("give a whole number from {least} to {most}"),
    };
    section.check(about.name, section.u64(about.name)?, |number| (least..=most).contains(number), &mend)
}

fn within(section: &Section, about: &About) -> Result<Option<u32>, BadInput> {
    let Takes::Whole(least, most) = about.takes else { return Ok(None) };
    section.within(about.name, least as u32, most as u32)
}

fn number(section: &Section, about: &About) -> Result<Option<f64>, BadInput> {
    let Takes::Number(least, most) = about.takes else { return section.f64(about.name) };
    let mend = match (least, most) {
        (0.0, f64::MAX) => "give a number, zero or more".to_string(),
        (f64::MIN_POSITIVE, f64::MAX) => "give a number above 0".to_string(),
        (_, f64::MAX) => format!("give a number from {least} on"),
        _ => format!("give a number from {least} to {most}"),
    };
    let value = section.f64(about.name)?;
    if let Some(value) = value.filter(|value| least == 0.0 && *value < 0.0) {
        return Err(section.error(about.name, format!("`{}` is negative: {value}", about.name), mend));
    }
    section.check(about.name, value, |number| (least..=most).contains(number), &mend)
}

fn blocks(section: &Section, about: &About) -> Result<Option<u32>, BadInput> {
    let Some(blocks) = section.size(about.name)? else { return Ok(None) };
    let bad = |what, mend: &str| Err(section.error(about.name, format!("`{}` is {what}", about.name), mend));
    match u32::try_from(blocks) {
        Ok(0) => bad("zero", "give at least one block of 512 bytes"),
        Ok(blocks) => Ok(Some(blocks)),
        Err(_) => bad("2 TiB or more", "give a smaller one"),
    }
}

fn bool_or(section: &Section, about: &About) -> Result<Option<Option<bool>>, BadInput> {
    let Takes::BoolOr(word) = about.takes else { return Ok(None) };
    section.bool_or(about.name, word)
}

fn span_or(section: &Section, about: &About) -> Result<Option<Option<Span>>, BadInput> {
    let Takes::TimeOr(word) = about.takes else { return Ok(None) };
    section.quantity(about.name, |text| if text == word { Ok(None) } else { units::span(text).map(Some) })
}

fn times_or(section: &Section, about: &About) -> Result<Option<Option<Vec<Span>>>, BadInput> {
    let Takes::TimesOr(word) = about.takes else { return Ok(None) };
    if section.is_word(about.name, word) {
        return Ok(Some(None));
    }
    section.spans(about.name).map(|spans| spans.map(Some))
}

fn size_or(section: &Section, about: &About) -> Result<Option<Option<u64>>, BadInput> {
    let Takes::SizeOr(word) = about.takes else { return Ok(None) };
    section.quantity(about.name, |text| if text == word { Ok(None) } else { units::blocks(text).map(Some) })
}

fn one_of(section: &Section, about: &About) -> Result<Option<&'static str>, BadInput> {
    let Takes::Word(words) = about.takes else { return Ok(None) };
    let words: Vec<_> = words().into_iter().map(|(word, _)| (word, word)).collect();
    section.choice(about.name, &words)
}

fn word<T: Words>(section: &Section, about: &About) -> Result<Option<T>, BadInput> {
    let words: Vec<(&str, T)> = T::WORDS.iter().map(|word| (word.name, word.value)).collect();
    section.choice(about.name, &words)
}
