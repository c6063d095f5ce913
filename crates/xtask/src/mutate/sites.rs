//! Finds every place of a file where a bug can be planted.
//!
//! Left out: tests, whatever has a `cfg`, constants and `const fn`, patterns, types, macros, attributes and `unsafe` code.

use super::operators;
use super::site::{Site, SourceFile, Wrap};
use std::ops::Range;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, Lit, RangeLimits, ReturnType, Signature, Stmt};

/// The sites of a file, and the modules it declares that are not tests.
pub fn find(source: &SourceFile) -> Result<(Vec<Site>, Vec<String>), String> {
    let file = syn::parse_file(source.text).map_err(|error| error.to_string())?;
    let mut finder = Finder { source, scope: Vec::new(), sites: Vec::new(), modules: Vec::new() };
    if !conditional(&file.attrs) {
        finder.visit_file(&file);
    }
    Ok((finder.sites, finder.modules))
}

struct Finder<'a> {
    source: &'a SourceFile<'a>,
    /// Types and functions around, outermost first.
    scope: Vec<String>,
    sites: Vec<Site>,
    modules: Vec<String>,
}

/// Whether it is compiled only sometimes, or is a test.
fn conditional(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| ["cfg", "test"].iter().any(|name| attribute.path().is_ident(name)))
}

fn range(node: &impl Spanned) -> Range<usize> {
    node.span().byte_range()
}

/// `if` the mutant is on, this text, else what stands there.
fn either(range: Range<usize>, mutated: &str) -> Wrap {
    Wrap { range, before: format!("(if {{on}} {{ {mutated} }} else {{ "), after: " })".into() }
}

/// Whether a condition binds something: it can be no operand then.
fn binds(condition: &Expr) -> bool {
    match condition {
        Expr::Let(_) => true,
        Expr::Binary(both) => binds(&both.left) || binds(&both.right),
        Expr::Paren(inner) => binds(&inner.expr),
        _ => false,
    }
}

/// The identifiers that stand in some code.
#[derive(Default)]
struct MutantNames(std::collections::BTreeSet<String>);

impl<'ast> Visit<'ast> for MutantNames {
    fn visit_ident(&mut self, name: &'ast syn::Ident) {
        self.0.insert(name.to_string());
    }

    fn visit_macro(&mut self, inner: &'ast syn::Macro) {
        // Words in a string that is formatted may be names, too.
        let text = inner.tokens.to_string();
        let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        self.0.extend(words.map(str::to_owned));
    }
}

/// Names in an arm's pattern that may be bindings: constructors and constants begin with a capital.
fn names_bound(arm: &syn::Arm) -> std::collections::BTreeSet<String> {
    let mut names = MutantNames::default();
    names.visit_pat(&arm.pat);
    names.0.into_iter().filter(|name| !name.starts_with(char::is_uppercase)).collect()
}

fn names_used(arm: &syn::Arm) -> std::collections::BTreeSet<String> {
    let mut names = MutantNames::default();
    names.visit_expr(&arm.body);
    names.0
}

