//! Verbs and options of the contract that a later version brings: refused by name, and shown in no help.

/// The verb or option among these words that is still to come, if one is.
pub fn refused(words: &[String]) -> Option<&'static str> {
    let begins = |verb: &[&str]| verb.len() <= words.len() && verb.iter().zip(words).all(|(verb, word)| verb == word);
    let reports = words.iter().any(|word| word == "--report" || word.starts_with("--report="));
    (begins(&["simulate"]) && reports).then_some("halfturn simulate --report")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[&str]) -> Option<&'static str> {
        refused(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn what_is_to_come_is_refused_and_what_is_there_is_not() {
        assert_eq!(of(&["simulate", "a.toml", "--report=x.html"]), Some("halfturn simulate --report"));
        for there in
            [&["trace", "capture", "serve"][..], &["trace", "convert"], &["simulate", "serve"], &["drive"], &[]]
        {
            assert_eq!(of(there), None, "{there:?}");
        }
    }
}
