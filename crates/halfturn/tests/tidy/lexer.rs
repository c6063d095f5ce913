//! Just enough of Rust's lexer to tell code from comments, strings and characters.

/// The text with every comment, string and character literal turned into spaces. Offsets and lines stay.
pub fn code(text: &str) -> String {
    let from = text.as_bytes();
    let mut out = from.to_vec();
    let mut at = 0;
    while at < from.len() {
        let end = literal(from, at);
        for byte in &mut out[at..end] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at = end.max(at + 1);
    }
    String::from_utf8(out).expect("whole characters were replaced")
}

/// Where the comment or literal that begins at `at` ends; `at` itself if none does.
fn literal(from: &[u8], at: usize) -> usize {
    match (from[at], from.get(at + 1)) {
        (b'/', Some(b'/')) => from[at..].iter().position(|byte| *byte == b'\n').map_or(from.len(), |n| at + n),
        (b'/', Some(b'*')) => comment(from, at),
        (b'"', _) => quoted(from, at + 1, b'"'),
        (b'r', Some(b'"' | b'#')) if begins_word(from, at) => raw(from, at),
        (b'\'', Some(b'\\')) => quoted(from, at + 1, b'\''),
        (b'\'', Some(first)) => {
            // A character; otherwise a lifetime or a label.
            let close = at + 1 + width(*first);
            if *first != b'\'' && from.get(close) == Some(&b'\'') { close + 1 } else { at }
        }
        _ => at,
    }
}

/// Whether a literal's prefix may begin here; `b` and `c` may stand before `r`.
fn begins_word(from: &[u8], at: usize) -> bool {
    let inside = |at: usize| at > 0 && is_word(from[at - 1]);
    !inside(at) || (matches!(from[at - 1], b'b' | b'c') && !inside(at - 1))
}

/// Bytes of the UTF-8 character with this first byte.
fn width(first: u8) -> usize {
    match first {
        0..0x80 => 1,
        0x80..0xe0 => 2,
        0xe0..0xf0 => 3,
        _ => 4,
    }
}

/// The end of a block comment, which nests.
fn comment(from: &[u8], mut at: usize) -> usize {
    let mut depth = 0;
    while at < from.len() {
        match &from[at..from.len().min(at + 2)] {
            b"/*" => {
                depth += 1;
                at += 2;
            }
            b"*/" => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    at
}

/// The end of a literal with escapes; `at` is after its opening quote.
fn quoted(from: &[u8], mut at: usize, quote: u8) -> usize {
    while at < from.len() {
        match from[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    from.len()
}

/// The end of `r"…"` or `r#"…"#`; `at` itself for a raw identifier.
fn raw(from: &[u8], at: usize) -> usize {
    let hashes = from[at + 1..].iter().take_while(|byte| **byte == b'#').count();
    let open = at + 1 + hashes;
    if from.get(open) != Some(&b'"') {
        return at;
    }
    let closes =
        |close: &usize| from[*close] == b'"' && from[close + 1..].iter().take(hashes).eq([b'#'].repeat(hashes).iter());
    (open + 1..from.len()).find(closes).map_or(from.len(), |close| close + 1 + hashes)
}

/// Whether a byte may stand in a word.
pub fn is_word(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric() || !byte.is_ascii()
}

/// The words of the code, with their offsets.
pub fn words(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    code.split(|c: char| !(c == '_' || c.is_alphanumeric())).filter_map(move |word| {
        let offset = at;
        // Separators here are whole characters, of any width.
        at += word.len() + code[at + word.len()..].chars().next().map_or(0, char::len_utf8);
        (!word.is_empty()).then_some((offset, word))
    })
}

/// Offsets where `needle` stands in the code as whole words.
pub fn find<'a>(code: &'a str, needle: &'a str) -> impl Iterator<Item = usize> + 'a {
    let bytes = code.as_bytes();
    let apart = move |at: usize, edge: u8| !is_word(edge) || bytes.get(at).is_none_or(|byte| !is_word(*byte));
    let (first, last) = (needle.as_bytes()[0], needle.as_bytes()[needle.len() - 1]);
    code.match_indices(needle)
        .map(|(at, _)| at)
        .filter(move |at| apart(at.wrapping_sub(1), first) && apart(at + needle.len(), last))
}

#[test]
fn comments_strings_and_characters_are_no_code() {
    let cases = [
        ("a // }\nb", "a b"),
        ("a /* { /* } */ { */ b", "a b"),
        (r#"a("}\"{", b)"#, "a( , b)"),
        ("r#\"\"{\"# x", "x"),
        ("br\"\\\" }", "b }"),
        (r"'{' '\'' b'}' '\u{7b}' }", "b }"),
        ("'é' }", "}"),
        ("fn f<'a>(x: &'a str) {", "fn f<'a>(x: &'a str) {"),
        ("r#match {", "r#match {"),
        ("bar\"{\" b", "bar b"),
        ("\"never closed }", ""),
    ];
    for (text, left) in cases {
        let found = code(text);
        assert_eq!(found.split_whitespace().collect::<Vec<_>>().join(" "), left, "{text}");
        assert_eq!((found.len(), found.lines().count()), (text.len(), text.lines().count()), "{text}");
    }
}

#[test]
fn words_have_their_offsets() {
    assert_eq!(words("a→bc d").collect::<Vec<_>>(), [(0, "a"), (4, "bc"), (7, "d")]);
}

#[test]
fn found_words_are_whole() {
    assert_eq!(find("HashMap MyHashMap HashMaps <HashMap>", "HashMap").collect::<Vec<_>>(), [0, 28]);
    assert_eq!(find("todo!( my_todo!(", "todo!(").collect::<Vec<_>>(), [0]);
}
