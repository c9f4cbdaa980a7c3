//! MCP for agents: the verbs as tools, for clients that open with `initialize` and for stateless ones alike.
//!
//! [`Server`] handles both ways in: Streamable HTTP (`/mcp`, where each request identifies its caller) and a byte stream
//! such as the Unix socket behind `switchboard mcp` ([`serve_io`], where the connection does).

use std::sync::{Arc, Mutex, PoisonError};

use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, Implementation,
    InitializeRequestParams, InitializeResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion, RequestId,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;
use switchboard_protocol::caller::{Caller, CallerKind, Face};
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::AgentName;
use switchboard_protocol::verb::{Access, Profile};

use crate::agent_token;
use crate::authority::without_authority;
use crate::bound::names_its_caller;
use crate::face::{self, Call, Invoke, Reply};

mod answer;
mod instructions;
mod line;
mod stream;
mod tools;

pub(crate) use answer::malformed;
pub use instructions::INSTRUCTIONS;
pub use stream::serve_io;
pub(crate) use stream::serve_lines;

/// `_meta` keys under which a client may send an idempotency key, in order of precedence.
pub const KEY_META: [&str; 2] = ["switchboard/idempotencyKey", "idempotencyKey"];

/// The HTTP header for the same purpose.
pub const KEY_HEADER: &str = "idempotency-key";

/// How long clients may cache the list of tools, in milliseconds: it can't change before the daemon does.
const TOOLS_TTL_MS: u64 = 60_000;

/// Serves MCP requests by calling verbs.
#[derive(Clone)]
pub struct Server {
    invoke: Arc<dyn Invoke>,
    origin: Origin,
}

/// Source of requests.
#[derive(Clone)]
enum Origin {
    /// HTTP: the request's extensions hold the caller.
    Http,
    /// A byte stream: one caller, under the name that it registered last, and an id of the stream that stays the same over reconnects.
    Stream { caller: Arc<Mutex<Caller>>, bridge: String },
}

impl Server {
    /// Serves Streamable HTTP requests whose `http::request::Parts` hold a [`Caller`].
    #[must_use]
    pub fn for_http(invoke: Arc<dyn Invoke>) -> Self {
        Self { invoke, origin: Origin::Http }
    }

    fn for_stream(invoke: Arc<dyn Invoke>, caller: Caller, bridge: String) -> Self {
        Self { invoke, origin: Origin::Stream { caller: Arc::new(Mutex::new(caller)), bridge } }
    }

    fn caller(&self, context: &RequestContext<RoleServer>) -> Result<Caller, Failure> {
        match &self.origin {
            Origin::Stream { caller, .. } => Ok(caller.lock().unwrap_or_else(PoisonError::into_inner).clone()),
            Origin::Http => context
                .extensions
                .get::<axum::http::request::Parts>()
                .and_then(|parts| parts.extensions.get::<Caller>())
                .cloned()
                .map(|caller| without_authority(Caller { face: Face::McpHttp, ..caller }))
                .ok_or_else(|| Failure::new("auth.bad-token", "the request does not say who calls")),
        }
    }

    fn key(&self, effect: Access, context: &RequestContext<RoleServer>) -> Result<Option<String>, Failure> {
        for name in KEY_META {
            match context.meta.get(name) {
                None => {}
                Some(Value::String(key)) => return face::check_key(key).map(Some),
                Some(_) => return Err(Failure::new("request.bad-args", format!("_meta.{name} is not a text"))),
            }
        }
        match &self.origin {
            Origin::Http => context
                .extensions
                .get::<axum::http::request::Parts>()
                .and_then(|parts| parts.headers.get(KEY_HEADER))
                .map(|key| face::check_key(key.to_str().unwrap_or_default()))
                .transpose(),
            Origin::Stream { .. } if effect == Access::Read => Ok(None),
            Origin::Stream { bridge, .. } => Ok(Some(key_of_request(bridge, &context.id))),
        }
    }