impl Finder<'_> {
    fn push(&mut self, operator: &'static str, edit: &Range<usize>, new: &str, wraps: Vec<Wrap>) {
        // What is not in a function is a constant.
        if !self.scope.is_empty() {
            self.sites.push(self.source.site(&self.scope.join("::"), operator, edit, new, wraps));
        }
    }

    /// A part of an expression is replaced.
    fn replace(&mut self, operator: &'static str, whole: &Range<usize>, edit: &Range<usize>, new: &str) {
        let mutated = self.source.replace_part(whole, edit, new);
        self.push(operator, edit, new, vec![either(whole.clone(), &mutated)]);
    }

    fn within(&mut self, name: String, visit: impl FnOnce(&mut Self)) {
        self.scope.push(name);
        visit(self);
        self.scope.pop();
    }

    fn text(&self, node: &impl Spanned) -> String {
        self.source.text[range(node)].split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn function(&mut self, attributes: &[Attribute], signature: &Signature, block: &syn::Block) {
        let special = signature.constness.is_some() || matches!(signature.safety, syn::Safety::Unsafe(_));
        if conditional(attributes) || special {
            return;
        }
        self.within(signature.ident.to_string(), |finder| {
            finder.early_returns(signature, block);
            finder.visit_block(block);
        });
    }

    fn early_returns(&mut self, signature: &Signature, block: &syn::Block) {
        let returned = match &signature.output {
            ReturnType::Default => String::new(),
            ReturnType::Type(_, kind) => self.text(kind),
        };
        if block.stmts.is_empty() || signature.ident == "main" {
            return;
        }
        let at = range(&block.brace_token.span.open()).end;
        let name = range(&signature.ident);
        for value in operators::defaults(&returned) {
            let before = format!(" if {{on}} {{ return {value}; }} ");
            let wrap = Wrap { range: at..at, before, after: String::new() };
            let shown = format!("{}/* return {value} */", signature.ident);
            self.push("return", &name, &shown, vec![wrap]);
        }
    }

    fn negate(&mut self, condition: &Expr) {
        if !binds(condition) {
            let whole = range(condition);
            let shown = format!("!({})", &self.source.text[whole.clone()]);
            let wrap = Wrap { range: whole.clone(), before: "({on} != (".into(), after: "))".into() };
            self.push("negated", &whole, &shown, vec![wrap]);
        }
    }

    fn literal(&mut self, literal: &Lit) {
        let whole = range(literal);
        match literal {
            Lit::Int(number) => {
                for new in operators::whole(number.base10_digits(), number.suffix()) {
                    self.replace("constant", &whole, &whole, &new);
                }
            }
            Lit::Float(number) => {
                if let Some(new) = operators::real(number.base10_digits(), number.suffix()) {
                    self.replace("constant", &whole, &whole, &new);
                }
            }
            Lit::Bool(value) => self.replace("constant", &whole, &whole, if value.value { "false" } else { "true" }),
            _ => {}
        }
    }

    fn bounds(&mut self, limits: &syn::ExprRange) {
        let end = match limits.limits {
            RangeLimits::HalfOpen(_) => " + 1",
            RangeLimits::Closed(_) => " - 1",
        };
        for (bound, change) in [(&limits.start, " + 1"), (&limits.end, end)] {
            if let Some(bound) = bound {
                let whole = range(bound);
                let new = format!("({}){change}", &self.source.text[whole.clone()]);
                self.replace("range", &whole, &whole, &new);
            }
        }
    }

    fn arms(&mut self, arms: &[syn::Arm]) {
        for pair in arms.windows(2).filter(|pair| !pair.iter().any(|arm| conditional(&arm.attrs))) {
            let [a, b] = [range(&pair[0].body), range(&pair[1].body)];
            let [first, second] = [&a, &b].map(|body| self.source.text[body.clone()].to_owned());
            // A body that uses what only its own pattern binds does not compile under another.
            let bound = [&pair[0], &pair[1]].map(names_bound);
            let moves = |body: &syn::Arm, own: usize| {
                !names_used(body).iter().any(|name| bound[own].contains(name) && !bound[1 - own].contains(name))
            };
            if first != second && moves(&pair[0], 0) && moves(&pair[1], 1) {
                let arm = |body: &Range<usize>, other: &str| Wrap {
                    range: body.clone(),
                    before: format!("{{ if {{on}} {{ {other} }} else {{ "),
                    after: " } }".into(),
                };
                let wraps = vec![arm(&a, &second), arm(&b, &first)];
                let between = &self.source.text[a.end..b.start];
                self.push("arms", &(a.start..b.end), &format!("{second}{between}{first}"), wraps);
            }
        }
    }

    fn drop_statement(&mut self, statement: &Stmt) {
        let Stmt::Expr(expression, Some(_)) = statement else { return };
        let inner = if let Expr::Try(tried) = expression { &tried.expr } else { expression };
        let dropped = match inner {
            Expr::Call(_) | Expr::MethodCall(_) | Expr::Assign(_) => true,
            Expr::Return(_) | Expr::Break(_) | Expr::Continue(_) => true,
            Expr::Binary(both) => operators::binary(&both.op).1.iter().any(|new| new.len() == 2 && new.ends_with('=')),
            _ => false,
        };
        if dropped {
            let whole = range(statement);
            let wrap = Wrap { range: whole.clone(), before: "if !{on} { ".into(), after: " }".into() };
            self.push("dropped", &whole, "/* dropped */", vec![wrap]);
        }
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if conditional(&module.attrs) {
            return;
        }
        if module.content.is_none() {
            self.modules.push(module.ident.to_string());
        }
        visit::visit_item_mod(self, module);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if !conditional(&item.attrs) {
            let of = self.text(&item.self_ty);
            let name = of.split('<').next().unwrap_or_default().to_owned();
            self.scope.push(name);
            item.items.iter().for_each(|inner| self.visit_impl_item(inner));
            self.scope.pop();
        }
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        if !conditional(&item.attrs) {
            self.within(item.ident.to_string(), |finder| {
                item.items.iter().for_each(|inner| finder.visit_trait_item(inner));
            });
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.attrs, &item.sig, &item.block);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.attrs, &item.sig, &item.block);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.function(&item.attrs, &item.sig, block);
        }
    }

    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        let attributes = match statement {
            Stmt::Local(local) => &local.attrs[..],
            _ => &[],
        };
        if !conditional(attributes) {
            self.drop_statement(statement);
            visit::visit_stmt(self, statement);
        }
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        if conditional(&arm.attrs) {
            return;
        }
        if let syn::Pat::Guard(guarded) = &arm.pat {
            self.negate(&guarded.guard);
            self.visit_expr(&guarded.guard);
        }
        self.visit_expr(&arm.body);
    }

    fn visit_expr(&mut self, expression: &'ast Expr) {
        let whole = range(expression);
        match expression {
            // In what becomes no code of this function, or none that may be edited.
            Expr::Unsafe(_) | Expr::Const(_) | Expr::Macro(_) => return,
            Expr::Repeat(repeat) => return self.visit_expr(&repeat.expr),
            Expr::Binary(both) => {
                let (name, changes) = operators::binary(&both.op);
                if name != "logic" || !binds(expression) {
                    for new in changes {
                        self.replace(name, &whole, &range(&both.op), new);
                    }
                }
            }
            Expr::If(branch) => self.negate(&branch.cond),
            Expr::While(branch) => self.negate(&branch.cond),
            Expr::Unary(unary) if matches!(unary.op, syn::UnOp::Not(_) | syn::UnOp::Neg(_)) => {
                self.replace("negated", &whole, &range(&unary.op), "");
            }
            Expr::MethodCall(call) => {
                if let Some(twin) = operators::twin(&call.method.to_string()) {
                    self.replace("twin", &whole, &range(&call.method), twin);
                }
            }
            Expr::Lit(literal) => self.literal(&literal.lit),
            Expr::Range(limits) => self.bounds(limits),
            Expr::Match(choice) => self.arms(&choice.arms),
            _ => {}
        }
        visit::visit_expr(self, expression);
    }

    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}
    fn visit_item_enum(&mut self, _: &'ast syn::ItemEnum) {}
    fn visit_item_struct(&mut self, _: &'ast syn::ItemStruct) {}
    fn visit_pat(&mut self, _: &'ast syn::Pat) {}
    fn visit_type(&mut self, _: &'ast syn::Type) {}
    fn visit_path(&mut self, _: &'ast syn::Path) {}
    fn visit_angle_bracketed_generic_arguments(&mut self, _: &'ast syn::AngleBracketedGenericArguments) {}
    fn visit_attribute(&mut self, _: &'ast Attribute) {}
    fn visit_macro(&mut self, _: &'ast syn::Macro) {}
}
