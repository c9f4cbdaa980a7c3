//! `secretscan`: what is reported, and what is not.

use switchboard_protocol::finding::{CheckName, CheckVerdict, Severity};

use crate::scratch::{Scratch, fill, findings, more_than_listed, report};

fn rules(path: &str, text: &str) -> Vec<String> {
    let scratch = Scratch::plain();
    scratch.write(path, text);
    more_than_listed(&scratch.check_only(CheckName::Secretscan))
}

#[test]
fn passwords_are_told_by_the_name_before_them() {
    for (path, text) in [
        ("app.py", "DB_PASSWORD = 'Kx9#mQ2vLp'"),
        ("app.java", "private static final String PASSWORD = \"gT7!qwPz4x\";"),
        ("app.go", "cfg := Config{Password: \"zR4kQ8vm2T\"}"),
        ("app.rs", "let password: &str = \"b7XqP2mKz9\";"),
        ("app.rb", "config[:password] = 'hunter2hunter2'"),
        ("app.php", "define('DB_PASSWORD', 'mZ8!kq2Lw0');"),
        ("app.cs", "var c = \"Server=db;User Id=sa;Password=Yk3$pLq9;Encrypt=true\";"),
        ("app.js", "client.setPassword(\"q8Zr!3mNv\")"),
        ("conf.yaml", "db:\n  password: h7Gq2mXz\n"),
        ("app.properties", "spring.datasource.password=w3Xk9pQz\n"),
        (".env", "REDIS_PASS=x9Kq2mZr7\n"),
        ("web.config", "<add key=\"Password\" value=\"p\"/><password>Zx8!mQ2kL</password>"),
        ("settings.json", "{\"dbPassword\": \"Lq3!zXm8K\"}"),
        ("init.sql", "CREATE USER app WITH PASSWORD 'tR5#vNq8x';"),
        ("run.sh", "mysql --password=Zk8qL2mX7 db\n"),
    ] {
        assert_eq!(rules(path, text), ["password"], "{path}: {text}");
    }
}

#[test]
fn what_stands_where_a_password_would_is_left_in_peace() {
    for (path, text) in [
        ("a.py", "MODULES = ['sndhdr', 'spwd', 'sqlite3', 'ssl']"),
        ("a.py", "colours = {'pass': '#5cb85c', 'warn': '#f0ad4e'}"),
        ("a.py", "ED25519_KEY_OPTIONAL_PASSPHRASE = 'ed25519-key'"),
        (
            "app.py",
            "password = os.environ['DB_PASSWORD']\npassword = getpass('Password: ')\npassword = None\npassword = ''",
        ),
        ("app.py", "password = 'your_password'\npassword='password'\npassword = '********'\npasswd = '<password>'"),
        (
            "app.py",
            "PASSWORD_FIELD = 'user_password_2'\nlabels = {'password': 'Enter your password'}\ntoken_type = 'bearer2x9'",
        ),
        ("app.js", "const password = `${process.env.PASS}`;\nconst passwordKey = 'auth.password1';"),
        ("app.js", "if (password === confirmPassword1) {}\ninput type=\"password\" placeholder=\"Password123\""),
        (
            "conf.yaml",
            "password: ${DB_PASSWORD}\npassword: {{ vault_password }}\npassword: !vault |\npassword: changeme123\n",
        ),
        ("conf.yaml", "password: the password of user 1\npasswordPolicy: strong1\npasswordMinLength: 12\n"),
        ("de.po", "msgid \"password1\"\nmsgstr \"Passwort1\"\n"),
        ("app.go", "const passwordHash = \"$2a$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy\""),
        ("test_app.py", "client.login(username='bob', password='secret123')"),
        ("app.rb", "password = ENV['PASSWORD1']\npassword: params[:password1]\n"),
        ("README.md", "Set `password=mypass123` and run.\n"),
        (
            "app.properties",
            "password=@db.password1@\npassword=%PASSWORD1%\npassword=ENC(G6N718UuyPE5bHyWKyuLQSm02auQPUtm)\n",
        ),
    ] {
        assert_eq!(rules(path, text), [""; 0], "{path}: {text}");
    }
}

