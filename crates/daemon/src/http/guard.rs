//! The guard before every route: checks Host and Origin (against DNS rebinding and foreign pages), then the token, then the
//! size of the body. Nothing in the request is trusted before that.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use switchboard_protocol::caller::{Caller, Face};
use switchboard_protocol::error::Failure;

use super::body;
use super::limits::Limits;
use super::problem::Problem;
use crate::agent_token;
use crate::face::Invoke;

/// Header with the name under which a caller wants to be recorded.
pub(super) const NAME_HEADER: &str = "switchboard-agent";

/// Shared state of the guard.
#[derive(Clone)]
pub(super) struct Gate {
    pub(super) invoke: Arc<dyn Invoke>,
    pub(super) port: u16,
    pub(super) limits: Limits,
}

/// Passes a request on with its [`Caller`] and its whole body, or answers it with a refusal.
pub(super) async fn check(State(gate): State<Gate>, mut request: Request, next: Next) -> Response {
    if let Err(failure) = gate.admit(&mut request) {
        return Problem(failure).into_response();
    }
    let (parts, body) = request.into_parts();
    if parts.method == Method::DELETE && parts.uri.path() == "/mcp" {
        if let Some(caller) = parts.extensions.get::<Caller>() {
            gate.invoke.ends_session(caller);
        }
        return StatusCode::NO_CONTENT.into_response();
    }
    if parts.method != Method::POST {
        return next.run(Request::from_parts(parts, Body::empty())).await;
    }
    let bytes = match body::read(&parts.headers, body, gate.limits).await {
        Ok(bytes) => bytes,
        Err(failure) => return Problem(failure).into_response(),
    };
    if parts.uri.path() == "/mcp"
        && let Err(answer) = body::check_json_rpc(&bytes)
    {
        return answer;
    }
    let opens = parts.uri.path() == "/mcp" && !parts.headers.contains_key(agent_token::HEADER) && is_initialize(&bytes);
    let mut answer = next.run(Request::from_parts(parts, Body::from(bytes))).await;
    if opens && answer.status().is_success() {
        // Without a token the client works as before: an agent that sends its name with each request.
        let token = agent_token::fresh().ok().and_then(|token| HeaderValue::from_str(&token).ok());
        answer.headers_mut().extend(token.map(|token| (HeaderName::from_static(agent_token::HEADER), token)));
    }
    answer
}

/// Returns true if an MCP message opens a connection.
fn is_initialize(body: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Message {
        method: String,
    }
    serde_json::from_slice::<Message>(body).is_ok_and(|message| message.method == "initialize")
}

impl Gate {
    fn admit(&self, request: &mut Request) -> Result<(), Failure> {
        check_host(request.uri(), request.headers(), self.port)?;
        check_origin(request.headers(), self.port)?;
        if matches!(request.uri().path(), "/health" | "/session") {
            return Ok(());
        }
        let caller = self.identify(request.uri(), request.headers())?;
        request.extensions_mut().insert(caller);
        Ok(())
    }

    fn identify(&self, uri: &Uri, headers: &HeaderMap) -> Result<Caller, Failure> {
        let missing = || {
            Failure::new("auth.bad-token", "the request carries no bearer token")
                .hint("send `Authorization: Bearer …` with the content of .switchboard/auth_token")
        };
        let bearer = bearer(headers).or_else(|| in_query(uri, headers)).ok_or_else(missing)?;
        let name = match one(headers, NAME_HEADER) {
            One::Absent => None,
            One::Value(name) => Some(name),
            One::Unusable => return Err(Failure::new("request.bad-args", format!("{NAME_HEADER} can't be a name"))),
        };
        let caller = Caller { face: Face::Http, ..self.invoke.identify(Some(bearer), name)? };
        match one(headers, agent_token::HEADER) {
            One::Absent => Ok(caller),
            One::Value(token) => agent_token::bearing(caller, token),
            One::Unusable => Err(Failure::new("auth.bad-token", format!("{} can't be a token", agent_token::HEADER))),
        }
    }
}

/// Returns the token of exactly one `Authorization: Bearer` header.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let One::Value(value) = one(headers, header::AUTHORIZATION.as_str()) else { return None };
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// Returns the token of the query, which is allowed only for the older MCP transport and only without a header: URLs
/// end up in histories and other programs' logs. Our own logs never contain a query.
fn in_query<'a>(uri: &'a Uri, headers: &HeaderMap) -> Option<&'a str> {
    let may = matches!(uri.path(), "/sse" | "/messages") && !headers.contains_key(header::AUTHORIZATION);
    let mut tokens = uri.query().filter(|_| may)?.split('&').filter_map(|pair| pair.strip_prefix("token="));
    match (tokens.next(), tokens.next()) {
        (Some(token), None) if !token.is_empty() => Some(token),
        (_, _) => None,
    }
}

