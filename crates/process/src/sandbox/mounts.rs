//! Mounts of a sandboxed process. Everything is read-only except what may be written, which preserves modes and times of other files
//! (Landlock doesn't), and the folders where programs leave their sockets are empty except for what the sandbox lists.

use std::ffi::CString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_change, move_mount, open_tree,
};

use super::{Sandbox, paths};
use crate::{Error, Result};

/// Maximum number of paths that are mounted one by one.
const MAX_MOUNTS: usize = 64;

/// Maximum number of links that are followed to a path: that of the kernel.
const MAX_LINKS: usize = 40;

/// Mounts to make, prepared before the fork.
#[derive(Debug)]
pub(super) struct Mounts {
    /// Folders that become empty.
    hidden: Vec<CString>,
    /// Paths that stay visible in hidden folders, and paths that may be written; those that are only read come first.
    kept: Vec<KeptPath>,
    /// Symbolic links in hidden folders, on the way to a path that stays visible.
    links: Vec<Link>,
    /// Working directory to enter again, which a mount may cover.
    cwd: Option<CString>,
}

/// A symbolic link to make again.
#[derive(Debug)]
struct Link {
    at: CString,
    target: CString,
    /// Folders to make above it.
    way: Vec<CString>,
}

#[derive(Debug)]
struct KeptPath {
    at: CString,
    is_writable: bool,
    /// Folders to make above the path, and whether the path itself is a file, if it is in a hidden folder.
    way: Option<(Vec<CString>, bool)>,
}

// === impl Mounts ===

impl Mounts {
    pub(super) fn new(sandbox: &Sandbox, cwd: Option<&Path>) -> Result<Self> {
        let hidden: Vec<_> = paths::HIDDEN.iter().filter_map(|path| real_folder(Path::new(path))).collect();
        let read = sandbox.read.iter().chain(&sandbox.sockets).map(|path| (path, false));
        let (mut kept, mut links) = (Vec::new(), Vec::new());
        for (path, is_writable) in read.chain(sandbox.write.iter().map(|path| (path, true))) {
            links.extend(Link::on_the_way_to(path, &hidden)?);
            let path = path.canonicalize().map_err(|error| failed(path, &error))?;
            let inside = hidden.iter().find(|folder| path.starts_with(folder));
            if is_writable || inside.is_some() {
                kept.push(KeptPath::new(&path, is_writable, inside)?);
            }
        }
        if kept.len() > MAX_MOUNTS {
            let why = format!("{} paths are mounted one by one, at most {MAX_MOUNTS} can be", kept.len());
            return Err(Error::Sandbox { path: PathBuf::from("/"), why });
        }
        let cwd = cwd.map(c_string).transpose()?;
        let hidden = hidden.iter().map(|path| c_string(path)).collect::<Result<_>>()?;
        Ok(Self { hidden, kept, links, cwd })
    }

