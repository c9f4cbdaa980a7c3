//! Finds the code in a file that can be mutated.

#![expect(clippy::wildcard_enum_match_arm, reason = "the syntax tree of syn is not ours, and grows")]

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, ItemFn, Lit, Meta, ReturnType, Stmt, Token, Type, UnOp};

/// Packages whose code is mutated, with the beginnings of the mutated paths below `src`.
pub(super) const SCOPE: [(&str, &[&str]); 2] =
    [("pipeline", &["run.rs", "run/", "way.rs", "way/"]), ("dispatch", &[""])];

/// Methods that do nothing unless a test asks for it: the points for injected crashes and panics.
const FOR_TESTS: [&str; 2] = ["crash", "may_panic"];

/// One change of one expression or statement.
#[derive(Debug, Clone)]
pub(super) struct Site {
    /// Path of the file, below the root.
    pub(super) path: PathBuf,
    /// Line number.
    pub(super) line: usize,
    /// Byte range that is replaced.
    pub(super) range: Range<usize>,
    /// Original code in that range.
    pub(super) original: String,
    /// Form of the switch.
    pub(super) form: Form,
    /// Number of equal sites before it in the file.
    nth: usize,
    /// Number of the mutant that turns it on.
    pub(super) number: usize,
}

/// Form in which a mutant is written beside the original.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Form {
    /// This expression replaces the original one.
    Instead(String),
    /// The statement is left out.
    Without,
    /// The function first returns this value.
    Returns(String),
}

// === impl Site ===

impl Site {
    /// Returns whether two sites change the same bytes.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        let insertion = self.range.is_empty() || other.range.is_empty();
        let meets = self.range.start < other.range.end && other.range.start < self.range.end;
        let same = self.range.start == other.range.start;
        self.path == other.path && (meets && !insertion || same)
    }

    /// Returns a key that stays the same when other code in the file changes.
    pub(super) fn key(&self) -> String {
        format!("{}#{} {:?} for {}", self.path.display(), self.nth, self.form, self.original)
    }

    /// Returns the text with the switch in it; `name` is the function that returns whether a mutant is on.
    pub(super) fn text(&self, name: &str) -> String {
        let (number, original) = (self.number, &self.original);
        match &self.form {
            Form::Instead(other) => format!("(if {name}({number}) {{ {other} }} else {{ {original} }})"),
            Form::Without => format!("if !{name}({number}) {{ {original} }}"),
            Form::Returns(value) => format!(" if {name}({number}) {{ return {value}; }} "),
        }
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short =
            |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(80).collect::<String>();
        write!(f, "{}:{}: ", self.path.display(), self.line)?;
        match &self.form {
            Form::Instead(other) => write!(f, "`{}` for `{}`", short(other), short(&self.original)),
            Form::Without => write!(f, "without `{}`", short(&self.original)),
            Form::Returns(value) => write!(f, "returns `{value}` at once"),
        }
    }
}

/// Finds all sites of a file.
///
/// # Errors
/// When the file is not Rust.
pub(super) fn find(path: &Path, text: &str) -> anyhow::Result<Vec<Site>> {
    let file = syn::parse_file(text).with_context(|| path.display().to_string())?;
    let mut finder = Finder { path, text, sites: Vec::new() };
    finder.visit_file(&file);
    let mut sites = finder.sites;
    let mut alike: BTreeMap<String, usize> = BTreeMap::new();
    for site in &mut sites {
        let seen = alike.entry(site.key()).or_default();
        site.nth = *seen;
        *seen += 1;
    }
    Ok(sites)
}

struct Finder<'a> {
    path: &'a Path,
    text: &'a str,
    sites: Vec<Site>,
}

// === impl Finder ===

impl Finder<'_> {
    fn add(&mut self, range: Range<usize>, line: usize, form: Form) {
        let original = self.text.get(range.clone()).unwrap_or_default().to_owned();
        self.sites.push(Site { path: self.path.to_owned(), line, range, original, form, nth: 0, number: 0 });
    }

    fn replace(&mut self, expr: &Expr, other: String) {
        self.add(expr.span().byte_range(), expr.span().start().line, Form::Instead(other));
    }

    fn source(&self, expr: &Expr) -> String {
        self.text.get(expr.span().byte_range()).unwrap_or_default().to_owned()
    }

    /// Adds the mutants in which the body of a function returns at once.
    fn body(&mut self, output: &ReturnType, block: &syn::Block) {
        let Some(value) = early(output) else { return };
        let open = block.brace_token.span.open();
        let at = open.byte_range().end;
        // A body that only returns would stay the same.
        if !block.stmts.is_empty() {
            self.add(at..at, open.start().line, Form::Returns(value.to_owned()));
        }
    }

    fn condition(&mut self, cond: &Expr) {
        if !has_let(cond) && !matches!(cond, Expr::Lit(_)) {
            self.replace(cond, "true".to_owned());
            self.replace(cond, "false".to_owned());
        }
    }
}

