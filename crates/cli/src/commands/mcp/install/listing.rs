//! Reads a client's own list of MCP servers: it shows whether the client uses ours, which our settings file does not.

use std::time::Duration;

use switchboard_process::env::Env;
use switchboard_process::spawn::Spawn;
use switchboard_protocol::text::unstyled;

use super::client::Client;
use crate::context::Context;

/// Time limit for a client: most start the servers that they list.
const LIMIT: Duration = Duration::from_secs(30);

/// Maximum number of bytes read of a list.
const MAX_LIST_BYTES: usize = 64 << 10;

/// Status of our server in a client's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Listing {
    /// Listed without any sign of trouble.
    Listed(String),
    /// Listed, but waits for a person or could not be started.
    Waits(String),
    /// Not listed.
    Missing,
    /// The client printed no usable list.
    Unknown(String),
}

/// Asks the client for its list; `None` if it is not installed.
pub(super) fn ask(client: Client, context: &Context) -> Option<Listing> {
    let program = context.environment.find_program(client.program())?;
    let variables = context.environment.variables();
    let env = variables.iter().fold(Env::empty(), |env, (name, value)| env.set(name, value));
    let spawn = Spawn::new([program.display().to_string(), "mcp".to_owned(), "list".to_owned()]);
    let spawn = spawn.cwd(context.folder()).env_only(env.set("NO_COLOR", "1")).wall(LIMIT).keep(MAX_LIST_BYTES);
    Some(match spawn.output() {
        Ok(output) => read(&format!("{}\n{}", output.stdout.text(), output.stderr.text()), output.succeeded()),
        Err(error) => Listing::Unknown(error.to_string()),
    })
}

/// Parses a list. Its format is not guaranteed: only the line with our name is searched for words of trouble.
fn read(text: &str, is_complete: bool) -> Listing {
    let text = unstyled(text);
    let plain = |line: &str| crate::output::plain(line).trim().to_owned();
    let ours = text.lines().map(plain).find(|line| line.to_lowercase().contains("switchboard"));
    match ours {
        Some(line) if TROUBLE.iter().any(|word| line.to_lowercase().contains(word)) => Listing::Waits(line),
        Some(line) => Listing::Listed(line),
        None if is_complete => Listing::Missing,
        None => Listing::Unknown("it gave no list of its servers".to_owned()),
    }
}

/// Words by which the clients mark a server as not usable yet (claude 2.1, codex 0.150, opencode 1.18, gemini 0.61, qwen 0.15).
const TROUBLE: [&str; 8] =
    ["pending", "approv", "disconnected", "failed", "not connected", "disabled", "untrusted", "needs auth"];

// === impl Listing ===

impl Listing {
    /// Returns one word for programs.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Listed(_) => "listed",
            Self::Waits(_) => "waits",
            Self::Missing => "missing",
            Self::Unknown(_) => "unknown",
        }
    }

    /// Describes the status for people.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Listed(line) | Self::Waits(line) => line.clone(),
            Self::Missing => "switchboard is not in it".to_owned(),
            Self::Unknown(why) => why.clone(),
        }
    }

    /// Returns what a person has to do before the client uses our server; `None` if nothing is left to do.
    pub(super) fn left_to_do(&self, client: Client) -> Option<&'static str> {
        match self {
            Self::Listed(_) => None,
            Self::Waits(_) | Self::Missing | Self::Unknown(_) => Some(client.left_to_do()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_line_with_our_name_and_without_trouble_is_a_yes() {
        for (text, is_complete, word) in [
            ("switchboard: /bin/switchboard mcp - \u{2713} Connected", true, "listed"),
            ("\u{25cf} \u{2713} switchboard \u{1b}[90mconnected\u{1b}[0m", true, "listed"),
            (
                "switchboard: /bin/switchboard mcp (stdio) - \u{23f8} Pending approval (run `claude` to approve)",
                true,
                "waits",
            ),
            ("\u{2717} switchboard: switchboard mcp (stdio) - Disconnected", true, "waits"),
            ("No MCP servers configured yet. Try `codex mcp add my-tool -- my-command`.", true, "missing"),
            ("error: unknown command 'mcp'", false, "unknown"),
            (
                "Name         Command            Args  Env  Status\nswitchboard  /bin/switchboard  mcp   -    enabled",
                true,
                "listed",
            ),
        ] {
            let listing = read(text, is_complete);

            assert_eq!(listing.word(), word, "{text}");
            assert!(!listing.words().contains("[90m"), "{listing:?}");
        }
    }
}
