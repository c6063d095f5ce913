//! What a token or a call becomes in a mutant.

use syn::BinOp;

/// A binary operator's name and what it becomes.
pub fn binary(op: &BinOp) -> (&'static str, &'static [&'static str]) {
    match op {
        BinOp::Lt(_) => ("relation", &["<=", ">"]),
        BinOp::Le(_) => ("relation", &["<", ">="]),
        BinOp::Gt(_) => ("relation", &[">=", "<"]),
        BinOp::Ge(_) => ("relation", &[">", "<="]),
        BinOp::Eq(_) => ("relation", &["!="]),
        BinOp::Ne(_) => ("relation", &["=="]),
        BinOp::And(_) => ("logic", &["||"]),
        BinOp::Or(_) => ("logic", &["&&"]),
        BinOp::Add(_) => ("arithmetic", &["-"]),
        BinOp::Sub(_) => ("arithmetic", &["+"]),
        BinOp::Mul(_) => ("arithmetic", &["/"]),
        BinOp::Div(_) => ("arithmetic", &["*"]),
        BinOp::Rem(_) => ("arithmetic", &["/"]),
        BinOp::Shl(_) => ("arithmetic", &[">>"]),
        BinOp::Shr(_) => ("arithmetic", &["<<"]),
        BinOp::BitAnd(_) => ("arithmetic", &["|"]),
        BinOp::BitOr(_) => ("arithmetic", &["&"]),
        BinOp::AddAssign(_) => ("arithmetic", &["-="]),
        BinOp::SubAssign(_) => ("arithmetic", &["+="]),
        BinOp::MulAssign(_) => ("arithmetic", &["/="]),
        BinOp::DivAssign(_) => ("arithmetic", &["*="]),
        BinOp::BitAndAssign(_) => ("arithmetic", &["|="]),
        BinOp::BitOrAssign(_) => ("arithmetic", &["&="]),
        _ => ("", &[]),
    }
}

/// Methods that are easily taken for one another.
const TWINS: [(&str, &str); 14] = [
    ("min", "max"),
    ("min_by_key", "max_by_key"),
    ("min_by", "max_by"),
    ("first", "last"),
    ("is_some", "is_none"),
    ("is_ok", "is_err"),
    ("any", "all"),
    ("floor", "ceil"),
    ("push_back", "push_front"),
    ("pop_front", "pop_back"),
    ("front", "back"),
    ("next", "next_back"),
    ("saturating_sub", "saturating_add"),
    ("checked_sub", "checked_add"),
];

/// The method that a call of this one becomes.
pub fn twin(method: &str) -> Option<&'static str> {
    TWINS.iter().find_map(|&(a, b)| match method {
        _ if method == a => Some(b),
        _ if method == b => Some(a),
        _ => None,
    })
}

/// What a whole number becomes: the next one, and the one before it.
pub fn whole(digits: &str, suffix: &str) -> Vec<String> {
    let Ok(number) = digits.parse::<u128>() else { return Vec::new() };
    let near = [number.checked_add(1), number.checked_sub(1)];
    near.into_iter().flatten().map(|number| format!("{number}{suffix}")).collect()
}

/// What a number with a point becomes: twice it, or 1 for 0.
pub fn real(digits: &str, suffix: &str) -> Option<String> {
    let number: f64 = digits.parse().ok()?;
    Some(format!("{:?}{suffix}", if number == 0.0 { 1.0 } else { 2.0 * number }))
}

/// Values that a function of this type may return at once, without doing anything.
pub fn defaults(returned: &str) -> Vec<String> {
    let value = match returned {
        "" => "",
        "bool" => return vec!["true".into(), "false".into()],
        "Result<(), BadInput>" | "io::Result<()>" | "Result<(), String>" => "Ok(())",
        "&str" => "\"\"",
        _ if returned.starts_with("Option<") => "None",
        // A key that may be missing, as `config` reads it.
        _ if returned.starts_with("Read<") => "Ok(None)",
        _ if returned.starts_with("Result<") || returned.starts_with("io::Result<") => "Ok(Default::default())",
        _ if returned.starts_with(['&', '!', '(', '[']) || returned.starts_with("impl ") => return Vec::new(),
        _ => "Default::default()",
    };
    vec![value.into()]
}
