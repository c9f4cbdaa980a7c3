//! Names in the manifests of a tree.

use std::collections::BTreeSet;
use std::path::Path;

use super::tree::Tree;

/// Manifests of Python; any word in them may be the name of a package.
const PYTHON: [&str; 9] = [
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "Pipfile",
    "tox.ini",
    "environment.yml",
    "environment.yaml",
    "noxfile.py",
    "uv.lock",
];
/// Maximum number of bytes read of a manifest.
const MOST_BYTES: u64 = 2 << 20;

/// Names in the manifests of a tree.
#[derive(Default)]
pub(super) struct Manifests {
    /// Words of Python's manifests, in lower case and with `_`.
    pub(super) python: BTreeSet<String>,
    /// Packages that `package.json` files depend on, and their own names.
    pub(super) node: BTreeSet<String>,
    /// True if the tree has a manifest of Python.
    pub(super) has_python: bool,
    pub(super) has_node: bool,
}

// === impl Manifests ===

impl Manifests {
    pub(super) fn read(root: &Path, tree: &Tree) -> Self {
        let mut found = Self::default();
        for file in tree.files() {
            let name = file.rsplit('/').next().unwrap_or(file);
            let is_python = PYTHON.contains(&name) || (name.contains("requirements") && name.ends_with(".txt"));
            if !is_python && name != "package.json" {
                continue;
            }
            let full = root.join(file);
            let is_readable = full.symlink_metadata().is_ok_and(|data| data.is_file() && data.len() <= MOST_BYTES);
            let Some(text) = is_readable.then(|| std::fs::read_to_string(full).ok()).flatten() else { continue };
            if is_python {
                found.has_python = true;
                found.python.extend(words(&text));
            } else {
                found.has_node = true;
                found.node.extend(packages(&text));
            }
        }
        found
    }
}

/// Normalises the name of a Python package for comparison.
pub(super) fn plain(name: &str) -> String {
    name.to_lowercase().replace(['-', '.'], "_")
}

fn words(text: &str) -> impl Iterator<Item = String> {
    let is_part = |c: char| c.is_alphanumeric() || ['-', '_', '.'].contains(&c);
    text.split(move |c| !is_part(c)).filter(|word| !word.is_empty()).map(plain)
}

fn packages(text: &str) -> Vec<String> {
    const LISTS: [&str; 5] =
        ["dependencies", "devDependencies", "peerDependencies", "optionalDependencies", "bundledDependencies"];
    let Ok(package) = serde_json::from_str::<serde_json::Value>(text) else { return Vec::new() };
    let lists = LISTS.iter().filter_map(|list| package[list].as_object());
    let mut names: Vec<String> = lists.flat_map(|list| list.keys().cloned()).collect();
    names.extend(package["name"].as_str().map(str::to_owned));
    names
}
