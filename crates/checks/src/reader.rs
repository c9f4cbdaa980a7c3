//! Reads the files of a run and their versions in the base.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use switchboard_syntax::{Base, Source};

use crate::decoded::{decoded, is_binary, wide};
use crate::error::Error;
use crate::git::{Blob, Blobs};
use crate::selection::{BaseContent, ContentSource, Entry};
use crate::text_type::is_text_type;

/// Result of reading a file.
pub(crate) enum Loaded {
    Source(Source),
    /// A text that is too large to be parsed.
    Large(Large),
    /// The file has nothing to check; holds the reason.
    Skipped(String),
    /// The file has something to check and could not be read; holds the reason.
    Unread(String),
}

/// A text that is too large to be parsed; it is read once, in chunks.
pub(crate) struct Large {
    pub(crate) path: String,
    /// Reason that the text is not read whole.
    pub(crate) why: String,
    pub(crate) text: Box<dyn Read>,
    pub(crate) base: Base,
}

/// Maximum size in bytes of a base version that is read to tell old findings of a large file from new ones. With a
/// larger one all findings are new.
const LARGE_BASE: u64 = 64 << 20;

/// Reads files of one root.
pub(crate) struct Reader<'a> {
    root: &'a Path,
    /// Descriptor of the root: paths are resolved below it.
    folder: Option<OwnedFd>,
    blobs: Option<&'a Blobs>,
    most: u64,
}

// === impl Reader ===

impl<'a> Reader<'a> {
    /// Opens a root, which must be canonical; files larger than `most` bytes are not read.
    pub(crate) fn new(root: &'a Path, blobs: Option<&'a Blobs>, most: u64) -> Self {
        let flags = OFlags::DIRECTORY | OFlags::PATH | OFlags::CLOEXEC;
        let folder = rustix::fs::open(root, flags, Mode::empty()).ok();
        Self { root, folder, blobs, most }
    }

    /// Reads a file and its base. A file that can't be read is reported with the reason; only a failure of git is an
    /// error.
    pub(crate) fn load(&self, entry: &Entry) -> Result<Loaded, Error> {
        let path = shown(&entry.path);
        let text = match &entry.now {
            ContentSource::WorkTree => match self.read(&entry.path) {
                Ok(text) => text,
                Err(Unreadable::Absent(why)) => return Ok(Loaded::Skipped(why)),
                Err(Unreadable::Broken(why)) => return Ok(Loaded::Unread(why)),
                Err(Unreadable::Large(file)) => return self.large(entry, Box::new(file)),
            },
            ContentSource::Blob(id) => match self.blob(id)? {
                Blob::Content(text) => text,
                Blob::TooLarge => match self.blob_up_to(id, LARGE_BASE)? {
                    Blob::Content(text) => return self.large(entry, Box::new(io::Cursor::new(text))),
                    Blob::TooLarge => return Ok(Loaded::Unread(too_large(LARGE_BASE))),
                    Blob::Missing => return Ok(Loaded::Unread(NOT_HERE.into())),
                },
                Blob::Missing => return Ok(Loaded::Unread(NOT_HERE.into())),
            },
        };
        let is_text = is_text_type(&path);
        let text =
            match switchboard_secrets::is_key_file(&text).then(|| text.clone()).or_else(|| decoded(text, is_text)) {
                Some(text) => text,
                None => return Ok(Loaded::Skipped("binary".into())),
            };
        let base = match &entry.before {
            BaseContent::Nothing => Base::Nothing,
            BaseContent::Same => Base::Same,
            BaseContent::Blob(id) => base(self.blob(id)?, &text, is_text),
        };
        Ok(Loaded::Source(Source::new(path, text, base)))
    }

    /// Prepares a file to be read in chunks.
    fn large(&self, entry: &Entry, mut text: Box<dyn Read>) -> Result<Loaded, Error> {
        let path = shown(&entry.path);
        let is_text = is_text_type(&path);
        let mut head = Vec::new();
        if let Err(error) = text.by_ref().take(8_000).read_to_end(&mut head) {
            return Ok(Loaded::Unread(unreadable(&error)));
        }
        if wide(&head).is_some() {
            return Ok(Loaded::Unread(format!("UTF-16 and {}", too_large(self.most))));
        }
        if is_binary(&head) && !is_text {
            return Ok(Loaded::Skipped("binary".into()));
        }
        let base = match &entry.before {
            BaseContent::Nothing => Base::Nothing,
            BaseContent::Same => Base::Same,
            BaseContent::Blob(id) => base(self.blob_up_to(id, LARGE_BASE)?, &[], is_text),
        };
        let text = Box::new(io::Cursor::new(head).chain(text));
        Ok(Loaded::Large(Large { path, why: too_large(self.most), text, base }))
    }

    /// Reads a blob.
    pub(crate) fn blob(&self, id: &str) -> Result<Blob, Error> {
        self.blob_up_to(id, self.most)
    }

