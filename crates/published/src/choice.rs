//! Which targets a user names.

use crate::file::TargetFile;
use block::{At, BadInput, nearest};

/// The places (file, target) of the targets these words name, in the order of the files: a target's id, a file's, or
/// the beginning of one up to a dot. Without words, all.
///
/// # Errors
/// When a word names nothing: the nearest that would.
pub fn choose(files: &[TargetFile], words: &[String]) -> Result<Vec<(usize, usize)>, BadInput> {
    let all = || {
        let places = files.iter().enumerate();
        places.flat_map(|(f, file)| file.targets.iter().enumerate().map(move |(t, target)| (f, t, target.id.as_str())))
    };
    if let Some(word) = words.iter().find(|word| !all().any(|(_, _, id)| begins(id, word))) {
        return Err(unknown(word, all().map(|(_, _, id)| id)));
    }
    let chosen = |id: &str| words.is_empty() || words.iter().any(|word| begins(id, word));
    Ok(all().filter(|(_, _, id)| chosen(id)).map(|(f, t, _)| (f, t)).collect())
}

/// Whether an id is this word, or goes on after it with a dot.
pub(crate) fn begins(id: &str, word: &str) -> bool {
    id.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn unknown<'a>(word: &str, ids: impl Iterator<Item = &'a str>) -> BadInput {
    let mut known: Vec<&str> = Vec::new();
    for id in ids {
        let dots = id.match_indices('.').map(|(dot, _)| &id[..dot]);
        known.extend(dots.chain([id]));
    }
    known.sort_unstable();
    known.dedup();
    let all = "`halfturn reproduce --list` shows all";
    let mend = match nearest(word, known) {
        Some(id) => format!("did you mean '{id}'? {all}"),
        None => all.into(),
    };
    BadInput::new(word, At::File, "no published result has this id, or one that begins with it", mend)
}
