//! Severities: what blocks, what a person should see, what is only listed, and what is no finding.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use switchboard_protocol::finding::{CheckName, CheckVerdict};

use crate::scratch::{Scratch, fill, findings, report};

/// Returns the severities and rules found in a text.
fn told(path: &str, text: &str) -> Vec<(&'static str, String)> {
    let scratch = Scratch::plain();
    scratch.write(path, text);
    let reply = scratch.check_only(CheckName::Secretscan);
    let told: Vec<_> =
        findings(&reply).iter().map(|finding| (finding.severity.as_str(), finding.rule.clone())).collect();
    let expected = match () {
        () if told.iter().any(|(severity, _)| ["high", "critical"].contains(severity)) => CheckVerdict::Fail,
        () if told.iter().any(|(severity, _)| *severity == "medium") => CheckVerdict::Warn,
        () => CheckVerdict::Pass,
    };
    assert_eq!(report(&reply, CheckName::Secretscan).verdict, expected, "{path}: {text}");
    told
}

fn each(severity: &'static str, rule: &str, texts: &[(&str, &str)]) {
    for (path, text) in texts {
        assert_eq!(told(path, text), [(severity, rule.to_owned())], "{path}: {text}");
    }
}

fn none(texts: &[(&str, &str)]) {
    for (path, text) in texts {
        assert_eq!(told(path, text), [], "{path}: {text}");
    }
}

#[test]
fn weak_passwords_of_tests_and_manuals_are_listed() {
    each(
        "low",
        "password",
        &[
            ("tests/test_login.py", "user = User(name='bob', password='bob123')"),
            ("spec/login_spec.rb", "fill_in 'x', with: 1\npassword: 'P@ssw0rd'"),
            ("docs/setup.md", "export DB_PASSWORD=hunter2\n"),
            ("tests/a.js", "const password = 'letmein';"),
            ("tests/a.py", "login(user='bob', password='wonderland')"),
            ("spec/a_spec.rb", "let(:a) { { user: 'bob', password: 'secret' } }"),
        ],
    );
    none(&[
        ("tests/a.py", "password='password'\npassword = 'string'\npassword = 'your-password-1'\npassword=PASSWORD"),
        ("tests/a.rs", "t.pass(\"tests/ui/pass1/*.rs\");\nnames[aux_number_token1] = \"number_token1\";"),
        ("docs/a.md", "password: string\npassword=<password>\nThe password: see chapter 12."),
    ]);
}

#[test]
fn a_key_of_sixteen_digits_is_for_a_person_to_see_and_a_salted_hash_is_listed() {
    each("medium", "secret-value", &[("a.cs", &fill("var a = new { Key = \"{H16}\" };", 503))]);
    each("high", "secret-value", &[("a.cs", &fill("var a = new { Token = \"{H16}\" };", 504))]);
    none(&[("a.cs", "var a = new { Token = \"identifier_token\" };")]);
    each("low", "secret-value", &[("tests/a.json", &fill("{\"key\": \"{H16}\"}", 504))]);
    let hash = fill("{\"password_hash\": \"{H64}\", \"salt\": \"{H16}\"}", 505);
    each("low", "password", &[("a.json", &hash), ("db/seed.py", &hash)]);
    none(&[
        ("a.json", &fill("{\"key\": \"{H40}\", \"cache_key\": \"{H16}\"}", 506)),
        ("a.json", &fill("{\"password_hash\": \"{H64}\", \"size\": 1}", 507)),
        ("a.js", "const a = { key: 'addressOfHomes12', Key: '1234567812345678' };"),
    ]);
}

#[test]
fn any_literal_of_a_deployment_is_for_a_person_to_see() {
    each(
        "medium",
        "password",
        &[
            ("docker-compose.yml", "environment:\n  SLAPD_PASSWORD: orchid\n"),
            (".env", "DB_PASSWORD=welcome\n"),
            ("deploy/.env", "MYSQL_ROOT_PASSWORD=password\n"),
            ("application.properties", "spring.datasource.password=admin\n"),
            ("Dockerfile", "ENV POSTGRES_PASSWORD=postgres\n"),
        ],
    );
    none(&[
        (
            "values.yaml",
            "password: \"\"\npassword: ${DB_PASSWORD}\npassword: {{ .Values.pw }}\npassword: string\npassword: DB_PASSWORD\n",
        ),
        (".env", "DB_PASSWORD=\nDB_PASSWORD=$OTHER\nDB_PASSWORD=changeme\nPWD=/srv/www/app/current\n"),
        ("a.yaml", "token: redis:6.2-alpine\nsecret: registry.corp.io/team/secret-store:v1.4.2\n"),
    ]);
    each("low", "password", &[(".env", "# DB_PASSWORD=Welcome1\n")]);
}