    fn blob_up_to(&self, id: &str, most: u64) -> Result<Blob, Error> {
        self.blobs.map_or(Ok(Blob::Missing), |blobs| blobs.read_up_to(id, most))
    }

    /// Reads a file of the work tree; never follows a link, never opens a device.
    pub(crate) fn read(&self, path: &Path) -> Result<Vec<u8>, Unreadable> {
        let full = self.root.join(path);
        let kind = full.symlink_metadata().map_err(|error| Unreadable::of(&error))?;
        if kind.is_symlink() {
            return Err(Unreadable::Absent("a symbolic link, not followed".into()));
        }
        if !kind.is_file() {
            return Err(Unreadable::Absent("not a regular file".into()));
        }
        let file = self.open(path, &full)?;
        if kind.len() > self.most {
            return Err(Unreadable::Large(file));
        }
        let mut text = Vec::with_capacity(usize::try_from(kind.len()).unwrap_or(0));
        (&file).take(self.most + 1).read_to_end(&mut text).map_err(|error| Unreadable::of(&error))?;
        // The file grew after its size was read.
        if text.len() as u64 > self.most { Err(Unreadable::Broken(too_large(self.most))) } else { Ok(text) }
    }

    /// Opens a file below the root. The kernel checks the location; where it refuses or can't, the resolved path is
    /// checked.
    fn open(&self, path: &Path, full: &Path) -> Result<File, Unreadable> {
        let below = self.folder.as_ref().and_then(|folder| open_below(folder, path));
        let file = match below {
            Some(file) => file,
            None if !self.holds(full) => {
                return Err(Unreadable::Absent("reached through a link that leaves the folder".into()));
            }
            None => rustix::fs::open(full, FILE, Mode::empty())
                .map(File::from)
                .map_err(|error| Unreadable::of(&error.into()))?,
        };
        match file.metadata() {
            Ok(kind) if kind.is_file() => Ok(file),
            Ok(_) => Err(Unreadable::Absent("not a regular file".into())),
            Err(error) => Err(Unreadable::of(&error)),
        }
    }

    fn holds(&self, full: &Path) -> bool {
        full.parent().is_some_and(|folder| folder.canonicalize().is_ok_and(|folder| folder.starts_with(self.root)))
    }
}

/// Flags to open a file: never follow a link in the last component, never wait for a writer.
const FILE: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

#[cfg(target_os = "linux")]
fn open_below(folder: &OwnedFd, path: &Path) -> Option<File> {
    rustix::fs::openat2(folder, path, FILE, Mode::empty(), rustix::fs::ResolveFlags::BENEATH).map(File::from).ok()
}

/// Returns `None`: other systems have no such call.
#[cfg(not(target_os = "linux"))]
fn open_below(_: &OwnedFd, _: &Path) -> Option<File> {
    None
}

/// Reason that a file of the work tree was not read.
#[derive(Debug)]
pub(crate) enum Unreadable {
    /// The path has no content of its own in the work tree; holds the reason.
    Absent(String),
    /// The file has content that could not be read; holds the reason.
    Broken(String),
    /// The file is too large to be read whole.
    Large(File),
}

// === impl Unreadable ===

impl Unreadable {
    /// Returns the reason in words; `most` is the size limit of the reader.
    pub(crate) fn why(self, most: u64) -> String {
        match self {
            Self::Absent(why) | Self::Broken(why) => why,
            Self::Large(_) => too_large(most),
        }
    }

    fn of(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::NotFound {
            Self::Absent("deleted in between".into())
        } else {
            Self::Broken(unreadable(error))
        }
    }
}

fn unreadable(error: &io::Error) -> String {
    format!("unreadable: {}", error.kind())
}

pub(crate) const NOT_HERE: &str = "its content is not in the repository";

fn base(before: Blob, text: &[u8], is_text: bool) -> Base {
    match before {
        Blob::Content(before) => match decoded(before, is_text) {
            Some(before) if before == text => Base::Same,
            Some(before) => Base::Other(before),
            None => Base::Nothing,
        },
        Blob::TooLarge | Blob::Missing => Base::Nothing,
    }
}

pub(crate) fn too_large(most: u64) -> String {
    format!("larger than {} MB", most as f64 / 1e6)
}

/// Formats a path for people and for JSON.
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
        let read = |path: &str| reader.read(Path::new(path)).map_err(|why| why.why(4_000_000));

        assert_eq!((read("inner/a"), read("near/a")), (Ok(b"text".to_vec()), Ok(b"text".to_vec())));
        std::fs::write(root.join("c"), "a longer one").unwrap();
        assert_eq!(read("c"), Err("larger than 4 MB".into()));
        assert_eq!(read("far/b"), Err("reached through a link that leaves the folder".into()));
        assert_eq!(read("inner"), Err("not a regular file".into()));
        assert_eq!(read("gone"), Err("deleted in between".into()));
        assert_eq!(unreadable(&io::ErrorKind::PermissionDenied.into()), "unreadable: permission denied");
    }
}
