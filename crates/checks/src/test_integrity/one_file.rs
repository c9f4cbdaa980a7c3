//! Builds the command that runs only one test file and lists each of its tests.
//!
//! It knows the runners of the parsed languages, if the plan's command names them itself, in a shell line or by a
//! script of `package.json`. Commands before the runner stay; other paths and filters of the runner are removed.

use std::path::Path;

use switchboard_protocol::finding::CheckCommand;

use super::paths;

/// Options that take the next word as their value.
const VALUED: [&str; 16] = [
    "-p",
    "-c",
    "-n",
    "-W",
    "-o",
    "-r",
    "-C",
    "--import",
    "--require",
    "--loader",
    "--experimental-loader",
    "--conditions",
    "--config",
    "--features",
    "--target",
    "--package",
];
/// Options that keep a runner from naming its tests, or select among them.
const QUIET: [&str; 12] = [
    "-q",
    "-qq",
    "--quiet",
    "-x",
    "--exitfirst",
    "--lf",
    "--ff",
    "--all-targets",
    "--tests",
    "--lib",
    "--bins",
    "--doc",
];
/// Options that select tests by the next word.
const FILTERS: [&str; 5] = ["-k", "-m", "-t", "--testNamePattern", "--test-name-pattern"];

/// Returns the command for one file; `None` if its runner is unknown or can't run single files.
pub(crate) fn of(command: &CheckCommand, file: &str, root: &Path) -> Option<CheckCommand> {
    let is_plain = file.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./@+".contains(&byte));
    if !is_plain || file.starts_with('-') || command.cwd.as_deref().is_some_and(|cwd| cwd != ".") {
        return None;
    }
    let argv = match shell_line(&command.argv) {
        Some(at) => {
            let mut argv = command.argv.clone();
            argv[at] = line(&argv[at], file, root)?;
            argv
        }
        None => words(&command.argv, file, root)?,
    };
    Some(CheckCommand { argv, ..command.clone() })
}

