//! Reads the files of a run, and what the base had.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use switchboard_syntax::{Base, Source};

use crate::error::Error;
use crate::git::{Blob, Blobs};
use crate::selection::{Before, Entry, Now};

/// What reading gives.
pub(crate) enum Loaded {
    Source(Source),
    /// Not looked at, and why.
    Skipped(String),
}

/// Reads files of one root.
pub(crate) struct Reader<'a> {
    root: &'a Path,
    /// The root, open: paths are resolved below it.
    folder: Option<OwnedFd>,
    blobs: Option<&'a Blobs>,
    most: u64,
}

// === impl Reader ===

impl<'a> Reader<'a> {
    /// Opens a root, which is canonical; files larger than `most` are not read.
    pub(crate) fn new(root: &'a Path, blobs: Option<&'a Blobs>, most: u64) -> Self {
        let flags = OFlags::DIRECTORY | OFlags::PATH | OFlags::CLOEXEC;
        let folder = rustix::fs::open(root, flags, Mode::empty()).ok();
        Self { root, folder, blobs, most }
    }

    /// Reads a file and its base. What cannot be read is skipped with the reason; only a broken git is an error.
    pub(crate) fn load(&self, entry: &Entry) -> Result<Loaded, Error> {
        let text = match &entry.now {
            Now::WorkTree => match self.read(&entry.path) {
                Ok(text) => text,
                Err(why) => return Ok(Loaded::Skipped(why)),
            },
            Now::Blob(id) => match self.blob(id)? {
                Blob::Content(text) => text,
                Blob::TooLarge => return Ok(Loaded::Skipped(too_large(self.most))),
                Blob::Missing => {
                    return Ok(Loaded::Skipped("its content is not in the repository".into()));
                }
            },
        };
        let text = match decoded(text) {
            Some(text) => text,
            None => return Ok(Loaded::Skipped("binary".into())),
        };
        let base = match &entry.before {
            Before::Nothing => Base::Nothing,
            Before::Same => Base::Same,
            Before::Blob(id) => self.base(id, &text)?,
        };
        Ok(Loaded::Source(Source::new(shown(&entry.path), text, base)))
    }

    fn base(&self, id: &str, text: &[u8]) -> Result<Base, Error> {
        Ok(match self.blob(id)? {
            Blob::Content(before) => match decoded(before) {
                Some(before) if before == text => Base::Same,
                Some(before) => Base::Other(before),
                None => Base::Nothing,
            },
            Blob::TooLarge | Blob::Missing => Base::Nothing,
        })
    }

    /// Reads a blob.
    pub(crate) fn blob(&self, id: &str) -> Result<Blob, Error> {
        self.blobs.map_or(Ok(Blob::Missing), |blobs| blobs.read(id))
    }

    /// Reads a file of the work tree, never through a link and never a device.
    pub(crate) fn read(&self, path: &Path) -> Result<Vec<u8>, String> {
        let full = self.root.join(path);
        let kind = full.symlink_metadata().map_err(|error| unreadable(&error))?;
        if kind.is_symlink() {
            return Err("a symbolic link, not followed".into());
        }
        if !kind.is_file() {
            return Err("not a regular file".into());
        }
        if kind.len() > self.most {
            return Err(too_large(self.most));
        }
        let file = self.open(path, &full)?;
        let mut text = Vec::with_capacity(usize::try_from(kind.len()).unwrap_or(0));
        file.take(self.most + 1).read_to_end(&mut text).map_err(|error| unreadable(&error))?;
        if text.len() as u64 > self.most { Err(too_large(self.most)) } else { Ok(text) }
    }

    /// Opens a file that lies below the root, by the kernel's word; where that says no, or can't say, by the resolved path.
    fn open(&self, path: &Path, full: &Path) -> Result<File, String> {
        let below = self.folder.as_ref().and_then(|folder| open_below(folder, path));
        let file = match below {
            Some(file) => file,
            None if !self.holds(full) => return Err("reached through a link that leaves the folder".into()),
            None => rustix::fs::open(full, FILE, Mode::empty())
                .map(File::from)
                .map_err(|error| unreadable(&error.into()))?,
        };
        match file.metadata() {
            Ok(kind) if kind.is_file() => Ok(file),
            Ok(_) => Err("not a regular file".into()),
            Err(error) => Err(unreadable(&error)),
        }
    }

    fn holds(&self, full: &Path) -> bool {
        full.parent().is_some_and(|folder| folder.canonicalize().is_ok_and(|folder| folder.starts_with(self.root)))
    }
}

/// How a file is opened: never through a link at its end, never waiting for a writer.
const FILE: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

#[cfg(target_os = "linux")]
fn open_below(folder: &OwnedFd, path: &Path) -> Option<File> {
    rustix::fs::openat2(folder, path, FILE, Mode::empty(), rustix::fs::ResolveFlags::BENEATH).map(File::from).ok()
}

/// Other systems have no such call.
#[cfg(not(target_os = "linux"))]
fn open_below(_: &OwnedFd, _: &Path) -> Option<File> {
    None
}

fn unreadable(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::NotFound {
        "deleted in between".into()
    } else {
        format!("unreadable: {}", error.kind())
    }
}

fn too_large(most: u64) -> String {
    format!("larger than {} MB", most as f64 / 1e6)
}

/// Gives text as UTF-8 bytes where it is text: UTF-16 with its mark is translated, a NUL in the first 8,000 bytes
/// means binary, as git has it.
pub(crate) fn decoded(bytes: Vec<u8>) -> Option<Vec<u8>> {
    let wide = |read: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes[2..].chunks_exact(2).map(|pair| read([pair[0], pair[1]])).collect();
        Some(String::from_utf16_lossy(&units).into_bytes())
    };
    match bytes.get(..2) {
        Some([0xff, 0xfe]) => wide(u16::from_le_bytes),
        Some([0xfe, 0xff]) => wide(u16::from_be_bytes),
        _ => (!bytes[..bytes.len().min(8_000)].contains(&0)).then_some(bytes),
    }
}

/// Writes a path for people and for JSON.
pub(crate) fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_below_its_root_and_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("root");
        std::fs::create_dir_all(root.join("inner")).unwrap();
        std::fs::write(root.join("inner/a"), "text").unwrap();
        std::fs::write(folder.path().join("b"), "other").unwrap();
        for (link, target) in [("near", root.join("inner")), ("far", folder.path().to_owned())] {
            std::os::unix::fs::symlink(target, root.join(link)).unwrap();
        }
        let reader = Reader::new(&root, None, 4);
        let read = |path: &str| reader.read(Path::new(path));

        assert_eq!((read("inner/a"), read("near/a")), (Ok(b"text".to_vec()), Ok(b"text".to_vec())));
        assert_eq!(read("far/b"), Err("larger than 0.000004 MB".into()));
        assert_eq!(
            Reader::new(&root, None, 9).read(Path::new("far/b")),
            Err("reached through a link that leaves the folder".into())
        );
        assert_eq!(read("inner"), Err("not a regular file".into()));
        assert_eq!(read("gone"), Err("deleted in between".into()));
        assert_eq!(unreadable(&io::ErrorKind::PermissionDenied.into()), "unreadable: permission denied");
    }

    #[test]
    fn utf16_is_read_as_text_and_nul_is_binary() {
        assert_eq!(decoded(vec![0xff, 0xfe, b'h', 0, b'i', 0]), Some(b"hi".to_vec()));
        assert_eq!(decoded(b"a\0b".to_vec()), None);
        assert_eq!(decoded(b"caf\xe9".to_vec()), Some(b"caf\xe9".to_vec()));
    }
}
