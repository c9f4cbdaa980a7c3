//! File format of the cache: a first line with the version of the rules, then records of length, check sum, key and
//! value. A record is used only if its check sum matches; reading ends at the first that does not.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::OFlags;
use sha2::{Digest, Sha256};
use switchboard_process::file::{self, Mode, Sync};

use super::{Key, RULES};

/// Maximum size of the file, in bytes. When it is full, only the entries that the last run used stay.
const MAX_FILE_BYTES: u64 = 16 << 20;
/// Length of a record's header in bytes: length, check sum and key.
const HEAD: usize = 4 + 8 + 32;

fn title() -> Vec<u8> {
    format!("switchboard checks {RULES}\n").into_bytes()
}

/// Reads a file. Also returns its length in bytes if every record is valid and of this version.
pub(super) fn read(path: &Path) -> (HashMap<Key, Arc<[u8]>>, Option<u64>) {
    let mut known = HashMap::new();
    let Ok(text) = text(path) else { return (known, None) };
    let Some(mut rest) = text.strip_prefix(title().as_slice()) else { return (known, None) };
    while !rest.is_empty() {
        let Some((key, value, next)) = record(rest) else { return (known, None) };
        known.insert(key, value.into());
        rest = next;
    }
    (known, Some(text.len() as u64))
}

fn text(path: &Path) -> io::Result<Vec<u8>> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut text = Vec::new();
    file.take(2 * MAX_FILE_BYTES).read_to_end(&mut text)?;
    Ok(text)
}

fn record(text: &[u8]) -> Option<(Key, &[u8], &[u8])> {
    let (length, rest) = text.split_first_chunk::<4>()?;
    let (sum, rest) = rest.split_first_chunk::<8>()?;
    let (key, rest) = rest.split_first_chunk::<32>()?;
    let (value, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    (checksum(key, value) == *sum).then_some((Key(*key), value, rest))
}

fn checksum(key: &[u8; 32], value: &[u8]) -> [u8; 8] {
    let digest: [u8; 32] = Sha256::new().chain_update(key).chain_update(value).finalize().into();
    std::array::from_fn(|at| digest[at])
}

fn push(out: &mut Vec<u8>, key: Key, value: &[u8]) {
    let Ok(length) = u32::try_from(value.len()) else { return };
    out.extend(length.to_le_bytes());
    out.extend(checksum(&key.0, value));
    out.extend(key.0);
    out.extend(value);
}

/// Appends records to a file of `whole` bytes, unless it would get too large or another process has written to it.
pub(super) fn append<'a>(path: &Path, whole: u64, records: impl Iterator<Item = (Key, &'a [u8])>) -> io::Result<bool> {
    let mut out = Vec::new();
    records.for_each(|(key, value)| push(&mut out, key, value));
    let flags = OFlags::NOFOLLOW.bits().cast_signed();
    let Ok(mut file) = OpenOptions::new().append(true).custom_flags(flags).open(path) else { return Ok(false) };
    if file.metadata()?.len() != whole || whole + out.len() as u64 > MAX_FILE_BYTES {
        return Ok(false);
    }
    file.write_all(&out)?;
    Ok(true)
}

/// Writes a whole file, atomically.
pub(super) fn write<'a>(path: &Path, records: impl Iterator<Item = (Key, &'a [u8])>) -> io::Result<()> {
    let mut out = title();
    for (key, value) in records {
        if (out.len() + HEAD + value.len()) as u64 > MAX_FILE_BYTES / 2 {
            break;
        }
        push(&mut out, key, value);
    }
    if let Some(folder) = path.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    file::replace(path, &out, Mode::Private, Sync::No)
}
