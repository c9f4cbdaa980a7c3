//! Seeds of NATS keys: `S`, the kind, 56 characters of base32, of which the last hold a checksum.
//! Source: docs.nats.io, "NKeys", and the sources of nats-io/nkeys.

use crate::candidate::Strength;
use crate::context::{Context, Found};

/// Beginnings of seeds: `S`, the kind of key, and `A`, whose bits are always zero.
pub(crate) const KEYWORDS: &[&str] = &["sua", "saa", "soa", "sna", "sca", "sxa"];
const LENGTH: usize = 58;

/// Reads a seed.
pub(crate) fn seed(place: &Context<'_>) -> Option<Found> {
    let token = place.text.get(place.at..place.at + LENGTH)?;
    let is_longer = place.text.get(place.at + LENGTH).is_some_and(u8::is_ascii_alphanumeric);
    let bytes = base32(token).filter(|_| place.begins_word() && !is_longer)?;
    let (body, sum) = bytes.split_last_chunk::<2>()?;
    let range = place.at..place.at + LENGTH;
    if u16::from_le_bytes(*sum) == crc16(body) {
        return Some(Found::new(range, Strength::Strong));
    }
    Some(Found::new(range, Strength::Fair).noted("its checksum does not fit: revoked or made up"))
}

fn base32(token: &[u8]) -> Option<Vec<u8>> {
    let (mut bytes, mut bits, mut held) = (Vec::new(), 0_u32, 0);
    for byte in token {
        let five = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'2'..=b'7' => byte - b'2' + 26,
            _ => return None,
        };
        (bits, held) = ((bits << 5 | u32::from(five)) & 0xffff, held + 5);
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from(bits >> held & 0xff).unwrap_or(0));
        }
    }
    Some(bytes)
}

/// Returns the CRC-16 with the polynomial of XMODEM.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |sum, byte| {
        (0..8).fold(sum ^ u16::from(*byte) << 8, |sum, _| if sum & 0x8000 == 0 { sum << 1 } else { sum << 1 ^ 0x1021 })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file_kind::FileKind;

    #[test]
    fn a_seed_fits_its_checksum_and_a_word_is_none() {
        // One of the keys in the tests of nats-io/nkeys.
        let text = ["SUAMLK2ZNL35WSMW37E7UD4VZ7", "ELPKW7DHC3BWBSD2GCZ7IUQQXZIORRBU"].concat();
        let read = |text: &str| {
            seed(&Context { text: text.as_bytes(), at: 0, keyword_end: 3, kind: FileKind::LOG })
                .map(|found| found.strength)
        };

        assert_eq!(crc16(b"123456789"), 0x31c3);
        assert_eq!(read(&text), Some(Strength::Strong));
        assert_eq!(read(&text.replace('K', "Q")), Some(Strength::Fair));
        assert_eq!(read(&text.to_lowercase()), None);
        assert_eq!(read(&format!("{text}A")), None);
    }
}
