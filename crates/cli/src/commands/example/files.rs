//! The example's files, as they lie in `examples/hello`, carried by the binary.

macro_rules! files {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../../../../examples/hello/", $path)))),*]
    };
}

/// Files of the repository.
pub(super) const REPOSITORY: &[(&str, &str)] = files![
    ".gitignore",
    "Cargo.lock",
    "Cargo.toml",
    "README.md",
    "plan.json",
    "plan.md",
    "src/greeting.rs",
    "src/language.rs",
    "src/lib.rs",
    "src/main.rs",
    "src/name.rs",
    "tests/greets.rs",
];

/// The scripts, by the agent that each plays.
pub(super) const SCRIPTS: &[(&str, &str)] = &[
    ("ada", include_str!("../../../../../examples/hello/agents/ada.json")),
    ("ben", include_str!("../../../../../examples/hello/agents/ben.json")),
    ("cleo", include_str!("../../../../../examples/hello/agents/cleo.json")),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_file_of_the_example_is_carried() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/hello");
        let mut found = BTreeSet::new();
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.ends_with("target") || path.ends_with("agents") {
                    continue;
                }
                if path.is_dir() {
                    folders.push(path);
                } else {
                    found.insert(path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned());
                }
            }
        }

        assert_eq!(found, REPOSITORY.iter().map(|(path, _)| (*path).to_owned()).collect());
    }

    #[test]
    fn the_plan_in_markdown_says_the_same_as_the_one_in_json() {
        let text = |wanted: &str| REPOSITORY.iter().find(|(path, _)| *path == wanted).unwrap().1;

        let json = switchboard_daemon::trust::plan(text("plan.json"), "plan.json").unwrap();
        let md = switchboard_daemon::trust::plan(text("plan.md"), "plan.md").unwrap();

        assert_eq!((json.title, json.phases, json.switchboard), (md.title, md.phases, md.switchboard));
    }
}
