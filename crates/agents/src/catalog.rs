//! The known agents, by name: how each is started, whether it costs money, and which variables it may inherit.

use switchboard_protocol::frame::DriverSpec;
use switchboard_protocol::isolation::Tool;

/// Name of the scripted agent.
pub const SCRIPTED: &str = "scripted";

/// A known agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// Name by which a user requests the agent.
    pub name: &'static str,
    /// Name shown to people.
    pub title: &'static str,
    /// Program to look up on `PATH`, and its arguments.
    pub argv: &'static [&'static str],
    /// True if a run with the agent costs money; such an agent is never chosen without being named.
    pub spends: bool,
    /// Instructions for installing the agent.
    pub install: &'static str,
    /// Tested version: major and minor of the one that `tests/real/package.json` pins.
    pub tested: &'static str,
    /// How a person logs in: a command that the programs of `argv` bring along, as `install` installs no other one.
    pub login: &'static str,
    /// Variables that the agent may inherit besides the plain ones and [`PROXIES`](switchboard_process::env::PROXIES): its keys and its settings.
    pub env: &'static [&'static str],
    /// Variables that are set for the agent unless the user has set them.
    pub set: &'static [(&'static str, &'static str)],
    /// Arguments that pass the model to the agent; `{model}` stands for it.
    pub model_args: &'static [&'static str],
    /// Variables that pass the model to the agent.
    pub model_env: &'static [(&'static str, &'static str)],
    /// Variables that make the agent ask before each edit, if it wouldn't by itself.
    pub asks: &'static [(&'static str, &'static str)],
    /// The agent's own names of its tools that read, search, edit and run commands, if a session can be restricted to them; `None` if no way to
    /// do that is known, so that the agent does no constrained work.
    pub four_tools: Option<&'static [&'static str]>,
    /// Files of the user's home that a constrained agent gets copies of: its login.
    pub home: &'static [&'static str],
}

/// Returns true if an agent reads `AGENTS.md` of its work tree by itself (codex-acp 2.6 and opencode 1.18 do; Claude Code, Gemini CLI and Qwen Code
/// read files of other names).
#[must_use]
pub fn reads_agents_md(name: &str) -> bool {
    matches!(name, "codex" | "opencode")
}

/// Returns the file that an agent reads instead of `AGENTS.md`, if there is one.
#[must_use]
pub fn own_file(name: &str) -> Option<&'static str> {
    match name {
        "claude" => Some("CLAUDE.md"),
        "gemini" => Some("GEMINI.md"),
        "qwen" => Some("QWEN.md"),
        _ => None,
    }
}

