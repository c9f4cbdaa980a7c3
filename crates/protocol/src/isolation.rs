//! The isolation of workers, and what a constrained worker may access besides its own tree.

use serde::{Deserialize, Serialize};

use schemars::JsonSchema;

/// Isolation of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// The worker has the rights of the user.
    #[default]
    Full,
    /// The worker has four tools (read, search, edit, shell) in a sandbox with its own work tree, and sees its own mail, the team and the tools.
    Constrained,
}

// === impl Isolation ===

impl Isolation {
    /// Both isolations, the looser first.
    pub const ALL: [Self; 2] = [Self::Full, Self::Constrained];

    /// Returns the isolation as a word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Constrained => "constrained",
        }
    }

    /// Returns the isolation with this word.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == word)
    }

    /// Returns true for the default, which records leave out.
    #[must_use]
    pub fn is_full(&self) -> bool {
        *self == Self::Full
    }
}

/// One of the four tools of a constrained worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tool {
    /// Reads files.
    Read,
    /// Finds files, and text in files.
    Search,
    /// Writes files.
    Edit,
    /// Runs commands.
    Shell,
}

// === impl Tool ===

impl Tool {
    /// All four tools.
    pub const ALL: [Self; 4] = [Self::Read, Self::Search, Self::Edit, Self::Shell];

    /// Returns the tool as a word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Search => "search",
            Self::Edit => "edit",
            Self::Shell => "shell",
        }
    }

    /// Returns the tool with this word.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == word)
    }

    /// Returns true if a worker that is limited to these tools can write files; an empty list stands for all tools.
    #[must_use]
    pub fn can_write(tools: &[Self]) -> bool {
        tools.is_empty() || tools.iter().any(|tool| matches!(tool, Self::Edit | Self::Shell))
    }
}

/// What the constrained workers of an agent may access besides their own tree and the system.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reach {
    /// Files and folders that they may read and start programs from, as absolute paths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<String>,
    /// Files and folders of the user's home folder that are copied into the workers' home, relative to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub home: Vec<String>,
    /// Hosts that they may connect to, each with its port: `api.example.com:443`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub network: Vec<String>,
}

// === impl Reach ===

impl Reach {
    /// Returns true if all lists are empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Sandbox of a constrained worker, as passed to its shim.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WorkerSandbox {
    /// Access that the agent's settings list.
    pub reach: Reach,
    /// Additional paths that the worker may read: the git folder and Switchboard's programs.
    pub read: Vec<String>,
    /// Folders that no listed path may open as a whole.
    pub closed: Vec<String>,
    /// True to start the worker even if not all restrictions can be enforced.
    pub allow_unenforced: bool,
    /// Tools that the worker is limited to; empty for all four. Without `edit` and `shell` its tree is read-only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool>,
}

// === impl WorkerSandbox ===

impl WorkerSandbox {
    /// Returns true if none of the worker's tools writes files.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        !Tool::can_write(&self.tools)
    }
}

/// A host that a constrained worker may reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Name or address of the host, in lower case.
    pub name: String,
    /// The TCP port.
    pub port: u16,
}

// === impl Host ===

impl Host {
    /// Reads `HOST:PORT`, with an IPv6 address in brackets. Returns `None` for anything else, including patterns and addresses with a path.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (name, port) = text.rsplit_once(':')?;
        let name = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b':');
        let port = port.parse().ok().filter(|port| *port > 0)?;
        let is_host = !name.is_empty() && name.len() <= 253 && name.bytes().all(is_plain);
        is_host.then(|| Self { name: name.trim_end_matches('.').to_ascii_lowercase(), port })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_a_name_and_a_port_and_nothing_else() {
        let host = |name: &str, port| Some(Host { name: name.to_owned(), port });

        assert_eq!(Host::parse("API.example.com:443"), host("api.example.com", 443));
        assert_eq!(Host::parse("example.com.:443"), host("example.com", 443));
        assert_eq!(Host::parse("[::1]:8080"), host("::1", 8080));
        for bad in
            ["example.com", "https://example.com:443", "example.com:0", ":443", "*.example.com:443", "a b:1", "a:99999"]
        {
            assert_eq!(Host::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_words_are_those_of_the_record() {
        for isolation in Isolation::ALL {
            assert_eq!(serde_json::json!(isolation), isolation.as_str());
            assert_eq!(Isolation::of(isolation.as_str()), Some(isolation));
        }
        assert_eq!(Isolation::of("Constrained"), None);
        for tool in Tool::ALL {
            assert_eq!(serde_json::json!(tool), tool.as_str());
            assert_eq!(Tool::of(tool.as_str()), Some(tool));
        }
    }

    #[test]
    fn a_tree_is_read_only_for_a_worker_whose_tools_write_nothing() {
        let cut = |tools: &[Tool]| WorkerSandbox { tools: tools.to_vec(), ..WorkerSandbox::default() }.is_read_only();

        assert!(cut(&[Tool::Read]) && cut(&[Tool::Read, Tool::Search]));
        assert!(!cut(&[]) && !cut(&[Tool::Edit]) && !cut(&[Tool::Read, Tool::Shell]));
    }
}
