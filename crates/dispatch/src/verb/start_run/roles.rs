//! Who has which role in a team, as a request names them.

use std::collections::BTreeSet;

use switchboard_protocol::error::Failure;
use switchboard_protocol::role::RoleName;
use switchboard_protocol::verb::run::RoleChoice;

/// Refuses roles where no team works, a role that no step of a team has, and one that is named twice.
pub(super) fn check(choices: &[RoleChoice], is_team: bool) -> Result<(), Failure> {
    let bad = |what: String, hint: &str| Err(Failure::new("request.bad-args", what).at("roles").hint(hint));
    if let (false, Some(choice)) = (is_team, choices.first()) {
        return bad(
            format!("somebody is named for the role {}, and no team carries the plan out", choice.role),
            "set team",
        );
    }
    let mut seen = BTreeSet::new();
    for RoleChoice { role: id, .. } in choices {
        let role = RoleName::of_team(id.as_str()).map_err(|failure| failure.at("roles"))?;
        if role.id() != *id {
            return bad(format!("there is no role {id}"), &format!("did you mean {role}?"));
        }
        if !seen.insert(role) {
            return bad(format!("the role {role} is named twice"), "name it once");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_that_would_not_be_heeded_are_refused() {
        let choice = |role: &str| RoleChoice {
            role: switchboard_protocol::run::way::RoleId::new(role).unwrap(),
            agent: None,
            model: None,
            instructions: String::new(),
        };
        let refused = |roles: &[&str], is_team: bool| {
            let choices: Vec<_> = roles.iter().map(|role| choice(role)).collect();
            check(&choices, is_team).map_err(|failure| (failure.code, failure.what, failure.hint))
        };

        assert_eq!(refused(&["reviewer", "test_engineer"], true), Ok(()));
        assert_eq!(refused(&[], false), Ok(()));
        for (roles, is_team, words) in [
            (&["reviewer"][..], false, "no team carries the plan out"),
            (&["reviewer", "reviewer"], true, "named twice"),
            (&["docs"], true, "no step of a team's tasks is for the role docs"),
            (&["coder"], true, "the coder is each task's own agent"),
            (&["test-engineer"], true, "there is no role test-engineer"),
        ] {
            let (code, what, hint) = refused(roles, is_team).unwrap_err();
            assert!(code == "request.bad-args" && what.contains(words) && !hint.is_empty(), "{roles:?}: {what}");
        }
        assert_eq!(refused(&["reviwer"], true).unwrap_err().2, "did you mean reviewer?");
    }
}
