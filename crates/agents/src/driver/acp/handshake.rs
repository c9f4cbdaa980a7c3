//! The two answers that open a session.

use serde_json::Value;
use switchboard_protocol::worker::WorkerEvent;

use super::{Acp, Phase, login, wire};
use crate::Result;
use crate::driver::Given;

// === impl Acp ===

impl Acp {
    pub(super) fn initialized(&mut self, answer: Result<Value, wire::Fault>) {
        match answer {
            Ok(answer) if answer["protocolVersion"] == wire::VERSION => {
                self.login.learn(&answer);
                let id = self.request("session/new", wire::new_session(&self.cwd, self.mcp.as_ref()));
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
                self.phase = Phase::Idle;
                self.ready.push_back(Given::Event(WorkerEvent::SessionOpened { session: session.to_owned() }));
            }
            (None, Some(fault)) if login::is_wanted(fault) => self.needs_login(&fault.to_string()),
            (None, Some(fault)) => self.break_off("agent.protocol", format!("the agent opened no session: {fault}")),
            (None, None) => self.break_off("agent.protocol", "the agent named no session".to_owned()),
        }
    }
}
