//! Handles the two answers that open a session.

use serde_json::Value;
use switchboard_protocol::worker::WorkerEvent;

use super::model::{self, Choice};
use super::{Acp, Phase, login, wire};
use crate::Result;
use crate::driver::{DriverOutput, Model};

// === impl Acp ===

impl Acp {
    pub(super) fn initialized(&mut self, answer: Result<Value, wire::Fault>) {
        match answer {
            Ok(answer) if answer["protocolVersion"] == wire::VERSION => {
                self.login.learn(&answer);
                self.tally.learn(&answer);
                let id =
                    self.request("session/new", wire::new_session(&self.cwd, self.mcp.as_ref(), self.tools.as_deref()));
                self.phase = Phase::Opening(id);
            }
            Ok(answer) => {
                let found = crate::beginning(&answer["protocolVersion"].to_string(), 40).to_owned();
                self.break_off("agent.protocol", format!("the agent speaks version {found} of ACP, not 1"));
            }
            Err(fault) if login::is_wanted(&fault) => self.needs_login(&fault.to_string()),
            Err(fault) => self.break_off("agent.protocol", format!("the agent refused to begin: {fault}")),
        }
    }

    pub(super) fn opened(&mut self, answer: Result<Value, wire::Fault>) {
        let session = match &answer {
            Ok(answer) => answer["sessionId"].as_str().filter(|id| !id.is_empty() && id.len() <= 1024),
            Err(_) => None,
        };
        match (session, answer.as_ref().err()) {
            (Some(session), _) => {
                self.session = session.to_owned();
                match (self.model.take(), answer) {
                    (Some(model), Ok(opened)) => self.choose(&opened, &model),
                    (Some(_) | None, _) => self.begin(),
                }
            }
            (None, Some(fault)) if login::is_wanted(fault) => self.needs_login(&fault.to_string()),
            (None, Some(fault)) => {
                let hint = root_hint(&fault.to_string(), rustix::process::geteuid().is_root());
                self.break_off("agent.protocol", format!("the agent opened no session: {fault}{hint}"));
            }
            (None, None) => self.break_off("agent.protocol", "the agent named no session".to_owned()),
        }
    }

    fn choose(&mut self, opened: &Value, model: &Model) {
        match model::choose(opened, model) {
            Choice::Request(method, mut params) => {
                params["sessionId"] = self.session.as_str().into();
                let id = self.request(method, params);
                self.phase = Phase::Choosing(id);
            }
            Choice::Chosen => self.begin(),
            Choice::Refused(why) => self.break_off("agent.no-model", why),
        }
    }

    pub(super) fn chosen(&mut self, answer: Result<Value, wire::Fault>) {
        match answer {
            Ok(_) => self.begin(),
            Err(fault) if login::is_wanted(&fault) => self.needs_login(&fault.to_string()),
            Err(fault) => self.break_off("agent.no-model", format!("the agent refused the model: {fault}")),
        }
    }

    /// Marks the session as ready for prompts.
    fn begin(&mut self) {
        self.phase = Phase::Idle;
        let session = self.session.clone();
        self.ready.push_back(DriverOutput::Event(WorkerEvent::SessionOpened { session }));
    }
}

/// Returns what Claude Code's error leaves out: as root it ends at once, unless `IS_SANDBOX` is `1` (Claude Code 2).
fn root_hint(fault: &str, is_root: bool) -> &'static str {
    match is_root && fault.contains("Claude Code process exited") {
        true => "; as root it starts only with IS_SANDBOX=1 in the environment",
        false => "",
    }
}

#[cfg(test)]
mod tests {
    use super::root_hint;

    #[test]
    fn a_claude_code_that_ends_as_root_is_explained() {
        let fault = "Internal error: Claude Code process exited with code 1 (-32603)";

        assert!(root_hint(fault, true).contains("IS_SANDBOX=1"));
        assert_eq!(root_hint(fault, false), "");
        assert_eq!(root_hint("no such model", true), "");
    }
}