/// Returns a value for a function to return at once; `None` for types without an obvious one.
fn early(output: &ReturnType) -> Option<&'static str> {
    let ReturnType::Type(_, ty) = output else { return Some("") };
    let Type::Path(path) = &**ty else { return None };
    let last = path.path.segments.last()?;
    match last.ident.to_string().as_str() {
        "bool" => Some("false"),
        "Option" => Some("None"),
        "Vec" => Some("Vec::new()"),
        "String" => Some("String::new()"),
        "usize" | "u8" | "u16" | "u32" | "u64" | "i64" => Some("0"),
        "Result" if returns_unit(&last.arguments) => Some("Ok(())"),
        _ => None,
    }
}

fn returns_unit(arguments: &syn::PathArguments) -> bool {
    let syn::PathArguments::AngleBracketed(arguments) = arguments else { return false };
    matches!(arguments.args.first(), Some(syn::GenericArgument::Type(Type::Tuple(tuple))) if tuple.elems.is_empty())
}

/// Returns the operator that replaces another.
fn opposite(op: &BinOp) -> Option<&'static str> {
    match op {
        BinOp::Eq(_) => Some("!="),
        BinOp::Ne(_) => Some("=="),
        BinOp::Lt(_) => Some("<="),
        BinOp::Le(_) => Some("<"),
        BinOp::Gt(_) => Some(">="),
        BinOp::Ge(_) => Some(">"),
        BinOp::And(_) => Some("||"),
        BinOp::Or(_) => Some("&&"),
        BinOp::Add(_) => Some("-"),
        BinOp::Sub(_) => Some("+"),
        BinOp::AddAssign(_) => Some("-="),
        BinOp::SubAssign(_) => Some("+="),
        _ => None,
    }
}

/// Returns whether a condition has a `let`, which can't be put in parentheses.
fn has_let(expr: &Expr) -> bool {
    match expr {
        Expr::Let(_) => true,
        Expr::Binary(binary) => has_let(&binary.left) || has_let(&binary.right),
        Expr::Paren(paren) => has_let(&paren.expr),
        Expr::Group(group) => has_let(&group.expr),
        _ => false,
    }
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let path = attribute.path();
        path.is_ident("test")
            || path.segments.last().is_some_and(|last| last.ident == "test")
            || path.is_ident("cfg") && is_for_tests(&attribute.meta)
    })
}

