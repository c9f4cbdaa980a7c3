//! `cargo xtask schemas`: the verbs' JSON schemas as a file, for clients and editors.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail};
use switchboard_protocol::verb::table;

const FILE: &str = "crates/protocol/schemas/verbs.json";

/// How to write.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Write nothing; fail when the file is not what it would be
    #[arg(long)]
    check: bool,
}

/// Writes or checks the file.
///
/// # Errors
/// When it can't be written, or is out of date.
pub(crate) fn run(root: &Path, args: &Args) -> anyhow::Result<()> {
    let rows = table();
    let text = serde_json::to_string_pretty(&rows).context("the table of verbs")? + "\n";
    let path = root.join(FILE);
    if args.check {
        let there = fs::read_to_string(&path).with_context(|| FILE.to_owned())?;
        if there != text {
            bail!("{FILE} is out of date: cargo xtask schemas");
        }
        println!("schemas: {} verbs, up to date", rows.len());
        return Ok(());
    }
    fs::create_dir_all(path.parent().context("the file has a folder")?)?;
    fs::write(&path, text).with_context(|| FILE.to_owned())?;
    println!("schemas: {} verbs in {FILE}", rows.len());
    Ok(())
}
