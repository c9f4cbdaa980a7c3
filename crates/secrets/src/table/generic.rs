//! Credentials that have no vendor's form.

use crate::detector::Detector;
use crate::key_file::{armour, commented};
use crate::{assignment, call, command, header, jwk, jwt, nkey, placed, url};

pub(super) const DETECTORS: &[Detector] = &[
    Detector::reader("private-key", "Private key", &["-----begin "], armour::private_key).critical(),
    Detector::reader(
        "ssh2-private-key",
        "Private key of an SSH server or user",
        &["---- begin ssh2 "],
        armour::ssh2_key,
    )
    .critical(),
    Detector::reader("signing-key", "Secret key of minisign or signify", &["untrusted comment:"], commented::signer)
        .critical(),
    Detector::reader("gpg-agent-key", "Private key of GnuPG's agent", commented::AGENT, commented::agent).critical(),
    Detector::reader("jwk-private-key", "Private part of a JSON web key", jwk::KEYWORDS, jwk::member),
    Detector::reader("nats-seed", "Seed of a NATS key", nkey::KEYWORDS, nkey::seed).critical(),
    Detector::reader("url-password", "Password in a URL", &["://"], url::password),
    Detector::reader("bearer-token", "Bearer token", &["bearer "], header::bearer),
    Detector::reader("basic-auth", "User and password of basic authentication", &["basic "], header::basic),
    Detector::reader("authorization-header", "Token of a header", &["authorization"], header::authorization),
    Detector::reader("curl-password", "Password on a command line", &["curl "], command::password),
    Detector::reader("command-password", "Password on a command line", command::KEYWORDS, command::password),
    Detector::reader("placed-password", "Password of a command or a password file", placed::KEYWORDS, placed::word),
    Detector::reader("piped-password", "Password piped into a command", &["--password-stdin"], placed::piped),
    Detector::reader("column-password", "Password in a row of a table", &["insert into "], placed::column),
    Detector::reader("registry-auth", "User and password of a package registry", &["_auth"], placed::registry),
    Detector::reader("argument-password", "Password among arguments", call::KEYWORDS, call::argument),
    Detector::reader("jwt", "JSON web token", &["eyj"], jwt::token),
    Detector::reader("password", "Password", &["pass", "pwd", "psw", "senha", "contrasena"], assignment::password),
    Detector::reader(
        "secret-value",
        "Secret, key or token",
        &["secret", "token", "key", "cred", "bearer"],
        assignment::key,
    ),
    Detector::assigned(
        "django-secret-key",
        "Django secret key",
        &["secret_key"],
        r"(?:django-insecure-)?[a-z0-9!@#$%^&*(\-_=+)]{50}",
    )
    .entropy(4.0),
    Detector::assigned(
        "wordpress-salt",
        "WordPress key or salt",
        &["auth_key", "secure_auth", "logged_in_key", "nonce_key", "auth_salt", "logged_in_salt", "nonce_salt"],
        r"[\x20-\x26\x28-\x7e]{64}",
    )
    .entropy(4.5),
    Detector::token(
        "age-secret-key",
        "age secret key",
        &["age-secret-key-"],
        r"AGE-SECRET-KEY-(?:PQ-)?1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58,}",
    )
    .critical(),
    Detector::reader("putty-private-key", "PuTTY private key", &["putty-user-key-file-"], commented::putty).critical(),
];