/// All known agents, by name; the settings of each were tested with the version that it names. None asks a person before it uses
/// Switchboard's own tools, since the daemon decides about those; privacy settings are inherited.
pub const ALL: &[Known] = &[
    Known {
        name: "claude",
        title: "Claude Code",
        argv: &["claude-agent-acp"],
        spends: true,
        install: "npm install -g @agentclientprotocol/claude-agent-acp",
        tested: "0.49",
        login: "claude-agent-acp --cli auth login, or set ANTHROPIC_API_KEY",
        env: &[
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "ANTHROPIC_BASE_URL",
            "ANTHROPIC_MODEL",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CLAUDE_CODE_USE_BEDROCK",
            "CLAUDE_CODE_USE_VERTEX",
            "CLAUDE_CONFIG_DIR",
            "DISABLE_AUTOUPDATER",
            "DISABLE_ERROR_REPORTING",
            "DISABLE_TELEMETRY",
            "IS_SANDBOX",
        ],
        set: &[],
        model_args: &[],
        model_env: &[("ANTHROPIC_MODEL", "{model}")],
        asks: &[],
        // `tools` of a session's options lists all built-in tools that the session has (claude-agent-acp 0.49).
        four_tools: Some(&["Read", "Glob", "Grep", "Edit", "Write", "Bash"]),
        home: &[".claude/.credentials.json"],
    },
    Known {
        name: "codex",
        title: "Codex",
        argv: &["codex-acp"],
        spends: true,
        install: "npm install -g @agentclientprotocol/codex-acp",
        tested: "2.6",
        login: "codex-acp cli login, or with an API key: printenv OPENAI_API_KEY | codex-acp cli login --with-api-key",
        env: &[
            "CODEX_API_KEY",
            "CODEX_CONFIG",
            "CODEX_HOME",
            "CODEX_PATH",
            "DEFAULT_AUTH_REQUEST",
            "INITIAL_AGENT_MODE",
            "MODEL_PROVIDER",
            "OPENAI_API_KEY",
            "OPENAI_BASE_URL",
        ],
        // It writes in its folder and asks before it does anything outside; in its default mode a model of its own decides that.
        set: &[("INITIAL_AGENT_MODE", "workspace-write")],
        // It offers its models when a session opens, as OpenCode does.
        model_args: &[],
        model_env: &[],
        asks: &[("INITIAL_AGENT_MODE", "read-only")],
        // It has no list of tools that a session can restrict: its settings switch some off, one by one.
        four_tools: None,
        home: &[],
    },
    Known {
        name: "gemini",
        title: "Gemini CLI",
        // In an untrusted folder it leaves out MCP servers without a message.
        argv: &["gemini", "--acp", "--skip-trust", "--allowed-tools", "mcp_switchboard_*"],
        spends: true,
        install: "npm install -g @google/gemini-cli",
        tested: "0.61",
        login: "gemini, and in it /auth; or set GEMINI_API_KEY",
        env: &[
            "GEMINI_API_KEY",
            "GEMINI_MODEL",
            "GOOGLE_API_KEY",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "GOOGLE_CLOUD_LOCATION",
            "GOOGLE_CLOUD_PROJECT",
            "GOOGLE_GEMINI_BASE_URL",
            "GOOGLE_GENAI_USE_VERTEXAI",
        ],
        set: &[],
        model_args: &["--model", "{model}"],
        model_env: &[],
        asks: &[],
        // `tools.core` belongs to settings that the work tree may contain, and does not cover sub-agents.
        four_tools: None,
        home: &[],
    },
    Known {
        name: "opencode",
        title: "OpenCode",
        argv: &["opencode", "acp"],
        spends: true,
        install: "npm install -g opencode-ai",
        tested: "1.18",
        login: "opencode auth login",
        env: &[
            "ANTHROPIC_API_KEY",
            "GEMINI_API_KEY",
            "OPENAI_API_KEY",
            "OPENCODE_CONFIG",
            "OPENCODE_CONFIG_CONTENT",
            "OPENCODE_CONFIG_DIR",
            "OPENCODE_DISABLE_AUTOUPDATE",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS",
            "OPENCODE_DISABLE_LSP_DOWNLOAD",
            "OPENCODE_DISABLE_MODELS_FETCH",
        ],
        set: &[],
        model_args: &[],
        model_env: &[],
        asks: &[],
        // The settings of the work tree can switch on again what its own settings switch off.
        four_tools: None,
        home: &[],
    },
    Known {
        name: "qwen",
        title: "Qwen Code",
        argv: &["qwen", "--acp", "--allowed-tools", "mcp__switchboard"],
        spends: true,
        install: "npm install -g @qwen-code/qwen-code",
        tested: "0.15",
        login: "qwen, and in it /auth; or set OPENAI_API_KEY",
        env: &["DASHSCOPE_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"],
        set: &[],
        model_args: &["--model", "{model}"],
        model_env: &[],
        asks: &[],
        // `--core-tools` leaves its sub-agents and skills in place.
        four_tools: None,
        home: &[],
    },
];

// === impl Known ===

impl Known {
    /// Returns how to drive the agent.
    #[must_use]
    pub fn driver(&self) -> DriverSpec {
        DriverSpec::Acp { argv: self.argv.iter().map(|arg| (*arg).to_owned()).collect() }
    }

