//! Finds the tests of a file: by their names, or because they import it.

use super::Project;
use crate::test_integrity::is_test;

/// Maximum number of bytes of a file that are searched for imports.
const IMPORT_BYTES: u64 = 256 * 1024;

/// Returns whether pytest collects a file by its name.
pub(crate) fn is_python_test(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.ends_with(".py") && (name.starts_with("test_") || name.ends_with("_test.py"))
}

/// Returns what a test file tests, according to its name.
fn subject(path: &str) -> String {
    let stem = stem(path);
    let stem = stem.strip_prefix("test_").unwrap_or(stem);
    let ends = ["_test", "_spec", "Tests", "Test"];
    ends.iter().find_map(|end| stem.strip_suffix(end)).unwrap_or(stem).to_lowercase()
}

fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.split('.').next().unwrap_or(name)
}

/// Lists the tests that are named like these files; a test file is its own test.
pub(crate) fn by_name(project: &Project, files: &[String]) -> Vec<String> {
    // A Rust file may hold tests, and its package tests it.
    let has_tests = |file: &&String| is_test(file) || file.ends_with(".rs");
    let mut found: Vec<String> = files.iter().filter(has_tests).cloned().collect();
    let stems: Vec<String> = files.iter().filter(|file| !is_test(file)).map(|file| stem(file).to_lowercase()).collect();
    found.extend(project.files().iter().filter(|path| is_test(path) && stems.contains(&subject(path))).cloned());
    found.sort();
    found.dedup();
    found
}

/// Lists the tests that import a file, through at most `depth` other files.
pub(crate) fn by_import(project: &Project, file: &str, depth: usize) -> Vec<String> {
    let mut reached = vec![file.to_owned()];
    let mut frontier = vec![file.to_owned()];
    for _ in 0..=depth {
        let next: Vec<String> = project
            .files()
            .iter()
            .filter(|path| !reached.contains(path) && is_code(path))
            .filter(|path| frontier.iter().any(|target| imports(project, path, target)))
            .cloned()
            .collect();
        if next.is_empty() {
            break;
        }
        reached.extend(next.iter().cloned());
        frontier = next;
    }
    reached.retain(|path| is_test(path) || (path == file && file.ends_with(".rs")));
    reached
}

fn is_code(path: &str) -> bool {
    const ENDINGS: [&str; 20] = [
        "js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "py", "rs", "go", "java", "kt", "cs", "rb", "php",
        "swift", "dart", "c", "cpp",
    ];
    path.rsplit_once('.').is_some_and(|(_, ending)| ENDINGS.contains(&ending))
}

/// Returns whether a line that imports names the target. A name that two files share selects an unneeded test rather
/// than miss one.
fn imports(project: &Project, path: &str, target: &str) -> bool {
    let full = project.root().join(path);
    if !full.symlink_metadata().is_ok_and(|data| data.is_file() && data.len() <= IMPORT_BYTES) {
        return false;
    }
    let text = String::from_utf8_lossy(&std::fs::read(full).unwrap_or_default()).into_owned();
    let mut name = stem(target);
    if ["index", "mod", "__init__", "lib"].contains(&name) {
        name = target.rsplit('/').nth(1).unwrap_or(name);
    }
    let words = ["import", "require", "from ", "use ", "include", "mod ", "using "];
    let folder = |path: &str| path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
    let is_neighbour = target.ends_with(".go") && path.ends_with("_test.go") && folder(path) == folder(target);
    is_neighbour || text.lines().any(|line| words.iter().any(|word| line.contains(word)) && contains_word(line, name))
}

fn contains_word(line: &str, name: &str) -> bool {
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    line.match_indices(name)
        .any(|(at, _)| !is_word(line[..at].chars().next_back()) && !is_word(line[at + name.len()..].chars().next()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_found_by_name_and_by_import() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("src/cart.ts", "");
        write("src/shop.ts", "import { cart } from './cart';\n");
        write("src/cart.test.ts", "import './cart';\n");
        write("test/shop.test.ts", "import '../src/shop';\n");
        write("test/other.test.ts", "import '../src/carton';\n");
        let project = Project::new(folder.path());

        assert_eq!(by_name(&project, &["src/cart.ts".to_owned()]), ["src/cart.test.ts"]);
        assert_eq!(by_import(&project, "src/cart.ts", 0), ["src/cart.test.ts"]);
        assert_eq!(by_import(&project, "src/cart.ts", 3), ["src/cart.test.ts", "test/shop.test.ts"]);
    }
}
