//! Steps about mail, which use the tools that every agent has.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_process::clock::Deadline;
use switchboard_protocol::id::fold;

use super::Player;

/// Interval between two looks at the inbox.
const POLL_INTERVAL: Duration = Duration::from_millis(150);

// === impl Player ===

impl Player {
    /// Waits for a message that is not handled yet, acknowledges it and saves it.
    pub(super) async fn wait_mail(&mut self, from: Option<&str>, limit: Duration, save_as: &str) -> Result<(), String> {
        let from = from.map(|from| self.fill(from)).transpose()?;
        let call = self.begin(&format!("Wait for mail from {}", from.as_deref().unwrap_or("anybody")), "other", None);
        let deadline = Deadline::after(limit);
        while !deadline.has_passed() {
            let tools = self.tools.as_mut().ok_or("the session was given no MCP server")?;
            let inbox = tools.call("check_inbox", &json!({})).await?;
            if let Some(mail) = self.pick(&inbox, from.as_deref()) {
                let id = mail["id"].as_str().unwrap_or_default().to_owned();
                if let Some(tools) = self.tools.as_mut() {
                    tools.call("ack_message", &json!({ "id": id })).await?;
                }
                self.handled.push(id);
                self.last_mail = mail.clone();
                self.values[save_as] = mail;
                self.finish(&call, true);
                return Ok(());
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        self.finish(&call, false);
        Err(format!("no mail from {} came within {} s", from.as_deref().unwrap_or("anybody"), limit.as_secs()))
    }

    /// Replies to the message of the last `wait_mail`.
    pub(super) async fn reply(&mut self, text: &str) -> Result<(), String> {
        let Some(sender) = self.last_mail["sender"].as_str() else {
            return Err("there is no mail to reply to".to_owned());
        };
        let args = json!({ "recipient": sender, "payload": self.fill(text)?, "action": "submit_result",
            "reply_to": self.last_mail["id"] });
        self.mcp("send_message", &args).await.map(drop)
    }

    fn pick(&self, inbox: &Value, from: Option<&str>) -> Option<Value> {
        let messages = inbox["messages"].as_array()?;
        let fits = |mail: &&Value| {
            let id = mail["id"].as_str().unwrap_or_default();
            let sender = mail["sender"].as_str().unwrap_or_default();
            !self.handled.iter().any(|handled| handled == id) && from.is_none_or(|from| fold(from) == fold(sender))
        };
        messages.iter().find(fits).cloned()
    }
}