    /// Returns the agent's own names of some of the four tools; `None` if a session can't be restricted to them.
    #[must_use]
    pub fn cut_to(&self, tools: &[Tool]) -> Option<Vec<&'static str>> {
        let is_in = |name: &&&str| tools.is_empty() || tools.contains(&tool_of(name));
        Some(self.four_tools?.iter().filter(is_in).copied().collect())
    }

    /// Returns true if the agent's program is on `PATH`.
    #[must_use]
    pub fn is_installed(&self) -> bool {
        self.argv.first().is_some_and(|program| switchboard_process::spawn::which(program).is_some())
    }
}

/// Maps an agent's own name of a tool to one of the four tools.
fn tool_of(name: &str) -> Tool {
    match name {
        "Read" => Tool::Read,
        "Glob" | "Grep" => Tool::Search,
        "Edit" | "Write" => Tool::Edit,
        // An unknown tool may do anything, as a shell does.
        _ => Tool::Shell,
    }
}

/// Finds an agent by its name, in any capitalisation.
#[must_use]
pub fn find(name: &str) -> Option<&'static Known> {
    ALL.iter().find(|known| known.name.eq_ignore_ascii_case(name))
}

/// Returns the agent that a command starts: its program at any path, directly or as an argument of a runner such as `npx`.
#[must_use]
pub fn of_command(argv: &[String]) -> Option<&'static Known> {
    let is_program = |arg: &String, known: &Known| {
        let name = arg.rsplit('/').next().unwrap_or_default();
        let name = name.split('@').next().unwrap_or_default();
        known.argv.first().is_some_and(|program| *program == name)
    };
    ALL.iter().find(|known| argv.iter().any(|arg| is_program(arg, known)))
}

/// Returns the agents whose names are nearest to a misspelt one, at most three, best first.
#[must_use]
pub fn near(name: &str) -> Vec<&'static str> {
    switchboard_protocol::error::near_matches(name, ALL.iter().map(|known| known.name).chain([SCRIPTED]))
}

/// Returns how to drive the scripted agent: our own binary plays the script.
#[must_use]
pub fn scripted(binary: &str, script: &str) -> DriverSpec {
    DriverSpec::Acp { argv: [binary, "script-agent", script].map(str::to_owned).to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_found_in_any_case() {
        assert!(ALL.windows(2).all(|pair| pair[0].name < pair[1].name));
        assert_eq!(find("Claude").map(|known| known.argv[0]), Some("claude-agent-acp"));
        assert_eq!(find("nobody"), None);
        assert_eq!(near("cluade").first(), Some(&"claude"));
    }

    #[test]
    fn a_command_is_known_by_its_program_wherever_that_lies() {
        let known = |line: &str| {
            let argv: Vec<_> = line.split(' ').map(str::to_owned).collect();
            of_command(&argv).map(|known| known.name)
        };

        assert_eq!(known("/opt/bin/qwen --acp"), Some("qwen"));
        assert_eq!(known("npx -y @agentclientprotocol/claude-agent-acp@0.49.0"), Some("claude"));
        assert_eq!(known("my-agent --acp"), None);
    }

    #[test]
    fn an_agent_that_can_be_cut_reads_searches_edits_and_runs_commands_and_has_no_way_to_others() {
        let cut: Vec<_> = ALL.iter().filter_map(|known| Some((known.name, known.four_tools?))).collect();

        assert_eq!(cut, [("claude", &["Read", "Glob", "Grep", "Edit", "Write", "Bash"][..])]);
        let claude = find("claude").unwrap();
        assert_eq!(claude.cut_to(&[Tool::Read, Tool::Search]), Some(vec!["Read", "Glob", "Grep"]));
        assert_eq!(claude.cut_to(&[Tool::Edit]), Some(vec!["Edit", "Write"]));
        assert_eq!(claude.cut_to(&[]).unwrap().len(), 6);
        assert_eq!(find("codex").unwrap().cut_to(&[Tool::Read]), None);
    }

    #[test]
    fn whatever_calls_a_model_counts_as_spending() {
        assert!(ALL.iter().all(|known| known.spends));
    }
}
