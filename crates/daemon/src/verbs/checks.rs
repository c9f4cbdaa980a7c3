//! Handlers of the checks, which a child process runs.

use switchboard_protocol::error::Failure;
use switchboard_protocol::verb::{Verb, check};

use super::Verbs;
use super::context::Context;
use super::route::Handle;

/// Implements handlers that pass the call to the checking child.
macro_rules! in_child {
    ($($verb:path)+) => {$(
        impl Handle<$verb> for Verbs {
            async fn handle(
                &self,
                call: &Context,
                request: <$verb as Verb>::Request,
            ) -> Result<<$verb as Verb>::Reply, Failure> {
                self.in_child::<$verb>(call, request).await
            }
        }
    )+};
}

in_child! {
    check::BuildCheck
    check::Lint
    check::PlaceholderScan
    check::PreCheckBatch
    check::Secretscan
    check::SyntaxCheck
    check::TestRunner
    check::TodoExtract
}

impl Handle<check::CheckGateStatus> for Verbs {
    async fn handle(
        &self,
        _: &Context,
        request: check::CheckGateStatusRequest,
    ) -> Result<check::CheckGateStatusReply, Failure> {
        Ok(self.dispatch.check_gate_status(&request).await?)
    }
}

impl Handle<check::EvidenceCheck> for Verbs {
    async fn handle(
        &self,
        _: &Context,
        request: check::EvidenceCheckRequest,
    ) -> Result<check::EvidenceCheckReply, Failure> {
        Ok(self.dispatch.evidence_check(&request).await?)
    }
}

// === impl Verbs ===

impl Verbs {
    async fn in_child<V: Verb>(&self, call: &Context, request: V::Request) -> Result<V::Reply, Failure> {
        let broken = |error: serde_json::Error| Failure::new("internal.bug", format!("{}: {error}", V::NAME));
        let args = serde_json::to_value(request).map_err(broken)?;
        let reply = self.dispatch.check(V::NAME, args, &call.caller).await?;
        serde_json::from_value(reply).map_err(broken)
    }
}
