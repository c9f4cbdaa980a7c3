//! `cargo xtask layers`: checks the allowed dependencies between crates, and links.

mod sources;
mod table;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde::Deserialize;

use crate::command::{command, output};
use crate::links;

/// The part of `cargo metadata`'s output that is checked.
#[derive(Debug, Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Debug, Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
}

#[derive(Debug, Deserialize)]
struct Dependency {
    name: String,
    /// Kind of the dependency: `dev` or `build`; `None` for a normal one.
    kind: Option<String>,
}

/// Checks the workspace and prints every fault.
///
/// # Errors
/// When there is a fault.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let text = output(command("cargo", root).args(["metadata", "--format-version", "1", "--no-deps"]))?;
    let metadata: Metadata = serde_json::from_slice(&text).context("what cargo metadata printed")?;
    let mut faults = of_dependencies(&metadata);
    for package in &metadata.packages {
        let folder = package.manifest_path.parent().context("a manifest lies in a folder")?;
        faults.extend(sources::faults(crate_name(&package.name), &folder.join("src"))?);
    }
    faults.extend(of_patches(&std::fs::read_to_string(root.join("Cargo.lock")).context("Cargo.lock")?));
    faults.extend(links::broken(root)?.into_iter().map(|link| format!("{link} leads nowhere")));
    for fault in &faults {
        println!("{fault}");
    }
    if faults.is_empty() {
        println!("layers: {} crates keep to the table", metadata.packages.len());
        return Ok(());
    }
    bail!("{} faults: docs/architecture.md says who may depend on whom", faults.len());
}

/// Returns the crate's name in the table: without the prefix under which it would be published.
fn crate_name(package: &str) -> &str {
    package.strip_prefix("switchboard-").unwrap_or(package)
}

fn of_dependencies(metadata: &Metadata) -> Vec<String> {
    let ours: BTreeSet<_> = metadata.packages.iter().map(|package| package.name.as_str()).collect();
    let mut faults = Vec::new();
    for package in &metadata.packages {
        let name = crate_name(&package.name);
        let Some(row) = table::row(name) else {
            faults.push(format!("{name}: is not in the table; give it a level or a place in another crate"));
            continue;
        };
        for dependency in package.dependencies.iter().filter(|dependency| dependency.kind.as_deref() != Some("dev")) {
            let other = crate_name(&dependency.name);
            if ours.contains(dependency.name.as_str()) {
                if !row.may.contains(&other) {
                    let what = format!("{name} (level {}): may not depend on {other}", row.level);
                    faults.push(format!("{what}; it may on {}", list(row.may)));
                }
            } else if let Some(rule) = table::keeper(other).filter(|rule| !rule.only.contains(&name)) {
                faults.push(format!("{name}: may not name {other}: {} ({})", rule.why, list(rule.only)));
            }
        }
    }
    faults
}

/// Returns the stand-ins of `patches/` that Cargo does not use, because what they stand in for is needed in another version.
fn of_patches(lock: &str) -> Vec<String> {
    let unused = lock.split("[[patch.unused]]").skip(1).filter_map(|entry| entry.split('"').nth(1));
    unused.map(|name| format!("{name}: patches/{name} is of another version than what needs it")).collect()
}

fn list(names: &[&str]) -> String {
    if names.is_empty() { "nothing of ours".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, dependencies: &[(&str, Option<&str>)]) -> Package {
        let dependency = |(name, kind): &(&str, Option<&str>)| Dependency {
            name: (*name).to_owned(),
            kind: kind.map(ToOwned::to_owned),
        };
        Package {
            name: name.to_owned(),
            manifest_path: PathBuf::new(),
            dependencies: dependencies.iter().map(dependency).collect(),
        }
    }

    fn faults(name: &str, dependencies: &[(&str, Option<&str>)]) -> Vec<String> {
        let others = ["switchboard-store", "switchboard-protocol", "switchboard-dispatch"];
        let packages = others.map(|name| package(name, &[])).into_iter().chain([package(name, dependencies)]);
        of_dependencies(&Metadata { packages: packages.collect() })
    }

    #[test]
    fn a_stand_in_of_another_version_is_told() {
        let used = "[[package]]\nname = \"vstd\"\nversion = \"1.0.0\"\n";
        let unused = format!("{used}\n[[patch.unused]]\nname = \"vstd\"\nversion = \"0.9.0\"\n");

        assert_eq!(of_patches(used), [""; 0]);
        assert_eq!(of_patches(&unused), ["vstd: patches/vstd is of another version than what needs it"]);
    }

    #[test]
    fn a_dependency_that_the_table_allows_is_fine() {
        assert!(faults("switchboard-bus", &[("switchboard-store", None), ("serde", None)]).is_empty());
    }

    #[test]
    fn a_dependency_that_the_table_does_not_allow_is_named() {
        let faults = faults("switchboard-bus", &[("switchboard-dispatch", None)]);

        assert_eq!(faults, ["bus (level 2): may not depend on dispatch; it may on protocol, process, store, pipeline"]);
    }

    #[test]
    fn only_the_store_names_the_database() {
        let faults = faults("switchboard-bus", &[("rusqlite", None)]);

        assert!(faults[0].starts_with("bus: may not name rusqlite"), "{faults:?}");
    }

    #[test]
    fn tests_may_use_more() {
        assert!(faults("switchboard-pipeline", &[("switchboard-store", Some("dev"))]).is_empty());
    }

    #[test]
    fn an_unknown_crate_is_a_fault() {
        let faults = faults("switchboard-utils", &[]);

        assert!(faults[0].starts_with("utils: is not in the table"), "{faults:?}");
    }
}
