//! What one file holds of each kind. Tests are left out: whatever has a `cfg(test)` or a `#[test]`.

use super::participle;
use std::path::{Path, PathBuf};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, FnArg, Item, Lit, Meta, Signature, Type};

/// Where numbers are estimated from noisy measurements, and each threshold needs a reason.
const ESTIMATORS: [&str; 9] = [
    "crates/profile/src/",
    "crates/load/src/fit.rs",
    "crates/load/src/meter.rs",
    "crates/load/src/results.rs",
    "crates/load/src/slices.rs",
    "crates/load/src/tally.rs",
    "crates/load/src/wait.rs",
    "crates/sched/src/predict/",
    "crates/sched/src/punctual.rs",
];

/// Floats that need no name: nothing, all, a half, and there and back.
const PLAIN: [&str; 4] = ["0.0", "1.0", "0.5", "2.0"];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FindingKind {
    Type,
    Bool,
    Participle,
    Doc,
    Float,
}

impl FindingKind {
    pub fn of_name(name: &str) -> Option<FindingKind> {
        Some(match name {
            "types" => FindingKind::Type,
            "bools" => FindingKind::Bool,
            "participles" => FindingKind::Participle,
            "docs" => FindingKind::Doc,
            "floats" => FindingKind::Float,
            _ => return None,
        })
    }
}

#[derive(Clone)]
pub struct Finding {
    pub kind: FindingKind,
    pub path: String,
    pub line: usize,
    /// The name of the type or function, the comment or the number.
    pub name: String,
}

/// Files and folders that this file declares as modules of tests: their paths without `.rs`.
pub fn tests_of(path: &Path, file: &syn::File) -> Vec<PathBuf> {
    let stem = path.file_stem().unwrap_or_default();
    let above = path.parent().unwrap_or(path);
    let folder = match stem.to_str() {
        Some("mod" | "lib" | "main") => above.to_owned(),
        _ => above.join(stem),
    };
    let modules = file.items.iter().filter_map(|item| match item {
        Item::Mod(module) if module.content.is_none() && is_test(&module.attrs) => Some(module.ident.to_string()),
        _ => None,
    });
    modules.map(|name| folder.join(name)).collect()
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string().contains("test"),
        meta => meta.path().is_ident("test"),
    })
}

/// The places of a file, the lines of its function bodies, and how many of them hold a comment.
pub fn file(path: &str, text: &str, file: &syn::File) -> (Vec<Finding>, usize, usize) {
    let lines: Vec<&str> = text.lines().collect();
    let estimates = ESTIMATORS.iter().any(|start| path.starts_with(start));
    let mut counter = Counter {
        path,
        lines: &lines,
        estimates,
        depth: 0,
        named: false,
        foreign: false,
        places: Vec::new(),
        body: 0,
        comments: 0,
    };
    counter.visit_file(file);
    (counter.places, counter.body, counter.comments)
}

struct Counter<'a> {
    path: &'a str,
    lines: &'a [&'a str],
    estimates: bool,
    /// How many function bodies are around.
    depth: usize,
    /// Within a constant, whose name says what a number is.
    named: bool,
    /// Within the implementation of a trait, whose declaration chose the names.
    foreign: bool,
    places: Vec<Finding>,
    body: usize,
    comments: usize,
}

