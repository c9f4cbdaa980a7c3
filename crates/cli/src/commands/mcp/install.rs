//! `switchboard mcp install`: adds Switchboard to a client's settings; the rest of the file stays as it is.

mod client;
mod listing;

use std::path::{Path, PathBuf};

use clap::ValueEnum as _;
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::AgentName;

use crate::context::Context;
use crate::edit::{self, Edited};
use crate::report::Outcome;
use crate::session::work_tree;

use client::{Client, Syntax};
use listing::Listing;

/// Register Switchboard as an MCP server in a client's settings
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The client
    client: Client,
    /// Print the block and where it belongs; write nothing
    #[arg(long)]
    print: bool,
    /// Install for this repository, or for all your work
    #[arg(long, value_enum, default_value_t = Scope::Project)]
    scope: Scope,
    /// The name under which the agent joins the team; a second agent of that name gets a number
    #[arg(long, value_parser = agent_name)]
    name: Option<AgentName>,
    /// Write the settings without asking the client whether it accepts them
    #[arg(long)]
    no_ask: bool,
}

fn agent_name(text: &str) -> Result<AgentName, String> {
    AgentName::new(text).map_err(|error| error.to_string())
}

/// Scope of the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Scope {
    /// The repository's settings
    Project,
    /// The user's settings
    User,
}

/// Prints the block, or installs it.
pub(crate) fn run(args: &Args, context: &mut Context) -> Outcome {
    let file = settings_file(args, context)?;
    let command = own_command(context);
    if args.print {
        let block = edited("", args, &command, &file)?;
        say(context, args, &file, ("printed", None), None);
        if !context.json {
            context.out.text(&block);
        }
        return Ok(());
    }
    switchboard_daemon::refuse_foreign_owner(&file, "what this would change")?;
    let change = edit::file(&file, |text| edited(text, args, &command, &file))?;
    let (outcome, backup) = match change {
        Edited::Unchanged => ("unchanged", None),
        Edited::Written { backup } => ("installed", backup),
    };
    let listing = if args.no_ask { None } else { listing::ask(args.client, context) };
    say(context, args, &file, (outcome, backup.as_deref()), listing.as_ref());
    Ok(())
}

fn say(
    context: &mut Context,
    args: &Args,
    file: &Path,
    (outcome, backup): (&str, Option<&Path>),
    listing: Option<&Listing>,
) {
    let name = args.client.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
    if context.json {
        let value = serde_json::json!({ "client": name, "file": file, "outcome": outcome, "backup": backup,
            "listed": listing.map(|listing| listing.word()), "left_to_do": listing.and_then(|listing| listing.left_to_do(args.client)) });
        context.out.json(&value);
        return;
    }
    match outcome {
        "printed" => context.out.line(format!("# {}", file.display())),
        "unchanged" => context.out.line(format!("{} has it already", file.display())),
        _ => context.out.line(format!("switchboard is in the settings of {name} now: {}", file.display())),
    }
    if let Some(backup) = backup {
        context.out.line(format!("the file as it was: {}", backup.display()));
    }
    if let Some(listing) = listing {
        context.out.line(format!("{name} mcp list: {}", listing.words()));
        if let Some(left) = listing.left_to_do(args.client) {
            context.out.line(format!("left to do: {left}"));
        }
    } else if outcome != "printed" && !args.no_ask {
        context.out.line(format!("not checked: {name} is not on your PATH"));
    }
}

fn settings_file(args: &Args, context: &Context) -> Result<PathBuf, Failure> {
    let missing =
        |what: &str| Failure::new("config.bad-value", format!("{what} is not set")).hint("set it and try again");
    match args.scope {
        Scope::User => args.client.user_file(&context.environment).ok_or_else(|| missing("HOME")),
        Scope::Project => {
            let root = work_tree(context.folder()).ok_or_else(|| {
                Failure::new("git.not-a-repository", "there is no repository to install it for")
                    .at(context.folder().display().to_string())
                    .hint("install it for everything you do: --scope user")
            })?;
            inside(args.client.project_file(&root), &root)
        }
    }
}

/// Rejects settings of a repository that a symlink leads out of it: a repository that brings one chooses which file of the user is written.
fn inside(file: PathBuf, root: &Path) -> Result<PathBuf, Failure> {
    let Some(there) = file.ancestors().find_map(|path| path.canonicalize().ok()) else { return Ok(file) };
    let is_dangling = file.is_symlink() && !file.exists();
    match root.canonicalize() {
        Ok(root) if is_dangling || !there.starts_with(&root) => {
            let what = "the client's settings in this repository are a link that leads out of it";
            let failure = Failure::new("io.unsafe-folder", what).at(file.display().to_string());
            Err(failure.hint("remove the link, or install it for everything you do: --scope user"))
        }
        Ok(_) | Err(_) => Ok(file),
    }
}

/// Returns the command with which clients start this program: its name if `PATH` leads to this very file, else its path.
fn own_command(context: &Context) -> String {
    let program = &context.environment.program;
    let same = |found: PathBuf| found.canonicalize().ok() == program.canonicalize().ok();
    let is_on_path = context.environment.find_program("switchboard").is_some_and(same);
    if is_on_path { "switchboard".to_owned() } else { program.display().to_string() }
}

/// Returns the settings with Switchboard added; everything else stays byte for byte.
fn edited(text: &str, args: &Args, command: &str, file: &Path) -> Result<String, Failure> {
    let (client, name) = (args.client, args.name.as_ref());
    let syntax = |why: String| {
        Failure::new("config.syntax", format!("the settings do not parse: {why}"))
            .at(file.display().to_string())
            .hint("fix the file, or see what belongs in it: switchboard mcp install --print")
    };
    match client.syntax() {
        Syntax::Json => edit::jsonc::set(text, &client.path(), &client.json_block(command, name)).map_err(syntax),
        Syntax::Toml => edit::toml::set(text, &client.path(), &client.toml_block(command, name)).map_err(syntax),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(client: Client, name: Option<&str>) -> Args {
        let name = name.map(|name| AgentName::new(name).unwrap());
        Args { client, print: false, scope: Scope::Project, name, no_ask: true }
    }

    #[test]
    fn a_name_is_handed_to_the_bridge_by_its_environment() {
        for client in Client::value_variants() {
            let block = edited("", &args(*client, Some("ada")), "switchboard", Path::new("f")).unwrap();

            assert!(block.contains("SWITCHBOARD_AGENT") && block.contains("ada"), "{block}");
        }
    }

    #[test]
    fn every_client_gets_its_own_block() {
        let mut all = String::new();
        for client in Client::value_variants() {
            let block = edited("", &args(*client, None), "/usr/bin/switchboard", Path::new("f")).unwrap();
            all.push_str(&format!("--- {} ---\n{block}", client.project_file(Path::new("")).display()));
        }

        insta::assert_snapshot!(all);
    }

    #[test]
    fn installing_twice_changes_nothing_the_second_time() {
        for client in Client::value_variants() {
            let once = edited("", &args(*client, None), "switchboard", Path::new("f")).unwrap();

            assert_eq!(edited(&once, &args(*client, None), "switchboard", Path::new("f")).unwrap(), once);
        }
    }

    #[test]
    fn broken_settings_are_left_alone() {
        for client in Client::value_variants() {
            let failure = edited("{ \"a\": [", &args(*client, None), "switchboard", Path::new("f")).unwrap_err();

            assert_eq!(failure.code, "config.syntax");
        }
    }
}
