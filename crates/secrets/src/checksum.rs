//! Checksums that vendors put into their tokens.

const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Checks a token of GitHub or npm: its last six characters are the CRC-32 of the random part, in base 62.
/// Source: github.blog, "Behind GitHub's new authentication token formats" (2021).
pub(crate) fn crc32_base62(token: &[u8]) -> bool {
    let Some(random_at) = token.iter().position(|byte| *byte == b'_').map(|at| at + 1) else {
        return false;
    };
    let Some(sum_at) = token.len().checked_sub(6).filter(|at| *at > random_at) else {
        return false;
    };
    token[sum_at..] == base62(crc32(&token[random_at..sum_at]))
}

/// Returns the CRC-32 as in zip and Ethernet.
pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| if sum & 1 == 1 { (sum >> 1) ^ 0xedb8_8320 } else { sum >> 1 })
    })
}

/// Formats a number with six digits in base 62.
pub(crate) fn base62(number: u32) -> [u8; 6] {
    let mut digits = [b'0'; 6];
    let mut rest = number as usize;
    for digit in digits.iter_mut().rev() {
        *digit = BASE62[rest % 62];
        rest /= 62;
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc32_gives_the_published_check_value() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn a_token_fits_only_its_own_checksum() {
        let random = b"Zq3nT8vKx2LmW9cYb5RdPf7HsJgQ4a";
        let sum = base62(crc32(random));
        let token = [&b"ghp_"[..], random, &sum].concat();
        let mut other = token.clone();
        other[10] ^= 1;

        assert!(crc32_base62(&token));
        assert!(!crc32_base62(&other));
        assert!(!crc32_base62(b"ghp_"));
    }
}
