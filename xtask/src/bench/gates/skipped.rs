//! Code and text that a check could not read or did not read: counts how often such a change passed.

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::mutate::Draw;
use super::session::Session;
use super::setup::Bench;
use crate::command::{command, output};

/// Ways to hide the rest of a file.
const HIDING: [&str; 5] = ["nul", "utf16-le", "utf16-be", "padding", "long line"];
/// Files in which each way is tried.
const NAMES: [&str; 5] = ["app.js", "settings.py", "notes.md", "deploy.yaml", "Main.java"];
/// Size of the padding in bytes: five megabytes are read whole, this is more.
const PADDING: usize = 6_000_000;

/// Commits only a hidden credential and counts the runs that passed; a new submodule is one of them.
pub(crate) fn measure(bench: &Bench<'_>) -> anyhow::Result<Value> {
    let mut draw = Draw(bench.args.seed);
    let mut passed = 0;
    for hiding in HIDING {
        for name in NAMES {
            let folder = repository()?;
            fs::write(folder.path().join(name), hidden(hiding, &mut draw))?;
            passed += usize::from(passes(bench, &folder, name)?);
        }
    }
    let folder = repository()?;
    let head = output(command("git", folder.path()).args(["rev-parse", "HEAD"]))?;
    let link = format!("160000,{},sub", String::from_utf8(head)?.trim());
    output(command("git", folder.path()).args(["update-index", "--add", "--cacheinfo", &link]))?;
    fs::create_dir(folder.path().join("sub"))?;
    passed += usize::from(passes(bench, &folder, "a submodule")?);
    Ok(json!(passed))
}

fn repository() -> anyhow::Result<TempDir> {
    let folder = TempDir::new()?;
    let git = |args: &[&str]| output(command("git", folder.path()).args(args));
    git(&["init", "--quiet", "--initial-branch=main"])?;
    let who = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"];
    git(&[who.as_slice(), &["commit", "--quiet", "--allow-empty", "--message=start"]].concat())?;
    Ok(folder)
}

fn hidden(hiding: &str, draw: &mut Draw) -> Vec<u8> {
    let token: String = (0..20)
        .map(|_| char::from(b"ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789"[draw.below(57)]))
        .collect();
    let line = format!("token = 'glpat-{token}'\n");
    let wide = |order: fn(u16) -> [u8; 2]| line.encode_utf16().flat_map(order).collect();
    match hiding {
        "nul" => [b"\0\n", line.as_bytes()].concat(),
        "utf16-le" => wide(u16::to_le_bytes),
        "utf16-be" => wide(u16::to_be_bytes),
        "padding" => format!("{}{line}", "# padding\n".repeat(PADDING / 10)).into_bytes(),
        _ => format!("{}{line}", " ".repeat(PADDING)).into_bytes(),
    }
}

fn passes(bench: &Bench<'_>, folder: &TempDir, name: &str) -> anyhow::Result<bool> {
    let root = folder.path().canonicalize()?;
    let mut session = Session::start(&bench.binary, &root)?;
    let reply = session.ask(&json!({ "root": root, "base": { "rev": "HEAD" }, "only": ["secretscan"] }))?;
    let passed = matches!(reply["verdict"].as_str(), Some("pass" | "warn" | "skip"));
    if passed {
        bench.say(&format!("not read and passed: {name}: {}", reply["reports"][0]["summary"]));
    }
    Ok(passed)
}
