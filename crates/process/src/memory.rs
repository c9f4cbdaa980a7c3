//! The allocator of our programs, and the release of memory after a burst of work.
//!
//! A message is many small allocations that are made on one thread and freed on another: with the system's allocator that
//! took a sixth of a send. C code, above all SQLite, still uses the system's.

#![expect(unsafe_code, reason = "the allocators' own calls: nothing safe reaches their settings")]

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// The allocator for `#[global_allocator]`; call [`configure`] in the same `main`.
pub use mimalloc::MiMalloc as Allocator;

/// How long the allocator keeps free memory, in milliseconds. The crate has no name for this option (`mi_option_purge_delay`).
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

/// Configures [`Allocator`] at the beginning of `main`: free memory is returned to the system at once, because a daemon
/// is idle most of its life.
pub fn configure() {
    // SAFETY: it sets a number that the allocator reads; the option exists in this version, which a test checks.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, 0) };
    // The allocator is built without huge pages, which would more than double a small daemon, and therefore disables them for the whole
    // process, and so for every program that it starts. Without the ban it does not request them either.
    #[cfg(target_os = "linux")]
    let _is_banned = rustix::thread::disable_transparent_huge_pages(false).is_err();
}

/// Unmaps the pages of the program's own file, which were read at its start and are mostly not read again: the relocations alone are two
/// megabytes. Pages that are needed again come from the system's page cache, without disk access.
#[cfg(target_os = "linux")]
pub fn unmap_startup_pages() {
    let own = std::env::current_exe().map(|path| path.display().to_string()).unwrap_or_default();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    for (begin, length) in maps.lines().filter_map(|line| untouched(line, &own)) {
        // SAFETY: the mapping is of a file that lies on disk and nothing can have been written to it, so that every page of it reads the same
        // when it is mapped again.
        let _is_kept = unsafe { libc::madvise(begin as *mut libc::c_void, length, libc::MADV_DONTNEED) } != 0;
    }
}

/// Does nothing: only Linux supports this.
#[cfg(not(target_os = "linux"))]
pub fn unmap_startup_pages() {}

/// Returns begin and length of a mapping of the program at `own` that equals its file: its code, and what comes before it. Pages that the
/// dynamic linker has written to are readable, too, and come after the code.
#[cfg(target_os = "linux")]
fn untouched(line: &str, own: &str) -> Option<(usize, usize)> {
    let mut fields = line.split_ascii_whitespace();
    let (range, rights, offset) = (fields.next()?, fields.next()?, fields.next()?);
    let is_as_in_file = rights == "r-xp" || (rights == "r--p" && offset.bytes().all(|digit| digit == b'0'));
    if own.is_empty() || !is_as_in_file || fields.nth(2)? != own || fields.next().is_some() {
        return None;
    }
    let (begin, end) = range.split_once('-')?;
    let (begin, end) = (usize::from_str_radix(begin, 16).ok()?, usize::from_str_radix(end, 16).ok()?);
    Some((begin, end.checked_sub(begin)?))
}

/// Number of calls of [`give_back`].
static GIVEN: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// Value of `GIVEN` when this thread last returned memory.
    static SEEN: Cell<u64> = const { Cell::new(0) };
}

/// Returns memory to the system that the allocators keep for reuse: that of this thread and that of C code; other threads
/// do so with [`release_before_wait`]. Takes some milliseconds.
pub fn give_back() {
    GIVEN.fetch_add(1, Ordering::Relaxed);
    release_before_wait();
    trim();
}

/// Returns a thread's unused memory before it waits, once after each [`give_back`]. At other times it costs nothing.
pub fn release_before_wait() {
    let given = GIVEN.load(Ordering::Relaxed);
    if SEEN.replace(given) != given {
        // SAFETY: it frees what nobody uses.
        unsafe { libmimalloc_sys::mi_collect(true) };
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn trim() {
    // SAFETY: it may be called at any time from any thread, and takes a number of bytes to keep.
    let _had_some = unsafe { libc::malloc_trim(0) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn trim() {}

#[cfg(test)]
mod tests {
    #[cfg(target_os = "linux")]
    #[test]
    fn only_what_is_as_in_the_file_is_unmapped() {
        let of = |line: &str| super::untouched(line, "/bin/it");

        assert_eq!(of("1000-3000 r--p 00000000 fd:00 7    /bin/it"), Some((0x1000, 0x2000)));
        assert_eq!(of("3000-4000 r-xp 00002000 fd:00 7    /bin/it"), Some((0x3000, 0x1000)));
        assert_eq!(of("4000-5000 r--p 00003000 fd:00 7    /bin/it"), None, "relocated, then made read-only");
        assert_eq!(of("5000-6000 rw-p 00004000 fd:00 7    /bin/it"), None);
        assert_eq!(of("3000-4000 r-xp 00002000 fd:00 7    /bin/it (deleted)"), None);
        assert_eq!(of("3000-4000 r-xp 00002000 fd:00 7    /lib/it"), None);
        assert_eq!(of("3000-4000 r-xp 00000000 00:00 0"), None);
        assert_eq!(super::untouched("3000-4000 r-xp 00000000 00:00 0", ""), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_program_goes_on_after_it_has_forgotten_its_start() {
        super::unmap_startup_pages();

        assert_eq!(format!("{:?}", std::time::Duration::from_millis(1500)), "1.5s");
    }

    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[test]
    fn what_was_freed_goes_back() {
        let resident = || -> usize {
            let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
            pages.split(' ').nth(1).unwrap().parse().unwrap()
        };
        // Small pieces, so that the allocator keeps them, and one after them that it can't return by itself.
        let pieces: Vec<Vec<u8>> = (0..40_000).map(|_| vec![1; 1_000]).collect();
        let last = vec![1_u8; 1_000];
        drop(pieces);
        let before = resident();

        super::give_back();

        assert!(resident() + 2_000 < before, "{} of {before} pages are left", resident());
        drop(last);
    }

    #[test]
    fn the_option_without_a_name_is_the_one_that_is_meant() {
        // SAFETY: it reads a number.
        let delay = || unsafe { libmimalloc_sys::mi_option_get(super::PURGE_DELAY) };
        // Ten milliseconds are the default of this option and of no other near it.
        assert_eq!(delay(), 10);

        super::configure();

        assert_eq!(delay(), 0);
        #[cfg(target_os = "linux")]
        assert!(!rustix::thread::transparent_huge_pages_are_disabled().unwrap());
    }
}
