//! Writes many files at once. A file system syncs concurrent requests together, so a few threads take a tenth of the
//! time of one file after the other.

use std::io;

use crate::Folder;

/// Number of threads that write and sync concurrently; more don't help (ext4, measured with 4, 8 and 16).
const THREADS: usize = 4;

/// File to be written.
pub(super) struct New<'a> {
    pub(super) folder: &'a Folder,
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
}

/// Writes and syncs files; returns the result of each, in their order.
pub(super) fn write_all(files: &[New<'_>]) -> Vec<io::Result<()>> {
    let share = files.len().div_ceil(THREADS).max(1);
    let write = |files: &[New<'_>]| -> Vec<io::Result<()>> {
        files.iter().map(|file| file.folder.write(&file.name, &file.bytes)).collect()
    };
    if share == 1 {
        return write(files);
    }
    std::thread::scope(|scope| {
        let threads: Vec<_> = files.chunks(share).map(|files| (scope.spawn(|| write(files)), files.len())).collect();
        let written = threads.into_iter().flat_map(|(thread, count)| {
            let broken = || (0..count).map(|_| Err(io::Error::other("a writing thread panicked"))).collect();
            thread.join().unwrap_or_else(|_| broken())
        });
        written.collect()
    })
}
