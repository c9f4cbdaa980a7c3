//! Credentials found by their position: among arguments, behind a flag, beside a label, in prose.

use switchboard_protocol::finding::CheckName;

use crate::scratch::{Scratch, fill, findings, more_than_listed};

/// Returns the rules that fire; `%` stands for a random password of lower-case letters and digits, `&` for a long
/// random key.
fn rules(path: &str, text: &str) -> Vec<String> {
    let scratch = Scratch::plain();
    let password = ["zk8m", "qw2x"].concat();
    scratch.write(path, text.replace('%', &password).replace('&', &fill("{A32}", 301)));
    more_than_listed(&scratch.check_only(CheckName::Secretscan))
}

fn each(rule: &str, texts: &[(&str, &str)]) {
    for (path, text) in texts {
        assert_eq!(rules(path, text), [rule], "{path}: {text}");
    }
}

fn none(texts: &[(&str, &str)]) {
    for (path, text) in texts {
        assert_eq!(rules(path, text), [""; 0], "{path}: {text}");
    }
}

#[test]
fn an_argument_that_is_a_password_is_told() {
    each(
        "argument-password",
        &[
            ("a.py", "requests.get(url, auth=('svc', '%'))"),
            ("a.py", "smtp.login(\"noreply@corp.net\", \"%\")"),
            ("A.java", "DriverManager.getConnection(\"jdbc:mysql://10.2.3.4/db\", \"root\", \"%\");"),
            ("a.php", "mysqli_connect(\"localhost\", \"root\", \"%\", \"db\");"),
            ("A.cs", "client.Credentials = new NetworkCredential(\"joe\", \"%\");"),
            ("A.java", "new BasicAWSCredentials(id, \"&\")"),
            ("a.js", "jwt.sign({ id: user.id, role: 'a' }, '&', { expiresIn: 60 })"),
        ],
    );
    none(&[
        ("a.py", "requests.get(url, auth=(user, password2))\nsmtp.login('user', 'password1')"),
        ("A.java", "DriverManager.getConnection(url, \"root\", props.get(\"pw1\"));"),
        ("a.php", "mysqli_connect('localhost', 'root', '', 'db');"),
        ("a.js", "jwt.sign(payload, process.env.SECRET2)\ncrypto.createHmac('sha256', key1)"),
        ("a.js", "page.login('%')"),
    ]);
}

#[test]
fn what_only_a_programs_flag_tells_is_told() {
    each(
        "command-password",
        &[
            ("a.sh", "mysql -u root -p% db\n"),
            ("a.sh", "sshpass -p '%' ssh root@h\n"),
            ("a.sh", "docker login -u bot -p % registry\n"),
            ("a.sql", "CREATE USER 'app'@'*' IDENTIFIED BY '%';\n"),
        ],
    );
    none(&[
        ("a.sh", "mysql -u root -p db\nmysql -u root -p\"$PASSWORD\" db\nsshpass -p \"$1\" ssh h\n"),
        ("a.sh", "docker login -u bot -p $TOKEN\ndocker login -u bot --password-stdin\n"),
        ("a.js", "// {PBES2-params IDENTIFIED BY id-PBES2}\n"),
        ("a.sql", "CREATE USER app IDENTIFIED BY 'password';\n"),
    ]);
}

#[test]
fn a_token_in_a_header_is_told_whatever_its_scheme() {
    each(
        "authorization-header",
        &[("a.js", "headers: { 'Authorization': 'token &' }"), ("a.py", "headers['Authorization'] = 'ApiKey &'")],
    );
    none(&[
        ("a.js", "headers: { Authorization: `token ${token}` }"),
        ("a.py", "headers['Authorization'] = 'Token your-token-goes-here-1234'"),
        ("a.md", "The Authorization: header, see RFC7235-section-4-2-of-2014."),
    ]);
}

