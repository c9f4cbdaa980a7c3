//! Finds files of a crate that import each other in a ring.
//!
//! A file imports another when one of its paths, in a `use` or in code, names an item that is defined there. Re-exports are followed:
//! `crate::Error` is an import of the file that defines `Error`, not of `lib.rs`. Unit tests at the end of a file don't count.

mod paths;
mod rings;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use self::paths::Module;

/// Maximum number of files that may import each other in a ring: a parent with two children is easily read as one unit.
pub(crate) const MAX_RING: usize = 3;

/// Prints the rings of every crate, and the imports of those that are too large.
///
/// # Errors
/// When one is larger than [`MAX_RING`], or a file can't be read.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let mut too_large = 0;
    for (name, src) in crates(root)? {
        let imports = imports(&modules(&src)?);
        for ring in rings::of(&imports) {
            println!("{name}: {} files: {}", ring.len(), ring.join(", "));
            if ring.len() > MAX_RING {
                too_large += 1;
                print_imports(&ring, &imports);
            }
        }
    }
    anyhow::ensure!(too_large == 0, "{too_large} rings of more than {MAX_RING} files");
    Ok(())
}

/// Prints which files of a ring each of its files imports.
fn print_imports(ring: &[String], imports: &BTreeMap<String, BTreeSet<String>>) {
    for file in ring {
        let inside: Vec<_> = imports[file].iter().filter(|other| ring.contains(other)).map(String::as_str).collect();
        println!("    {file} imports {}", inside.join(", "));
    }
}

/// Lists name and `src` folder of every crate.
///
/// # Errors
/// When the folder can't be read.
pub(crate) fn crates(root: &Path) -> anyhow::Result<Vec<(String, PathBuf)>> {
    let folder = root.join("crates");
    let mut crates = vec![("xtask".to_owned(), root.join("xtask/src"))];
    for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.join("src").is_dir() {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            crates.push((name, path.join("src")));
        }
    }
    crates.sort();
    Ok(crates)
}

/// Returns the rings of a crate's files, the largest first; paths are relative to its `src`.
///
/// # Errors
/// When a file can't be read or is not Rust.
pub(crate) fn of_crate(src: &Path) -> anyhow::Result<Vec<Vec<String>>> {
    Ok(rings::of(&imports(&modules(src)?)))
}

/// Returns every module of a crate by its path.
fn modules(src: &Path) -> anyhow::Result<BTreeMap<Vec<String>, Module>> {
    let mut modules = BTreeMap::new();
    read(src, src, &mut modules)?;
    Ok(modules)
}

/// Reads every file below a folder, with the path of its module.
fn read(src: &Path, folder: &Path, modules: &mut BTreeMap<Vec<String>, Module>) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            read(src, &path, modules)?;
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let name = path.strip_prefix(src)?.to_string_lossy().into_owned();
            let mut module: Vec<_> = name.trim_end_matches(".rs").split('/').map(ToOwned::to_owned).collect();
            if module == ["lib"] {
                module.clear();
            }
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            for (inner, found) in paths::read(&name, &text)? {
                modules.insert([module.clone(), inner].concat(), found);
            }
        }
    }
    Ok(())
}

/// Returns the files that each file imports.
fn imports(modules: &BTreeMap<Vec<String>, Module>) -> BTreeMap<String, BTreeSet<String>> {
    let mut imports: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (at, module) in modules {
        let found = imports.entry(module.file.clone()).or_default();
        let used = module.uses.values().chain(&module.globs);
        for path in used.chain(&module.paths) {
            let file = absolute(modules, at, path, 0).and_then(|path| modules.get(&home(modules, path, 0)));
            if let Some(other) = file.filter(|other| other.file != module.file) {
                found.insert(other.file.clone());
            }
        }
    }
    imports
}

/// Maximum number of re-exports followed: more than any crate has, so that following a ring of them ends.
const DEPTH: usize = 16;

/// Returns a path from the crate's root; `None` if it leads out of the crate or names an item of the module itself.
fn absolute(
    modules: &BTreeMap<Vec<String>, Module>,
    at: &[String],
    path: &[String],
    depth: usize,
) -> Option<Vec<String>> {
    let (first, rest) = path.split_first()?;
    if depth > DEPTH {
        return None;
    }
    match first.as_str() {
        "crate" => Some(rest.to_vec()),
        "self" => Some([at, rest].concat()),
        "super" => {
            let (_, parent) = at.split_last()?;
            match rest.first() {
                Some(next) if next == "super" => absolute(modules, parent, rest, depth),
                _ => Some([parent, rest].concat()),
            }
        }
        name => {
            let child = [at, &[name.to_owned()]].concat();
            if modules.contains_key(&child) {
                return Some([at, path].concat());
            }
            let used = modules.get(at)?.uses.get(name).filter(|used| used.as_slice() != path)?;
            absolute(modules, at, &[used, rest].concat(), depth + 1)
        }
    }
}

/// Returns the module that defines the item at a path from the root.
fn home(modules: &BTreeMap<Vec<String>, Module>, path: Vec<String>, depth: usize) -> Vec<String> {
    let mut at = Vec::new();
    for (number, name) in path.iter().enumerate() {
        if name == "super" {
            at.pop();
            continue;
        }
        let child = [at.as_slice(), std::slice::from_ref(name)].concat();
        if modules.contains_key(&child) {
            at = child;
            continue;
        }
        let used = modules.get(&at).and_then(|module| module.uses.get(name)).filter(|_| depth < DEPTH);
        if let Some(next) = used.and_then(|used| absolute(modules, &at, used, 0)) {
            return home(modules, [next.as_slice(), &path[number + 1..]].concat(), depth + 1);
        }
        break;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rings(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let src = tempfile::TempDir::new().unwrap();
        for (name, text) in files {
            let path = src.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        of_crate(src.path()).unwrap()
    }

    #[test]
    fn two_files_that_use_each_other_are_a_ring() {
        let found = rings(&[
            ("lib.rs", "mod a;\nmod b;\nmod c;\n"),
            ("a.rs", "use crate::b::B;\npub struct A(B);"),
            ("b.rs", "pub struct B;\nfn f() { let _ = super::a::g(); }"),
            ("c.rs", "use crate::a::A;"),
        ]);

        assert_eq!(found, [["a.rs", "b.rs"]]);
    }

    #[test]
    fn a_re_export_is_an_import_of_the_file_that_defines_the_item() {
        let found = rings(&[
            ("lib.rs", "mod error;\nmod open;\npub use error::Error;\npub use open::open;\n"),
            ("error.rs", "pub enum Error {}"),
            ("open.rs", "use crate::Error;\npub fn open() -> Result<(), Error> { Ok(()) }"),
        ]);

        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn an_item_that_the_parent_defines_closes_a_ring_and_a_path_in_a_macro_counts() {
        let found = rings(&[
            ("lib.rs", "mod a;\n"),
            ("a.rs", "mod deep;\npub struct Own;\nfn f() { println!(\"{}\", deep::g()); }"),
            ("a/deep.rs", "use super::{Own, *};\npub fn g() -> u8 { 0 }"),
        ]);

        assert_eq!(found, [["a.rs", "a/deep.rs"]]);
    }

    #[test]
    fn unit_tests_do_not_count() {
        let found = rings(&[
            ("lib.rs", "mod a;\nmod b;\n"),
            ("a.rs", "pub struct A;\n#[cfg(test)]\nmod tests { use crate::b::B; }"),
            ("b.rs", "use crate::a::A;\npub struct B;"),
        ]);

        assert!(found.is_empty(), "{found:?}");
    }
}
