//! Writes the source of a file with bugs in it, each behind its switch.

use super::site::{Site, Wrap};
use std::ops::Range;

/// A file with bugs planted.
pub struct Planted {
    pub text: String,
    /// Which mutant was planted where in it.
    pub places: Vec<(u32, Range<usize>)>,
}

/// Plants mutants, each by its number, in the text of one file.
///
/// What a mutant writes twice is copied from the original: of nested mutants only one is ever on.
pub fn plant(text: &str, mutants: &[(u32, &Site)]) -> Planted {
    let mut wraps: Vec<(u32, &Wrap)> =
        mutants.iter().flat_map(|&(number, site)| site.wraps.iter().map(move |wrap| (number, wrap))).collect();
    // Outer before inner; a statement that is inserted, before what begins there.
    wraps.sort_by_key(|(number, wrap)| {
        (wrap.range.start, !wrap.range.is_empty(), std::cmp::Reverse(wrap.range.end), *number)
    });
    let mut out = Planted { text: String::new(), places: Vec::new() };
    let mut open: Vec<(u32, &Wrap, usize)> = Vec::new();
    let mut at = 0;
    for (number, wrap) in wraps {
        out.close(text, &mut at, &mut open, wrap.range.start);
        out.text.push_str(&text[at..wrap.range.start]);
        at = wrap.range.start;
        let from = out.text.len();
        out.text.push_str(&wrap.before.replace("{on}", &format!("::switch::on({number})")));
        open.push((number, wrap, from));
        if wrap.range.is_empty() {
            out.close(text, &mut at, &mut open, wrap.range.start);
        }
    }
    out.close(text, &mut at, &mut open, text.len());
    out.text.push_str(&text[at..]);
    out
}

impl Planted {
    /// Ends whatever ends at or before this offset of the original.
    fn close(&mut self, text: &str, at: &mut usize, open: &mut Vec<(u32, &Wrap, usize)>, until: usize) {
        while let Some((number, wrap, from)) = open.pop_if(|(_, wrap, _)| wrap.range.end <= until) {
            self.text.push_str(&text[*at..wrap.range.end]);
            *at = wrap.range.end;
            self.text.push_str(&wrap.after);
            self.places.push((number, from..self.text.len()));
        }
    }

    /// The mutants around this place, innermost first.
    pub fn around(&self, place: &Range<usize>) -> Vec<u32> {
        let mut found: Vec<_> =
            self.places.iter().filter(|(_, range)| range.start <= place.start && place.end <= range.end).collect();
        found.sort_by_key(|(_, range)| range.len());
        found.into_iter().map(|(number, _)| *number).collect()
    }
}
