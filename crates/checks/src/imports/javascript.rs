//! Imports of JavaScript and TypeScript: `import`, `export … from`, and `require` and `import()` with a literal.

use tree_sitter::Node;

use super::found::{Found, Import};
use super::manifests::Manifests;
use super::tree::{Tree, folder, join};

/// File endings that a path may leave out.
const ENDINGS: [&str; 14] =
    ["ts", "tsx", "d.ts", "js", "jsx", "mjs", "cjs", "mts", "cts", "json", "vue", "svelte", "node", "css"];
/// File endings of sources, by the ending that they compile to.
const COMPILED: [(&str, &[&str]); 4] =
    [(".js", &[".ts", ".tsx", ".jsx"]), (".mjs", &[".mts"]), (".cjs", &[".cts"]), (".jsx", &[".tsx"])];
/// Folders with the output of a build or a generator; their files are not in the tree.
const MADE: [&str; 9] = ["dist", "build", "out", "lib", "generated", "__generated__", "gen", ".next", "pkg"];
/// Modules that are part of the runtime.
const BUILT_IN: [&str; 44] = [
    "assert",
    "async_hooks",
    "buffer",
    "child_process",
    "cluster",
    "console",
    "constants",
    "crypto",
    "dgram",
    "diagnostics_channel",
    "dns",
    "domain",
    "events",
    "fs",
    "http",
    "http2",
    "https",
    "inspector",
    "module",
    "net",
    "os",
    "path",
    "perf_hooks",
    "process",
    "punycode",
    "querystring",
    "readline",
    "repl",
    "stream",
    "string_decoder",
    "sys",
    "test",
    "timers",
    "tls",
    "trace_events",
    "tty",
    "url",
    "util",
    "v8",
    "vm",
    "wasi",
    "worker_threads",
    "zlib",
    "sqlite",
];

pub(super) fn imports(root: Node<'_>, source: &str) -> Vec<Import> {
    let mut found = Vec::new();
    let mut open = vec![root];
    while let Some(node) = open.pop() {
        let literal = match node.kind() {
            "import_statement" | "export_statement" => node.child_by_field_name("source"),
            "call_expression" => called(node, source),
            _ => None,
        };
        if let Some(literal) = literal {
            let name = source.get(literal.byte_range()).unwrap_or("").trim_matches(['"', '\'', '`']).to_owned();
            if !name.is_empty() && !name.contains("${") {
                found.push(Import { name, range: literal.byte_range() });
            }
        }
        let mut cursor = node.walk();
        open.extend(node.named_children(&mut cursor));
    }
    found.sort_by_key(|import| import.range.start);
    found
}

/// Returns the literal that `require` or `import` is called with, unless its failure is caught.
fn called<'a>(node: Node<'a>, source: &str) -> Option<Node<'a>> {
    let function = source.get(node.child_by_field_name("function")?.byte_range())?;
    let mut above = node.parent();
    while let Some(outer) = above {
        if outer.kind() == "try_statement" {
            return None;
        }
        above = outer.parent();
    }
    let arguments = node.child_by_field_name("arguments")?;
    let only = (arguments.named_child_count() == 1).then(|| arguments.named_child(0)).flatten()?;
    (["require", "import"].contains(&function) && only.kind() == "string").then_some(only)
}

pub(super) fn resolve(path: &str, name: &str, tree: &Tree, manifests: &Manifests) -> Found {
    let plain = name.split(['?', '!']).next().unwrap_or(name);
    if plain.starts_with("./") || plain.starts_with("../") || plain == "." || plain == ".." {
        return of_path(path, plain, tree);
    }
    // An alias, a scheme or a path from the root of a site: its meaning depends on a configuration.
    let is_own = plain.starts_with(['#', '~', '$', '/', '@'])
        && !plain.get(1..).is_some_and(|rest| rest.contains('/') && plain.starts_with('@') && !rest.starts_with('/'));
    if is_own || plain.contains(':') || name != plain {
        return Found::Yes;
    }
    let parts: Vec<&str> = plain.split('/').collect();
    let package = if plain.starts_with('@') {
        parts.iter().take(2).copied().collect::<Vec<_>>().join("/")
    } else {
        parts[0].to_owned()
    };
    let is_known = BUILT_IN.contains(&parts[0])
        || manifests.node.contains(&package)
        || manifests.node.contains(&format!("@types/{package}"))
        || !manifests.has_node
        || tree.has_named(parts[0]);
    if is_known { Found::Yes } else { Found::NotNamed }
}

fn of_path(path: &str, name: &str, tree: &Tree) -> Found {
    // A path out of the tree can't be checked here.
    let Some(target) = join(folder(path), name) else { return Found::Yes };
    let is_made = target.split('/').any(|part| MADE.contains(&part) || part.contains("generated"));
    let with = |ending: &str| {
        tree.has_file(&format!("{target}.{ending}")) || tree.has_file(&format!("{target}/index.{ending}"))
    };
    let is_compiled = COMPILED.iter().any(|(from, to)| {
        target.strip_suffix(from).is_some_and(|stem| to.iter().any(|ending| tree.has_file(&format!("{stem}{ending}"))))
    });
    // The folder's own `index` file, and a package in a folder.
    let is_index = ENDINGS.iter().any(|ending| {
        let index = if target.is_empty() { format!("index.{ending}") } else { format!("{target}/index.{ending}") };
        tree.has_file(&index)
    });
    let is_there = tree.has_file(&target)
        || is_compiled
        || is_index
        || ENDINGS.iter().any(|ending| with(ending))
        || tree.has_file(&format!("{target}/package.json"))
        || target.is_empty();
    if is_there || is_made { Found::Yes } else { Found::NoFile }
}
