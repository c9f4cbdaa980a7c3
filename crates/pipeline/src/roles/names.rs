//! Resolves names of roles and tools as agents write them.

use switchboard_protocol::role::RoleName;
use switchboard_protocol::run::way::RoleId;

/// Returns the role with this name: its id in any case, with `-` or a space for `_`, optionally after the name of a
/// team (`mega_coder`). `None` for any other name: only the given team counts as a prefix, so `decoder` and
/// `code-reviewer` are not roles.
#[must_use]
pub fn role_of<'a>(
    name: &str,
    teams: impl IntoIterator<Item = &'a str>,
    roles: impl IntoIterator<Item = &'a RoleId>,
) -> Option<&'a RoleId> {
    let name = fold(name);
    let roles: Vec<_> = roles.into_iter().collect();
    let of = |name: &str| roles.iter().copied().find(|role| fold(role.as_str()) == name);
    of(&name).or_else(|| {
        let behind = |team: &str| name.strip_prefix(&fold(team))?.strip_prefix('_').and_then(of);
        teams.into_iter().filter(|team| !team.trim().is_empty()).find_map(behind)
    })
}

/// Returns the shipped role with this name, optionally after the name of a plan's swarm.
#[must_use]
pub fn shipped_role_of(name: &str, swarm: &str) -> Option<RoleName> {
    let ids = RoleName::ALL.map(RoleName::id);
    role_of(name, [swarm], &ids).and_then(RoleName::of)
}

/// Returns the name of a tool without the name of its server or team: `search` for `mega:search`, `mega.search` and
/// `mcp__mega__search`. Used for counting and display only; the rights of a tool never depend on it.
#[must_use]
pub fn tool_of(name: &str) -> &str {
    let name = name.trim();
    let is_word = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "_-".contains(c));
    let of_server = |rest: &'_ str| rest.find("__").filter(|at| *at > 0).map(|at| at + 2);
    if let Some(rest) = name.strip_prefix("mcp__") {
        let tool = of_server(rest).map(|at| &rest[at..]).filter(|tool| is_word(tool));
        return tool.unwrap_or(name);
    }
    let behind = name.split_once([':', '.']).filter(|(prefix, tool)| is_word(prefix) && is_word(tool));
    behind.map_or(name, |(_, tool)| tool)
}

/// Returns a name in lower case, with `_` for every run of spaces, `-` and `_`.
pub(super) fn fold(name: &str) -> String {
    switchboard_protocol::id::fold(name).replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(name: &str) -> Option<String> {
        let roles = RoleName::ALL.map(RoleName::id);
        role_of(name, ["mega", "my-team", ""], &roles).map(ToString::to_string)
    }

    #[test]
    fn spellings_and_known_teams_lead_to_the_role() {
        for name in
            ["coder", "Coder", " CODER ", "mega_coder", "mega-coder", "mega coder", "Mega  Coder", "my_team_coder"]
        {
            assert_eq!(role(name).as_deref(), Some("coder"), "{name}");
        }
        for name in ["test engineer", "test-engineer", "mega_test_engineer", "mega-test-engineer"] {
            assert_eq!(role(name).as_deref(), Some("test_engineer"), "{name}");
        }
        assert_eq!(role("mega_critic_drift_verifier").as_deref(), Some("critic_drift_verifier"));
    }

    #[test]
    fn other_names_are_no_roles() {
        for name in [
            "decoder",
            "code-reviewer",
            "not_a_coder",
            "mega_decoder",
            "megacoder",
            "coder_mega",
            "other_coder",
            "engineer",
            "test_coder",
            "critic_coder",
            "coder2",
            "_coder",
            "",
            " ",
            "mega",
            "mega_",
            "explore",
            "plan",
        ] {
            assert_eq!(role(name), None, "{name:?}");
        }
    }

    #[test]
    fn tools_lose_the_name_of_their_server() {
        for name in ["search", "mega:search", "mega.search", "mcp__x__search", "mcp__my-server__search", " search "] {
            assert_eq!(tool_of(name), "search", "{name}");
        }
        assert_eq!(tool_of("mcp__x__batch_symbols"), "batch_symbols");
        assert_eq!(tool_of("mcp__x__a__b"), "a__b");
        for name in ["mcp__search", "mcp____search", "a:", ":b", "a.b.c", "http://x", "mcp__x__", "", "./run"] {
            assert_eq!(tool_of(name), name, "{name}");
        }
    }
}