#[test]
fn keys_that_frameworks_make_are_told() {
    let django = "n(bd1f1c%e8=_xad02x5qtfn%wgwpi492e$8_erx+d)!tpeoim";
    let salt = "k8Z$mq w2X!lp9 Rt4v7#bN|(zq}Yc;1~hT<0/pL@5-sG=6 jW^9*eQ+3.uB{7?aV";
    let scratch = Scratch::plain();
    scratch.write("settings.py", format!("SECRET_KEY = '{django}'\n"));
    scratch.write("other.py", format!("SECRET_KEY = 'django-insecure-{django}'\n"));
    scratch.write("wp-config.php", format!("define('AUTH_KEY', '{}');\n", &salt[..64]));
    scratch.write("wp-other.php", format!("define('NONCE_SALT',  '{}');\n", &salt[1..65]));

    let reply = scratch.check_only(CheckName::Secretscan);

    let told: Vec<&str> = findings(&reply).iter().map(|finding| finding.rule.as_str()).collect();
    assert_eq!(told, ["django-secret-key", "django-secret-key", "wordpress-salt", "wordpress-salt"]);
    none(&[
        (
            "settings.py",
            "SECRET_KEY = os.environ['DJANGO_SECRET_KEY']\nSECRET_KEY = 'change-me-in-production-please-this-is-not-secret-'",
        ),
        ("settings.py", "SECRET_KEY = get_secret('prod/django/key1')"),
        ("wp-config.php", "define('AUTH_KEY', 'put your unique phrase here');\n"),
        ("wp-config.php", "define('NONCE_SALT', getenv('NONCE_SALT_1'));\n"),
    ]);
}

#[test]
fn a_value_beside_its_label_is_told() {
    each(
        "password",
        &[
            ("app.xml", "<property name=\"password\" value=\"%\"/>"),
            ("pod.yaml", "env:\n- name: DB_PASSWORD\n  value: %\n"),
            ("task.json", "{\"name\": \"DB_PASSWORD\", \"value\": \"%\"}"),
            ("a.py", "parser.add_argument('--password', help='x', default='%')"),
            ("a.c", "#define WIFI_PASSWORD \"%\""),
        ],
    );
    none(&[
        ("app.xml", "<property name=\"password\" value=\"${db.password1}\"/>"),
        ("pod.yaml", "env:\n- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef:\n      name: db-1\n"),
        ("a.c", "{ \"password\", required_argument, 0, 'p' },\n#define PASSWORD_MAX \"64\""),
    ]);
}

#[test]
fn random_letters_are_a_password_and_words_are_none() {
    each(
        "password",
        &[
            ("a.py", "password = 'qmzotwplak'"),
            ("a.yaml", "  password: zkmqwlpx\n"),
            ("a.env", "MAIL_PASSWORD=\"zkqm wlpx rtvb ncjd\"\n"),
            ("README.md", "- Password: zk8Mqw2x\n"),
            ("test_a.py", "password = '%'"),
        ],
    );
    none(&[
        ("a.py", "password = 'administrator'\npassword = 'PASSWORT'\npassword = 'kilobytes'"),
        ("a.json", "{\n  \"password\": \"kennwort\",\n  \"passwordless\": \"trueish\"\n}"),
        ("README.md", "- Password: at least 8 characters\n- Password: P@ssw0rd\nThe password: see above1\n"),
        ("test_a.py", "password = 'testpass123'\npassword = 'p4ssw0rd1'"),
    ]);
}

