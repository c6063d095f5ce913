//! DiskSim's parameter language (libparam): blocks of named values, blocks that inherit from earlier ones, lists.
//!
//! ```text
//! file   := { TYPE NAME '{' params '}' | 'instantiate' list 'as' NAME | 'topology' topo }
//! params := [ assign { ',' assign } ]          assign := NAME WORDS '=' value
//! value  := number | word | list | TYPE [NAME] '{' params '}' | topo
//! list   := '[' [ value { ',' value } ] ']'    topo := TYPE NAME list
//! ```

use super::lexer::{Lexer, Place, Token};
use block::BadInput;

/// Blocks and lists within one another, at most.
const DEPTH: usize = 64;
/// Values in all, at most.
const VALUES: usize = 1 << 22;

/// What a parameter is set to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// A number.
    Number(f64),
    /// A word that is no number.
    Word(String),
    /// A list.
    List(Vec<Value>),
    /// A block.
    Block(Block),
}

/// A parameter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Param {
    pub(crate) name: String,
    pub(crate) value: Value,
    pub(crate) place: Place,
}

/// A block: its type, and its parameters in the order of the file; of those set twice the later counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Block {
    pub(crate) kind: String,
    pub(crate) name: Option<String>,
    pub(crate) params: Vec<Param>,
    pub(crate) place: Place,
}

impl Block {
    /// The parameter of this name.
    pub(crate) fn find(&self, name: &str) -> Option<&Param> {
        self.params.iter().rev().find(|param| param.name == name)
    }
}

/// What a file holds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parsed {
    /// The blocks at its top.
    pub(crate) blocks: Vec<Block>,
    /// What `instantiate` instantiates.
    pub(crate) instances: Vec<String>,
    /// Names of all files read.
    pub(crate) files: Vec<String>,
}

/// Reads all a lexer gives.
pub(crate) fn parse(lexer: Lexer) -> Result<Parsed, BadInput> {
    let mut parser = Parser { lexer, parsed: Parsed::default(), weights: Vec::new(), values: 0 };
    parser.file()?;
    let Parser { lexer, mut parsed, .. } = parser;
    parsed.files = lexer.into_files();
    Ok(parsed)
}

struct Parser {
    lexer: Lexer,
    parsed: Parsed,
    /// Values in each block at the top.
    weights: Vec<usize>,
    values: usize,
}

impl Parser {
    fn file(&mut self) -> Result<(), BadInput> {
        loop {
            match self.lexer.next()? {
                Token::End => return Ok(()),
                Token::Sign(b',' | b';') => {}
                Token::Word(word) if word == "instantiate" => self.instantiate()?,
                Token::Word(word) if word == "topology" => {
                    let kind = self.word("the type of a component")?;
                    self.component(&kind, 0)?;
                }
                Token::Word(kind) => {
                    let before = self.values;
                    let block = self.block(kind, 0)?;
                    self.parsed.blocks.push(block);
                    self.weights.push(self.values - before);
                }
                other => return Err(self.unexpected(&other, "the type of a block")),
            }
        }
    }

    fn instantiate(&mut self) -> Result<(), BadInput> {
        self.sign(b'[')?;
        self.list(0)?;
        let word = self.word("`as`")?;
        if word != "as" {
            return Err(self.unexpected(&Token::Word(word), "`as`"));
        }
        let name = self.word("the name of a block")?;
        self.parsed.instances.push(name);
        Ok(())
    }

    /// A component of the topology, after its type: its name and those below it. What is where is of no use here.
    fn component(&mut self, _: &str, depth: usize) -> Result<(), BadInput> {
        self.word("the name of a component")?;
        self.sign(b'[')?;
        self.list(depth)?;
        Ok(())
    }

