//! DiskSim's parameter language (libparam): blocks of named values, blocks that inherit from earlier ones, lists.
//!
//! ```text
//! file   := { TYPE NAME '{' params '}' | 'instantiate' list 'as' NAME | 'topology' topo }
//! params := [ assign { ',' assign } ]          assign := (NAME WORDS | list) '=' value
//! value  := number | word | list | TYPE [NAME] '{' params '}' | topo
//! list   := '[' [ item { ',' item } ] ']'      item := value | word '..' word      topo := TYPE NAME list
//! ```

use super::lexer::{Lexer, Place, Token};
use block::BadInput;
use std::collections::BTreeMap;

/// Blocks and lists within one another, at most.
const DEPTH: usize = 64;
/// Values in all, at most; names and words count as one more for every [`WORD`] bytes.
const VALUES: usize = 1 << 22;
/// Bytes of a name or word that count as one value; see [`VALUES`].
const WORD: usize = 32;

/// What a parameter is set to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ParamValue {
    /// A number, an integer or not.
    Number(f64),
    /// A word that is no number.
    Word(String),
    /// Values in brackets, in their order.
    List(Vec<ParamValue>),
    /// Parameters in braces, behind the word that says of what kind.
    Block(Block),
    /// A component of the topology.
    Component(Component),
}

/// A component of the topology and those below it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Component {
    pub(crate) name: String,
    pub(crate) below: Vec<ParamValue>,
}

/// A parameter with its value and the place it stands at.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Param {
    pub(crate) name: String,
    pub(crate) value: ParamValue,
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
    /// What `instantiate` makes: the block of which name by the name of the instance.
    pub(crate) instances: BTreeMap<String, String>,
    /// The roots of the topology.
    pub(crate) topology: Vec<Component>,
    /// Names of all files read.
    pub(crate) files: Vec<String>,
    /// What a reader should know.
    pub(crate) warnings: Vec<String>,
}

/// Reads all a lexer gives.
pub(crate) fn parse(lexer: Lexer) -> Result<Parsed, BadInput> {
    let mut parser = Parser { lexer, parsed: Parsed::default(), names: BTreeMap::new(), values: 0 };
    parser.file()?;
    let Parser { lexer, mut parsed, .. } = parser;
    parsed.files = lexer.into_files();
    Ok(parsed)
}

