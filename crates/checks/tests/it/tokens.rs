//! Tokens and keys with a reader of their own: each with hits and look-alikes.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::scratch::{Scratch, fill, findings, more_than_listed};

fn scan(path: &str, text: &str) -> switchboard_protocol::finding::CheckReply {
    let scratch = Scratch::plain();
    scratch.write(path, text);
    scratch.check_only(switchboard_protocol::finding::CheckName::Secretscan)
}

fn rules(path: &str, text: &str) -> Vec<String> {
    findings(&scan(path, text)).iter().map(|finding| finding.rule.clone()).collect()
}

fn jwt(header: &str, claims: &str, signature: &str) -> String {
    let part = |json: &str| URL_SAFE_NO_PAD.encode(json);
    format!("{}.{}.{}", part(header), part(claims), fill(signature, 91))
}

#[test]
fn signed_web_tokens_are_told() {
    let claims = r#"{"sub":"svc-billing","iat":1716239022,"scope":"invoices:write"}"#;
    let short = jwt(r#"{"alg":"HS256","typ":"JWT"}"#, claims, "{W43}");
    let long = jwt(r#"{"alg":"RS256","kid":"2024-05","typ":"JWT"}"#, claims, "{W342}");

    assert_eq!(rules("app.js", &format!("const session = '{short}';\n")), ["jwt"]);
    assert_eq!(rules("run.sh", &format!("curl https://x.corp/?t={long}\n")), ["jwt"]);
}

#[test]
fn what_only_looks_like_a_web_token_is_left_in_peace() {
    let claims = r#"{"sub":"svc-billing","iat":1716239022}"#;
    for token in [
        jwt(r#"{"alg":"none"}"#, claims, "{W43}"),
        jwt(r#"{"alg":"HS256","typ":"JWT"}"#, r#"{"sub":"1","name":"John Doe"}"#, "{W43}"),
        jwt(r#"{"typ":"JWT"}"#, claims, "{W43}"),
        jwt(r#"{"alg":"HS256"}"#, claims, "{A6}"),
        jwt(r#"{"alg":"HS256"}"#, claims, "").trim_end_matches('.').to_owned(),
        format!("eyJ{}.eyJ{}.{}", fill("{A20}", 1), fill("{A30}", 2), fill("{A43}", 3)),
    ] {
        assert_eq!(rules("app.js", &format!("const session = '{token}';\n")), [""; 0], "{token}");
    }
}

#[test]
fn putty_keys_without_a_passphrase_are_told_and_others_are_not() {
    let head = |version: u32, kind: &str, cipher: &str| {
        format!(
            "{}{version}: {kind}\nEncryption: {cipher}\nComment: me\nPublic-Lines: 1\nAAAA\nPrivate-Lines: 1\nAAAA\nPrivate-MAC: 00\n",
            ["PuTTY-User-", "Key-File-"].concat()
        )
    };

    assert_eq!(rules("me.ppk", &head(2, "ssh-rsa", "none")), ["putty-private-key"]);
    assert_eq!(rules("old.ppk", &head(3, "ssh-ed25519", "none").replace('\n', "\r\n")), ["putty-private-key"]);
    assert_eq!(more_than_listed(&scan("me.ppk", &head(3, "ssh-rsa", "aes256-cbc"))), [""; 0]);
    assert_eq!(rules("ppk.py", "if line.startswith('PuTTY-User-Key-File-2: '):\n    pass\n"), [""; 0]);
}

#[test]
fn escaped_text_in_a_language_and_a_manuals_token_are_no_passwords() {
    let escaped = "{ \"keystore.password\", \"\\u5BC6\\u94A5\\u5E93\\u53E3\\u4EE4\" },\n";
    let shown = "botToken: \"123456:ABC-DEF1234ghIkl-zyx57W2v1u123ew11\"\n";

    assert_eq!(rules("Texts_zh.java", escaped), [""; 0]);
    assert_eq!(rules("docs/bot.md", shown), [""; 0]);
}
