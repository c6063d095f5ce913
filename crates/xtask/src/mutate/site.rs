//! One place where a bug can be planted, and what the bug is.

use std::ops::Range;

/// Text that goes around a range of the source; `{on}` in it becomes the question whether the mutant is on.
#[derive(Debug, Clone)]
pub struct Wrap {
    pub range: Range<usize>,
    pub before: String,
    pub after: String,
}

/// A mutation that could be planted.
#[derive(Debug, Clone)]
pub struct Site {
    /// From the root of the workspace, with `/`.
    pub file: String,
    /// The function it is in, after the type whose method it is.
    pub function: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The line as it stands, without the space around it.
    pub before: String,
    /// What it becomes; of several lines, joined by one space.
    pub after: String,
    pub operator: &'static str,
    pub wraps: Vec<Wrap>,
}

impl Site {
    /// What names it, whatever stands around it: one line.
    pub fn key(&self) -> String {
        [&*self.file, &self.function, &self.before, &self.after].join("\t")
    }

    /// The crate it is in.
    pub fn krate(&self) -> &str {
        self.file.split('/').nth(1).unwrap_or_default()
    }
}

/// A file of a crate.
pub struct SourceFile<'a> {
    pub path: &'a str,
    pub text: &'a str,
}

impl SourceFile<'_> {
    /// The lines that a range touches become one line, with the range replaced.
    fn show_edit(&self, range: &Range<usize>, new: &str) -> (String, String) {
        let from = self.text[..range.start].rfind('\n').map_or(0, |at| at + 1);
        let to = self.text[range.end..].find('\n').map_or(self.text.len(), |at| range.end + at);
        let mutated = format!("{}{new}{}", &self.text[from..range.start], &self.text[range.end..to]);
        (join_lines(&self.text[from..to]), join_lines(&mutated))
    }

    pub fn line(&self, at: usize) -> usize {
        1 + self.text[..at].matches('\n').count()
    }

    /// A site where `edit` is replaced by `new`; `whole` is the expression or statement that is written twice.
    pub fn site(
        &self,
        function: &str,
        operator: &'static str,
        edit: &Range<usize>,
        new: &str,
        wraps: Vec<Wrap>,
    ) -> Site {
        let (before, after) = self.show_edit(edit, new);
        let line = self.line(edit.start);
        Site { file: self.path.into(), function: function.into(), line, before, after, operator, wraps }
    }

    /// `whole` with `edit`, a part of it, replaced.
    pub fn replace_part(&self, whole: &Range<usize>, edit: &Range<usize>, new: &str) -> String {
        format!("{}{new}{}", &self.text[whole.start..edit.start], &self.text[edit.end..whole.end])
    }
}

/// One line, with one space where there was any.
fn join_lines(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