#[test]
fn keys_are_told_by_name_and_randomness() {
    for (path, text) in [
        ("app.py", fill("API_KEY = '{H32}'", 1)),
        ("app.js", fill("const clientSecret = \"{A40}\";", 2)),
        ("conf.yaml", fill("auth_token: {A24}\n", 3)),
        ("app.ts", fill("headers: { 'x-api-key': '{A32}' }", 4)),
        (".env", fill("SECRET_KEY={B44}\n", 5)),
        ("main.tf", fill("access_key = \"{A20}\"", 6)),
        ("app.py", fill("url = 'https://api.corp.io/v1?api_key={H32}&x=1'", 7)),
    ] {
        assert_eq!(rules(path, &text), ["secret-value"], "{path}: {text}");
    }
}

#[test]
fn ids_hashes_and_names_are_no_keys() {
    for (path, text) in [
        ("app.py", fill("commit = '{H40}'\nsha256 = '{H64}'\nid = '9b2f7c1e-4d3a-4f6b-8e2d-1c5a7b9d0e3f'", 1)),
        ("app.py", "token = 'access_token'\nsecret_name = 'prod/db/main-secret-2'\napi_key = settings.API_KEY\nsecret = get_secret('a1b2c3d4e5f6a7b8')".into()),
        ("app.js", "const tokenKey = 'user-session-token-v2';\nlet token = tokens[i];\nconst key = 'ArrowDown';".into()),
        ("k8s.yaml", "secretName: tls-secret-2023\nsecretKeyRef:\n  key: db-password-1\ntoken: ${{ secrets.GITHUB_TOKEN }}\n".into()),
        ("app.java", "String apiKey = \"YOUR_API_KEY_HERE_123\";\nString token = \"xxxxxxxxxxxxxxxxxxxx1\";".into()),
        ("package-lock.json", fill("\"integrity\": \"sha512-{B86}==\", \"token\": \"{H32}\"", 5)),
        ("app.py", "csrf_token = 'a8f5f167f44f4964e6c998dee827110c'\npad_token = 'x9z8y7w6v5u4t3s2'".into()),
        ("cert.pem", fill("-----BEGIN PUBLIC KEY-----\n{B64}\n{B64}\n-----END PUBLIC KEY-----\n", 6)),
        ("a.js", "const all = ['sqlite3', 'i18n_private_key', 'i18n_viewer_size_22x', 'i18n_b'];\n".into()),
        ("a.js", "exports.PAGERDUTY_SERVICE_ID = PAGERDUTY_SERVICE_ID;\n".into()),
        ("a.ts", "const accessKey = 'sdlfkjabc+sdlfkjsdlfkjsdfLDKFTERLKFDFKLjsdfksjfE4c==';\n".into()),
        ("a.py", "send(bot_token='123456:ABC...', api_key='f83kd02mXq...')\n".into()),
        ("a.py", "HEADER = '-----BEGIN RSA PRIVATE KEY-----'\nif text.startswith(HEADER): pass\n".into()),
    ] {
        assert_eq!(rules(path, &text), [""; 0], "{path}: {text}");
    }
}

