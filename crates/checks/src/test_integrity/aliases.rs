//! Other names that a file gives to the objects of a runner or of the process: `const kit = require("node:assert")`, `from
//! unittest import TestCase as T`, `p = process`, `use std::process as p`. Without them a patch or an exit would be hidden by
//! a new name.

use std::collections::HashMap;

use tree_sitter::{Node, Tree};

use super::language::TestLanguage;
use super::node::{children, field, text, walk};

/// Maximum length of an expression that counts as a path, in bytes.
const LONGEST: usize = 200;

/// Names of a file, each with the path that it stands for.
#[derive(Debug, Default)]
pub(super) struct Aliases(HashMap<String, String>);

// === impl Aliases ===

impl Aliases {
    /// Collects the names in the order of the file, so that names of names are resolved too.
    pub(super) fn of(tree: &Tree, source: &str, kind: TestLanguage) -> Self {
        let mut aliases = Self::default();
        walk(tree.root_node(), |node, _| {
            match kind {
                TestLanguage::JavaScript => aliases.add_javascript(node, source),
                TestLanguage::Python => aliases.add_python(node, source),
                TestLanguage::Rust => aliases.add_rust(node, source),
            }
            true
        });
        aliases
    }

    /// Returns an expression with its first name replaced by what it stands for, and members in the form `owner.member`.
    pub(super) fn resolve(&self, expression: &str) -> String {
        if expression.len() > LONGEST {
            return expression.to_owned();
        }
        let path = plain(expression);
        // A call through a comma, `(0, process.exit)(0)`.
        let path = path.strip_prefix("(0,").and_then(|path| path.strip_suffix(')')).unwrap_or(&path);
        let end = path.find(['.', '[', '(']).or_else(|| path.find("::")).unwrap_or(path.len());
        let (first, rest) = path.split_at(end);
        let known = self.0.get(first).map_or(first, String::as_str);
        let whole = format!("{known}{rest}");
        let inner = ["globalThis.", "global.", "window."].iter().find_map(|outer| whole.strip_prefix(outer));
        inner.map_or_else(|| whole.clone(), str::to_owned)
    }

    fn bind(&mut self, name: &str, expression: &str) {
        if name.is_empty() || expression.len() > LONGEST {
            return;
        }
        let path = self.resolve(expression);
        let is_path = path.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | '.' | ':' | '-'));
        if is_path && !path.is_empty() && path != name {
            self.0.insert(name.to_owned(), path);
        }
    }

    fn add_javascript(&mut self, node: Node<'_>, source: &str) {
        let (name, value) = match node.kind() {
            "variable_declarator" => ("name", "value"),
            "assignment_expression" => ("left", "right"),
            "import_statement" => return self.add_import(node, source),
            _ => return,
        };
        let (Some(name), value) = (node.child_by_field_name(name), field(node, value, source)) else { return };
        match name.kind() {
            "identifier" => self.bind(text(name, source), value),
            "object_pattern" => {
                for member in children(name) {
                    let (key, own) = match member.kind() {
                        "pair_pattern" => (field(member, "key", source), field(member, "value", source)),
                        _ => (text(member, source), text(member, source)),
                    };
                    self.bind(own, &format!("{}.{key}", plain(value)));
                }
            }
            _ => {}
        }
    }

    fn add_import(&mut self, node: Node<'_>, source: &str) {
        let module = module(field(node, "source", source));
        walk(node, |part, _| {
            match part.kind() {
                "import_clause" => {
                    let default = children(part).into_iter().find(|child| child.kind() == "identifier");
                    default.into_iter().for_each(|name| self.bind(text(name, source), &module));
                }
                "namespace_import" => {
                    children(part).into_iter().for_each(|name| self.bind(text(name, source), &module));
                }
                "import_specifier" => {
                    let (name, alias) = (field(part, "name", source), field(part, "alias", source));
                    self.bind(if alias.is_empty() { name } else { alias }, &format!("{module}.{name}"));
                }
                _ => {}
            }
            true
        });
    }

    fn add_python(&mut self, node: Node<'_>, source: &str) {
        match node.kind() {
            "assignment" if node.child_by_field_name("left").is_some_and(|left| left.kind() == "identifier") => {
                self.bind(field(node, "left", source), field(node, "right", source));
            }
            "import_statement" | "import_from_statement" => {
                let module = field(node, "module_name", source);
                let within = |name: &str| if module.is_empty() { name.to_owned() } else { format!("{module}.{name}") };
                let mut cursor = node.walk();
                for part in node.children_by_field_name("name", &mut cursor) {
                    let (name, own) = match part.kind() {
                        "aliased_import" => (field(part, "name", source), field(part, "alias", source)),
                        _ => (text(part, source), text(part, source)),
                    };
                    self.bind(own, &within(name));
                }
            }
            _ => {}
        }
    }

    fn add_rust(&mut self, node: Node<'_>, source: &str) {
        if let ("use_declaration", Some(used)) = (node.kind(), node.child_by_field_name("argument")) {
            self.add_use(used, "", source);
        }
    }

    /// Adds what a part of a `use` names, below the path of the lists that it is in.
    fn add_use(&mut self, used: Node<'_>, above: &str, source: &str) {
        let below = |path: &str| if above.is_empty() { path.to_owned() } else { format!("{above}::{path}") };
        match used.kind() {
            "use_as_clause" => self.bind(field(used, "alias", source), &below(field(used, "path", source))),
            "scoped_identifier" => self.bind(field(used, "name", source), &below(text(used, source))),
            "identifier" => self.bind(text(used, source), &below(text(used, source))),
            "use_list" => children(used).into_iter().for_each(|part| self.add_use(part, above, source)),
            "scoped_use_list" => {
                let (path, list) = (below(field(used, "path", source)), used.child_by_field_name("list"));
                list.into_iter().for_each(|list| self.add_use(list, &path, source));
            }
            _ => {}
        }
    }
}

/// Writes members as `owner.member`, however they are reached, and a module that is loaded as its name.
fn plain(expression: &str) -> String {
    let mut path: String = expression.chars().filter(|c| !c.is_whitespace()).collect();
    path = path.replace("?.", ".").replace('\'', "\"");
    for (open, close) in [("[\"", "\"]"), ("getattr(", "\")")] {
        while let Some(found) = member(&path, open, close) {
            path = found;
        }
    }
    for load in
        ["require(\"", "__import__(\"", "importlib.import_module(\"", "import_module(\"", "process.getBuiltinModule(\""]
    {
        let loaded = path.strip_prefix(load).and_then(|rest| rest.split_once("\")"));
        if let Some((name, rest)) = loaded {
            path = format!("{}{rest}", module(name));
        }
    }
    path
}

/// Rewrites the first member that is named by a text: `a["b"]`, or `getattr(a,"b")` at the start.
fn member(path: &str, open: &str, close: &str) -> Option<String> {
    let at = path.find(open)?;
    let inside = &path[at + open.len()..];
    let end = inside.find(close)?;
    let (name, rest) = (&inside[..end], &inside[end + close.len()..]);
    if open == "getattr(" {
        let (owner, name) = name.split_once(",\"")?;
        return (at == 0).then(|| format!("{owner}.{name}{rest}"));
    }
    Some(format!("{}.{name}{rest}", &path[..at]))
}

/// Returns a module's name: `assert` for `node:assert/strict`.
fn module(quoted: &str) -> String {
    let name = quoted.trim_matches(['"', '\'', '`']);
    let name = name.strip_prefix("node:").unwrap_or(name);
    name.split('/').next().unwrap_or(name).to_owned()
}