#[test]
fn what_its_place_in_a_command_or_a_password_file_tells_is_told() {
    each(
        "placed-password",
        &[
            (".netrc", "machine api.corp.net login bot password %\n"),
            (".netrc", "machine api.corp.net\n  login bot\n  password %\n"),
            (".pgpass", "db.corp.net:5432:app:bot:%\n"),
            ("A.java", "DriverManager.getConnection(\"jdbc:oracle:thin:app/%@db:1521:x\");"),
            ("a.ps1", "$a = ConvertTo-SecureString \"%\" -AsPlainText -Force"),
            ("a.bat", "net use Z: \\\\files\\share /user:corp\\bot %\n"),
            ("a.sh", "htpasswd -b .htpasswd bot %\n"),
            ("a.sh", "redis-cli -h db -a % ping\n"),
            ("redis.conf", "requirepass %\n"),
            ("a.sh", "twine upload -u bot -p % dist/a.whl\n"),
        ],
    );
    none(&[
        (".netrc", "machine api.corp.net login bot password $PASSWORD\n"),
        ("a.md", "A machine that has a login needs a password soon.\n"),
        (".pgpass", "db.corp.net:5432:app:bot:${PASSWORD}\n"),
        ("a.yml", "image: db:5432:5432\nports: [5432:5432:80]\n"),
        ("A.java", "DriverManager.getConnection(\"jdbc:oracle:thin:@db:1521:x\");"),
        ("a.ps1", "$a = ConvertTo-SecureString $env:PASSWORD -AsPlainText -Force"),
        ("a.ps1", "$a = ConvertTo-SecureString \"<password>\" -AsPlainText -Force"),
        ("a.bat", "net use Z: \\\\files\\share /user:corp\\bot * /persistent:no\nnet use Z: /delete\n"),
        ("a.sh", "htpasswd -c .htpasswd bot\nredis-cli -h db ping\ntwine upload -u bot -p $TOKEN dist/a.whl\n"),
        ("redis.conf", "# requirepass foobared\n"),
    ]);
}

#[test]
fn what_is_piped_stored_or_taken_without_the_environment_is_told() {
    each(
        "piped-password",
        &[
            ("a.sh", "echo % | docker login -u bot --password-stdin\n"),
            ("a.sh", "echo -n '%' | helm registry login corp.net -u bot --password-stdin\n"),
        ],
    );
    each(
        "column-password",
        &[
            ("a.sql", "INSERT INTO users (id, name, password) VALUES (1, 'root', '%');\n"),
            ("a.sql", "insert into `accounts` (`pwd`, `mail`)\nvalues ('%', 'a@corp.net');\n"),
        ],
    );
    each(
        "secret-value",
        &[
            ("a.js", "const secret = process.env.SECRET || '&';\n"),
            ("a.py", "SECRET = os.environ.get('SECRET', '&')\n"),
        ],
    );
    each("password", &[("Dockerfile", "ENV DB_PASSWORD %\n"), ("build.gradle", "    storePassword \"%\"\n")]);
    none(&[
        ("a.sh", "echo \"$TOKEN\" | docker login -u bot --password-stdin\ncat t | docker login --password-stdin\n"),
        ("a.sql", "INSERT INTO users (id, name, password) VALUES (1, '%', NULL);\n"),
        ("a.sql", "INSERT INTO settings (name, value) VALUES ('theme', '%');\n"),
        ("a.js", "const secret = process.env.SECRET || defaultSecret;\n"),
        ("a.py", "SECRET = os.environ.get('SECRET', '')\n"),
        ("Dockerfile", "ENV DB_PASSWORD ${DB_PASSWORD}\n"),
        ("build.gradle", "    storePassword System.getenv(\"STORE_PASSWORD\")\n"),
        ("a.md", "password \"%\"\n"),
    ]);
}

#[test]
fn a_registrys_user_and_password_are_told() {
    // A made-up user and password, in base64.
    let pair = ["Ym90Onpr", "OG1xdzJ4"].concat();

    assert_eq!(rules(".npmrc", &format!("_auth={pair}\n")), ["registry-auth"]);
    assert_eq!(rules(".npmrc", "_auth=${NPM_AUTH}\nalways_auth=true\n"), [""; 0]);
}

#[test]
fn a_label_that_ends_in_a_colon_is_no_name() {
    each("password", &[("a.js", "x = { \"password\": \"%\" }"), ("a.py", "x = 'password:\"%\"'")]);
    none(&[
        ("a.js", "e(\"label\", \"Password:\", n ? e(\"code\", null, \"%\") : 1)"),
        ("a.js", "x = \"e(\\\"Password:\\\",n?e(\\\"code\\\",null,\\\"%\\\"):1)\""),
    ]);
}
