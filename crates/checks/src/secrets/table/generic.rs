//! Credentials that no vendor's form tells.

use super::super::{assignment, header, jwt, pem, url};
use super::Detector;

pub(super) const DETECTORS: &[Detector] = &[
    Detector::reader("private-key", "Private key", &["-----begin "], pem::private_key).critical(),
    Detector::reader("url-password", "Password in a URL", &["://"], url::password),
    Detector::reader("bearer-token", "Bearer token", &["bearer "], header::bearer),
    Detector::reader("basic-auth", "User and password of basic authentication", &["basic "], header::basic),
    Detector::reader("curl-password", "Password on a command line", &["curl "], header::curl),
    Detector::reader("jwt", "JSON web token", &["eyj"], jwt::token).medium(),
    Detector::reader("password", "Password", &["pass", "pwd", "psw", "senha", "contrasena"], assignment::password),
    Detector::reader(
        "secret-value",
        "Secret, key or token",
        &["secret", "token", "key", "cred", "bearer"],
        assignment::key,
    ),
    Detector::token(
        "age-secret-key",
        "age secret key",
        &["age-secret-key-1"],
        r"AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}",
    )
    .critical(),
    Detector::token(
        "putty-private-key",
        "PuTTY private key",
        &["putty-user-key-file-"],
        r"PuTTY-User-Key-File-\d: [a-z0-9-]+\r?\nEncryption: none",
    )
    .critical()
    .entropy(0.0),
];