    /// Makes the mounts for the calling process, which has a separate mount name space. System calls only.
    pub(super) fn make(&self) -> io::Result<()> {
        mount_change(c"/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
        let mut trees = [const { None::<OwnedFd> }; MAX_MOUNTS];
        for (tree, kept) in trees.iter_mut().zip(&self.kept) {
            let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
            *tree = Some(open_tree(CWD, &*kept.at, flags)?);
        }
        for folder in &self.hidden {
            let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
            mount(c"tmpfs", &**folder, c"tmpfs", flags, c"mode=0755,size=1m")?;
        }
        self.kept.iter().try_for_each(KeptPath::make_way)?;
        self.links.iter().try_for_each(Link::make)?;
        self.put(&trees, false)?;
        all_read_only()?;
        self.put(&trees, true)?;
        self.cwd.as_ref().map_or(Ok(()), |cwd| Ok(rustix::process::chdir(&**cwd)?))
    }

    fn put(&self, trees: &[Option<OwnedFd>; MAX_MOUNTS], writable: bool) -> io::Result<()> {
        let wanted = self.kept.iter().zip(trees).filter(|(kept, _)| kept.is_writable == writable);
        for (kept, tree) in wanted {
            if let Some(tree) = tree {
                move_mount(tree, c"", CWD, &*kept.at, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
            }
        }
        Ok(())
    }
}

// === impl KeptPath ===

impl KeptPath {
    fn new(path: &Path, is_writable: bool, hidden: Option<&PathBuf>) -> Result<Self> {
        let way = match hidden {
            None => None,
            Some(hidden) => {
                let is_file = !path.is_dir();
                let lowest = if is_file { path.parent().unwrap_or(path) } else { path };
                Some((folders_between(hidden, lowest)?, is_file))
            }
        };
        Ok(Self { at: c_string(path)?, is_writable, way })
    }

    /// Makes the mount point in a folder that is empty.
    fn make_way(&self) -> io::Result<()> {
        let Some((folders, is_file)) = &self.way else { return Ok(()) };
        make_folders(folders)?;
        if *is_file {
            let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
            rustix::fs::open(&*self.at, flags, Mode::from_raw_mode(0o600))?;
        }
        Ok(())
    }
}

// === impl Link ===

impl Link {
    /// Returns the links in hidden folders that are followed to reach a path.
    fn on_the_way_to(path: &Path, hidden: &[PathBuf]) -> Result<Vec<Self>> {
        let path = std::path::absolute(path).map_err(|error| failed(path, &error))?;
        let (mut links, mut followed) = (Vec::new(), 0);
        let (mut real, mut rest) = (PathBuf::from("/"), path.clone());
        while let Some(first) = rest.components().next() {
            let mut next = rest.components();
            next.next();
            let mut after = next.as_path().to_owned();
            match first {
                Component::Normal(name) => {
                    let at = real.join(name);
                    if let Ok(target) = at.read_link() {
                        followed += 1;
                        if followed > MAX_LINKS {
                            return Err(failed(&path, &rustix::io::Errno::LOOP.into()));
                        }
                        if let Some(hidden) = hidden.iter().find(|folder| at.starts_with(folder)) {
                            let way = folders_between(hidden, &real)?;
                            links.push(Self { at: c_string(&at)?, target: c_string(&target)?, way });
                        }
                        after = target.join(after);
                    } else {
                        real = at;
                    }
                }
                Component::RootDir => real = PathBuf::from("/"),
                Component::ParentDir => drop(real.pop()),
                Component::CurDir | Component::Prefix(_) => {}
            }
            rest = after;
        }
        Ok(links)
    }

    /// Makes the link in a folder that is empty.
    fn make(&self) -> io::Result<()> {
        make_folders(&self.way)?;
        is_there(rustix::fs::symlink(&*self.target, &*self.at))
    }
}

/// Returns the folders below `above` down to `lowest`, the highest one first.
fn folders_between(above: &Path, lowest: &Path) -> Result<Vec<CString>> {
    let folders = lowest.ancestors().take_while(|folder| *folder != above);
    let mut folders = folders.map(c_string).collect::<Result<Vec<_>>>()?;
    folders.reverse();
    Ok(folders)
}

fn make_folders(folders: &[CString]) -> io::Result<()> {
    folders.iter().try_for_each(|folder| is_there(rustix::fs::mkdir(&**folder, Mode::from_raw_mode(0o755))))
}

/// Ignores that something exists already.
fn is_there(made: rustix::io::Result<()>) -> io::Result<()> {
    match made {
        Ok(()) | Err(rustix::io::Errno::EXIST) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

fn all_read_only() -> io::Result<()> {
    let wanted = libc::mount_attr { attr_set: libc::MOUNT_ATTR_RDONLY, attr_clr: 0, propagation: 0, userns_fd: 0 };
    #[expect(unsafe_code, reason = "all mounts are changed at once by no other call")]
    // SAFETY: path and structure live as long as the call, which writes neither, and the size is the structure's.
    let done = unsafe {
        let size = size_of::<libc::mount_attr>();
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            c"/".as_ptr(),
            libc::AT_RECURSIVE,
            &raw const wanted,
            size,
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Returns the folder with links followed, if the path is one.
fn real_folder(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok().filter(|real| real.is_dir())
}

fn c_string(path: &Path) -> Result<CString> {
    use std::os::unix::ffi::OsStrExt as _;
    CString::new(path.as_os_str().as_bytes()).map_err(|error| failed(path, &error.into()))
}

fn failed(path: &Path, error: &io::Error) -> Error {
    Error::Sandbox { path: path.to_owned(), why: error.to_string() }
}
