//! Words that make a change relevant for security or the user interface. Whole words and parts of names count, never a
//! part of a word: `author.rs` is not `auth`, `tokenizer` not `token`, `capital` not `api`.

use crate::team::prose;

/// Parts of file and folder names for auth, crypto, session, token, middleware, api and security, with other forms and
/// the data they protect.
const PARTS: [&str; 49] = [
    "auth",
    "authn",
    "authz",
    "oauth",
    "oauth2",
    "oidc",
    "saml",
    "sso",
    "login",
    "signin",
    "logout",
    "crypto",
    "cryptography",
    "cipher",
    "session",
    "sessions",
    "token",
    "tokens",
    "jwt",
    "middleware",
    "middlewares",
    "api",
    "apis",
    "apikey",
    "apikeys",
    "security",
    "permission",
    "permissions",
    "secret",
    "secrets",
    "credential",
    "credentials",
    "password",
    "passwords",
    "passwd",
    "csrf",
    "cors",
    "acl",
    "rbac",
    "sandbox",
    "keyring",
    "keychain",
    "vault",
    "webauthn",
    "passkey",
    "passkeys",
    "totp",
    "mfa",
    "2fa",
];

/// Prefixes of parts; every form with the prefix counts.
const BEGINNINGS: [&str; 8] =
    ["authenticat", "authoris", "authoriz", "encrypt", "decrypt", "sanitis", "sanitiz", "cryptograph"];

/// Parts beside which `token` belongs to a language or a design.
const NOT_A_CREDENTIAL: [&str; 9] =
    ["lexer", "lexing", "tokenizer", "tokeniser", "ast", "grammar", "design", "theme", "style"];

/// Words in a description. `token`, `session` and `api` alone are too common there: tokens per second, a work session.
const KEYWORDS: [&str; 34] = [
    "auth",
    "authn",
    "authz",
    "oauth",
    "oidc",
    "saml",
    "sso",
    "login",
    "password",
    "passwords",
    "credential",
    "credentials",
    "secret",
    "secrets",
    "jwt",
    "csrf",
    "xss",
    "ssrf",
    "cors",
    "crypto",
    "security",
    "permission",
    "permissions",
    "privilege",
    "privileges",
    "vulnerability",
    "vulnerabilities",
    "injection",
    "sandbox",
    "webauthn",
    "passkey",
    "passkeys",
    "mfa",
    "rbac",
];

/// Phrases in a description.
const PHRASES: [&[&str]; 10] = [
    &["access", "token"],
    &["access", "tokens"],
    &["session", "token"],
    &["session", "cookie"],
    &["session", "cookies"],
    &["bearer", "token"],
    &["refresh", "token"],
    &["api", "key"],
    &["api", "keys"],
    &["path", "traversal"],
];

/// Words and phrases for tasks about the user interface.
const UI: [&[&str]; 13] = [
    &["ui"],
    &["ux"],
    &["gui"],
    &["frontend"],
    &["front", "end"],
    &["user", "interface"],
    &["stylesheet"],
    &["wireframe"],
    &["mockup"],
    &["design", "token"],
    &["design", "tokens"],
    &["layout", "of", "the", "page"],
    &["page", "layout"],
];

/// Returns the part of a path's names that makes a change to it security relevant.
pub(super) fn security_part(path: &str) -> Option<String> {
    let all: Vec<String> = path.split('/').flat_map(parts).collect();
    let is_other = all.iter().any(|part| NOT_A_CREDENTIAL.contains(&part.as_str()));
    let is_style = ["css", "scss", "sass", "less"].iter().any(|ending| path.ends_with(&format!(".{ending}")));
    let guards = |part: &&String| {
        let is_token = ["token", "tokens"].contains(&part.as_str());
        is_security(part, &PARTS) && !(is_token && (is_other || is_style))
    };
    all.iter().find(guards).cloned()
}

/// Returns the words and phrases of a description that make the task security relevant.
pub(super) fn security(description: &str) -> Vec<String> {
    let words = prose::words(description);
    let of_dependencies = |at: usize| {
        let before = at.checked_sub(1).and_then(|before| words.get(before));
        words[at].text == "injection" && before.is_some_and(|word| word.text == "dependency")
    };
    let single =
        words.iter().enumerate().filter(|(at, word)| is_security(&word.text, &KEYWORDS) && !of_dependencies(*at));
    let mut found: Vec<_> = single.map(|(_, word)| word.text.clone()).collect();
    found.extend(phrases(&words, &PHRASES));
    found
}

/// Returns the words and phrases of a description that relate the task to the user interface.
pub(super) fn ui(description: &str) -> Vec<String> {
    phrases(&prose::words(description), &UI)
}

/// Returns the parts of a name in lower case: `OAuthClient`, `oauth_client` and `oauth-client` have the same two.
pub(super) fn parts(name: &str) -> Vec<String> {
    let chars: Vec<char> = name.chars().collect();
    let mut parts = vec![String::new()];
    for (at, c) in chars.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| chars[before]);
        let is_next_lower = chars.get(at + 1).is_some_and(|next| next.is_lowercase());
        let is_hump = before.is_some_and(|before| {
            c.is_uppercase()
                && (before.is_lowercase() || before.is_numeric() || (before.is_uppercase() && is_next_lower))
        });
        if !c.is_alphanumeric() || is_hump {
            parts.push(String::new());
        }
        if let Some(last) = parts.last_mut().filter(|_| c.is_alphanumeric()) {
            last.extend(c.to_lowercase());
        }
    }
    // `OAuth` counts as one part in spite of its capitals.
    let is_o = |pair: &[String]| pair[0] == "o" && pair[1] == "auth";
    if let Some(at) = parts.windows(2).position(is_o) {
        parts.splice(at..at + 2, ["oauth".to_owned()]);
    }
    parts.retain(|part| !part.is_empty());
    parts
}

fn is_security(word: &str, list: &[&str]) -> bool {
    list.contains(&word) || BEGINNINGS.iter().any(|beginning| word.starts_with(beginning))
}

fn phrases(words: &[prose::Word], phrases: &[&[&str]]) -> Vec<String> {
    let found = phrases.iter().filter(|phrase| prose::find(words, phrase).next().is_some());
    found.map(|phrase| phrase.join(" ")).collect()
}