#[test]
fn urls_headers_and_command_lines_give_their_credentials_away() {
    let begin = ["-----BEGIN ", "RSA PRIVATE KEY-----"].concat();
    for (rule, path, text) in [
        ("url-password", "a.py", fill("db = 'postgresql://app:{A12}@db.prod.corp:5432/app'", 1)),
        ("url-password", ".env", fill("AMQP=amqps://svc:{A8}%40{A4}@mq.corp.net/v\n", 2)),
        ("bearer-token", "a.sh", fill("curl -H 'Authorization: Bearer {A40}' https://x\n", 3)),
        ("basic-auth", "a.http", ["Authorization: Basic ", "YWRtaW46WjhxIUwybVg3a1E="].concat()),
        ("curl-password", "a.sh", fill("curl -s -u deploy:{A14} https://x\n", 4)),
        (
            "private-key",
            "id_rsa",
            [&begin, &fill("\nMIIE{B60}\n{B64}\n{B64}\n-----END RSA PRIVATE KEY-----\n", 5)[..]].concat(),
        ),
        (
            "private-key",
            "a.json",
            [
                "{\"private_key\": \"",
                &begin,
                &fill("\\nMIIE{B60}\\n{B64}\\n{B64}\\n-----END RSA PRIVATE KEY-----\\n\"}", 6)[..],
            ]
            .concat(),
        ),
    ] {
        assert_eq!(rules(path, &text), [rule], "{path}: {text}");
    }
}

#[test]
fn urls_headers_and_command_lines_of_a_manual_are_left_in_peace() {
    for (path, text) in [
        ("a.py", "# mobilemessage://APIUSER:APIPASS@SENDER/ToPhoneNo\n"),
        (
            "a.py",
            "u = 'https://user:password@example.com/'\nv = 'http://user:pass@host:80/'\nw = 'postgres://postgres:postgres@localhost/x'",
        ),
        (
            "a.py",
            "u = f'https://{user}:{password}@host/'\nv = 'https://$USER:$PASS@host/'\nw = 'http://localhost:8080/@scope/pkg'",
        ),
        (
            "a.md",
            "curl -u user:password https://x\ncurl -H 'Authorization: Bearer <token>' https://x\nAuthorization: Bearer YOUR_ACCESS_TOKEN\n",
        ),
        ("a.http", "Authorization: Basic dXNlcjpwYXNzd29yZA==\nAuthorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\n"),
        ("a.py", "u = 'https://packages.example.org/@babel/core:7.0.0@latest'"),
    ] {
        assert_eq!(rules(path, text), [""; 0], "{path}: {text}");
    }
}

#[test]
fn only_secrets_that_the_base_did_not_have_block() {
    let scratch = Scratch::repository();
    let old = fill("a = 1\ntoken = ghp_{A36}\n", 21);
    scratch.write("conf.txt", &old).commit();

    scratch.write("conf.txt", format!("# a new line above\n{old}other = {}\n", fill("glpat-{A20}", 22)));

    let reply = scratch.check_only(CheckName::Secretscan);
    let seen: Vec<(&str, bool, bool)> =
        findings(&reply).iter().map(|finding| (finding.rule.as_str(), finding.is_new, finding.blocks)).collect();
    assert_eq!(seen, [("github-pat", false, false), ("gitlab-pat", true, true)]);
}

#[test]
fn a_second_copy_of_an_old_secret_is_new() {
    let scratch = Scratch::repository();
    let line = fill("token = glpat-{A20}\n", 23);
    scratch.write("conf.txt", &line).commit();

    scratch.write("conf.txt", format!("{line}{line}"));

    let news = findings(&scratch.check()).iter().filter(|finding| finding.is_new).count();
    assert_eq!(news, 1);
}

#[test]
fn an_ignore_comment_needs_the_rule_and_a_reason() {
    let token = fill("glpat-{A20}", 24);
    for (comment, blocks) in [
        ("# switchboard:allow(gitlab-pat) a revoked token of the demo", false),
        ("# switchboard:allow(secretscan) a revoked token of the demo", false),
        ("# switchboard:allow(gitlab-pat)", true),
        ("# switchboard:allow(github-pat) a revoked token of the demo", true),
    ] {
        let scratch = Scratch::plain();
        scratch
            .write("same.yaml", format!("t: {token} {comment}\n"))
            .write("above.yaml", format!("{comment}\nt: {token}\n"));

        let reply = scratch.check_only(CheckName::Secretscan);

        assert_eq!(findings(&reply).len(), 2);
        assert!(findings(&reply).iter().all(|finding| finding.blocks == blocks), "{comment}: {reply:#?}");
    }
}