/// Returns the index of the shell line among the words of a command.
fn shell_line(argv: &[String]) -> Option<usize> {
    let is_shell = argv.first().is_some_and(|program| ["sh", "bash", "dash"].contains(&paths::name(program)));
    let flag = argv.iter().position(|word| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c'))?;
    (is_shell && flag + 2 == argv.len()).then_some(flag + 1)
}

/// Rewrites the last command of a shell line.
fn line(line: &str, file: &str, root: &Path) -> Option<String> {
    let start = ["&&", ";", "\n"].iter().filter_map(|cut| line.rfind(cut).map(|at| at + cut.len())).max().unwrap_or(0);
    let (before, last) = line.split_at(start);
    let is_dark = last.contains(['"', '\'', '`', '|', '<', '>', '(', '{', '&', '*', '\\']) || last.trim().is_empty();
    let own: Vec<String> = last.split_whitespace().map(str::to_owned).collect();
    let own = if is_dark { None } else { words(&own, file, root) }?;
    Some(format!("{before} {}", own.join(" ")).trim_start().to_owned())
}

/// Rewrites a command.
fn words(argv: &[String], file: &str, root: &Path) -> Option<Vec<String>> {
    let programs: Vec<&str> = argv.iter().map(|word| paths::name(word)).collect();
    let at = |name: &str| programs.iter().position(|program| *program == name);
    let follows = |at: usize, wanted: &str| argv.get(at + 1).is_some_and(|word| word == wanted);
    if let Some(at) = at("unittest").filter(|at| *at > 0 && argv[at - 1] == "-m") {
        return unittest(argv, at, file);
    }
    if let Some(at) = at("pytest").or_else(|| at("py.test")) {
        let mut words = kept(&argv[at + 1..]);
        words.extend(["-v", "--color=no", file].map(str::to_owned));
        return file.ends_with(".py").then(|| joined(&argv[..=at], words));
    }
    if let Some(at) = at("node")
        && argv[at + 1..].iter().any(|word| word == "--test")
    {
        let words = kept(&argv[at + 1..]);
        return Some(joined(&argv[..=at], words.into_iter().chain([file.to_owned()]).collect()));
    }
    if let Some(at) = at("cargo") {
        let verb = argv[at + 1..].iter().position(|word| ["test", "t"].contains(&word.as_str()))? + at + 1;
        return cargo(argv, verb, file, root);
    }
    if let Some(at) = at("npm").or_else(|| at("pnpm")).or_else(|| at("yarn")) {
        return script(argv, at, file, root);
    }
    for (name, more) in [("jest", "--verbose"), ("vitest", "--reporter=verbose"), ("mocha", "--no-color")] {
        if let Some(at) = at(name) {
            let run = (name == "vitest" && !follows(at, "run")).then_some("run");
            let words = run
                .into_iter()
                .map(str::to_owned)
                .chain(argv[at + 1..].iter().filter(|word| *word == "run").cloned().chain(kept(&argv[at + 1..])));
            return Some(joined(&argv[..=at], words.chain([more.to_owned(), file.to_owned()]).collect()));
        }
    }
    None
}

fn joined(head: &[String], tail: Vec<String>) -> Vec<String> {
    head.iter().cloned().chain(tail).collect()
}

/// Returns the options after a runner that do not select tests.
fn kept(words: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = words.iter().take_while(|word| *word != "--");
    while let Some(word) = words.next() {
        if FILTERS.contains(&word.as_str()) {
            let _value = words.next();
        } else if VALUED.contains(&word.as_str()) {
            kept.push(word.clone());
            kept.extend(words.next().cloned());
        } else if word.starts_with('-') && !QUIET.contains(&word.as_str()) {
            kept.push(word.clone());
        }
    }
    kept
}

fn unittest(argv: &[String], at: usize, file: &str) -> Option<Vec<String>> {
    let rest = &argv[at + 1..];
    if !file.ends_with(".py") {
        return None;
    }
    let words = match rest.iter().position(|word| word == "discover") {
        None => vec!["-v".to_owned(), file.to_owned()],
        Some(discover) => {
            let plain = rest[discover + 1..].iter().filter(|word| !word.starts_with('-')).count();
            let valued = rest[discover + 1..].iter().filter(|word| ["-s", "-t", "-p"].contains(&word.as_str())).count();
            if plain > valued + 1 {
                return None;
            }
            rest.iter().cloned().chain(["-v", "-p", paths::name(file)].map(str::to_owned)).collect()
        }
    };
    Some(joined(&argv[..=at], words))
}

fn cargo(argv: &[String], verb: usize, file: &str, root: &Path) -> Option<Vec<String>> {
    let mut folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    while !root.join(folder).join("Cargo.toml").is_file() {
        folder = if folder.is_empty() { return None } else { folder.rsplit_once('/').map_or("", |(above, _)| above) };
    }
    let inner = file.strip_prefix(folder)?.trim_start_matches('/');
    let mut words = kept(&argv[verb + 1..]);
    if !folder.is_empty() && !words.iter().any(|word| word.starts_with("--manifest-path")) {
        words.extend(["--manifest-path".to_owned(), format!("{folder}/Cargo.toml")]);
    }
    match inner.strip_prefix("tests/").and_then(|rest| rest.strip_suffix(".rs")) {
        Some(name) => {
            let name = name.strip_suffix("/main").unwrap_or(name);
            if name.contains('/') {
                return None;
            }
            words.extend(["--test".to_owned(), name.to_owned()]);
        }
        None if inner.starts_with("src/") => {
            words.push(if root.join(folder).join("src/lib.rs").is_file() { "--lib" } else { "--bins" }.to_owned());
        }
        None => return None,
    }
    Some(joined(&argv[..=verb], words))
}

/// Rewrites a call of a `package.json` script whose last command is a runner that names no files.
fn script(argv: &[String], at: usize, file: &str, root: &Path) -> Option<Vec<String>> {
    let rest: Vec<&str> = argv[at + 1..].iter().map(String::as_str).filter(|word| !word.starts_with('-')).collect();
    let name = match rest[..] {
        ["t" | "test"] => "test",
        ["run", name] | [name] => name,
        _ => return None,
    };
    let text = std::fs::read_to_string(root.join("package.json")).ok()?;
    let package: serde_json::Value = serde_json::from_str(&text).ok()?;
    let own = package["scripts"][name].as_str()?;
    let told = line(own, file, root)?;
    // Files that the script itself names would run as well.
    let last = own.rsplit(['&', ';']).next().unwrap_or(own);
    let is_open = last.split_whitespace().all(|word| told.split_whitespace().any(|kept| kept == word));
    let mut words = argv.to_vec();
    if paths::name(&argv[at]) != "yarn" && !words.iter().any(|word| word == "--") {
        words.push("--".to_owned());
    }
    words.push(file.to_owned());
    is_open.then_some(words)
}

#[cfg(test)]
mod tests {
    use switchboard_protocol::finding::CommandKind;

    use super::*;

    fn told(argv: &[&str], file: &str, files: &[(&str, &str)]) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let argv = argv.iter().map(|word| (*word).to_owned()).collect();
        let command = CheckCommand { kind: CommandKind::Test, argv, cwd: None, time_limit_s: None, env: Vec::new() };
        of(&command, file, folder.path()).map(|command| command.argv.join(" "))
    }

    #[test]
    fn a_runner_is_told_one_file() {
        let rows: [(&[&str], &str, &str); 10] = [
            (&["python3", "-m", "unittest"], "tests/test_a.py", "python3 -m unittest -v tests/test_a.py"),
            (
                &["python3", "-m", "unittest", "discover", "-s", "tests"],
                "tests/test_a.py",
                "python3 -m unittest discover -s tests -v -p test_a.py",
            ),
            (
                &["sh", "-c", "cd . && PATH=bin:$PATH python3 -m unittest -q"],
                "test_a.py",
                "sh -c cd . && PATH=bin:$PATH python3 -m unittest -v test_a.py",
            ),
            (&["pytest", "-q", "-k", "x", "tests"], "tests/test_a.py", "pytest -v --color=no tests/test_a.py"),
            (&["uv", "run", "pytest", "-p", "no:x"], "test_a.py", "uv run pytest -p no:x -v --color=no test_a.py"),
            (&["node", "--import", "tsx", "--test", "test/"], "a.test.ts", "node --import tsx --test a.test.ts"),
            (&["cargo", "test", "--quiet", "--", "--nocapture"], "tests/a.rs", "cargo test --test a"),
            (&["cargo", "test"], "src/b.rs", "cargo test --bins"),
            (&["npx", "vitest", "run", "src"], "a.test.js", "npx vitest run --reporter=verbose a.test.js"),
            (&["npm", "test", "--silent"], "a.test.js", "npm test --silent -- a.test.js"),
        ];
        let files = [("Cargo.toml", ""), ("package.json", r#"{ "scripts": { "test": "node --test" } }"#)];
        for (argv, file, expected) in rows {
            assert_eq!(told(argv, file, &files).as_deref(), Some(expected), "{argv:?}");
        }
    }

    #[test]
    fn what_can_not_be_told_one_file_is_left_alone() {
        let files = [("package.json", r#"{ "scripts": { "test": "node --test test/all.js" } }"#)];
        let rows: [&[&str]; 6] = [
            &["make", "test"],
            &["sh", "-c", "python3 -m unittest | tee log"],
            &["sh", "-c", "python3 -m unittest; true"],
            &["sh", "run-tests.sh"],
            &["npm", "test"],
            &["cargo", "test"],
        ];
        for argv in rows {
            assert_eq!(told(argv, "tests/a.js", &files), None, "{argv:?}");
        }
    }
}
