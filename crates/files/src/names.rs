//! Maps agents to folders: names that differ in case or spelling share one.

use switchboard_protocol::id::{AgentName, fold};

/// Returns the canonical form of a folder's or agent's name; `Lead Coder` is also a folder of `lead`.
#[must_use]
pub fn canonical(name: &str) -> String {
    let folded = fold(name);
    if folded == "lead-coder" { "lead".to_owned() } else { folded }
}

/// Returns the folder of an agent: of the existing ones, the one spelt like the name, else the first with the same
/// canonical form, else a new one.
#[must_use]
pub fn folder_for<'a>(agent: &AgentName, there: impl IntoIterator<Item = &'a str>) -> String {
    let wanted = canonical(agent.as_str());
    let mut fitting: Vec<_> = there.into_iter().filter(|folder| canonical(folder) == wanted).collect();
    fitting.sort_unstable();
    let exact = fitting.iter().find(|folder| **folder == agent.as_str());
    exact.or(fitting.first()).map_or_else(|| agent.to_string(), |folder| (*folder).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_a_name_meet_in_one_folder() {
        let agent = AgentName::new("Coder 1").unwrap();

        assert_eq!(folder_for(&agent, ["coder_1", "coder"]), "coder_1");
        assert_eq!(folder_for(&agent, ["coder-1", "Coder 1", "CODER 1"]), "Coder 1");
        assert_eq!(folder_for(&agent, ["coder"]), "Coder 1");
        assert_eq!(folder_for(&AgentName::new("lead").unwrap(), ["Lead Coder"]), "Lead Coder");
    }
}
