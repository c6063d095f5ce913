//! The words of a measure.

/// A word of a measure.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum MeasureToken {
    /// A number without a sign.
    Number(f64),
    /// A name, a path joined by dots, or what stands between braces.
    Word(String),
    /// Labels of a run in braces: `{policy = satf}`.
    Labels(Vec<(String, String)>),
    /// One of `+ - * / ( ) , < .`
    Mark(char),
}

/// Splits a measure. It says what is wrong and, after `; `, the mend.
pub(super) fn tokens(text: &str) -> Result<Vec<MeasureToken>, String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '{' => {
                let end = rest.find('}').ok_or("a `{` is not closed; write NAME{label=value, ...}")?;
                tokens.push(MeasureToken::Labels(labels(&rest[1..end])?));
                end + 1
            }
            '+' | '-' | '*' | '/' | '(' | ')' | ',' | '<' | '.' => {
                tokens.push(MeasureToken::Mark(first));
                1
            }
            c if c.is_ascii_alphanumeric() || c == '_' => {
                let within = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
                let end = rest.find(|c| !within(c)).unwrap_or(rest.len());
                let word = &rest[..end];
                tokens.push(match word.parse::<f64>() {
                    Ok(number) if c.is_ascii_digit() => MeasureToken::Number(number),
                    _ => MeasureToken::Word(word.into()),
                });
                end
            }
            c => return Err(format!("'{c}' means nothing in a measure; see the table of them")),
        };
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

fn labels(text: &str) -> Result<Vec<(String, String)>, String> {
    let pair = |part: &str| {
        let (key, value) = part
            .split_once('=')
            .ok_or_else(|| format!("'{}' is no label with its value; write label=value", part.trim()))?;
        Ok((key.trim().to_owned(), value.trim().to_owned()))
    };
    text.split(',').map(pair).collect()
}
