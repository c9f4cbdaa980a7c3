//! Messages and their queues.

use serde_json::Value;
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::MessageId;
use switchboard_protocol::verb::{Verb as _, bus as mail, queue};

use super::{Call, typed, value};

// === impl Call ===

impl Call<'_> {
    pub(super) async fn mail(&self, args: Value) -> Result<Value, Failure> {
        let (store, asker) = (&self.verbs.store, self.asker());
        macro_rules! answer {
            ($verb:path, $call:path $(, $fresh:expr)?) => {
                value::<$verb>($call(store, &asker, typed::<$verb>(args)? $(, $fresh)?).await?)
            };
        }
        match self.verb {
            mail::AckMessage::NAME => answer!(mail::AckMessage, switchboard_bus::ack_message),
            mail::CheckInbox::NAME => answer!(mail::CheckInbox, switchboard_bus::check_inbox),
            mail::ListMessages::NAME => {
                value::<mail::ListMessages>(switchboard_bus::list_messages(store, &typed::<mail::ListMessages>(args)?)?)
            }
            queue::CancelMessage::NAME => answer!(queue::CancelMessage, switchboard_bus::cancel_message),
            queue::ExtendMessage::NAME => answer!(queue::ExtendMessage, switchboard_bus::extend_message),
            queue::NakMessage::NAME => answer!(queue::NakMessage, switchboard_bus::nak_message),
            queue::ReadInboxEvents::NAME => answer!(queue::ReadInboxEvents, switchboard_bus::read_inbox_events),
            queue::ReceiveMessages::NAME => answer!(queue::ReceiveMessages, switchboard_bus::receive_messages),
            queue::ReviveMessage::NAME => answer!(queue::ReviveMessage, switchboard_bus::revive_message),
            queue::SendRequest::NAME => {
                answer!(queue::SendRequest, switchboard_bus::send_request, self.fresh_message()?)
            }
            queue::SendTeamMessage::NAME => {
                answer!(queue::SendTeamMessage, switchboard_bus::send_team_message, self.fresh_message()?)
            }
            _ => answer!(mail::SendMessage, switchboard_bus::send_message, self.fresh_message()?),
        }
    }

    fn fresh_message(&self) -> Result<MessageId, Failure> {
        self.fresh_bits().map(MessageId::from_bits)
    }
}
