//! The packages of a Cargo workspace: which of them a file belongs to, and which depend on it.

use std::collections::BTreeSet;

use toml_edit::{Document, Item, TableLike};

use super::Project;

/// The parts of a package that are needed here.
struct Package {
    name: String,
    /// Folder of the package with a trailing `/`; empty at the root.
    folder: String,
    uses: BTreeSet<String>,
}

/// Lists the names of the packages that these files belong to, and on request those that depend on them. Returns an
/// empty list if a file belongs to no package: then the whole workspace is meant.
pub(super) fn of_files(project: &Project, files: &[String], with_dependents: bool) -> Vec<String> {
    let packages = packages(project);
    let mut wanted = BTreeSet::new();
    for file in files {
        let owner =
            packages.iter().filter(|package| file.starts_with(&package.folder)).max_by_key(|one| one.folder.len());
        match owner {
            Some(owner) => wanted.insert(owner.name.clone()),
            None => return Vec::new(),
        };
    }
    if with_dependents {
        add_dependents(&mut wanted, &packages);
    }
    wanted.into_iter().collect()
}

/// Returns the path of the module that a file of a package holds, with `::` at its end, if the file has tests. Returns
/// `None` for the root of a target and for a file that is no module.
pub(super) fn tested_module(project: &Project, file: &str) -> Option<String> {
    let packages = packages(project);
    let owner =
        packages.iter().filter(|package| file.starts_with(&package.folder)).max_by_key(|one| one.folder.len())?;
    let inner = file.strip_prefix(&owner.folder)?.strip_prefix("src/")?.strip_suffix(".rs")?;
    let module = inner.strip_suffix("/mod").unwrap_or(inner);
    let is_root = matches!(module, "lib" | "main") || module.starts_with("bin/");
    let has_tests = || ["#[test]", "::test]", "#[cfg(test)]"].iter().any(|mark| project.says(file, mark));
    (!is_root && has_tests()).then(|| format!("{}::", module.replace('/', "::")))
}

/// Adds the packages that depend on one of these, directly or not.
fn add_dependents(wanted: &mut BTreeSet<String>, packages: &[Package]) {
    loop {
        let before = wanted.len();
        let uses_one = |package: &&Package| package.uses.iter().any(|name| wanted.contains(name));
        let more: Vec<String> = packages.iter().filter(uses_one).map(|package| package.name.clone()).collect();
        wanted.extend(more);
        if wanted.len() == before {
            return;
        }
    }
}

fn packages(project: &Project) -> Vec<Package> {
    let manifests = project.files().iter().filter(|path| *path == "Cargo.toml" || path.ends_with("/Cargo.toml"));
    manifests.filter_map(|path| package(path, &project.text(path))).collect()
}

fn package(path: &str, text: &str) -> Option<Package> {
    let manifest = Document::parse(text).ok()?;
    let name = manifest.get("package")?.get("name")?.as_str()?.to_owned();
    let mut uses = BTreeSet::new();
    collect(manifest.as_table(), &mut uses, 0);
    let folder = path.strip_suffix("Cargo.toml").unwrap_or_default().to_owned();
    Some(Package { name, folder, uses })
}

/// Collects the names in all dependency tables, including those of targets.
fn collect(table: &dyn TableLike, uses: &mut BTreeSet<String>, depth: usize) {
    for (key, item) in table.iter() {
        let Some(inner) = item.as_table_like() else { continue };
        if key.ends_with("dependencies") {
            uses.extend(inner.iter().map(|(name, how)| real_name(name, how)));
        } else if depth < 2 && key == "target" || depth == 1 {
            collect(inner, uses, depth + 1);
        }
    }
}

/// Returns the package of a dependency, which may have another name here.
fn real_name(name: &str, how: &Item) -> String {
    how.get("package").and_then(Item::as_str).unwrap_or(name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_tests_leads_to_its_module() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("crates/a/Cargo.toml", "[package]\nname = \"a\"\n");
        for path in ["lib.rs", "b.rs", "b/c.rs", "d/mod.rs", "bin/e.rs"] {
            write(&format!("crates/a/src/{path}"), "#[cfg(test)]\nmod tests;\n");
        }
        write("crates/a/src/f.rs", "fn g() {}\n");
        let project = Project::new(folder.path());
        let module = |path: &str| tested_module(&project, &format!("crates/a/src/{path}"));

        assert_eq!(
            (module("b.rs"), module("b/c.rs"), module("d/mod.rs")),
            (Some("b::".into()), Some("b::c::".into()), Some("d::".into()))
        );
        assert_eq!((module("lib.rs"), module("bin/e.rs"), module("f.rs")), (None, None, None));
    }

    #[test]
    fn a_file_leads_to_its_package_and_to_those_that_depend_on_it() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("Cargo.toml", "[workspace]\nmembers = [\"crates/*\"]\n");
        write("crates/a/Cargo.toml", "[package]\nname = \"my-a\"\n");
        write(
            "crates/b/Cargo.toml",
            "[package]\nname = \"b\"\n[dependencies]\na = { package = \"my-a\", path = \"../a\" }\n",
        );
        write(
            "crates/c/Cargo.toml",
            "[package]\nname = \"c\"\n[target.'cfg(unix)'.dev-dependencies]\nb.workspace = true\n",
        );
        write("crates/d/Cargo.toml", "[package]\nname = \"d\"\n");
        let project = Project::new(folder.path());
        let files = ["crates/a/src/lib.rs".to_owned()];

        assert_eq!(of_files(&project, &files, false), ["my-a"]);
        assert_eq!(of_files(&project, &files, true), ["b", "c", "my-a"]);
        assert_eq!(of_files(&project, &["build.rs".to_owned()], false), [""; 0]);
    }
}