/// Returns true for `cfg(test)`, and for `any` and `all` with `test` among their conditions: here the others of an `any`
/// are features for simulations.
fn is_for_tests(condition: &Meta) -> bool {
    let Meta::List(list) = condition else { return condition.path().is_ident("test") };
    let is_list = ["cfg", "any", "all"].iter().any(|name| list.path.is_ident(name));
    let inner = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
    is_list && inner.is_ok_and(|inner| inner.iter().any(is_for_tests))
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        if item.sig.constness.is_none() && !is_test(&item.attrs) {
            self.body(&item.sig.output, &item.block);
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        let is_for_tests = is_test(&item.attrs) || FOR_TESTS.iter().any(|name| item.sig.ident == name);
        if item.sig.constness.is_none() && !is_for_tests {
            self.body(&item.sig.output, &item.block);
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let last = item.trait_.as_ref().and_then(|(path, _)| path.segments.last());
        if !is_test(&item.attrs) && last.is_none_or(|last| last.ident != "Debug") {
            visit::visit_item_impl(self, item);
        }
    }

    // Code evaluated at compile time can't read a variable.
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    // In a pattern only the guard is an expression that runs.
    fn visit_pat(&mut self, pat: &'ast syn::Pat) {
        if let syn::Pat::Guard(guarded) = pat {
            self.condition(&guarded.guard);
            self.visit_expr(&guarded.guard);
        }
    }

    fn visit_type(&mut self, _: &'ast Type) {}
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}

    fn visit_stmt(&mut self, stmt: &'ast Stmt) {
        let attributes = match stmt {
            Stmt::Local(local) => local.attrs.as_slice(),
            Stmt::Macro(invocation) => &invocation.attrs,
            Stmt::Expr(Expr::If(branch), _) => &branch.attrs,
            Stmt::Expr(Expr::Block(block), _) => &block.attrs,
            Stmt::Expr(Expr::Call(call), _) => &call.attrs,
            Stmt::Expr(Expr::MethodCall(call), _) => &call.attrs,
            Stmt::Expr(..) | Stmt::Item(_) => &[],
        };
        if is_test(attributes) {
            return;
        }
        if let Stmt::Expr(Expr::MethodCall(call), Some(_)) = stmt
            && FOR_TESTS.iter().any(|name| call.method == name)
        {
            return;
        }
        if let Stmt::Expr(expr, Some(_)) = stmt
            && matches!(expr, Expr::MethodCall(_) | Expr::Call(_) | Expr::Assign(_) | Expr::Await(_) | Expr::Try(_))
        {
            self.add(stmt.span().byte_range(), stmt.span().start().line, Form::Without);
        }
        visit::visit_stmt(self, stmt);
    }

    fn visit_field_value(&mut self, field: &'ast syn::FieldValue) {
        if !is_test(&field.attrs) {
            visit::visit_field_value(self, field);
        }
    }

    fn visit_expr(&mut self, expr: &'ast Expr) {
        match expr {
            Expr::Binary(binary) if !has_let(expr) => {
                if let Some(op) = opposite(&binary.op) {
                    let other = format!("{} {op} {}", self.source(&binary.left), self.source(&binary.right));
                    self.replace(expr, other);
                }
            }
            Expr::Unary(unary) if matches!(unary.op, UnOp::Not(_)) => self.replace(expr, self.source(&unary.expr)),
            Expr::Lit(literal) => match &literal.lit {
                Lit::Bool(value) => self.replace(expr, (!value.value).to_string()),
                Lit::Int(value) => self.replace(expr, format!("{value} + 1")),
                _ => {}
            },
            Expr::If(branch) => self.condition(&branch.cond),
            _ => {}
        }
        visit::visit_expr(self, expr);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let sites = find(Path::new("crates/a/src/b.rs"), text).unwrap();
        sites.iter().map(|site| site.to_string().split_once(": ").unwrap().1.to_owned()).collect()
    }

    #[test]
    fn conditions_operators_statements_and_bodies_are_mutated() {
        let found = found("fn f(a: u8) -> bool { if a < 3 { g(); } !h() }");

        assert_eq!(
            found,
            [
                "returns `false` at once",
                "`true` for `a < 3`",
                "`false` for `a < 3`",
                "`a <= 3` for `a < 3`",
                "`3 + 1` for `3`",
                "without `g();`",
                "`h()` for `!h()`",
            ]
        );
    }

    #[test]
    fn tests_constants_and_conditions_with_let_are_left_alone() {
        assert!(found("const A: u8 = 1 + 2;\n#[cfg(test)]\nmod tests { fn f() -> bool { 1 < 2 } }").is_empty());
        assert_eq!(found("fn f(a: Option<u8>) { if let Some(b) = a && b == 1 {} }").len(), 3);
    }

    #[test]
    fn what_does_nothing_outside_of_tests_is_left_alone() {
        for condition in ["test", "any(test, feature = \"sim\")", "all(unix, any(feature = \"sim\", test))"] {
            assert!(found(&format!("#[cfg({condition})]\nfn f() -> bool {{ g(); 1 < 2 }}")).is_empty(), "{condition}");
        }
        assert_eq!(found("#[cfg(not(test))]\nfn f() { g(); }").len(), 2);
        for statement in ["if a { g(); }", "{ g(); }", "g(1);", "a.g(1);", "let a = 1;"] {
            let of_tests = format!("fn f() {{ #[cfg(any(test, feature = \"sim\"))] {statement} }}");
            assert_eq!(found(&of_tests), ["returns `` at once"], "{statement}");
        }
        assert_eq!(found("fn f() { g(A { #[cfg(test)] b: 1, c: 2 }) }"), ["returns `` at once", "`2 + 1` for `2`"]);
        assert_eq!(
            found("#[cfg(any(unix, windows))]\nfn f() -> bool { true }"),
            ["returns `false` at once", "`false` for `true`"]
        );
        assert_eq!(found("fn f() { world.crash(\"here\"); g(); }"), ["returns `` at once", "without `g();`"]);
        assert!(found("impl World { fn may_panic(&self) { g(); } }").is_empty());
    }

    #[test]
    fn a_mutant_has_the_same_key_wherever_its_line_moves_and_another_one_than_its_like() {
        let keys = |text: &str| -> Vec<String> {
            find(Path::new("b.rs"), text).unwrap().iter().map(Site::key).filter(|key| key.contains("g()")).collect()
        };
        let before = keys("fn f() { g(); g(); }");

        assert_eq!(before, keys("fn new() { h(1 + 2); }\n\nfn f() { g();\n g(); }"));
        assert_ne!(before[0], before[1]);
    }

    #[test]
    fn a_switch_holds_both() {
        let text = "fn f() -> bool { a == b }";
        let mut sites = find(Path::new("b.rs"), text).unwrap();
        let mut site = sites.remove(1);
        site.number = 7;

        assert_eq!(site.text("on"), "(if on(7) { a != b } else { a == b })");
        assert!(!site.overlaps(&sites[0]));
    }
}
