//! Parses every command line in README, documents and skill as if typed, and checks that every flag they name exists.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{CommandFactory as _, Parser as _};

use super::Args;

/// Texts after `switchboard ` in code that are no command: the beginning of a signed text.
const NO_COMMANDS: [&str; 1] = ["switchboard message hmac-sha256-v2"];

/// Placeholder values in documents, each with a value that parses.
const STAND_INS: [(&str, &str); 5] =
    [("N", "1"), ("USD", "1"), ("OFFSET", "1"), ("CLIENT", "claude"), ("SHELL", "bash")];

/// Documents whose flags are those of `cargo xtask`.
const OF_XTASK: [&str; 2] = ["benchmarks.md", "torture.md"];

/// A command line in a document.
#[derive(Debug)]
struct Line {
    place: String,
    text: String,
    /// True if it stands in a sentence, where arguments may be missing.
    is_mention: bool,
}

fn documents() -> Vec<PathBuf> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = vec![top.join("README.md"), top.join("skills/switchboard/SKILL.md")];
    for folder in ["docs", "docs/decisions", "docs/errors"] {
        let entries = std::fs::read_dir(top.join(folder)).unwrap().map(|entry| entry.unwrap().path());
        found.extend(entries.filter(|path| path.extension().is_some_and(|extension| extension == "md")));
    }
    found.sort();
    found
}

/// Lines of code with their line numbers.
type Numbered = Vec<(usize, String)>;

/// Returns the lines of code blocks, and the code within sentences.
fn code(path: &Path) -> (Numbered, Numbered) {
    let text = std::fs::read_to_string(path).unwrap();
    let (mut blocks, mut spans, mut is_fenced) = (Vec::new(), Vec::new(), false);
    for (number, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
        } else if is_fenced || line.starts_with("    ") {
            blocks.push((number + 1, line.to_owned()));
        } else {
            spans.extend(line.split('`').skip(1).step_by(2).map(|span| (number + 1, span.to_owned())));
        }
    }
    (blocks, spans)
}

fn lines() -> Vec<Line> {
    let mut found = Vec::new();
    for path in documents() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let (blocks, spans) = code(&path);
        for (number, line) in blocks {
            // Cuts off comments, explanations in a column beside the command, and redirections.
            let line =
                ["  #", " # ", " > ", " < "].iter().fold(line.trim(), |line, end| line.split(end).next().unwrap());
            let line = line.trim_start_matches("- run: ").trim_start_matches("$ ").trim_start_matches("! ");
            let line = line.split("   ").next().unwrap();
            for part in
                line.split(" && ").flat_map(|part| part.split(" | ")).filter(|part| part.starts_with("switchboard "))
            {
                found.push(Line { place: format!("{name}:{number}"), text: part.to_owned(), is_mention: false });
            }
        }
        for (number, span) in spans {
            let first = [" | ", " || ", " > "].iter().fold(span.as_str(), |span, end| span.split(end).next().unwrap());
            if first.starts_with("switchboard ") && !NO_COMMANDS.contains(&first) {
                found.push(Line { place: format!("{name}:{number}"), text: first.to_owned(), is_mention: true });
            }
        }
    }
    found
}

/// Splits a line into words, as a shell would.
fn words(line: &str) -> Vec<String> {
    let mut line = line.replace(['…', '[', ']'], "");
    while let (Some(from), Some(to)) = (line.find("$("), line.find(')')) {
        line.replace_range(from..=to, "made");
    }
    let stand_in = |word: String| {
        let found = STAND_INS.iter().find(|(name, _)| *name == word);
        found.map_or(word, |(_, value)| (*value).to_owned())
    };
    shlex::split(&line).unwrap_or_else(|| panic!("{line}: a quote is open")).into_iter().map(stand_in).collect()
}

#[test]
fn every_command_line_in_the_documents_is_one_that_we_understand() {
    let lines = lines();
    assert!(lines.len() > 250, "{} lines: is a folder missing?", lines.len());

    let refused = lines.iter().filter_map(|line| {
        let error = Args::try_parse_from(words(&line.text)).err()?;
        let is_half = matches!(
            error.kind(),
            ErrorKind::MissingRequiredArgument
                | ErrorKind::MissingSubcommand
                | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
        );
        let is_fine = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
        (!(is_fine || line.is_mention && is_half)).then(|| format!("{}: {}\n{error}", line.place, line.text))
    });

    assert_eq!(refused.collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn every_call_in_the_documents_names_a_verb_and_its_fields() {
    let rows = switchboard_protocol::verb::table();
    let mut known = 0;

    for line in lines() {
        let words = words(&line.text);
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let ["switchboard", "call", verb, rest @ ..] = words.as_slice() else { continue };
        if verb.starts_with('-') || *verb == "VERB" {
            continue;
        }
        let row = rows.iter().find(|row| row.name == *verb);
        let row = row.unwrap_or_else(|| panic!("{}: no verb is called {verb}: {}", line.place, line.text));
        for field in rest.iter().filter_map(|word| word.split_once('=')).map(|(name, _)| name.trim_end_matches(':')) {
            assert!(row.request.value()["properties"].get(field).is_some(), "{}: {verb} has no {field}", line.place);
            known += 1;
        }
    }

    assert!(known > 20, "{known} fields");
}

#[test]
fn every_flag_that_the_documents_name_is_one_of_ours() {
    let mut ours = BTreeSet::from(["help".to_owned(), "version".to_owned()]);
    let mut commands = vec![Args::command()];
    while let Some(command) = commands.pop() {
        ours.extend(command.get_arguments().filter_map(|arg| arg.get_long()).map(str::to_owned));
        commands.extend(command.get_subcommands().cloned());
    }

    let mut unknown = BTreeSet::new();
    for path in documents().into_iter().filter(|path| !OF_XTASK.iter().any(|name| path.ends_with(name))) {
        let flags = code(&path).1.into_iter().filter_map(|(number, span)| {
            let name: String =
                span.strip_prefix("--")?.chars().take_while(|c| c.is_ascii_lowercase() || *c == '-').collect();
            (!name.is_empty() && !ours.contains(&name)).then(|| format!("{}:{number} --{name}", path.display()))
        });
        unknown.extend(flags);
    }

    assert_eq!(unknown, BTreeSet::new());
}
