//! Removes known secrets and terminal escape sequences from texts before they become events, and secrets from raw output before it is kept.

mod raw;

use switchboard_protocol::frame::{WorkerEvent, WorkerSpec};
use switchboard_protocol::text::unstyled;

use crate::Result;
pub(super) use raw::RawRedactor;

/// Replacement of a secret.
const MARK: &str = "‹secret›";

/// Minimum length of a secret: a shorter value is not worth hiding, and would hide ordinary words.
const MIN_SECRET_LENGTH: usize = 8;

/// Parts of the names of variables that hold secrets.
const NAMES: &[&str] = &["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL", "COOKIE"];

/// The secrets of one worker, longest first.
pub(super) struct Redactor(Vec<String>);

// === impl Redactor ===

impl Redactor {
    pub(super) fn new(spec: &WorkerSpec) -> Self {
        let is_secret = |name: &str| NAMES.iter().any(|part| name.to_ascii_uppercase().contains(part));
        let bridge = spec.mcp.iter().flat_map(|mcp| &mcp.env);
        let named = spec.env.iter().chain(bridge).filter(|(name, _)| is_secret(name)).map(|(_, value)| value);
        let mut secrets: Vec<_> =
            named.chain([&spec.token]).filter(|value| value.len() >= MIN_SECRET_LENGTH).cloned().collect();
        secrets.sort_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
        secrets.dedup();
        Self(secrets)
    }

    /// Returns a redactor for raw output.
    pub(super) fn raw(&self) -> Result<RawRedactor> {
        RawRedactor::new(&self.0)
    }

    pub(super) fn clean(&self, event: WorkerEvent) -> WorkerEvent {
        match event {
            WorkerEvent::AgentStarted { pid, argv } => {
                WorkerEvent::AgentStarted { pid, argv: argv.into_iter().map(|arg| self.text(arg)).collect() }
            }
            WorkerEvent::ToolCalled { call, title, tool_kind, status, paths, why } => WorkerEvent::ToolCalled {
                call,
                title: self.text(title),
                tool_kind,
                status,
                paths: paths.into_iter().map(|path| self.text(path)).collect(),
                why: self.text(why),
            },
            WorkerEvent::PermissionAsked { ask, title, options, detail, tool_kind, paths } => {
                let (title, detail) = (self.text(title), self.text(detail));
                let paths = paths.into_iter().map(|path| self.text(path)).collect();
                WorkerEvent::PermissionAsked { ask, title, options, detail, tool_kind, paths }
            }
            WorkerEvent::PermissionSettled { ask, option, rule } => {
                WorkerEvent::PermissionSettled { ask, option, rule: rule.map(|rule| self.text(rule)) }
            }
            WorkerEvent::TurnEnded { turn, stop, text } => WorkerEvent::TurnEnded { turn, stop, text: self.text(text) },
            WorkerEvent::AgentExited { code, signal, stderr, by_us } => {
                WorkerEvent::AgentExited { code, signal, stderr: self.text(stderr), by_us }
            }
            WorkerEvent::Faulted { code, what, retry_after_ms } => {
                WorkerEvent::Faulted { code, what: self.text(what), retry_after_ms }
            }
            plain @ (WorkerEvent::SessionOpened { .. }
            | WorkerEvent::TurnStarted { .. }
            | WorkerEvent::PauseChanged { .. }
            | WorkerEvent::CostReported { .. }
            | WorkerEvent::Sealed { .. }) => plain,
        }
    }

    pub(super) fn text(&self, text: String) -> String {
        let text = unstyled(&text).into_owned();
        self.0.iter().fold(text, |text, secret| match text.contains(secret) {
            true => text.replace(secret, MARK),
            false => text,
        })
    }
}