#[test]
fn headers_and_urls_with_weak_words_are_listed() {
    let basic = |pair: &str| format!("Authorization: Basic {}\n", STANDARD.encode(pair));
    each("low", "basic-auth", &[("tests/a.http", &basic("admin:admin")), ("a.md", &basic("bob:builder"))]);
    each("high", "basic-auth", &[("src/a.py", &basic("svc:Zk8qL2mX7"))]);
    each(
        "low",
        "url-password",
        &[
            ("a.py", "u = 'amqp://guest:guest@localhost:5672/'"),
            ("tests/a.py", "u = 'redis://:x9@redis'\nv = 'http://admin:tomcat@%s/manager' % host"),
        ],
    );
    each("high", "url-password", &[("a.py", "u = 'http://svc:zk8mqw2x@%s/manager' % host")]);
    none(&[("a.js", "u = 'http://host:80#@x'\nv = 'http://host:8080?a=b@c'\nw = 'http://user:pass@example.com'")]);
}

#[test]
fn private_members_of_web_keys_and_seeds_of_nats_are_told() {
    let value = URL_SAFE_NO_PAD.encode(fill("{A32}", 501));
    let key = format!("{{\"kty\": \"EC\", \"crv\": \"P-256\", \"x\": \"{value}\", \"d\": \"{value}\"}}");
    each("high", "jwk-private-key", &[("a.json", &key), ("a.py", &format!("key = '{key}'"))]);
    each("medium", "jwk-private-key", &[("tests/a.json", &key)]);
    none(&[("a.json", &key.replace("\"d\"", "\"y\"")), ("a.json", &format!("{{\"d\": \"{value}\"}}"))]);

    let primes: Vec<String> = (511..514).map(|seed| URL_SAFE_NO_PAD.encode(fill("{A32}{A32}", seed))).collect();
    let member = |(name, value): (&str, &String)| format!("  \"{name}\": \"{value}\",\n");
    let members: String = ["p", "q", "qi"].into_iter().zip(&primes).map(member).collect();
    let rsa = format!("{{\n  \"kty\": \"RSA\", \"n\": \"{value}\",\n{members}  \"e\": \"AQAB\"\n}}");
    assert_eq!(told("a.json", &rsa), vec![("high", "jwk-private-key".to_owned()); 3], "{rsa}");
    none(&[("a.json", &rsa.replace("\"kty\"", "\"kind\""))]);

    let seed = ["SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6U", "SDXIEDNPPQYYYCU3VY"].concat();
    each("critical", "nats-seed", &[("a.conf", &format!("user = {seed}\n"))]);
}

#[test]
fn json_in_a_string_is_read_again() {
    each("high", "password", &[("a.py", r#"body = "{\"user\": \"bob\", \"password\": \"zk8mqw2x\"}""#)]);
    each("high", "secret-value", &[("a.json", &fill(r#"{"a": "{\"client_secret\": \"{A32}\"}"}"#, 502))]);
}

#[test]
fn flags_of_commands_are_told_in_scripts_and_manuals() {
    for (path, text) in [
        ("a.sh", "keytool -genkey -alias a -storepass zk8mqw2x -keystore k\n"),
        ("a.sh", "openssl rsa -in a -passin pass:zk8mqw2x -out b\n"),
        ("a.sh", "ldapadd -x -D cn=admin \\\n  -w zk8mqw2x -f a.ldif\n"),
        ("a.sql", "ALTER USER 'app'@'%' IDENTIFIED WITH sha2 BY 'x';\nCREATE USER a IDENTIFIED BY 'zk8mqw2x';\n"),
        ("a.sh", "mongodump -u root -p 'zk8mqw2x' --db a\n"),
        ("a.sh", "smbclient -U 'bob%zk8mqw2x' //h/s\n"),
    ] {
        assert_eq!(told(path, text), [("high", "command-password".to_owned())], "{path}: {text}");
    }
    assert_eq!(told("a.md", "    docker run -e MYSQL_PASSWORD=zk8mqw2x mysql\n"), [("high", "password".to_owned())]);
    assert_eq!(told("a.c", "// docker run -e SIZE_PASSWORD=zk8mqw2x size\n"), [("high", "password".to_owned())]);
    assert_eq!(told("a.md", "    tool login --password zk8mqw2x\n"), [("high", "password".to_owned())]);
    none(&[("a.sh", "gzip -P 4 a\nkeytool -storepass $PASS\nopenssl rsa -passin env:PASS\nunzip -P a.zip\n")]);
}

#[test]
fn what_a_description_shows_and_names_of_settings_do_not_block() {
    for (path, text) in
        [("src/lib.rs", "//! let password = b\"hunter42\";\n"), ("src/a.js", "/**\n * password: 'hunter42'\n */\n")]
    {
        assert!(told(path, text).iter().all(|(severity, _)| *severity == "low"), "{text}");
    }
    assert_eq!(told("src/lib.rs", "let password = b\"hunter42\";\n").len(), 1);
    none(&[
        ("src/a.json", "{\"variables\": [\"MY_API_KEY\", \"MY_WEBHOOK_URL\"], \"api_key\": \"SOME_OTHER_KEY\"}\n"),
        ("src/a.py", "    ('authtoken', '0002_auto_20160226_1747'),\n"),
        ("src/b.py", "# azureservicebus://POLICY_NAME:SAS_KEY@BUS_NAMESPACE\n"),
    ]);
}
