//! `docs/recipes.md`, carried out as it stands there: its files are written, its lines run, and what it says of them is looked for.

use std::fs;
use std::path::Path;

use switchboard_process::spawn::Spawn;

use super::sandbox::{BINARY, Sandbox};

/// The document, from the folder of the tests' package.
const RECIPES: &str = "../../docs/recipes.md";

/// A block of the document: its form and the name of its file, if it is one; and its text.
struct Block<'a> {
    form: &'a str,
    file: &'a str,
    text: &'a str,
}

fn blocks(recipe: &str) -> Vec<Block<'_>> {
    let fences = recipe.split("\n```").skip(1).step_by(2);
    let block = |fence| {
        let (head, text): (&str, &str) = str::split_once(fence, '\n')?;
        let (form, file) = head.split_once(' ').unwrap_or((head, ""));
        Some(Block { form, file, text })
    };
    fences.filter_map(block).collect()
}

fn write(sandbox: &Sandbox, block: &Block<'_>) {
    let path = match block.file.strip_prefix("~/.config/") {
        Some(below) => sandbox.folder().join("config").join(below),
        None => sandbox.root().join(block.file),
    };
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("{}\n", block.text)).unwrap();
}

fn carry_out(sandbox: &Sandbox, title: &str, lines: &str) {
    for line in lines.lines().filter(|line| !line.trim().is_empty()) {
        let said = line.split_once("# says ").map(|(_, words)| words.trim());
        let spawn = Spawn::new(["sh", "-c", line]).cwd(sandbox.root()).env_only(sandbox.environment());
        let output = spawn.wall(std::time::Duration::from_secs(120)).output().unwrap();
        let text = format!("{}{}", output.stdout.text(), output.stderr.text());

        assert!(output.succeeded(), "{title}: {line}\n{text}");
        assert!(said.is_none_or(|words| text.contains(words)), "{title}: {line}\n{text}");
    }
}

#[test]
fn ten_ordinary_wishes_come_true_by_the_document_alone() {
    let document = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(RECIPES)).unwrap();
    let recipes: Vec<_> = document.split("\n## ").skip(1).collect();
    assert_eq!(recipes.len(), 10, "ten wishes");

    for recipe in recipes {
        let title = recipe.lines().next().unwrap();
        let mut sandbox = Sandbox::new();
        let bin = Path::new(BINARY).parent().unwrap();
        sandbox.set("PATH", &format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display()));
        let blocks = blocks(recipe);
        assert!(blocks.iter().any(|block| block.form == "sh"), "{title} has no commands");
        for block in &blocks {
            match (block.form, block.file) {
                ("sh", "") => carry_out(&sandbox, title, block.text),
                (_, "") => {}
                (..) => write(&sandbox, block),
            }
        }
    }
}
