//! Names that are declared twice, or used without a declaration.

use std::collections::{HashMap, HashSet};

use tree_sitter::Node;

use crate::node::problem;
use crate::problem::{Kind, Problem};

/// Finds a name that `let`, `const`, `class` or `import` declares beside another declaration in the same block.
pub(super) fn twice(block: Node<'_>, text: &[u8]) -> Option<Problem> {
    let mut scope = Scope { text, names: HashMap::new(), second: None };
    for statement in block.named_children(&mut block.walk()) {
        scope.statement(statement);
    }
    scope.second.map(|second| problem(second, Kind::Unreadable))
}

/// Names of a block, and whether each may be declared again.
struct Scope<'t, 'a> {
    text: &'a [u8],
    names: HashMap<&'a [u8], bool>,
    second: Option<Node<'t>>,
}

// === impl Scope ===

impl<'t> Scope<'t, '_> {
    fn statement(&mut self, statement: Node<'t>) {
        match statement.kind() {
            "export_statement" => {
                if let Some(inner) = statement.child_by_field_name("declaration") {
                    self.statement(inner);
                }
            }
            "lexical_declaration" => self.declarators(statement, false),
            "variable_declaration" => self.declarators(statement, true),
            "class_declaration" => self.own(statement, false),
            "function_declaration" | "generator_function_declaration" => self.own(statement, true),
            "import_statement" => self.names_in(statement, false),
            _ => {}
        }
    }

    fn declarators(&mut self, declaration: Node<'t>, may_repeat: bool) {
        for declarator in declaration.named_children(&mut declaration.walk()) {
            if let Some(name) = declarator.child_by_field_name("name") {
                self.names_in(name, may_repeat);
            }
        }
    }

    fn own(&mut self, declaration: Node<'t>, may_repeat: bool) {
        if let Some(name) = declaration.child_by_field_name("name") {
            self.add(name, may_repeat);
        }
    }

    /// Adds the names that a pattern or an import binds.
    fn names_in(&mut self, node: Node<'t>, may_repeat: bool) {
        match node.kind() {
            "identifier" | "shorthand_property_identifier_pattern" => self.add(node, may_repeat),
            "import_specifier" => {
                let local = node.child_by_field_name("alias").or_else(|| node.child_by_field_name("name"));
                local.into_iter().for_each(|local| self.names_in(local, may_repeat));
            }
            "pair_pattern" => {
                let value = node.child_by_field_name("value");
                value.into_iter().for_each(|value| self.names_in(value, may_repeat));
            }
            "assignment_pattern" | "object_assignment_pattern" => {
                let left = node.child_by_field_name("left");
                left.into_iter().for_each(|left| self.names_in(left, may_repeat));
            }
            "object_pattern" | "array_pattern" | "rest_pattern" | "import_statement" | "import_clause"
            | "named_imports" | "namespace_import" => {
                for inner in node.named_children(&mut node.walk()) {
                    self.names_in(inner, may_repeat);
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, name: Node<'t>, may_repeat: bool) {
        let before = self.names.insert(&self.text[name.byte_range()], may_repeat);
        if self.second.is_none() && before.is_some_and(|could_repeat| !(could_repeat && may_repeat)) {
            self.second = Some(name);
        }
    }
}

/// Reports `this.#a` where no enclosing class declares `#a`.
pub(super) fn unknown_private(name: Node<'_>, above: &[Node<'_>], text: &[u8]) -> Option<Problem> {
    let is_use = above.last().is_some_and(|parent| parent.kind() == "member_expression");
    let written = &text[name.byte_range()];
    let declares = |class: &Node<'_>| {
        class.named_children(&mut class.walk()).any(|member| {
            let own = member.child_by_field_name("property").or_else(|| member.child_by_field_name("name"));
            own.is_some_and(|own| &text[own.byte_range()] == written)
        })
    };
    let is_known = || above.iter().rev().filter(|outer| outer.kind() == "class_body").any(declares);
    (is_use && !is_known()).then(|| problem(name, Kind::Unreadable))
}

/// Reports a repeated key, `{ a: 1, a: 2 }`, which TypeScript refuses.
pub(super) fn repeated_key(object: Node<'_>, text: &[u8]) -> Option<Problem> {
    let mut names = HashSet::new();
    for member in object.named_children(&mut object.walk()) {
        let key = match member.kind() {
            "pair" => member.child_by_field_name("key").filter(|key| key.kind() == "property_identifier"),
            "shorthand_property_identifier" => Some(member),
            _ => None,
        };
        if let Some(second) = key.filter(|key| !names.insert(&text[key.byte_range()])) {
            return Some(problem(second, Kind::Unreadable));
        }
    }
    None
}
