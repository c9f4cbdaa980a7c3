//! `cargo xtask schemas`: generates files from the types for clients, editors and the page: the JSON schemas of verbs,
//! events, answers, plans and settings, TypeScript types of verbs and events, and the tables of fields in
//! `docs/plan.md` and `docs/config.md`.

mod reference;
mod typescript;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use schemars::SchemaGenerator;
use serde_json::{Map, Value, json};
use switchboard_protocol::verb::{Verb, generated_table};

use self::typescript::Module;
use crate::command::{command, output};

const VERBS: &str = "crates/protocol/schemas/verbs.json";
const EVENTS: &str = "crates/protocol/schemas/events.json";
const ANSWERS: &str = "crates/protocol/schemas/answers.json";
const TYPES: &str = "web/src/types.ts";
const PLAN: [&str; 2] = ["schemas/plan.schema.json", "docs/plan.md"];
const CONFIG: [&str; 2] = ["schemas/config.schema.json", "docs/config.md"];

/// Options of the command.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Write nothing; fail if a file is out of date
    #[arg(long)]
    check: bool,
    /// Path of a binary of this tree; default a debug build
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

/// Writes or checks the files.
///
/// # Errors
/// When one can't be written, or is out of date.
pub(crate) fn run(root: &Path, args: &Args) -> anyhow::Result<()> {
    let verbs = serde_json::to_string_pretty(&generated_table()).context("the table of verbs")? + "\n";
    let events = serde_json::to_string_pretty(&events()).context("the events")? + "\n";
    let answers =
        serde_json::to_string_pretty(&switchboard_protocol::answer::generated_schemas()).context("the answers")? + "\n";
    let mut files = vec![(VERBS, verbs), (EVENTS, events), (ANSWERS, answers), (TYPES, types()?)];
    for (schema, [file, document]) in
        [(switchboard_protocol::plan::generated_schema(), PLAN), (config(root, args.binary.as_deref())?, CONFIG)]
    {
        let text = fs::read_to_string(root.join(document)).with_context(|| document.to_owned())?;
        files.push((file, serde_json::to_string_pretty(&schema).context(file)? + "\n"));
        files.push((document, reference::renewed(&text, &schema).context(document)?));
    }
    for (file, text) in files {
        let path = root.join(file);
        if args.check {
            let there = fs::read_to_string(&path).with_context(|| file.to_owned())?;
            if there != text {
                bail!("{file} is out of date: cargo xtask schemas");
            }
        } else {
            fs::create_dir_all(path.parent().context("the file has a folder")?)?;
            fs::write(&path, text).with_context(|| file.to_owned())?;
        }
        println!("schemas: {file}{}", if args.check { " is up to date" } else { "" });
    }
    Ok(())
}

/// Returns the schema of the settings, which only the binary has.
fn config(root: &Path, binary: Option<&Path>) -> anyhow::Result<Value> {
    let mut call = match binary {
        Some(binary) => command(std::path::absolute(binary).context("the binary")?, root),
        None => {
            let mut cargo = command("cargo", root);
            cargo.args(["run", "--quiet", "--package", "switchboard-cli", "--"]);
            cargo
        }
    };
    Ok(serde_json::from_slice(&output(call.args(["schema", "config"]))?)?)
}

/// Returns the schemas of all events by subject, and their shared definitions.
fn events() -> Value {
    let mut generator = SchemaGenerator::default();
    let mut subjects = Map::new();
    macro_rules! add {
        ($($about:literal $event:path,)*) => {
            $(subjects.insert($about.to_owned(), generator.subschema_for::<$event>().to_value());)*
        };
    }
    switchboard_protocol::for_each_event!(add);
    json!({ "$schema": "https://json-schema.org/draft/2020-12/schema", "subjects": subjects,
        "$defs": generator.take_definitions(true) })
}

/// Returns the text of the TypeScript module.
fn types() -> anyhow::Result<String> {
    let mut generator = SchemaGenerator::default();
    let mut module = Module::default();
    macro_rules! add_verbs {
        ($($verb:path)*) => {
            $({
                let request = generator.subschema_for::<<$verb as Verb>::Request>().to_value();
                let reply = generator.subschema_for::<<$verb as Verb>::Reply>().to_value();
                module.verb(<$verb as Verb>::NAME, request, reply);
            })*
        };
    }
    switchboard_protocol::for_each_verb!(add_verbs);
    macro_rules! add_events {
        ($($about:literal $event:path,)*) => {
            $(module.event($about, generator.subschema_for::<$event>().to_value());)*
        };
    }
    switchboard_protocol::for_each_event!(add_events);
    module.print(&generator.take_definitions(true))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn every_kind_of_event_has_a_schema_of_its_facts() {
        let events = events();

        let subjects = events["subjects"].as_object().unwrap();
        let mut kinds = 0;
        for (about, reference) in subjects {
            let name = reference["$ref"].as_str().unwrap().trim_start_matches("#/$defs/");
            let variants = events["$defs"][name]["oneOf"].as_array().unwrap();
            assert!(variants.iter().all(|variant| variant["properties"]["kind"]["const"].is_string()), "{about}");
            kinds += variants.len();
        }
        assert!(subjects.len() >= 7 && kinds > 40, "{} subjects, {kinds} kinds", subjects.len());
    }

    #[test]
    #[expect(
        clippy::print_stderr,
        clippy::disallowed_methods,
        reason = "says that nothing was checked; a test starts the compiler"
    )]
    fn the_types_pass_the_compiler_where_there_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("types.ts");
        fs::write(&file, types().unwrap()).unwrap();
        let tsc = |args: &[&str]| Command::new("npx").args(["--no-install", "tsc"]).args(args).output();
        if !tsc(&["--version"]).is_ok_and(|answer| answer.status.success()) {
            eprintln!("skipped: no TypeScript compiler is installed");
            return;
        }

        let answer = tsc(&["--strict", "--noEmit", file.to_str().unwrap()]).unwrap();

        assert!(answer.status.success(), "{}", String::from_utf8_lossy(&answer.stdout));
    }
}
