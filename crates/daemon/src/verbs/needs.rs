//! Handlers of questions to a person.

use switchboard_needs::Decision;
use switchboard_protocol::error::Failure;
use switchboard_protocol::verb::need::{
    Answer, AnswerRequest, Approve, Deny, ListNeeds, ListNeedsReply, ListNeedsRequest, ResolveReply, ResolveRequest,
};

use super::Verbs;
use super::context::Context;
use super::route::Handle;

impl Handle<ListNeeds> for Verbs {
    async fn handle(&self, _: &Context, request: ListNeedsRequest) -> Result<ListNeedsReply, Failure> {
        crate::needs::list(self, &request)
    }
}

impl Handle<Approve> for Verbs {
    async fn handle(&self, call: &Context, request: ResolveRequest) -> Result<ResolveReply, Failure> {
        self.resolve(call, &request.id, Decision::Approve).await
    }
}

impl Handle<Deny> for Verbs {
    async fn handle(&self, call: &Context, request: ResolveRequest) -> Result<ResolveReply, Failure> {
        self.resolve(call, &request.id, Decision::Deny).await
    }
}

impl Handle<Answer> for Verbs {
    async fn handle(&self, call: &Context, request: AnswerRequest) -> Result<ResolveReply, Failure> {
        self.resolve(call, &request.id, Decision::Answer { option: request.option, note: request.note }).await
    }
}

// === impl Verbs ===

impl Verbs {
    async fn resolve(&self, call: &Context, id: &str, how: Decision) -> Result<ResolveReply, Failure> {
        crate::needs::resolve(self, id, how, call).await
    }
}
