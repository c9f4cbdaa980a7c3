//! Distinguishes local disks from network file systems, on which locks and syncs are unreliable.

use std::path::Path;

use crate::Error;

/// Magic numbers of `statfs(2)` and `linux/magic.h`.
const NETWORK: &[(u64, &str)] = &[
    (0x6969, "NFS"),
    (0x517b, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB2"),
    (0x0102_1997, "9p"),
    (0x00c3_6400, "Ceph"),
    (0x5346_414f, "AFS"),
    (0x7375_7245, "Coda"),
    (0x0bd0_0bd0, "Lustre"),
    (0x4750_4653, "GPFS"),
];

/// `FUSE_SUPER_MAGIC`: the mount table names the file system behind it.
const FUSE: u64 = 0x6573_5546;

/// Rejects a folder on a network file system.
pub(crate) fn refuse_network(folder: &Path, database: &Path) -> Result<(), Error> {
    match network_kind(folder)? {
        Some(kind) => Err(Error::NetworkFileSystem { path: database.to_owned(), kind }),
        None => Ok(()),
    }
}

#[cfg(target_os = "linux")]
fn network_kind(folder: &Path) -> Result<Option<String>, Error> {
    let stat = rustix::fs::statfs(folder)
        .map_err(|error| Error::io(format!("could not examine {}", folder.display()), error.into()))?;
    let magic = u64::try_from(stat.f_type).unwrap_or(0) & 0xffff_ffff;
    if magic != FUSE {
        return Ok(name_of(magic));
    }
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    Ok(network_fuse(&mounts, &folder))
}

/// Treats the folder as local: only Linux reports its file system in a form that this code knows.
#[cfg(not(target_os = "linux"))]
fn network_kind(_folder: &Path) -> Result<Option<String>, Error> {
    Ok(None)
}

fn name_of(magic: u64) -> Option<String> {
    NETWORK.iter().find(|(known, _)| *known == magic).map(|(_, name)| (*name).to_owned())
}

/// Returns the FUSE file system of a folder, if it is a network file system.
fn network_fuse(mounts: &str, folder: &Path) -> Option<String> {
    let behind = mounts
        .lines()
        .filter_map(parse_mount)
        .filter(|(point, _)| folder.starts_with(point))
        .max_by_key(|(point, _)| point.len())?;
    let kind = behind.1.strip_prefix("fuse.")?;
    let remote = ["sshfs", "s3fs", "rclone", "gcsfuse", "glusterfs", "goofys", "curlftpfs", "davfs", "cephfs"];
    remote.iter().find(|name| kind.starts_with(**name)).map(|name| format!("FUSE ({name})"))
}

/// Parses mount point and type from a line of `mountinfo`: `36 35 98:0 / /mnt rw - fuse.sshfs host: rw`.
fn parse_mount(line: &str) -> Option<(String, &str)> {
    let (front, back) = line.split_once(" - ")?;
    let point = front.split(' ').nth(4)?.replace("\\040", " ");
    Some((point, back.split(' ').next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "21 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n\
        40 21 0:50 / /home/a\\040b/remote rw - fuse.sshfs host:/ rw\n\
        41 21 0:51 / /home/a\\040b/local rw - fuse.fuse-overlayfs overlay rw\n";

    #[test]
    fn knows_network_file_systems_by_their_magic() {
        assert_eq!(name_of(0x6969).as_deref(), Some("NFS"));
        assert_eq!(name_of(0xff53_4d42).as_deref(), Some("CIFS"));
        assert_eq!(name_of(0xef53), None);
    }

    #[test]
    fn looks_behind_fuse_in_the_mount_table() {
        assert_eq!(network_fuse(MOUNTS, Path::new("/home/a b/remote/state")).as_deref(), Some("FUSE (sshfs)"));
        assert_eq!(network_fuse(MOUNTS, Path::new("/home/a b/local/state")), None);
        assert_eq!(network_fuse(MOUNTS, Path::new("/home/other")), None);
    }

    #[test]
    fn takes_a_local_folder() {
        let folder = tempfile::tempdir().unwrap();

        assert!(refuse_network(folder.path(), &folder.path().join("store.db")).is_ok());
    }
}