impl Counter<'_> {
    fn push(&mut self, kind: FindingKind, at: &impl Spanned, name: impl Into<String>) {
        let line = at.span().start().line;
        self.places.push(Finding { kind, path: self.path.into(), line, name: name.into() });
    }

    fn signature(&mut self, signature: &Signature) {
        if self.foreign {
            return;
        }
        let name = signature.ident.to_string();
        let bare = |input: &FnArg| matches!(input, FnArg::Typed(typed) if is_bool(&typed.ty));
        if signature.inputs.iter().any(bare) {
            self.push(FindingKind::Bool, &signature.ident, &name);
        }
        if participle::is(&name) {
            self.push(FindingKind::Participle, &signature.ident, &name);
        }
    }

    /// Counts a doc comment, the lines of one item together.
    fn docs(&mut self, attributes: &[Attribute]) {
        let lines: Vec<(String, &Attribute)> = attributes.iter().filter_map(|a| Some((doc(a)?, a))).collect();
        let text = lines.iter().map(|(line, _)| line.trim()).collect::<Vec<_>>().join(" ");
        if let Some((_, first)) = lines.first()
            && text.split_whitespace().count() <= 3
        {
            self.push(FindingKind::Doc, *first, text);
        }
    }

    fn block(&mut self, block: &syn::Block) {
        let (from, to) = (block.span().start().line, block.span().end().line);
        if self.depth == 0 && to > from + 1 {
            let inside = &self.lines[from..to - 1];
            self.body += inside.len();
            self.comments += inside.iter().filter(|line| is_comment(line)).count();
        }
    }

    /// Whether the line itself or the one above it gives the reason of a number.
    fn has_reason(&self, line: usize) -> bool {
        self.lines[line - 1].contains("//") || line > 1 && is_comment(self.lines[line - 2])
    }
}

fn is_comment(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("//") && !line.starts_with("///")
}

fn is_bool(kind: &Type) -> bool {
    matches!(kind, Type::Path(path) if path.path.is_ident("bool"))
}

fn doc(attribute: &Attribute) -> Option<String> {
    match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(text) => Some(text.value()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

impl<'ast> Visit<'ast> for Counter<'_> {
    fn visit_file(&mut self, file: &'ast syn::File) {
        self.docs(&file.attrs);
        visit::visit_file(self, file);
    }

    fn visit_item(&mut self, item: &'ast Item) {
        let (attributes, name) = match item {
            Item::Struct(item) => (&item.attrs, Some(&item.ident)),
            Item::Enum(item) => (&item.attrs, Some(&item.ident)),
            Item::Trait(item) => (&item.attrs, Some(&item.ident)),
            Item::Type(item) => (&item.attrs, Some(&item.ident)),
            Item::Fn(item) => (&item.attrs, None),
            Item::Const(item) => (&item.attrs, None),
            Item::Static(item) => (&item.attrs, None),
            Item::Mod(item) => (&item.attrs, None),
            Item::Impl(item) => (&item.attrs, None),
            Item::Macro(item) => (&item.attrs, None),
            _ => return visit::visit_item(self, item),
        };
        if is_test(attributes) {
            return;
        }
        self.docs(attributes);
        if let Some(name) = name {
            self.push(FindingKind::Type, name, name.to_string());
        }
        let before = (self.named, self.foreign);
        self.named |= matches!(item, Item::Const(_) | Item::Static(_));
        self.foreign = matches!(item, Item::Impl(item) if item.trait_.is_some());
        visit::visit_item(self, item);
        (self.named, self.foreign) = before;
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        self.docs(&field.attrs);
        visit::visit_field(self, field);
    }

    fn visit_variant(&mut self, variant: &'ast syn::Variant) {
        self.docs(&variant.attrs);
        visit::visit_variant(self, variant);
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.signature(&function.sig);
        self.block(&function.block);
        self.depth += 1;
        visit::visit_item_fn(self, function);
        self.depth -= 1;
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if is_test(&function.attrs) {
            return;
        }
        self.docs(&function.attrs);
        self.signature(&function.sig);
        self.block(&function.block);
        self.depth += 1;
        visit::visit_impl_item_fn(self, function);
        self.depth -= 1;
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        self.docs(&function.attrs);
        self.signature(&function.sig);
        if let Some(block) = &function.default {
            self.block(block);
        }
        self.depth += 1;
        visit::visit_trait_item_fn(self, function);
        self.depth -= 1;
    }

    fn visit_impl_item_const(&mut self, constant: &'ast syn::ImplItemConst) {
        self.docs(&constant.attrs);
        let before = std::mem::replace(&mut self.named, true);
        visit::visit_impl_item_const(self, constant);
        self.named = before;
    }

    fn visit_lit_float(&mut self, literal: &'ast syn::LitFloat) {
        let line = literal.span().start().line;
        let plain = PLAIN.contains(&literal.base10_digits());
        if self.estimates && self.depth > 0 && !self.named && !plain && !self.has_reason(line) {
            self.push(FindingKind::Float, literal, literal.to_string());
        }
    }
}
