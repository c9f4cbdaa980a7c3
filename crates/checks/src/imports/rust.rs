//! Modules of Rust: `mod name;` leads to a file. `use` is not checked here: the compiler does that in a build.

use tree_sitter::Node;

use super::found::{Found, Import};
use super::tree::{Tree, folder, join};

pub(super) fn imports(root: Node<'_>, source: &str) -> Vec<Import> {
    let mut cursor = root.walk();
    let modules = root.named_children(&mut cursor).filter(|node| {
        // With an attribute, such as a path or a condition, the file may lie elsewhere or be generated.
        let before = node.prev_named_sibling().filter(|before| before.kind() == "attribute_item");
        node.kind() == "mod_item" && node.child_by_field_name("body").is_none() && before.is_none()
    });
    let import = |node: Node<'_>| {
        let name = node.child_by_field_name("name")?;
        Some(Import { name: source.get(name.byte_range())?.to_owned(), range: node.byte_range() })
    };
    modules.filter_map(import).collect()
}

pub(super) fn resolve(path: &str, name: &str, tree: &Tree) -> Found {
    let file = path.rsplit('/').next().unwrap_or(path);
    let stem = file.strip_suffix(".rs").unwrap_or(file);
    let beside = |folder: &str| {
        [format!("{name}.rs"), format!("{name}/mod.rs")]
            .iter()
            .any(|end| join(folder, end).is_some_and(|path| tree.has_file(&path)))
    };
    let own = join(folder(path), stem).unwrap_or_default();
    // Beside a crate's root file or a `mod.rs`, else in the module's folder. The manifest may name the root, so both
    // are accepted.
    if beside(folder(path)) || beside(&own) { Found::Yes } else { Found::NoFile }
}