    /// A block after its type: its name, if it has one, and its parameters.
    fn block(&mut self, kind: String, depth: usize) -> Result<Block, BadInput> {
        let place = self.lexer.place();
        let mut block = Block { kind, place, ..Block::default() };
        match self.lexer.next()? {
            Token::Sign(b'{') => {}
            Token::Word(name) => {
                block.name = Some(name);
                self.sign(b'{')?;
            }
            other => return Err(self.unexpected(&other, "'{'")),
        }
        if let Some(i) = self.parsed.blocks.iter().position(|base| base.name.as_ref() == Some(&block.kind)) {
            self.more(self.weights[i])?;
            let base = &self.parsed.blocks[i];
            (block.kind, block.params) = (base.kind.clone(), base.params.clone());
        }
        loop {
            match self.lexer.next()? {
                Token::Sign(b'}') => return Ok(block),
                Token::Sign(b',' | b';') => {}
                Token::Word(word) => {
                    let param = self.assign(word, depth)?;
                    block.params.push(param);
                }
                Token::End => {
                    let what = format!("the block '{}' does not end", block.name.as_deref().unwrap_or(&block.kind));
                    return Err(self.lexer.error(block.place, what, "close it with '}'; is the file cut off?"));
                }
                other => return Err(self.unexpected(&other, "the name of a parameter, or '}'")),
            }
        }
    }

    fn assign(&mut self, mut name: String, depth: usize) -> Result<Param, BadInput> {
        let place = self.lexer.place();
        loop {
            match self.lexer.next()? {
                Token::Sign(b'=') => break,
                Token::Word(word) if name.len() < 1024 => {
                    name.push(' ');
                    name += &word;
                }
                other => return Err(self.unexpected(&other, &format!("'=' after `{}`", shortened(&name)))),
            }
        }
        let value = self.value(depth)?;
        Ok(Param { name, value, place })
    }

    /// So many more values.
    fn more(&mut self, values: usize) -> Result<(), BadInput> {
        self.values += values;
        if self.values <= VALUES {
            return Ok(());
        }
        let what = format!("more than {VALUES} values, those inherited counted again");
        Err(self.lexer.error(self.lexer.place(), what, "name the file of one drive"))
    }

    fn value(&mut self, depth: usize) -> Result<Value, BadInput> {
        self.more(1)?;
        if depth >= DEPTH {
            let what = format!("more than {DEPTH} blocks and lists within one another");
            return Err(self.lexer.error(self.lexer.place(), what, "see whether a '}' or ']' is missing"));
        }
        match self.lexer.next()? {
            Token::Sign(b'[') => Ok(Value::List(self.list(depth + 1)?)),
            Token::Word(word) => match self.lexer.peek()? {
                Token::Sign(b'{') => Ok(Value::Block(self.block(word, depth + 1)?)),
                Token::Word(_) => self.named(word, depth + 1),
                _ => Ok(number(&word).map_or(Value::Word(word), Value::Number)),
            },
            other => Err(self.unexpected(&other, "a value")),
        }
    }

    /// A block or a component that has a name.
    fn named(&mut self, kind: String, depth: usize) -> Result<Value, BadInput> {
        let place = self.lexer.place();
        let name = self.word("a name")?;
        match self.lexer.peek()? {
            Token::Sign(b'{') => {
                let block = self.block(kind, depth)?;
                Ok(Value::Block(Block { name: Some(name), place, ..block }))
            }
            Token::Sign(b'[') => {
                self.lexer.next()?;
                Ok(Value::List(self.list(depth)?))
            }
            _ => Err(self.lexer.error(
                place,
                format!("a value of two words, `{} {}`", shortened(&kind), shortened(&name)),
                "a value is one word, a number, a list or a block; is there a ',' missing?",
            )),
        }
    }

    /// A list after its '['.
    fn list(&mut self, depth: usize) -> Result<Vec<Value>, BadInput> {
        let place = self.lexer.place();
        let mut values = Vec::new();
        loop {
            match self.lexer.peek()? {
                Token::Sign(b']') => {
                    self.lexer.next()?;
                    return Ok(values);
                }
                Token::Sign(b',' | b';') | Token::Range => {
                    self.lexer.next()?;
                }
                Token::End => return Err(self.lexer.error(place, "the list does not end", "close it with ']'")),
                _ => values.push(self.value(depth)?),
            }
        }
    }

