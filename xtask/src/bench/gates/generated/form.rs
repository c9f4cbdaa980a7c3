//! Statements that hold a credential, in the style of each kind of file.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::super::mutate::Draw;
use super::value;

/// One form of statement.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form {
    /// Name of the form in the figures.
    pub(super) name: &'static str,
    write: Write,
    style: Style,
}

/// Syntax of an assignment in a kind of file.
#[derive(Debug, Clone, Copy)]
struct Style {
    /// Text before the name, between name and value, and behind the value.
    parts: (&'static str, &'static str, &'static str),
    /// Text before a remark: a comment mark, where the file is code.
    comment: &'static str,
}

/// Writes a line from the style of the file, its words, and whether the line is to hold a credential.
type Write = fn(&Style, &[String], bool, &mut Draw) -> String;

const FORMS: &[(&str, Write)] = &[
    ("password", |style, words, is_secret, draw| {
        let name = name(words, &["password", "passwd", "pwd", "pass"], draw);
        let value = if is_secret { value::password(words, draw) } else { value::none(words, draw) };
        style.assign(&name, &value)
    }),
    ("key", |style, words, is_secret, draw| {
        let name = name(words, &["api_key", "secret", "token", "access_key", "client_secret", "auth_token"], draw);
        let value = if is_secret { value::key(draw) } else { value::none(words, draw) };
        style.assign(&name, &value)
    }),
    ("public", |style, words, is_secret, draw| {
        // A name that promises no credential, or a key under a name that does.
        let own = ["checksum", "commit", "revision", "digest", "etag", "public_key_id"][draw.below(6)];
        let name = if is_secret { name(words, &["private_key", "signing_key"], draw) } else { own.to_owned() };
        style.assign(&name, &value::random(b"0123456789abcdef", 40, draw))
    }),
    ("url", |style, words, is_secret, draw| {
        let (scheme, user, host) = (
            ["postgres", "mysql", "amqp", "https", "redis", "mongodb"][draw.below(6)],
            value::word(words, draw),
            value::word(words, draw),
        );
        let password =
            if is_secret { value::password(words, draw).replace(['@', '#'], "-") } else { "$PASSWORD".into() };
        let host = [format!("{host}.internal:5432"), "%s".to_owned(), "10.2.3.4".to_owned()][draw.below(3)].clone();
        style.assign(
            &name(words, &["url", "dsn", "uri"], draw),
            &format!("{scheme}://{user}:{password}@{host}/{}", value::word(words, draw)),
        )
    }),
    ("basic", |style, words, is_secret, draw| {
        let pair = format!("{}:{}", value::word(words, draw), value::password(words, draw));
        let coded = if is_secret { STANDARD.encode(pair) } else { "$CREDENTIALS".to_owned() };
        style.note(&format!("Authorization: Basic {coded}"))
    }),
    ("bearer", |style, words, is_secret, draw| {
        let token = if is_secret { value::key(draw) } else { value::none(words, draw) };
        style.note(&format!("curl -H 'Authorization: Bearer {token}' https://api.{}.net/v1", value::word(words, draw)))
    }),
    ("web key", |style, words, is_secret, draw| {
        let member = if is_secret { "d" } else { "y" };
        let kid = value::word(words, draw);
        style
            .note(&format!(r#"{{"kty": "EC", "kid": "{kid}", "crv": "P-256", "{member}": "{}"}}"#, value::scalar(draw)))
    }),
    ("escaped", |style, words, is_secret, draw| {
        let value = if is_secret { value::password(words, draw) } else { value::none(words, draw) };
        let (user, name) = (value::word(words, draw), name(words, &["password"], draw));
        style.note(&format!(r#"body = "{{\"user\": \"{user}\", \"{name}\": \"{value}\"}}""#))
    }),
    ("command", |style, words, is_secret, draw| {
        let value = if is_secret { value::password(words, draw) } else { "\"$PASSWORD\"".to_owned() };
        let word = value::word(words, draw);
        style.note(&match draw.below(6) {
            0 => format!("mysql -h {word} -u root -p{value} {word}"),
            1 => format!("docker run -e {}_PASSWORD={value} {word}", word.to_ascii_uppercase()),
            2 => format!("keytool -genkey -alias {word} -storepass {value}"),
            3 => format!("mongodump --host {word} -u root -p {value}"),
            4 => format!("sshpass -p {value} ssh {word}"),
            _ => format!("curl -u {word}:{value} https://{word}.net/"),
        })
    }),
    ("sql", |style, words, is_secret, draw| {
        let value = if is_secret { value::password(words, draw) } else { "${PASSWORD}".to_owned() };
        style.note(&format!("CREATE USER {} IDENTIFIED BY '{value}';", value::word(words, draw)))
    }),
    ("vendor", |style, words, is_secret, draw| {
        let token = match draw.below(4) {
            0 => format!("AKIA{}", value::random(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16, draw)),
            1 => format!(
                "glpat-{}",
                value::random(b"ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789", 20, draw)
            ),
            2 => format!(
                "sk_live_{}",
                value::random(b"ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789", 24, draw)
            ),
            _ => format!(
                "xoxb-{}-{}",
                value::random(b"123456789", 12, draw),
                value::random(b"ABCDEFGHJKabcdefghijk23456789", 24, draw)
            ),
        };
        let shown = if is_secret { token } else { token[..8].to_owned() + "xxxxxxxxxxxxxxxxxxxx" };
        style.assign(&value::word(words, draw), &shown)
    }),
];

// === impl Form ===

impl Form {
    /// Draws a form for a file with this ending.
    pub(super) fn drawn(ending: &str, draw: &mut Draw) -> Self {
        // Assignments are the most common form in the wild.
        let at = if draw.below(5) < 2 { draw.below(2) } else { draw.below(FORMS.len()) };
        let (name, write) = FORMS[at];
        Self { name, write, style: Style::of(ending) }
    }

    pub(super) fn line(&self, words: &[String], is_secret: bool, draw: &mut Draw) -> String {
        (self.write)(&self.style, words, is_secret, draw)
    }
}

// === impl Style ===

impl Style {
    fn of(ending: &str) -> Self {
        let (parts, comment) = match ending {
            "py" | "toml" => (("", " = \"", "\""), "# "),
            "rb" => (("", " = '", "'"), "# "),
            "js" => (("const ", " = '", "';"), "// "),
            "rs" => (("let ", " = \"", "\";"), "// "),
            "go" => (("", " := \"", "\""), "// "),
            "c" => (("const char *", " = \"", "\";"), "// "),
            "sh" => (("export ", "=", ""), ""),
            "md" => (("    ", "=", ""), "    "),
            "yml" | "yaml" => (("", ": ", ""), "# "),
            "json" => (("\"", "\": \"", "\","), ""),
            "xml" => (("<entry key=\"", "\">", "</entry>"), ""),
            _ => (("", "=", ""), "# "),
        };
        Self { parts, comment }
    }

    fn assign(&self, name: &str, value: &str) -> String {
        let (before, between, behind) = self.parts;
        format!("{before}{name}{between}{value}{behind}")
    }

    fn note(&self, text: &str) -> String {
        format!("{}{text}", self.comment)
    }
}

/// Makes a name from a word of the file and one of these endings, in one of three spellings.
fn name(words: &[String], ends: &[&str], draw: &mut Draw) -> String {
    let (word, end) = (value::word(words, draw), ends[draw.below(ends.len())]);
    match draw.below(4) {
        0 => end.to_owned(),
        1 => format!("{word}_{end}").to_ascii_uppercase(),
        2 => {
            let joined = format!("{word}_{end}");
            let capital = |part: &str| part[..1].to_ascii_uppercase() + &part[1..];
            let mut parts = joined.split('_').filter(|part| !part.is_empty());
            parts.next().unwrap_or_default().to_owned() + &parts.map(capital).collect::<String>()
        }
        _ => format!("{word}_{end}"),
    }
}
