//! Constant-time comparison of secrets.

use subtle::ConstantTimeEq as _;

use crate::id::Digest;

/// Returns true if two secrets are equal. The time it takes reveals neither where they differ nor how long they are.
#[must_use]
pub fn is_same(a: &[u8], b: &[u8]) -> bool {
    Digest::of(a).0.ct_eq(&Digest::of(b).0).into()
}

/// Returns true if this is the digest of the secret, as hex digits. The time it takes doesn't reveal where they differ.
#[must_use]
pub fn has_digest(secret: &[u8], digest: &str) -> bool {
    Digest::parse(digest).is_some_and(|digest| digest.0.ct_eq(&Digest::of(secret).0).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_bytes_are_the_same_secret() {
        assert!(is_same(b"token", b"token") && is_same(b"", b""));
        assert!(!is_same(b"token", b"tokem") && !is_same(b"token", b"token0") && !is_same(b"token", b""));
    }

    #[test]
    fn only_the_digest_of_a_secret_stands_for_it() {
        let digest = Digest::of(b"token").hex();

        assert!(has_digest(b"token", &digest));
        assert!(!has_digest(b"tokem", &digest) && !has_digest(b"", &digest));
        assert!(!has_digest(b"token", "") && !has_digest(b"token", &digest[1..]));
    }
}
