//! `switchboard roles`

use serde_json::{Value, json};
use switchboard_daemon::roles::{Origin, Role};
use switchboard_protocol::role::{RoleLimits, RoleName};

use crate::available::Available;
use crate::context::Context;
use crate::output::{Table, Tone, one_line};
use crate::report::Outcome;
use crate::settings::Agents;

/// List the roles of a team: rights, limits, models, and where each is defined
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print the prompt of a worker in this role
    role: Option<String>,
}

/// Prints the roles in force.
pub(crate) fn run(args: &Args, context: &mut Context) -> Outcome {
    let files = Available::read(context)?.role_files();
    let settings = context.environment.config_folder();
    let settings = settings.as_deref().map(Agents::read).transpose()?.unwrap_or_default();
    let roles = files.roles();
    let bad = files.bad(&roles);
    let wanted = args.role.as_deref().map(|name| find(name, roles.list())).transpose()?;
    if let (Some(role), false) = (wanted, context.json) {
        context.out.line(one_line(&role.description, 200));
        role.prompt.lines().for_each(|line| context.out.line(crate::output::plain(line)));
        return Ok(());
    }
    let agent = |role: &Role| settings.roles.get(&role.id).and_then(|described| described.agent.clone());
    let shown: Vec<_> = roles.list().iter().filter(|role| wanted.is_none_or(|wanted| wanted.id == role.id)).collect();
    if context.json {
        let list: Vec<_> = shown.iter().map(|role| as_json(role, agent(role))).collect();
        context.out.json(&json!({ "roles": list, "bad_files": bad, "untrusted_files": files.has_untrusted() }));
        return Ok(());
    }
    let mut table = Table::new(&["ROLE", "FROM", "AGENT", "MODELS", "MAY WRITE", "CALLS", "MINUTES", "ERRORS"]);
    for role in shown {
        let models: Vec<_> = role.model.iter().chain(&role.fallback_models).map(String::as_str).collect();
        let RoleLimits { tool_calls, minutes, errors, .. } = role.limits;
        let limit = |limit: u32| if limit == 0 { "no limit".to_owned() } else { limit.to_string() };
        let state = if role.is_disabled { format!("{}, disabled", from(role)) } else { from(role).to_owned() };
        table.row([
            role.id.to_string(),
            state,
            agent(role).unwrap_or_default(),
            one_line(&models.join(", "), 60),
            one_line(&writes(role), 60),
            limit(tool_calls),
            limit(minutes),
            limit(errors),
        ]);
    }
    context.out.table(&table);
    for failure in &bad {
        let line = super::agents::refused(failure);
        context.out.line(context.out.paint(Tone::Bad, &line));
    }
    if files.has_untrusted() {
        let line = "role files of this repository don't count until you trust them: switchboard trust";
        context.out.line(context.out.paint(Tone::Notice, line));
    }
    Ok(())
}

/// Finds a role by its name in any spelling.
fn find<'a>(name: &str, roles: &'a [Role]) -> Result<&'a Role, switchboard_protocol::error::Failure> {
    let found = switchboard_daemon::roles::role_of(name, [], roles.iter().map(|role| &role.id));
    let unknown = || {
        let near = switchboard_protocol::error::near_matches(name, roles.iter().map(|role| role.id.as_str()));
        let hint = near.first().map_or_else(|| "switchboard roles".to_owned(), |near| format!("did you mean {near}?"));
        let what = format!("there is no role {}", one_line(name, 60));
        switchboard_protocol::error::Failure::new("request.bad-args", what).hint(hint)
    };
    found.and_then(|id| roles.iter().find(|role| role.id == *id)).ok_or_else(unknown)
}

const fn from(role: &Role) -> &'static str {
    match role.origin {
        Origin::Shipped => "shipped",
        Origin::User => "user",
        Origin::Project => "project",
    }
}

fn writes(role: &Role) -> String {
    let zones: Vec<_> = role.rights.write.zones.iter().map(|zone| zone.as_str()).collect();
    let mut words = if zones.is_empty() { "nothing".to_owned() } else { zones.join(", ") };
    let lists = [("only", &role.rights.write.only), ("not", &role.rights.write.except)];
    for (word, globs) in lists.into_iter().filter(|(_, globs)| !globs.is_empty()) {
        words.push_str(&format!("; {word} {}", globs.join(" ")));
    }
    words
}

fn as_json(role: &Role, agent: Option<String>) -> Value {
    json!({ "role": role.id, "description": role.description, "origin": from(role), "agent": agent, "model": role.model,
        "fallback_models": role.fallback_models, "temperature": role.temperature, "disabled": role.is_disabled,
        "rights": role.rights, "limits": role.limits, "answers": role.answers,
        "in_tasks": RoleName::of(&role.id).is_some_and(|name| name == RoleName::Coder || RoleName::IN_TASKS.contains(&name)) })
}