    fn word(&mut self, wanted: &str) -> Result<String, BadInput> {
        match self.lexer.next()? {
            Token::Word(word) => Ok(word),
            other => Err(self.unexpected(&other, wanted)),
        }
    }

    fn sign(&mut self, sign: u8) -> Result<(), BadInput> {
        match self.lexer.next()? {
            Token::Sign(found) if found == sign => Ok(()),
            other => Err(self.unexpected(&other, &format!("'{}'", char::from(sign)))),
        }
    }

    fn unexpected(&self, found: &Token, wanted: &str) -> BadInput {
        let found = match found {
            Token::Word(word) => format!("`{}`", shortened(word)),
            Token::Sign(sign) => format!("'{}'", char::from(*sign)),
            Token::Range => "'..'".into(),
            Token::End => "the end".into(),
        };
        let mend = "see whether a ',', '=' or '}' is missing before it, or the file is cut off";
        self.lexer.error(self.lexer.place(), format!("{found} where {wanted} should be"), mend)
    }
}

/// A word short enough for a message.
fn shortened(word: &str) -> String {
    let mut short: String = word.chars().take(40).collect();
    if short.len() < word.len() {
        short.push('…');
    }
    short
}

/// The number a word stands for: whole, hexadecimal, or with digits on both sides of the point.
fn number(word: &str) -> Option<f64> {
    let (sign, digits) = word.strip_prefix('-').map_or((1.0, word), |rest| (-1.0, rest));
    if let Some(hexadecimal) = digits.strip_prefix("0x") {
        return u64::from_str_radix(hexadecimal, 16).ok().map(|value| sign * value as f64);
    }
    let (mantissa, _) = digits.split_once(['e', 'E']).unwrap_or((digits, ""));
    let plain = !mantissa.is_empty() && mantissa.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let value: f64 = if plain { digits.parse().ok()? } else { return None };
    value.is_finite().then_some(sign * value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn parsed(text: &str) -> Result<Parsed, String> {
        parse(Lexer::text("a.parv", text.as_bytes(), Path::new("."))).map_err(|error| error.to_string())
    }

    #[test]
    fn a_block_inherits_and_overrides() {
        let parsed = parsed("disk A { Max queue length = 1, Sizes = [ 1, 0x10, -2.5, x ] } # c\nA B { Max queue length = 8, Q = queue { a = b } }\ninstantiate [ d0 .. d2 ] as B\ntopology driver x [ bus y [] ]\n").unwrap();
        let [_, b] = &parsed.blocks[..] else { panic!("{parsed:?}") };
        assert_eq!((b.kind.as_str(), b.name.as_deref()), ("disk", Some("B")));
        assert_eq!(b.find("Max queue length").unwrap().value, Value::Number(8.0));
        let sizes = vec![Value::Number(1.0), Value::Number(16.0), Value::Number(-2.5), Value::Word("x".into())];
        assert_eq!(b.find("Sizes").unwrap().value, Value::List(sizes));
        assert!(matches!(&b.find("Q").unwrap().value, Value::Block(block) if block.kind == "queue"));
        assert_eq!((b.find("Q").unwrap().place.line, parsed.instances), (2, vec!["B".to_owned()]));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (text, expected) in [
            ("disk A { a = 1,\n b 2 }", "a.parv:2: '}' where '=' after `b 2` should be"),
            ("disk A {\n a = 1", "a.parv:1: the block 'A' does not end"),
            ("disk A { a = [1, 2", "a.parv:1: the list does not end"),
            ("disk A { a = b c }", "a.parv:1: a value of two words, `b c`"),
            ("{", "a.parv:1: '{' where the type of a block should be"),
            ("disk A { a = source nowhere.model }", "a.parv:1: './nowhere.model' cannot be read"),
        ] {
            let error = parsed(text).unwrap_err();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
        assert!(parsed(&format!("disk A {{ a = {} }}", "[".repeat(100_000))).is_err());
    }
}
