//! A new private key in every format that the programs of this machine create.

use std::path::Path;
use std::process::{Command, Stdio};

use switchboard_protocol::finding::{CheckName, Severity};

use crate::scratch::{Scratch, findings};

/// Programs that our continuous integration always has.
const REQUIRED: [&str; 2] = ["ssh-keygen", "openssl"];

/// Runs a shell script that creates keys in its own folder: files named `open-*` can be used by anybody, `locked-*`
/// need a passphrase, `public-*` are no secret.
#[expect(
    clippy::disallowed_methods,
    reason = "a test makes keys with the programs that people use, and must not skip them in CI"
)]
fn make(program: &str, script: &str) -> Option<Scratch> {
    let scratch = Scratch::plain();
    if !is_there(program) {
        println!("{program}: not installed, its formats are skipped");
        assert!(!(REQUIRED.contains(&program) && std::env::var_os("CI").is_some()), "{program} belongs to what CI has");
        return None;
    }
    let mut shell = Command::new("bash");
    let output = shell
        .args(["-euc", script])
        .current_dir(scratch.root())
        .env("HOME", scratch.outside())
        .env("GNUPGHOME", scratch.outside())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    Some(scratch)
}

#[expect(clippy::disallowed_methods, reason = "a test looks for the programs that people use")]
fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Checks that every open key blocks, every locked one is only listed, and nothing else is reported.
fn judge(scratch: &Scratch, least: usize) {
    let reply = scratch.check_only(CheckName::Secretscan);
    let told = findings(&reply);
    let names: Vec<String> = names(&scratch.root());
    assert!(names.len() >= least, "{names:?}");
    for name in &names {
        let mine: Vec<_> = told.iter().filter(|finding| &finding.path == name).collect();
        match name.split('-').next().unwrap() {
            "open" => {
                assert_eq!(mine.len(), 1, "{name}: {mine:?}");
                assert!(mine[0].blocks && mine[0].severity >= Severity::High, "{name}: {:?}", mine[0]);
            }
            "locked" => {
                assert_eq!(mine.len(), 1, "{name}: {mine:?}");
                assert!(!mine[0].blocks && mine[0].severity == Severity::Low, "{name}: {:?}", mine[0]);
                assert!(mine[0].message.contains("locked with a passphrase"), "{name}: {:?}", mine[0]);
            }
            _ => assert!(mine.is_empty(), "{name}: {mine:?}"),
        }
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let mut names: Vec<String> =
        entries.filter(|entry| entry.path().is_file()).map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn ssh_keygen() {
    let script = r"
        for type in ed25519 rsa ecdsa; do
            for format in RFC4716 PEM PKCS8; do
                if [ $type = ed25519 ] && [ $format != RFC4716 ]; then continue; fi
                ssh-keygen -q -t $type -m $format -N '' -C a -f open-$type-$format
                ssh-keygen -q -t $type -m $format -N 'four words of it' -C a -f locked-$type-$format
                mv open-$type-$format.pub public-$type-$format; rm locked-$type-$format.pub
            done
        done";
    if let Some(scratch) = make("ssh-keygen", script) {
        judge(&scratch, 14);
    }
}

#[test]
fn openssl() {
    let script = r"
        make() { openssl genpkey -quiet -algorithm $@ -out open-$name-pkcs8.pem 2>/dev/null || openssl genpkey -algorithm $@ -out open-$name-pkcs8.pem 2>/dev/null; }
        name=rsa; make RSA -pkeyopt rsa_keygen_bits:1024
        name=ec; make EC -pkeyopt ec_paramgen_curve:P-256
        for name in ed25519 x25519 ed448 x448; do make $name; done
        openssl dsaparam -genkey -out open-dsa.pem 1024 2>/dev/null
        openssl ecparam -name secp112r1 -genkey -out open-ec-small.pem
        for name in rsa ec ed25519 x25519 ed448 x448; do
            key=open-$name-pkcs8
            openssl pkcs8 -topk8 -nocrypt -in $key.pem -outform DER -out $key.der
            openssl pkcs8 -topk8 -in $key.pem -passout pass:four -out locked-$name-pkcs8.pem
            openssl pkcs8 -topk8 -in $key.pem -passout pass:four -outform DER -out locked-$name-pkcs8.der
            openssl pkey -in $key.pem -pubout -out public-$name.pem
            openssl pkey -in $key.pem -pubout -outform DER -out public-$name.der
        done
        openssl pkcs8 -topk8 -v1 PBE-SHA1-3DES -in open-rsa-pkcs8.pem -passout pass:four -out locked-rsa-pkcs12pbe.pem
        openssl rsa -in open-rsa-pkcs8.pem -traditional -out open-rsa-pkcs1.pem 2>/dev/null
        openssl rsa -in open-rsa-pkcs8.pem -traditional -outform DER -out open-rsa-pkcs1.der 2>/dev/null
        openssl rsa -in open-rsa-pkcs8.pem -traditional -aes128 -passout pass:four -out locked-rsa-pkcs1.pem 2>/dev/null
        openssl ec -in open-ec-pkcs8.pem -out open-ec-sec1.pem 2>/dev/null
        openssl ec -in open-ec-pkcs8.pem -outform DER -out open-ec-sec1.der 2>/dev/null
        openssl ec -in open-ec-pkcs8.pem -aes256 -passout pass:four -out locked-ec-sec1.pem 2>/dev/null
        openssl req -x509 -new -key open-rsa-pkcs8.pem -subj /CN=a -days 1 -out public-certificate.pem
        openssl pkcs12 -export -inkey open-rsa-pkcs8.pem -in public-certificate.pem -passout pass:four -out locked-store.p12
        openssl pkcs12 -export -keypbe NONE -certpbe NONE -nomaciter -inkey open-rsa-pkcs8.pem -in public-certificate.pem -passout pass: -out open-store.p12";
    if let Some(scratch) = make("openssl", script) {
        judge(&scratch, 48);
    }
}

#[test]
fn gpg() {
    let script = r"
        make() { gpg --batch --quiet --pinentry-mode loopback --passphrase ''$2'' --quick-generate-key $1@localhost $3 default never 2>/dev/null; }
        export() { gpg --batch --quiet --pinentry-mode loopback --passphrase ''$2'' ${4:-} --export-secret-keys $1@localhost > $3; }
        for type in rsa2048 ed25519  nistp256; do
            make open$type '' $type; make locked$type four $type
            export open$type '' open-$type.asc --armor; export open$type '' open-$type.gpg
            export locked$type four locked-$type.asc --armor; export locked$type four locked-$type.gpg
            gpg --batch --quiet --armor --export open$type@localhost > public-$type.asc
            gpg --batch --quiet --export open$type@localhost > public-$type.gpg
        done
        for key in $GNUPGHOME/private-keys-v1.d/*.key; do
            if grep -qa 'protected-private-key' $key; then cp $key locked-agent-$(basename $key); else cp $key open-agent-$(basename $key); fi
        done
        gpgconf --kill all || true";
    if let Some(scratch) = make("gpg", script) {
        judge(&scratch, 24);
    }
}

#[test]
fn puttygen() {
    let script = r"
        printf four > ../four; : > ../none
        for type in ed25519 'rsa -b 2048' 'ecdsa -b 256' 'dsa -b 1024'; do
            name=${type%% *}
            for format in private private-openssh private-openssh-new private-sshcom; do
                # Only RSA and DSA have that format.
                if [ $format = private-sshcom ] && { [ $name = ed25519 ] || [ $name = ecdsa ]; }; then continue; fi
                puttygen -q -t $type -O $format -o open-$name-$format --new-passphrase ../none 2>/dev/null
                puttygen -q -t $type -O $format -o locked-$name-$format --new-passphrase ../four 2>/dev/null
            done
            puttygen -q -t $type -O private --ppk-param version=2 -o open-$name-2 --new-passphrase ../none 2>/dev/null
            puttygen -q -t $type -O private --ppk-param version=2 -o locked-$name-2 --new-passphrase ../four 2>/dev/null
            puttygen -q open-$name-private -O public -o public-$name
        done";
    if let Some(scratch) = make("puttygen", script) {
        judge(&scratch, 40);
    }
}

#[test]
fn age() {
    let script = "age-keygen -o open-key 2>/dev/null; age-keygen -y open-key > public-key";
    if let Some(scratch) = make("age-keygen", script) {
        judge(&scratch, 2);
    }
}

#[test]
fn minisign() {
    let script = r"
        minisign -G -W -p public-a -s open-key >/dev/null
        printf 'four\nfour\n' | minisign -G -p public-b -s locked-key >/dev/null";
    if let Some(scratch) = make("minisign", script) {
        judge(&scratch, 4);
    }
}

#[test]
fn signify() {
    if let Some(scratch) =
        make("signify-openbsd", "signify-openbsd -G -n -p public.pub -s public.sec; mv public.sec open-key.sec")
    {
        judge(&scratch, 2);
    }
}

#[test]
fn keytool() {
    let script = r"
        for type in PKCS12 JKS JCEKS; do
            keytool -genkeypair -keyalg EC -alias a -dname CN=a -storetype $type -storepass fourfour -keypass fourfour -keystore locked-$type 2>/dev/null
        done
        keytool -exportcert -rfc -alias a -storepass fourfour -keystore locked-PKCS12 > public-certificate 2>/dev/null";
    if let Some(scratch) = make("keytool", script) {
        judge(&scratch, 4);
    }
}
