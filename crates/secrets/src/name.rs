//! Decides by the name of a variable, field or flag whether its value is a credential.
//!
//! The words were chosen by hand, not counted: those that manuals of services and frameworks use for a credential, and
//! those that stood before `token`, `secret` or `key` in published code where the value was none. Their hits and false
//! hits are measured by `secrets_generated` and `clean_findings_per_10k` of `cargo xtask bench gates`.

/// Kind of credential that a name promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Promise {
    /// A password chosen by a person: may be short and readable.
    Password,
    /// A key made by a machine: long and random.
    Key,
}

/// Last words of names of passwords.
const PASSWORDS: &[&str] = &[
    "password",
    "passwd",
    "passwort",
    "passphrase",
    "passcode",
    "pwd",
    "pass",
    "psw",
    "passwrd",
    "pswd",
    "userpass",
    "dbpass",
    "motdepasse",
    "contrasena",
    "senha",
];
/// Last words of names of keys, secrets and tokens.
const KEYS: &[&str] = &[
    "secret",
    "secrets",
    "token",
    "tokens",
    "apikey",
    "secretkey",
    "accesskey",
    "authkey",
    "authtoken",
    "accesstoken",
    "clientsecret",
    "privatekey",
    "credential",
    "credentials",
    "creds",
    "apitoken",
    "apisecret",
    "appsecret",
    "masterkey",
    "signingkey",
    "encryptionkey",
    "sharedkey",
    "accountkey",
    "bearer",
];
/// Words before `key` that make it secret.
const KEY_BEFORE: &[&str] = &[
    "api",
    "access",
    "secret",
    "private",
    "auth",
    "encryption",
    "encrypt",
    "crypto",
    "signing",
    "signature",
    "master",
    "app",
    "application",
    "client",
    "account",
    "storage",
    "shared",
    "service",
    "subscription",
    "consumer",
    "license",
    "hmac",
    "aes",
    "des",
    "jwt",
    "cipher",
    "admin",
    "server",
    "session",
    "cookie",
    "webhook",
    "rest",
    "integration",
    "deploy",
    "sas",
    "symmetric",
];
/// Words behind the credential's name that don't change its meaning.
const NOISE: &[&str] = &[
    "value",
    "val",
    "str",
    "string",
    "text",
    "plain",
    "plaintext",
    "raw",
    "b64",
    "base64",
    "prod",
    "production",
    "dev",
    "development",
    "test",
    "staging",
    "live",
    "default",
    "new",
    "old",
    "current",
    "tmp",
    "env",
    "var",
    "const",
    "literal",
    "sandbox",
    "id1",
    "hardcoded",
    "base",
];
/// Words before `secret` or `token` that make it public.
const PUBLIC: &[&str] = &[
    "csrf",
    "request",
    "idempotency",
    "lock",
    "action",
    "update",
    "export",
    "import",
    "product",
    "xsrf",
    "public",
    "next",
    "page",
    "continuation",
    "sync",
    "cancellation",
    "cancel",
    "stop",
    "eos",
    "bos",
    "pad",
    "unk",
    "sep",
    "mask",
    "cls",
    "special",
    "num",
    "max",
    "min",
    "total",
    "input",
    "output",
    "lexer",
    "syntax",
    "parse",
    "end",
    "start",
    "eof",
    "change",
    "resume",
    "first",
    "last",
    "prev",
    "previous",
    "this",
    "cur",
    "current",
    "left",
    "right",
    "operator",
    "comment",
];

/// Returns the kind of credential that a name promises; `None` for none, e.g. `password_field` or `max_tokens`.
pub(crate) fn promise(name: &[u8]) -> Option<Promise> {
    let words = split(name);
    let words = without_noise(&words);
    let (last, before) = words.split_last()?;
    let last = last.trim_end_matches(|c: char| c.is_ascii_digit());
    let before = before.last().map_or("", String::as_str);
    if PASSWORDS.contains(&last)
        || ["password", "passwd", "passphrase", "pwd", "userpass", "dbpass", "rootpass", "adminpass"]
            .iter()
            .any(|end| last.ends_with(end))
    {
        return (![
            "no", "is", "has", "use", "require", "show", "forgot", "reset", "by", "first", "second", "single", "multi",
            "one", "render", "bypass",
        ]
        .contains(&before))
        .then_some(Promise::Password);
    }
    if last == "key" {
        return (KEY_BEFORE.contains(&before)).then_some(Promise::Key);
    }
    let is_key = KEYS.contains(&last)
        || [
            "secret",
            "apikey",
            "secretkey",
            "accesstoken",
            "authtoken",
            "apitoken",
            "accesskey",
            "privatekey",
            "clientsecret",
        ]
        .iter()
        .any(|end| last.ends_with(end));
    let is_public = PUBLIC.contains(&before) || words.iter().any(|word| word == "public");
    (is_key && !is_public).then_some(Promise::Key)
}

/// Returns whether a name is that of a password hash.
pub(crate) fn names_hash(name: &[u8]) -> bool {
    let words = split(name);
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
    has(&["password", "passwd", "pwd", "pass"]) && has(&["hash", "hashed", "digest"])
}

fn without_noise(words: &[String]) -> &[String] {
    let mut words = words;
    for _ in 0..2 {
        match words.split_last() {
            Some((last, rest))
                if !rest.is_empty()
                    && (NOISE.contains(&last.as_str()) || last.bytes().all(|byte| byte.is_ascii_digit())) =>
            {
                words = rest
            }
            Some(_) | None => break,
        }
    }
    words
}

/// Splits `dbPassword`, `DB_PASSWORD` and `db.password` into lower-case words.
fn split(name: &[u8]) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut before = b'_';
    for (at, byte) in name.iter().copied().enumerate() {
        let next_is_small = name.get(at + 1).is_some_and(u8::is_ascii_lowercase);
        let begins = byte.is_ascii_uppercase()
            && (before.is_ascii_lowercase()
                || before.is_ascii_digit()
                || (before.is_ascii_uppercase() && next_is_small));
        if (begins || !byte.is_ascii_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if byte.is_ascii_alphanumeric() {
            word.push(byte.to_ascii_lowercase() as char);
        }
        before = byte;
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_passwords_and_keys_promise_one() {
        for name in [
            "password",
            "DB_PASSWORD",
            "dbPassword",
            "spring.datasource.password",
            "rootpass",
            "password1",
            "MYSQL_PWD",
            "PASSWORD_PROD",
        ] {
            assert_eq!(promise(name.as_bytes()), Some(Promise::Password), "{name}");
        }
        for name in [
            "API_KEY",
            "apiKey",
            "clientSecret",
            "client-secret",
            "ACCESS_TOKEN",
            "aws.secretKey",
            "AccountKey",
            "secret_key_base64",
        ] {
            assert_eq!(promise(name.as_bytes()), Some(Promise::Key), "{name}");
        }
    }

    #[test]
    fn names_that_only_speak_of_credentials_promise_none() {
        for name in [
            "password_field",
            "passwordLabel",
            "PASSWORD_RESET_URL",
            "token_type",
            "max_tokens",
            "secret_name",
            "csrf_token",
            "primary_key",
            "bypass",
            "key",
            "next_page_token",
            "password_hash",
            "compass",
            "keyboard",
            "secretary",
            "tokenizer",
            "passed",
            "forgot_password",
            "cache_key",
        ] {
            assert_eq!(promise(name.as_bytes()), None, "{name}");
        }
    }
}
