//! Checks the spec with which a worker is started: identity, folder, prompt, and time limits.

use std::collections::BTreeMap;

use switchboard_protocol::frame::{DriverSpec, WorkerSpec};

/// Checks the invariants of a spec; returns the broken one.
pub(super) fn wrong(spec: &WorkerSpec) -> Option<&'static str> {
    let env: BTreeMap<&str, &str> = spec.env.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let says = |name: &str, value: &str| env.get(name) == Some(&value);
    let is_known = says("SWITCHBOARD_WORKER", spec.worker.as_str())
        && says("SWITCHBOARD_AGENT", spec.agent.as_str())
        && says("SWITCHBOARD_RUN", spec.run.as_str())
        && says("SWITCHBOARD_TASK", &spec.task)
        && says("SWITCHBOARD_ATTEMPT", &spec.attempt.to_string())
        && says("SWITCHBOARD_TOKEN", &spec.token)
        && says("SWITCHBOARD_SOCKET", "/socket")
        && spec.socket == "/socket";
    let is_exec = matches!(&spec.driver, DriverSpec::Exec { argv } if *argv == ["make", "it"]);
    let is_acp = matches!(&spec.driver, DriverSpec::Acp { argv } if *argv == ["agent"]);
    let is_headed = match env.get("SWITCHBOARD_STEP") {
        // The prompt of a reviewer or test engineer names its step.
        Some(step) => {
            let part = format!("attempt {}; this is the step {step}.\n", spec.attempt);
            spec.prompt.starts_with("You are the ") && spec.prompt.contains(&part)
        }
        None => {
            let head = format!("Task {} of \"A simulated plan\", attempt {}.\n", spec.task, spec.attempt);
            spec.prompt.starts_with(&head) && spec.prompt.contains("It belongs to the phase \"one\".\n")
        }
    };
    let bridge = spec.mcp.as_ref();
    let is_bridge = bridge.is_none_or(|bridge| {
        bridge.name == "switchboard"
            && bridge.argv == ["/switchboard", "mcp"]
            && bridge.env.iter().all(|(name, value)| says(name, value))
            && bridge.env.iter().any(|(name, _)| name == "SWITCHBOARD_TOKEN")
    });
    let hints = [
        ("\nWork in the current folder only", is_acp || is_exec),
        ("The MCP server `switchboard` carries messages", is_acp),
        ("You have mail.", !spec.mail.is_empty()),
        ("can't change the project's records yourself", false),
    ];
    let tells = |(words, wanted): &(&str, bool)| spec.prompt.contains(words) == *wanted;
    // Reviewers, test engineers and makers of reports get no instruction about files: nothing in their tree is kept.
    let has_no_tree =
        env.contains_key("SWITCHBOARD_STEP") || spec.prompt.contains("What you say is the result of this task");
    [
        (is_known, "who it is"),
        (spec.token.len() == 32, "the token"),
        (is_exec || is_acp, "the program"),
        (is_headed, "the first line of the prompt"),
        (hints.iter().skip(usize::from(has_no_tree)).all(tells), "what the prompt tells"),
        (spec.mail.len() <= 10, "the mail"),
        (spec.mail.iter().all(|id| spec.prompt.contains(id.as_str())), "the mail in the prompt"),
        (bridge.is_some() == is_acp && is_bridge, "the server of its tools"),
        (spec.wrap_up.is_some() == is_acp, "when it is told to finish"),
        // Nobody's program prints anything while a leader works by hand.
        (!spec.by_hand || spec.limits.idle_ms == spec.limits.wall_ms, "the silence that is allowed to it"),
        (spec.cwd.starts_with("/worktrees/") && spec.cwd.contains(spec.run.as_str()), "its work tree"),
        (spec.folder.contains(spec.worker.as_str()), "its folder"),
        (spec.sandbox.is_none() && spec.model.is_none() && !spec.model_given, "its sandbox and model"),
    ]
    .into_iter()
    .find(|(holds, _)| !holds)
    .map(|(_, what)| what)
}