    /// Gives the connection's caller the name that it has registered.
    fn name_stream(&self, reply: &Value) {
        let Origin::Stream { caller, .. } = &self.origin else { return };
        if let Some(name) = reply["agent"]["name"].as_str().and_then(|name| AgentName::new(name).ok()) {
            caller.lock().unwrap_or_else(PoisonError::into_inner).name = name;
        }
    }

    /// Returns the caller as the agent of the token in the `_meta` of a request over HTTP.
    fn bearing(&self, caller: Caller, context: &RequestContext<RoleServer>) -> Result<Caller, Failure> {
        match (&self.origin, context.meta.get(agent_token::META)) {
            (Origin::Http, Some(Value::String(token))) => agent_token::bearing(caller, token),
            (Origin::Http, Some(_)) => {
                Err(Failure::new("request.bad-args", format!("_meta.{} is not a text", agent_token::META)))
            }
            (Origin::Http, None) | (Origin::Stream { .. }, _) => Ok(caller),
        }
    }

    async fn call(
        &self,
        request: CallToolRequestParams,
        effect: Access,
        context: &RequestContext<RoleServer>,
    ) -> Result<Reply, Failure> {
        let caller = self.bearing(self.caller(context)?, context)?;
        let key = self.key(effect, context)?;
        let args = Value::Object(request.arguments.unwrap_or_default());
        let (verb, is_worker) = (request.name.into_owned(), matches!(caller.kind, CallerKind::Worker { .. }));
        let names = !is_worker && names_its_caller(&verb);
        let call = Call { caller, verb, args, key };
        let gone = context.ct.cancelled();
        let reply = match &self.origin {
            Origin::Http => agent_token::run(&self.invoke, call, gone).await?,
            Origin::Stream { .. } => face::run(&self.invoke, call, gone).await?,
        };
        if names {
            self.name_stream(&face::value_of(&reply)?);
        }
        Ok(reply)
    }
}

/// Derives a key for a request without one: the same when the bridge sends it again over a new connection. An id that
/// would make it too long goes in as its digest. JSON spelling keeps `1` and `"1"` apart.
fn key_of_request(bridge: &str, id: &RequestId) -> String {
    let key = format!("{bridge}/{}", id.clone().into_json_value());
    face::check_key(&key).unwrap_or_else(|_| switchboard_protocol::id::Digest::of(key.as_bytes()).hex())
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let server = Implementation::new("switchboard", env!("CARGO_PKG_VERSION")).with_title("Switchboard");
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(server)
            .with_instructions(self.invoke.instructions())
    }

    async fn initialize(
        &self,
        mut request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let result = self.negotiate_initialize(&request)?;
        request.protocol_version = result.protocol_version.clone();
        context.peer.set_peer_info(request);
        Ok(result)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if let Ok(caller) = self.caller(&context) {
            self.invoke.tools_listed(&caller);
        }
        let mut result = ListToolsResult::with_all_items(tools::listed());
        if context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28) {
            result.ttl_ms = Some(TOOLS_TTL_MS);
            result.cache_scope = Some(CacheScope::Public);
        }
        Ok(result)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.invoke.row(name).filter(|row| row.profile != Profile::Never).map(|row| tools::tool(&row))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(row) = self.invoke.row(&request.name).filter(|row| row.profile != Profile::Never) else {
            return Err(answer::unknown_tool(&request.name));
        };
        let effect = row.effect;
        let called = match effect {
            Access::Written | Access::Synced => self.call(request, effect, &context).await,
            Access::Read => tokio::select! {
                called = self.call(request, effect, &context) => called,
                () = context.ct.cancelled() => return Err(answer::cancelled()),
            },
        };
        Ok(answer::of(called).into())
    }

    /// Rejects methods that MCP does not have, and its own methods with parameters of the wrong shape.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(answer::unservable(&request.method))
    }
}

#[cfg(test)]
mod tests;
