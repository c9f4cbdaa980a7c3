//! Reads the paths that a file names.

use std::collections::BTreeMap;

use anyhow::anyhow;
use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Paths that a module names.
#[derive(Debug, Default)]
pub(super) struct Module {
    /// File that contains the module.
    pub(super) file: String,
    /// Names that a `use` imports, with the path of each.
    pub(super) uses: BTreeMap<String, Vec<String>>,
    /// Modules imported with `*`.
    pub(super) globs: Vec<Vec<String>>,
    /// Paths in code, of two names or more.
    pub(super) paths: Vec<Vec<String>>,
}

/// Returns the modules of a file, each with its path below that of the file: the file's own first.
///
/// # Errors
/// When the text is not Rust.
pub(super) fn read(file: &str, text: &str) -> anyhow::Result<Vec<(Vec<String>, Module)>> {
    let tokens: TokenStream = text.parse().map_err(|error| anyhow!("{file}: {error}"))?;
    let mut modules = vec![(Vec::new(), Module { file: file.to_owned(), ..Module::default() })];
    walk(file, tokens, 0, &mut modules);
    Ok(modules)
}

fn walk(file: &str, tokens: TokenStream, at: usize, modules: &mut Vec<(Vec<String>, Module)>) {
    let tokens: Vec<_> = tokens.into_iter().collect();
    let mut next = 0;
    let mut is_test = false;
    while let Some(token) = tokens.get(next) {
        next += 1;
        match token {
            TokenTree::Punct(mark) if mark.as_char() == '#' => {
                let attribute = tokens.get(next).map(ToString::to_string).unwrap_or_default();
                is_test |= attribute.replace(' ', "") == "[cfg(test)]";
            }
            TokenTree::Ident(word) if word == "use" => {
                let end = tokens[next..].iter().position(is_semicolon).map_or(tokens.len(), |end| next + end);
                use_tree(&tokens[next..end], &[], &mut modules[at].1);
                next = end;
                is_test = false;
            }
            TokenTree::Ident(word) if word == "mod" => {
                if let (Some(TokenTree::Ident(name)), Some(TokenTree::Group(inside))) =
                    (tokens.get(next), tokens.get(next + 1))
                {
                    next += 2;
                    if !is_test {
                        let path = [modules[at].0.clone(), vec![name.to_string()]].concat();
                        modules.push((path, Module { file: file.to_owned(), ..Module::default() }));
                        let inner = modules.len() - 1;
                        walk(file, inside.stream(), inner, modules);
                    }
                }
                is_test = false;
            }
            // `pub(in crate::a)` declares the visibility of an item; it is no import.
            TokenTree::Ident(word) if word == "pub" => {
                if let Some(TokenTree::Group(group)) = tokens.get(next)
                    && group.delimiter() == Delimiter::Parenthesis
                {
                    next += 1;
                }
            }
            TokenTree::Ident(word) => {
                let mut path = vec![word.to_string()];
                while let Some(name) = after_colons(&tokens, next) {
                    path.push(name);
                    next += 3;
                }
                if path.len() > 1 {
                    modules[at].1.paths.push(path);
                }
            }
            TokenTree::Group(group) => walk(file, group.stream(), at, modules),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

/// Returns the name behind `::`, if both stand here.
fn after_colons(tokens: &[TokenTree], at: usize) -> Option<String> {
    let is_colon = |token: Option<&TokenTree>| matches!(token, Some(TokenTree::Punct(mark)) if mark.as_char() == ':');
    match tokens.get(at + 2) {
        Some(TokenTree::Ident(name)) if is_colon(tokens.get(at)) && is_colon(tokens.get(at + 1)) => {
            Some(name.to_string())
        }
        _ => None,
    }
}

fn is_semicolon(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(mark) if mark.as_char() == ';')
}

/// Adds what a `use` imports: `a::{b, c as d, self, e::*}`.
fn use_tree(tokens: &[TokenTree], before: &[String], module: &mut Module) {
    let mut path = before.to_vec();
    let mut name = None;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Ident(word) if word == "as" => {
                name = tokens.get(at + 1).map(ToString::to_string);
                break;
            }
            TokenTree::Ident(word) if word == "self" && !path.is_empty() => {}
            TokenTree::Ident(word) => path.push(word.to_string()),
            TokenTree::Punct(mark) if mark.as_char() == '*' => {
                module.globs.push(path);
                return;
            }
            TokenTree::Group(group) => {
                let inner: Vec<_> = group.stream().into_iter().collect();
                let is_comma = |token: &TokenTree| matches!(token, TokenTree::Punct(mark) if mark.as_char() == ',');
                inner.split(is_comma).filter(|part| !part.is_empty()).for_each(|part| use_tree(part, &path, module));
                return;
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
    if let Some(name) = name.or_else(|| path.last().cloned()) {
        // `use a::A as _` brings in methods only; the path is still an import.
        let name = if name == "_" { format!("_{}", module.uses.len()) } else { name };
        module.uses.insert(name, path);
    }
}
