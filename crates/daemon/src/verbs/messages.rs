//! Messages and their queues.

use protocol::error::Failure;
use protocol::id::MessageId;
use protocol::verb::{Verb as _, bus as mail, queue};
use serde_json::Value;

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
            mail::AckMessage::NAME => answer!(mail::AckMessage, bus::ack_message),
            mail::CheckInbox::NAME => answer!(mail::CheckInbox, bus::check_inbox),
            mail::ListMessages::NAME => {
                value::<mail::ListMessages>(bus::list_messages(store, &typed::<mail::ListMessages>(args)?)?)
            }
            queue::CancelMessage::NAME => answer!(queue::CancelMessage, bus::cancel_message),
            queue::ExtendMessage::NAME => answer!(queue::ExtendMessage, bus::extend_message),
            queue::NakMessage::NAME => answer!(queue::NakMessage, bus::nak_message),
            queue::ReadInboxEvents::NAME => answer!(queue::ReadInboxEvents, bus::read_inbox_events),
            queue::ReceiveMessages::NAME => answer!(queue::ReceiveMessages, bus::receive_messages),
            queue::ReviveMessage::NAME => answer!(queue::ReviveMessage, bus::revive_message),
            queue::SendRequest::NAME => answer!(queue::SendRequest, bus::send_request, self.fresh_message()?),
            queue::SendTeamMessage::NAME => {
                answer!(queue::SendTeamMessage, bus::send_team_message, self.fresh_message()?)
            }
            _ => answer!(mail::SendMessage, bus::send_message, self.fresh_message()?),
        }
    }

    fn fresh_message(&self) -> Result<MessageId, Failure> {
        self.fresh_bits().map(MessageId::from_bits)
    }
}
