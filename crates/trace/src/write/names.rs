//! What devices are called in a format that does not take every name.

use std::collections::BTreeSet;

use crate::reader::TraceDevice;

/// Gives every device a name of its own that the format takes; the one it has, where possible.
pub(crate) struct Names {
    /// Makes of a name the `n`th one the format takes.
    wish: fn(&str, u64) -> String,
    given: Vec<Option<Given>>,
    taken: BTreeSet<String>,
    /// Where to look on for a free name, so that many devices take no long search each.
    next: u64,
}

struct Given {
    from: String,
    to: String,
}

impl Names {
    pub fn new(wish: fn(&str, u64) -> String) -> Names {
        Names { wish, given: Vec::new(), taken: BTreeSet::new(), next: 1 }
    }

    /// The name of a device that its trace calls `from`.
    pub fn of(&mut self, device: TraceDevice, from: &str) -> &str {
        let index = device.0 as usize;
        if index >= self.given.len() {
            self.given.resize_with(index + 1, || None);
        }
        let (wish, taken, next) = (self.wish, &mut self.taken, &mut self.next);
        let given = self.given[index].get_or_insert_with(|| {
            let mut to = wish(from, 0);
            while !taken.insert(to.clone()) {
                to = wish(from, *next);
                *next += 1;
            }
            Given { from: from.into(), to }
        });
        &given.to
    }

    /// Every name given so far.
    pub fn all(&self) -> impl Iterator<Item = &str> {
        self.given.iter().flatten().map(|given| given.to.as_str())
    }

    /// The devices whose name is not what it was.
    pub fn renames(&self) -> Vec<(String, String)> {
        let changed = self.given.iter().flatten().filter(|given| given.from != given.to);
        changed.map(|given| (given.from.clone(), given.to.clone())).collect()
    }
}

/// A whole number: the name, if it is one.
pub(crate) fn number(name: &str, n: u64) -> String {
    let plain = name.parse::<u32>().is_ok_and(|number| number.to_string() == name);
    match n.checked_sub(u64::from(plain)) {
        Some(number) => number.to_string(),
        None => name.into(),
    }
}

/// Characters of a word, all of them in what fio reads of a line (255 bytes of a name).
const LONGEST: usize = 60;

/// A word without blanks, not too long, and a number after it where it is not free.
pub(crate) fn word(name: &str, n: u64) -> String {
    let odd = |c: char| c.is_whitespace() || c.is_control();
    let word: String = name.chars().take(LONGEST).map(|c| if odd(c) { '_' } else { c }).collect();
    let word = if word.is_empty() { "_".into() } else { word };
    if n == 0 { word } else { format!("{word}_{n}") }
}

/// Any name at all.
pub(crate) fn any(name: &str, n: u64) -> String {
    if n == 0 { name.into() } else { format!("{name}_{n}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(wish: fn(&str, u64) -> String, devices: &[&str]) -> Vec<String> {
        let mut names = Names::new(wish);
        devices.iter().zip(0..).map(|(name, device)| names.of(TraceDevice(device), name).to_owned()).collect()
    }

    #[test]
    fn numbers_stay_and_others_get_a_free_one() {
        assert_eq!(given(number, &["7", "sda", "0", "07", "1"]), ["7", "0", "1", "3", "4"]);
    }

    #[test]
    fn words_lose_their_blanks_and_stay_apart() {
        assert_eq!(given(word, &["a b", "a_b", "", "c"]), ["a_b", "a_b_1", "_", "c"]);
        let long = "é".repeat(100);
        assert_eq!(given(word, &[&long, &long]), [long[..120].to_owned(), format!("{}_1", &long[..120])]);
        let mut names = Names::new(word);
        assert_eq!(names.of(TraceDevice(3), "x\ty"), "x_y");
        assert_eq!(names.renames(), [("x\ty".into(), "x_y".into())]);
        assert_eq!(names.all().collect::<Vec<_>>(), ["x_y"]);
    }
}
