//! Handlers of messages and their queues.

use switchboard_protocol::error::Failure;
use switchboard_protocol::id::MessageId;
use switchboard_protocol::verb::{Verb, bus, queue, search};

use super::Verbs;
use super::context::Context;
use super::coordinator;
use super::route::Handle;
use crate::blocking::blocking;

/// Implements handlers that pass the call to the bus; the last word creates an id for a message without one.
macro_rules! on_bus {
    ($($verb:path => $function:path $(, $fresh:ident)?;)+) => {$(
        impl Handle<$verb> for Verbs {
            async fn handle(
                &self,
                call: &Context,
                request: <$verb as Verb>::Request,
            ) -> Result<<$verb as Verb>::Reply, Failure> {
                Ok($function(&self.store, &call.on_bus(self), request $(, $fresh(call)?)?).await?)
            }
        }
    )+};
}

on_bus! {
    bus::AckMessage => switchboard_bus::ack_message;
    bus::CheckInbox => switchboard_bus::check_inbox;
    queue::CancelMessage => switchboard_bus::cancel_message;
    queue::ExtendMessage => switchboard_bus::extend_message;
    queue::NakMessage => switchboard_bus::nak_message;
    queue::ReadInboxEvents => switchboard_bus::read_inbox_events;
    queue::ReceiveMessages => switchboard_bus::receive_messages;
    queue::ReviveMessage => switchboard_bus::revive_message;
    queue::SendRequest => switchboard_bus::send_request, fresh;
    queue::SendTeamMessage => switchboard_bus::send_team_message, fresh;
}

fn fresh(call: &Context) -> Result<MessageId, Failure> {
    call.fresh_bits().map(MessageId::from_bits)
}

impl Handle<bus::SendMessage> for Verbs {
    async fn handle(&self, call: &Context, request: bus::SendMessageRequest) -> Result<bus::SendMessageReply, Failure> {
        let fresh = fresh(call)?;
        if coordinator::is_for_coordinator(&request) {
            return self.coordinate(call, &request, fresh).await;
        }
        Ok(switchboard_bus::send_message(&self.store, &call.on_bus(self), request, fresh).await?)
    }
}

impl Handle<bus::ListMessages> for Verbs {
    async fn handle(&self, _: &Context, request: bus::ListMessagesRequest) -> Result<bus::ListMessagesReply, Failure> {
        Ok(switchboard_bus::list_messages(&self.store, &request)?)
    }
}

impl Handle<search::SearchMessages> for Verbs {
    async fn handle(
        &self,
        _: &Context,
        request: search::SearchMessagesRequest,
    ) -> Result<search::SearchMessagesReply, Failure> {
        let store = self.store.clone();
        blocking(move || Ok(switchboard_bus::search_messages(&store, &request)?)).await
    }
}