struct Parser {
    lexer: Lexer,
    parsed: Parsed,
    /// Blocks at the top by name: which one, and how many values are in it.
    names: BTreeMap<String, (usize, usize)>,
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
                    self.word("the type of a component")?;
                    let name = self.word("the name of a component")?;
                    self.sign(b'[')?;
                    let below = self.list(0)?;
                    self.parsed.topology.push(Component { name, below });
                }
                Token::Word(kind) => {
                    let before = self.values;
                    let block = self.block(kind, 0)?;
                    self.more(1)?;
                    self.define(block, before);
                }
                other => return Err(self.unexpected_token(&other, "the type of a block")),
            }
        }
    }

    /// Keeps a block, unless there is one of its name.
    fn define(&mut self, block: Block, before: usize) {
        if let Some(name) = &block.name {
            if self.names.contains_key(name) {
                let (file, line) = (self.lexer.file(block.place), block.place.line);
                let warning = format!("{file}:{line}: there is a '{}' already: the first counts", shorten_word(name));
                return self.parsed.warnings.push(warning);
            }
            self.names.insert(name.clone(), (self.parsed.blocks.len(), self.values - before));
        }
        self.parsed.blocks.push(block);
    }

    fn instantiate(&mut self) -> Result<(), BadInput> {
        self.sign(b'[')?;
        let names = self.list(0)?;
        let word = self.word("`as`")?;
        if word != "as" {
            return Err(self.unexpected_token(&Token::Word(word), "`as`"));
        }
        let of = self.word("the name of a block")?;
        for name in names {
            let ParamValue::Word(name) = name else {
                let what = "an instance has no name";
                return Err(self.lexer.error(self.lexer.place(), what, "write instantiate [ names ] as BLOCK"));
            };
            self.cost(of.len())?;
            self.parsed.instances.insert(name, of.clone());
        }
        Ok(())
    }

    /// A block after its type: its name, if it has one, and its parameters.
    fn block(&mut self, kind: String, depth: usize) -> Result<Block, BadInput> {
        let place = self.lexer.place();
        let mut block = Block { kind, place, ..Block::default() };
        self.cost(block.kind.len())?;
        match self.lexer.next()? {
            Token::Sign(b'{') => {}
            Token::Word(name) => {
                self.cost(name.len())?;
                block.name = Some(name);
                self.sign(b'{')?;
            }
            other => return Err(self.unexpected_token(&other, "'{'")),
        }
        if let Some(&(i, weight)) = self.names.get(&block.kind) {
            self.more(weight)?;
            let base = &self.parsed.blocks[i];
            (block.kind, block.params) = (base.kind.clone(), base.params.clone());
        }
        loop {
            match self.lexer.next()? {
                Token::Sign(b'}') => return Ok(block),
                Token::Sign(b',' | b';') => {}
                Token::Sign(b'[') => self.assign_all(&mut block, depth)?,
                Token::Word(word) => {
                    let param = self.assign(word, depth)?;
                    block.params.push(param);
                }
                Token::End => {
                    let what = format!("the block '{}' does not end", block.name.as_deref().unwrap_or(&block.kind));
                    return Err(self.lexer.error(block.place, what, "close it with '}'; is the file cut off?"));
                }
                other => return Err(self.unexpected_token(&other, "the name of a parameter, or '}'")),
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
                other => return Err(self.unexpected_token(&other, &format!("'=' after `{}`", shorten_word(&name)))),
            }
        }
        self.cost(name.len())?;
        let value = self.value(depth)?;
        Ok(Param { name, value, place })
    }

    /// One value for all names of a list, after its '['.
    fn assign_all(&mut self, block: &mut Block, depth: usize) -> Result<(), BadInput> {
        let place = self.lexer.place();
        let names = self.list(depth + 1)?;
        self.sign(b'=')?;
        let before = self.values;
        let value = self.value(depth)?;
        let weight = self.values - before;
        for name in names {
            let ParamValue::Word(name) = name else {
                let what = "a value is given to what is no name";
                return Err(self.lexer.error(place, what, "write [ names ] = value"));
            };
            self.more(weight)?;
            block.params.push(Param { name, value: value.clone(), place });
        }
        Ok(())
    }

    /// So many more bytes of names and words.
    fn cost(&mut self, bytes: usize) -> Result<(), BadInput> {
        self.more(bytes / WORD)
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

    fn value(&mut self, depth: usize) -> Result<ParamValue, BadInput> {
        self.more(1)?;
        if depth >= DEPTH {
            let what = format!("more than {DEPTH} blocks and lists within one another");
            return Err(self.lexer.error(self.lexer.place(), what, "see whether a '}' or ']' is missing"));
        }
        match self.lexer.next()? {
            Token::Sign(b'[') => Ok(ParamValue::List(self.list(depth + 1)?)),
            Token::Word(word) => match self.lexer.peek()? {
                Token::Sign(b'{') => Ok(ParamValue::Block(self.block(word, depth + 1)?)),
                Token::Word(_) => self.named_block(word, depth + 1),
                _ => {
                    self.cost(word.len())?;
                    Ok(number(&word).map_or(ParamValue::Word(word), ParamValue::Number))
                }
            },
            other => Err(self.unexpected_token(&other, "a value")),
        }
    }

    /// A block or a component that has a name.
    fn named_block(&mut self, kind: String, depth: usize) -> Result<ParamValue, BadInput> {
        let place = self.lexer.place();
        let name = self.word("a name")?;
        match self.lexer.peek()? {
            Token::Sign(b'{') => {
                let block = self.block(kind, depth)?;
                Ok(ParamValue::Block(Block { name: Some(name), place, ..block }))
            }
            Token::Sign(b'[') => {
                self.lexer.next()?;
                self.cost(name.len())?;
                Ok(ParamValue::Component(Component { name, below: self.list(depth)? }))
            }
            _ => Err(self.lexer.error(
                place,
                format!("a value of two words, `{} {}`", shorten_word(&kind), shorten_word(&name)),
                "a value is one word, a number, a list or a block; is there a ',' missing?",
            )),
        }
    }

    /// A list after its '['.
    fn list(&mut self, depth: usize) -> Result<Vec<ParamValue>, BadInput> {
        let place = self.lexer.place();
        let mut values = Vec::new();
        loop {
            match self.lexer.peek()? {
                Token::Sign(b']') => {
                    self.lexer.next()?;
                    return Ok(values);
                }
                Token::Sign(b',' | b';') => {
                    self.lexer.next()?;
                }
                Token::Range => self.range(&mut values)?,
                Token::End => return Err(self.lexer.error(place, "the list does not end", "close it with ']'")),
                _ => values.push(self.value(depth)?),
            }
        }
    }

    /// The words from the last of the list to the one after '..': a1 .. a3 is a1, a2, a3.
    fn range(&mut self, values: &mut Vec<ParamValue>) -> Result<(), BadInput> {
        self.lexer.next()?;
        let last = self.word("the end of a range")?;
        let bounds = match values.pop() {
            Some(ParamValue::Word(first)) => split_number(&first).zip(split_number(&last)),
            _ => None,
        };
        let Some(((name, from), (_, to))) = bounds.filter(|(first, last)| first.0 == last.0 && first.1 <= last.1)
        else {
            let what = format!("'..' up to `{}` is no range", shorten_word(&last));
            return Err(self.lexer.error(
                self.lexer.place(),
                what,
                "write name0 .. name9: one name, numbers ascending",
            ));
        };
        let number = to.abs_diff(from).saturating_add(1).min(VALUES as u64 + 1) as usize;
        self.more(number.saturating_mul(1 + name.len() / WORD))?;
        values.extend((from..=to).map(|i| ParamValue::Word(format!("{name}{i}"))));
        Ok(())
    }

    fn word(&mut self, wanted: &str) -> Result<String, BadInput> {
        match self.lexer.next()? {
            Token::Word(word) => Ok(word),
            other => Err(self.unexpected_token(&other, wanted)),
        }
    }

    fn sign(&mut self, sign: u8) -> Result<(), BadInput> {
        match self.lexer.next()? {
            Token::Sign(found) if found == sign => Ok(()),
            other => Err(self.unexpected_token(&other, &format!("'{}'", char::from(sign)))),
        }
    }

    fn unexpected_token(&self, found: &Token, wanted: &str) -> BadInput {
        let found = match found {
            Token::Word(word) => format!("`{}`", shorten_word(word)),
            Token::Sign(sign) => format!("'{}'", char::from(*sign)),
            Token::Range => "'..'".into(),
            Token::End => "the end".into(),
        };
        // Where not one value has been read, it is hardly such a file at all.
        let mend = match self.values {
            0 => {
                "a file of DiskSim's parameters begins with a block: `disksim_disk NAME { … }`; see whether this is one"
            }
            _ => "see whether a ',', '=' or '}' is missing before it, or the file is cut off",
        };
        self.lexer.error(self.lexer.place(), format!("{found} where {wanted} should be"), mend)
    }
}

