//! Finds the folders that an agent's program needs to start: its own, and that of the interpreter in its first line.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use switchboard_process::sandbox::Sandbox;

/// Maximum number of bytes read of a first line.
const LINE: u64 = 256;

/// Maximum length of a chain of interpreters; `env` is the usual one.
const STEPS: usize = 4;

/// Returns the paths that must be readable to start a command's program. For a folder that would expose protected paths, only the file is returned.
pub(super) fn of(argv: &[String], path: &str, sandbox: &Sandbox) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut next = argv.first().and_then(|program| find(program, path));
    for _ in 0..STEPS {
        let Some(program) = next.take() else { break };
        let Ok(real) = program.canonicalize() else { break };
        let folders = folders(&real).into_iter().filter(|folder| !sandbox.opens_closed(folder));
        found.extend(folders);
        found.extend([program, real.clone()]);
        next = interpreter(&real).and_then(|program| find(&program, path));
    }
    found
}

fn find(program: &str, path: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| path.is_file());
    }
    path.split(':').map(|folder| Path::new(folder).join(program)).find(|path| path.is_file())
}

/// Returns the folders of a program: those of its packages, or the one it lies in, and for a `bin` also its parent, which holds libraries.
fn folders(real: &Path) -> Vec<PathBuf> {
    let packages =
        real.ancestors().filter(|folder| folder.file_name().is_some_and(|name| name == "node_modules")).last();
    if let Some(packages) = packages {
        return vec![packages.to_owned()];
    }
    let Some(own) = real.parent() else { return Vec::new() };
    let above = own.parent().filter(|_| own.file_name().is_some_and(|name| name == "bin"));
    [Some(own), above].into_iter().flatten().map(Path::to_owned).collect()
}

/// Returns the program that the first line of a script names: `/usr/bin/env node` names both.
fn interpreter(script: &Path) -> Option<String> {
    let file = std::fs::File::open(script).ok()?;
    let mut line = Vec::new();
    BufReader::new(file.take(LINE)).read_until(b'\n', &mut line).ok()?;
    let line = String::from_utf8(line).ok()?;
    let mut words = line.strip_prefix("#!")?.split_whitespace().map(str::to_owned);
    let first = words.next()?;
    match Path::new(&first).file_name().is_some_and(|name| name == "env") {
        true => words.find(|word| !word.starts_with('-') && !word.contains('=')),
        false => Some(first),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_script_brings_its_packages_and_its_interpreter() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let package = root.join("lib/node_modules/agent");
        for made in ["bin", "lib/node_modules/agent", "node/bin"] {
            std::fs::create_dir_all(root.join(made)).unwrap();
        }
        std::fs::write(package.join("main.js"), "#!/usr/bin/env -S node --flag\n").unwrap();
        std::fs::write(root.join("node/bin/node"), "\x7fELF").unwrap();
        symlink(package.join("main.js"), root.join("bin/agent")).unwrap();
        let path = format!("{0}/bin:{0}/node/bin", root.display());
        let sandbox = Sandbox { closed: vec![root.clone()], ..Sandbox::default() };

        let found = of(&["agent".to_owned()], &path, &sandbox);

        for needed in ["bin/agent", "lib/node_modules", "node/bin", "node", "node/bin/node"] {
            assert!(found.contains(&root.join(needed)), "{needed}: {found:?}");
        }
        assert!(!found.contains(&root) && !found.contains(&root.join("bin")), "{found:?}");
    }

    #[test]
    fn a_program_in_a_closed_folder_opens_its_file_alone() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(home.join("bin")).unwrap();
        let program = home.join("bin/agent");
        std::fs::write(&program, "\x7fELF").unwrap();
        let sandbox = Sandbox { closed: vec![home.clone(), home.join("bin/state")], ..Sandbox::default() };

        let found = of(&[program.display().to_string()], "", &sandbox);

        assert!(!found.contains(&home) && !found.contains(&home.join("bin")), "{found:?}");
        assert!(found.contains(&program));
    }
}
