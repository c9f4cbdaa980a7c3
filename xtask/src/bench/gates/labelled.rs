//! Secrets of a generated set: what it says is only that the detectors do what they are made for. Real code differs.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::mutate::Draw;
use super::session::{Session, findings};
use super::{Bench, Score};

/// A line of a file: the path's ending, the line, and whether it holds a secret. `{A20}` stands for 20 letters and digits,
/// `H` hexadecimal digits, `U` capitals and digits, `D` digits, `S` small letters and digits.
const LINES: &[(&str, &str, bool)] = &[
    ("py", "DB_PASSWORD = '{A4}#{A6}9k'", true),
    ("py", "client = Client(api_key=\"{A36}\")", true),
    ("py", "AWS_KEY = 'AKIA{U16}'", true),
    ("py", "url = 'postgres://app:{A7}9x{A5}@db1.corp.net/app'", true),
    ("js", "const stripe = require('stripe')('sk_live_{A24}')", true),
    ("js", "const clientSecret = '{A40}'", true),
    ("ts", "headers: { Authorization: 'Bearer {A20}7{A19}' },", true),
    ("go", "token := \"glpat-{A20}\"", true),
    ("java", "private static final String PASSWORD = \"{A3}7!{A6}\";", true),
    ("yaml", "password: {A4}7{A5}", true),
    ("yaml", "slack: xoxb-{D11}-{D12}-{A24}", true),
    ("env", "SECRET_KEY={A50}", true),
    ("env", "SENDGRID=SG.{A22}.{A43}", true),
    ("properties", "spring.datasource.password=x{A3}7{A5}", true),
    ("rb", "config[:api_token] = '{H40}'", true),
    ("php", "define('DB_PASSWORD', '{A5}!7{A4}');", true),
    ("cs", "var c = \"Server=db;User Id=sa;Password={A4}$7{A4};\";", true),
    ("tf", "access_key = \"{A20}\"", true),
    ("py", "commit = '{H40}'", false),
    ("py", "sha256 = '{H64}'", false),
    ("py", "request_id = '{H8}-{H4}-{H4}-{H4}-{H12}'", false),
    ("py", "password = os.environ['DB_PASSWORD_{U2}']", false),
    ("py", "password = 'changeme{D3}'", false),
    ("py", "csrf_token = '{H32}'", false),
    ("js", "const apiKey = process.env.API_KEY_{U3}", false),
    ("js", "const tokenKey = 'session-token-v{D1}'", false),
    ("js", "const key = 'AKIAIOSFODNN7EXAMPLE'", false),
    ("ts", "headers: { Authorization: `Bearer ${token{D2}}` },", false),
    ("go", "etag := \"{H32}\"", false),
    ("java", "String token = \"xxxxxxxxxxxxxxxx{D2}\";", false),
    ("yaml", "password: ${DB_PASSWORD_{U2}}", false),
    ("yaml", "secretName: tls-secret-{D4}", false),
    ("env", "API_KEY=your_api_key_{D2}", false),
    ("properties", "password.minLength={D2}", false),
    ("md", "curl -u user:password https://api{D2}.example.com", false),
    ("md", "Set `TOKEN=<your token {D2}>` first.", false),
    ("lock", "integrity = \"sha512-{A86}==\"", false),
    ("pem", "-----BEGIN PUBLIC KEY-----", false),
    ("php", "$password = $_POST['password{D1}'];", false),
    ("tf", "access_key = var.access_key_{D2}", false),
];
/// Copies of each line, all different.
const COPIES: usize = 25;

/// Writes the set, scans it, and compares by line.
pub(crate) fn measure(bench: &Bench<'_>) -> anyhow::Result<Value> {
    let folder = TempDir::new()?;
    let mut draw = Draw(bench.args.seed);
    let mut labels = Vec::new();
    for (number, (ending, line, is_secret)) in LINES.iter().enumerate() {
        let text: String = (0..COPIES).map(|_| fill(line, &mut draw) + "\n").collect();
        let path = format!("file{number}.{ending}");
        fs::write(folder.path().join(&path), text)?;
        labels.extend((1..=COPIES as u64).map(|at| (path.clone(), at, *is_secret)));
    }
    let mut session = Session::start(&bench.binary, folder.path())?;
    let reply = session.ask(&json!({ "root": folder.path(), "base": "none", "only": ["secretscan"] }))?;
    let told: BTreeSet<(String, u64)> = findings(&reply)
        .filter_map(|finding| Some((finding["path"].as_str()?.to_owned(), finding["span"]["start_line"].as_u64()?)))
        .collect();
    let mut score = Score::default();
    for (path, line, is_secret) in labels {
        score.count(told.contains(&(path, line)), is_secret);
    }
    bench.say(&format!("secrets, generated: {}", score.to_json()));
    Ok(score.to_json())
}

/// Fills a template.
fn fill(template: &str, draw: &mut Draw) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        let (before, behind) = rest.split_at(open);
        out.push_str(before);
        let filled = behind.find('}').and_then(|close| Some((random(&behind[1..close], draw)?, close)));
        rest = match filled {
            Some((filled, close)) => {
                out.push_str(&filled);
                &behind[close + 1..]
            }
            None => {
                out.push('{');
                &behind[1..]
            }
        };
    }
    out + rest
}

fn random(code: &str, draw: &mut Draw) -> Option<String> {
    let (kind, count) = code.split_at_checked(1)?;
    let alphabet: &[u8] = match kind {
        "A" => b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
        "H" => b"0123456789abcdef",
        "U" => b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
        "D" => b"0123456789",
        "S" => b"abcdefghijklmnopqrstuvwxyz0123456789",
        _ => return None,
    };
    let count: usize = count.parse().ok()?;
    Some((0..count).map(|_| char::from(alphabet[draw.below(alphabet.len())])).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_filled_and_other_braces_stay() {
        let filled = fill("a={H8} ${B} {x", &mut Draw(3));

        assert_eq!(filled.len(), "a=12345678 ${B} {x".len());
        assert!(filled.ends_with(" ${B} {x"));
        assert_ne!(filled, fill("a={H8} ${B} {x", &mut Draw(4)));
    }
}
