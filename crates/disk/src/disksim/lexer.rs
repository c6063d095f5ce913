//! Words and signs of DiskSim's parameter language, with the files they `source` read in place.

use super::files;
use block::{At, BadInput};
use std::path::{Path, PathBuf};

/// Files included one in the other, at most.
const DEPTH: usize = 32;
/// Files included in all, at most.
const FILES: usize = 1024;
/// Bytes read in all, at most.
const BYTES: u64 = 64 << 20;

/// Where a token stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// Index of the file.
    pub(crate) file: u32,
    /// Line of the file, counted from 1.
    pub(crate) line: u32,
}

/// A word or a sign.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    /// Characters up to a blank or a sign.
    Word(String),
    /// One of `; { } [ ] , : ? =`.
    Sign(u8),
    /// The range sign, `..`.
    Range,
    /// The last file has been read to its end.
    End,
}

#[derive(Debug)]
struct Source {
    path: PathBuf,
    text: Vec<u8>,
    at: usize,
    place: Place,
}

/// Reads tokens, one ahead.
#[derive(Debug)]
pub(crate) struct Lexer {
    stack: Vec<Source>,
    /// Names of all files as messages show them.
    files: Vec<String>,
    bytes: u64,
    ahead: Option<(Token, Place)>,
    last: Place,
}

impl Lexer {
    /// Reads a file and what it sources.
    pub(crate) fn open(path: &Path) -> Result<Lexer, BadInput> {
        let mut lexer = Lexer::empty();
        lexer.include(path, None)?;
        Ok(lexer)
    }

    /// Reads a text shown as `name`; files it sources are looked for beside `beside`.
    pub(crate) fn text(name: &str, text: &[u8], beside: &Path) -> Lexer {
        let mut lexer = Lexer::empty();
        lexer.files.push(name.to_owned());
        let place = Place { file: 0, line: 1 };
        lexer.stack.push(Source { path: beside.join(name), text: text.to_vec(), at: 0, place });
        lexer
    }

    fn empty() -> Lexer {
        Lexer { stack: Vec::new(), files: Vec::new(), bytes: 0, ahead: None, last: Place::default() }
    }

    /// The next token and where it stands; it stays the next.
    pub(crate) fn peek(&mut self) -> Result<&Token, BadInput> {
        if self.ahead.is_none() {
            self.ahead = Some(self.read()?);
        }
        Ok(self.ahead.as_ref().map_or(&Token::End, |(token, _)| token))
    }

    /// Reads the next token, across files that are included.
    pub(crate) fn next(&mut self) -> Result<Token, BadInput> {
        let (token, place) = match self.ahead.take() {
            Some(ahead) => ahead,
            None => self.read()?,
        };
        self.last = place;
        Ok(token)
    }

    /// Where the token that `next` gave last stands.
    pub(crate) fn place(&self) -> Place {
        self.last
    }

    /// The name of the file of a place.
    pub(crate) fn file(&self, place: Place) -> &str {
        self.files.get(place.file as usize).map_or("", String::as_str)
    }

    /// Names of all files read.
    pub(crate) fn into_files(self) -> Vec<String> {
        self.files
    }

    /// An error at a place.
    pub(crate) fn error(&self, place: Place, what: impl Into<String>, mend: impl Into<String>) -> BadInput {
        BadInput::new(self.file(place), At::Line(u64::from(place.line.max(1))), what, mend)
    }

    fn include(&mut self, path: &Path, from: Option<Place>) -> Result<(), BadInput> {
        let shown = path.display().to_string();
        let bad = |lexer: &Lexer, what: String, mend: &str| match from {
            Some(place) => lexer.error(place, what, mend),
            None => BadInput::new(shown.clone(), At::File, what, mend),
        };
        if self.stack.iter().any(|source| same(&source.path, path)) {
            return Err(bad(self, format!("'{shown}' sources itself"), "take this `source` out"));
        }
        if self.stack.len() >= DEPTH || self.files.len() >= FILES {
            return Err(bad(self, format!("more than {DEPTH} files deep, or {FILES} in all"), "source fewer files"));
        }
        let text = files::read(path, BYTES).map_err(|error| {
            if from.is_none() {
                return bad(self, format!("cannot be read: {error}"), "check the name");
            }
            let mend = "check the name; files are looked for beside the one that sources them";
            bad(self, format!("'{shown}' cannot be read: {error}"), mend)
        })?;
        self.bytes = self.bytes.saturating_add(text.len() as u64);
        if self.bytes > BYTES {
            let what = format!("more than {} MiB of parameters", BYTES >> 20);
            return Err(bad(self, what, "name the file of one drive"));
        }
        let place = Place { file: self.files.len() as u32, line: 1 };
        self.files.push(shown);
        self.stack.push(Source { path: path.to_owned(), text, at: 0, place });
        Ok(())
    }

    fn read(&mut self) -> Result<(Token, Place), BadInput> {
        loop {
            let Some(source) = self.stack.last_mut() else { return Ok((Token::End, self.last)) };
            let Some((token, place)) = source.token() else {
                self.stack.pop();
                continue;
            };
            if token != Token::Word("source".into()) {
                return Ok((token, place));
            }
            let Some((Token::Word(name), place)) = source.token() else {
                return Err(self.error(place, "`source` names no file", "write source FILE"));
            };
            let path = source.path.parent().unwrap_or(Path::new("")).join(name);
            self.include(&path, Some(place))?;
        }
    }
}

/// Whether two paths name one file.
fn same(a: &Path, b: &Path) -> bool {
    a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

impl Source {
    fn token(&mut self) -> Option<(Token, Place)> {
        while let Some(byte) = self.text.get(self.at) {
            match byte {
                b'#' => self.at += self.text[self.at..].iter().take_while(|byte| **byte != b'\n').count(),
                b'\n' => (self.at, self.place.line) = (self.at + 1, self.place.line + 1),
                byte if byte.is_ascii_whitespace() => self.at += 1,
                _ => break,
            }
        }
        let rest = self.text.get(self.at..).filter(|rest| !rest.is_empty())?;
        let (token, length) = if is_sign(rest[0]) {
            (Token::Sign(rest[0]), 1)
        } else {
            let length = rest.iter().take_while(|byte| !is_sign(**byte) && !byte.is_ascii_whitespace()).count();
            let word = &rest[..length];
            (if word == b".." { Token::Range } else { Token::Word(String::from_utf8_lossy(word).into_owned()) }, length)
        };
        self.at += length;
        Some((token, self.place))
    }
}

fn is_sign(byte: u8) -> bool {
    b";{}[],:?=".contains(&byte)
}
