//! Looks up objects in the repository's files, which is faster than starting git.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use super::types::Oid;

/// First bytes of a pack's index: the magic number, and version 2 (gitformat-pack(5)).
const HEADER: [u8; 8] = *b"\xfftOc\0\0\0\x02";

/// Size of the table after it, in bytes: for each first byte of a name, the number of names that begin with it or a lower one.
const FANOUT: u64 = 256 * 4;

/// Returns true if an object has its own file in a folder of objects, or is listed in one of its packs. Objects stored elsewhere, or in
/// another form, are not found: only git can look them up.
pub(super) fn has(objects: &Path, oid: &Oid) -> bool {
    let (folder, file) = oid.as_str().split_at(2);
    // An empty file is what a power cut leaves of an object.
    let is_loose = fs::metadata(objects.join(folder).join(file)).is_ok_and(|file| file.is_file() && file.len() > 0);
    is_loose || is_packed(&objects.join("pack"), &bytes(oid))
}

fn is_packed(packs: &Path, name: &[u8]) -> bool {
    let Ok(entries) = fs::read_dir(packs) else { return false };
    entries.filter_map(|entry| Some(entry.ok()?.path())).any(|index| {
        index.extension().is_some_and(|ending| ending == "idx")
            && index.with_extension("pack").is_file()
            && lists(&index, name).unwrap_or(false)
    })
}

/// Looks for a name in the sorted names of a pack's index.
fn lists(index: &Path, name: &[u8]) -> io::Result<bool> {
    let (file, first) = (File::open(index)?, name.first().copied().map_or(0, u64::from));
    let mut header = [0; HEADER.len()];
    file.read_exact_at(&mut header, 0)?;
    if header != HEADER {
        return Ok(false);
    }
    let below = |byte: u64| number(&file, HEADER.len() as u64 + byte * 4);
    let (mut from, mut to) = (if first == 0 { 0 } else { below(first - 1)? }, below(first)?);
    let mut found = vec![0; name.len()];
    while from < to {
        let middle = from + (to - from) / 2;
        file.read_exact_at(&mut found, HEADER.len() as u64 + FANOUT + middle * name.len() as u64)?;
        match found.as_slice().cmp(name) {
            std::cmp::Ordering::Less => from = middle + 1,
            std::cmp::Ordering::Equal => return Ok(true),
            std::cmp::Ordering::Greater => to = middle,
        }
    }
    Ok(false)
}

fn number(file: &File, at: u64) -> io::Result<u64> {
    let mut bytes = [0; 4];
    file.read_exact_at(&mut bytes, at)?;
    Ok(u32::from_be_bytes(bytes).into())
}

/// Returns the name of an object as packs store it.
fn bytes(oid: &Oid) -> Vec<u8> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).unwrap_or_default();
    let pair = |pair: &[u8]| pair.iter().fold(0, |sum, byte| sum << 4 | digit(byte));
    oid.as_str().as_bytes().chunks(2).map(|both| pair(both) as u8).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an object's name that begins with these digits.
    fn oid(start: &str) -> Oid {
        Oid::parse(&format!("{start:0<40}")).unwrap()
    }

    /// Makes a folder of objects with one pack that lists these, in order; `version` is that of its index.
    fn packed(names: &[Oid], version: u8) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let mut index = b"\xfftOc\0\0\0".to_vec();
        index.push(version);
        for first in 0..=u8::MAX {
            let count = names.iter().filter(|name| bytes(name)[0] <= first).count() as u32;
            index.extend(count.to_be_bytes());
        }
        index.extend(names.iter().flat_map(bytes));
        fs::create_dir(folder.path().join("pack")).unwrap();
        fs::write(folder.path().join("pack/pack-1.idx"), index).unwrap();
        fs::write(folder.path().join("pack/pack-1.pack"), "").unwrap();
        folder
    }

    #[test]
    fn each_name_of_a_pack_is_found_and_no_other() {
        let names = ["00", "0001", "7a", "7a01", "7b", "ff", "ffff"].map(oid);
        let folder = packed(&names, 2);

        for name in &names {
            assert!(has(folder.path(), name), "{name}");
        }
        for missing in ["0002", "01", "79", "7a02", "7c", "fe", "fffff"].map(oid) {
            assert!(!has(folder.path(), &missing), "{missing}");
        }
        fs::remove_file(folder.path().join("pack/pack-1.pack")).unwrap();
        assert!(!has(folder.path(), &names[0]), "an index without its pack");
    }

    #[test]
    fn an_index_of_another_form_or_one_that_is_cut_lists_nothing() {
        let name = oid("7a");
        let (newer, cut) = (packed(std::slice::from_ref(&name), 3), packed(std::slice::from_ref(&name), 2));
        let index = cut.path().join("pack/pack-1.idx");
        let whole = fs::read(&index).unwrap();
        fs::write(&index, &whole[..whole.len() - 1]).unwrap();

        assert!(!has(newer.path(), &name));
        assert!(!has(cut.path(), &name));
    }

    #[test]
    fn an_object_with_a_file_of_its_own_is_there_unless_the_file_is_empty() {
        let (folder, name) = (tempfile::tempdir().unwrap(), oid("7a"));
        fs::create_dir(folder.path().join("7a")).unwrap();
        let file = folder.path().join("7a").join(&name.as_str()[2..]);

        assert!(!has(folder.path(), &name));
        fs::write(&file, "").unwrap();
        assert!(!has(folder.path(), &name));
        fs::write(&file, "x").unwrap();
        assert!(has(folder.path(), &name));
    }
}