/// Rejects a request for another host than this listener. Two hosts are as bad as a wrong one.
fn check_host(uri: &Uri, headers: &HeaderMap, port: u16) -> Result<(), Failure> {
    let refused = || {
        Failure::new("auth.foreign-host", "the request names another host")
            .hint(format!("address it to 127.0.0.1:{port}"))
    };
    if uri.authority().is_some_and(|authority| !is_ours(authority.as_str(), port)) {
        return Err(refused());
    }
    match one(headers, header::HOST.as_str()) {
        One::Value(host) if is_ours(host, port) => Ok(()),
        One::Value(_) | One::Absent | One::Unusable => Err(refused()),
    }
}

/// Rejects a request from a page of another origin. Programs send no Origin.
fn check_origin(headers: &HeaderMap, port: u16) -> Result<(), Failure> {
    match one(headers, header::ORIGIN.as_str()) {
        One::Absent => Ok(()),
        One::Value(origin) if origin.strip_prefix("http://").is_some_and(|host| is_ours(host, port)) => Ok(()),
        One::Value(_) | One::Unusable => {
            Err(Failure::new("auth.foreign-origin", "the request comes from another origin")
                .hint("only pages that this daemon serves may call it"))
        }
    }
}

/// Returns true if `host:port` is this listener by one of loopback's names.
fn is_ours(authority: &str, port: u16) -> bool {
    let Some((host, its_port)) = authority.rsplit_once(':') else { return port == 80 && is_loopback(authority) };
    its_port.parse() == Ok(port) && is_loopback(host)
}

fn is_loopback(host: &str) -> bool {
    host == "127.0.0.1" || host == "[::1]" || host.eq_ignore_ascii_case("localhost")
}

/// A header that may be sent once.
enum One<'a> {
    Absent,
    Value(&'a str),
    Unusable,
}

fn one<'a>(headers: &'a HeaderMap, name: &str) -> One<'a> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => One::Absent,
        (Some(value), None) => value.to_str().map_or(One::Unusable, One::Value),
        (Some(_), Some(_)) => One::Unusable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_with_our_port_is_ours() {
        for ours in ["127.0.0.1:4711", "localhost:4711", "LOCALHOST:4711", "[::1]:4711"] {
            assert!(is_ours(ours, 4711), "{ours}");
        }
        for foreign in [
            "127.0.0.1",
            "127.0.0.1:80",
            "localhost",
            "evil.example:4711",
            "localhost.evil.example:4711",
            "127.0.0.1.evil.example:4711",
            "evil.example@127.0.0.1:4711",
            "0.0.0.0:4711",
            "127.0.0.1:4711:4711",
            "127.0.0.1:04711 ",
            "::1:4711",
            "",
        ] {
            assert!(!is_ours(foreign, 4711), "{foreign}");
        }
    }

    #[test]
    fn a_token_in_the_query_counts_for_the_older_transport_only() {
        let of = |uri: &'static str, headers: &HeaderMap| in_query(&Uri::from_static(uri), headers).map(str::to_owned);
        let none = HeaderMap::new();
        let mut other = HeaderMap::new();
        other.append(header::AUTHORIZATION, axum::http::HeaderValue::from_static("Bearer x"));

        assert_eq!(of("/sse?token=abc", &none).as_deref(), Some("abc"));
        assert_eq!(of("/messages?sessionId=1&token=abc", &none).as_deref(), Some("abc"));
        for uri in
            ["/mcp?token=abc", "/v1/get_status?token=abc", "/sse?token=", "/sse?token=a&token=b", "/sse?xtoken=a"]
        {
            assert_eq!(of(uri, &none), None, "{uri}");
        }
        assert_eq!(of("/sse?token=abc", &other), None);
    }

    #[test]
    fn a_token_is_taken_from_exactly_one_bearer_header() {
        let of = |values: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::AUTHORIZATION, axum::http::HeaderValue::from_static(value));
            }
            bearer(&headers).map(str::to_owned)
        };

        assert_eq!(of(&["Bearer abc"]).as_deref(), Some("abc"));
        assert_eq!(of(&["bearer  abc"]).as_deref(), Some("abc"));
        for none in [&[][..], &["Basic abc"], &["Bearer"], &["Bearer  "], &["abc"], &["Bearer a", "Bearer a"]] {
            assert_eq!(of(none), None, "{none:?}");
        }
    }
}