/// A word short enough for a message.
fn shorten_word(word: &str) -> String {
    let mut short: String = word.chars().take(40).collect();
    if short.len() < word.len() {
        short.push('…');
    }
    short
}

/// A name that ends in a number: both.
fn split_number(word: &str) -> Option<(String, u64)> {
    let name = word.trim_end_matches(|c: char| c.is_ascii_digit());
    Some((name.to_owned(), word[name.len()..].parse().ok()?)).filter(|_| !name.is_empty())
}

/// The number a word stands for: whole, hexadecimal, or with digits on both sides of the point and a sign in the
/// exponent if it has one. What DiskSim takes for a word (`.5`, `1e5`) is one here.
fn number(word: &str) -> Option<f64> {
    let (sign, digits) = word.strip_prefix('-').map_or((1.0, word), |rest| (-1.0, rest));
    if let Some(hexadecimal) = digits.strip_prefix("0x") {
        let all_digits = hexadecimal.bytes().all(|byte| byte.is_ascii_hexdigit());
        return u64::from_str_radix(hexadecimal, 16).ok().filter(|_| all_digits).map(|value| sign * value as f64);
    }
    let plain = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_number = match digits.split_once('.') {
        None => plain(digits),
        Some((whole, rest)) => {
            let (part, exponent) = rest.split_once('e').map_or((rest, None), |(part, e)| (part, Some(e)));
            plain(whole) && plain(part) && exponent.is_none_or(|e| e.strip_prefix(['+', '-']).is_some_and(plain))
        }
    };
    let value: f64 = if is_number { digits.parse().ok()? } else { return None };
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
        assert_eq!(b.find("Max queue length").unwrap().value, ParamValue::Number(8.0));
        let sizes = vec![
            ParamValue::Number(1.0),
            ParamValue::Number(16.0),
            ParamValue::Number(-2.5),
            ParamValue::Word("x".into()),
        ];
        assert_eq!(b.find("Sizes").unwrap().value, ParamValue::List(sizes));
        assert!(matches!(&b.find("Q").unwrap().value, ParamValue::Block(block) if block.kind == "queue"));
        let instances: BTreeMap<String, String> = (0..3).map(|i| (format!("d{i}"), "B".to_owned())).collect();
        assert_eq!((b.find("Q").unwrap().place.line, parsed.instances), (2, instances));
    }

    #[test]
    fn words_and_numbers_are_what_disksim_takes_them_for() {
        for (word, value) in [("7", 7.0), ("-0x1f", -31.0), ("-2.5", -2.5), ("1.5e-3", 0.0015), ("1.0e+2", 100.0)] {
            assert_eq!(number(word), Some(value), "{word}");
        }
        for word in
            [".5", "5.", "1e5", "1.5e5", "1.5E+5", "0X10", "0x", "0x+1", "+5", "-", "--5", "1.2.3", "inf", "NaN"]
        {
            assert_eq!(number(word), None, "{word}");
        }
    }

    #[test]
    fn a_list_may_be_a_range_and_may_stand_for_several_names() {
        let parsed =
            parsed("disk A { [ x, y1 .. y3 ] = [ d9 .. d11 ], z = 1 }\ntopology drv t [ bus b [ disk d9 [] ] ]");
        let parsed = parsed.unwrap();
        let names: Vec<&str> = parsed.blocks[0].params.iter().map(|param| param.name.as_str()).collect();
        assert_eq!(names, ["x", "y1", "y2", "y3", "z"]);
        let list = ["d9", "d10", "d11"].map(|word| ParamValue::Word(word.into())).to_vec();
        assert_eq!(parsed.blocks[0].find("y2").unwrap().value, ParamValue::List(list));
        let ParamValue::Component(bus) = &parsed.topology[0].below[0] else { panic!("{parsed:?}") };
        assert_eq!((parsed.topology[0].name.as_str(), bus.name.as_str(), bus.below.len()), ("t", "b", 1));
    }

    #[test]
    fn of_two_blocks_of_a_name_the_first_counts() {
        let parsed = parsed("disk A { a = 1 }\ndisk A { a = 2 }\n").unwrap();
        assert_eq!(parsed.blocks.len(), 1);
        assert_eq!(parsed.warnings, ["a.parv:2: there is a 'A' already: the first counts"]);
    }

    #[test]
    fn what_would_grow_without_bound_is_told() {
        let long = "x".repeat(1 << 20);
        let many: String = (0..1000).map(|i| format!("A B{i} {{}}\n")).collect();
        for text in [
            format!("disk A {{ a = {long} }}\n{many}"),
            format!("disk A {{ {long} = 1 }}\n{many}"),
            "disk A { a = [ d0 .. d99999999999 ] }".into(),
            "disk A { a = [ d0 .. d18446744073709551615 ] }".into(),
            format!("disk A {{ [ a1 .. a4000 ] = [ {} ] }}", "1, ".repeat(4000)),
        ] {
            let error = parsed(&text).unwrap_err();
            assert!(error.contains("inherited counted again"), "{error}");
        }
        // Time grows with the number of blocks, not with its square.
        let blocks: String = (0..300_000).map(|i| format!("a n{i} {{}}\n")).collect();
        assert_eq!(parsed(&blocks).unwrap().blocks.len(), 300_000);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (text, expected) in [
            ("disk A { a = 1,\n b 2 }", "a.parv:2: '}' where '=' after `b 2` should be"),
            ("disk A {\n a = 1", "a.parv:1: the block 'A' does not end"),
            ("disk A { a = [1, 2", "a.parv:1: the list does not end"),
            ("disk A { a = b c }", "a.parv:1: a value of two words, `b c`"),
            ("disk A { a = [ b1 .. c3 ] }", "a.parv:1: '..' up to `c3` is no range"),
            ("disk A { a = [ b3 .. b1 ] }", "a.parv:1: '..' up to `b1` is no range"),
            ("disk A { a = [ 1 .. 3 ] }", "a.parv:1: '..' up to `3` is no range"),
            ("disk A { a = [ .. b3 ] }", "a.parv:1: '..' up to `b3` is no range"),
            ("disk A {\n [ 1 ] = 2 }", "a.parv:2: a value is given to what is no name"),
            ("{", "a.parv:1: '{' where the type of a block should be"),
            ("disk A { a = source nowhere.model }", "a.parv:1: './nowhere.model' cannot be read"),
        ] {
            let error = parsed(text).unwrap_err();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
        assert!(parsed(&format!("disk A {{ a = {} }}", "[".repeat(100_000))).is_err());
    }
}