#[test]
fn a_baseline_accepts_what_it_knows_even_when_lines_move() {
    let scratch = Scratch::plain();
    let line = fill("password = 'k8!qZ2mX7'\ntoken = 'glpat-{A20}'\n", 25);
    scratch.write("a.py", &line);
    let fingerprints: Vec<String> =
        findings(&scratch.check()).iter().map(|finding| finding.fingerprint.clone()).collect();
    assert_eq!(fingerprints.len(), 2);
    scratch.write("baseline.json", serde_json::json!({ "fingerprints": fingerprints }).to_string());

    scratch.write("a.py", format!("import os\n\n{line}"));
    let request =
        switchboard_protocol::finding::CheckRequest { baseline: Some("baseline.json".into()), ..scratch.request() };
    let reply = switchboard_checks::run(&request, &switchboard_checks::Limits::default());

    assert_eq!(report(&reply, CheckName::Secretscan).verdict, CheckVerdict::Pass);
    assert!(findings(&reply).iter().all(|finding| finding.allowed.as_deref() == Some("in the baseline")));
}

#[test]
fn a_token_whose_checksum_does_not_fit_is_told_but_does_not_block() {
    let scratch = Scratch::plain();
    scratch.write("a.txt", fill("ghp_{A36}\n", 26));

    let reply = scratch.check_only(CheckName::Secretscan);

    let found = findings(&reply)[0];
    assert_eq!((found.severity, found.blocks), (Severity::Low, false));
    assert!(found.message.contains("checksum"));
}

#[test]
fn secrets_of_the_known_families_block() {
    for (at, template) in [
        "AKIA{U16}",
        "sk_live_{A24}",
        "glpat-{A20}",
        "xoxb-{D11}-{D12}-{A24}",
        "AIza{W35}",
        "github_pat_{A22}_{A59}",
        "SG.{W22}.{W43}",
    ]
    .iter()
    .enumerate()
    {
        let scratch = Scratch::plain();
        scratch.write("app.py", format!("x = '{}'\n", fill(template, 30 + at as u64)));

        assert_eq!(scratch.check().verdict, CheckVerdict::Fail, "{template}");
    }
}

#[test]
fn a_token_behind_base64_is_found_and_ordinary_base64_is_not() {
    use base64::Engine as _;
    let encode = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    let token = encode(&fill("glpat-{A20}", 40));
    let json = encode(&fill("{\"key\": \"AKIA{U16}\"}", 41));
    let scratch = Scratch::plain();
    scratch.write(
        "secret.yaml",
        format!("data:\n  a: {token}\n  b: {json}\n  c: {}\n", encode("only some text that nobody needs to hide")),
    );

    let reply = scratch.check_only(CheckName::Secretscan);

    let found: Vec<(&str, u32)> =
        findings(&reply).iter().map(|finding| (finding.rule.as_str(), finding.span.start_line)).collect();
    assert_eq!(found, [("gitlab-pat", 2), ("aws-access-key-id", 3)]);
    assert!(findings(&reply)[0].message.contains("in base64"));
}

#[test]
fn an_ignore_file_counts_as_the_base_has_it_and_is_said() {
    let scratch = Scratch::repository();
    scratch.write(".secretscanignore", "# recorded answers\ntests/data/\n*.golden\n").commit();
    for path in ["tests/data/a.txt", "b.golden", "c.txt"] {
        scratch.write(path, fill("glpat-{A20}\n", 42));
    }
    scratch.write(".secretscanignore", "*\n");

    let reply = scratch.check_only(CheckName::Secretscan);

    let report = report(&reply, CheckName::Secretscan);
    assert_eq!(report.findings.iter().map(|finding| finding.path.as_str()).collect::<Vec<_>>(), ["c.txt"]);
    assert_eq!(report.skipped.iter().filter(|file| file.why == "named in .secretscanignore").count(), 2);
}
