//! The allocator of our programs, and memory that a burst of work has left with one.
//!
//! A message is many small pieces of memory that are made on one thread and freed on another: with the system's allocator that
//! took a sixth of a send. C code, SQLite above all, stays with the system's.

#![expect(unsafe_code, reason = "the allocators' own calls: nothing safe reaches their settings")]

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// The allocator for `#[global_allocator]`; [`configure`] is for the same `main`.
pub use mimalloc::MiMalloc as Allocator;

/// How long the allocator keeps free memory, in milliseconds. The crate has no name for this option (`mi_option_purge_delay`).
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

/// Settings of [`Allocator`], for the beginning of `main`: memory that is free goes back to the system at once, because a daemon
/// is idle most of its life.
pub fn configure() {
    // SAFETY: it sets a number that the allocator reads; the option exists in this version, which a test checks.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, 0) };
    // The allocator is built without huge pages, which would more than double a small daemon, and forbids them to the whole
    // process for that, and so to every program that it starts. Without the ban it does not ask for them either.
    #[cfg(target_os = "linux")]
    let _is_banned = rustix::thread::disable_transparent_huge_pages(false).is_err();
}

/// How often memory was given back.
static GIVEN: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// The same when this thread last did.
    static SEEN: Cell<u64> = const { Cell::new(0) };
}

/// Gives back to the system what the allocators keep for later: what this thread keeps and what C code has left; other threads
/// do so with [`before_rest`]. Takes some milliseconds.
pub fn give_back() {
    GIVEN.fetch_add(1, Ordering::Relaxed);
    before_rest();
    trim();
}

/// What a thread does before it waits: it gives back what it keeps, once after each [`give_back`]. At other times it costs nothing.
pub fn before_rest() {
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
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[test]
    fn what_was_freed_goes_back() {
        let resident = || -> usize {
            let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
            pages.split(' ').nth(1).unwrap().parse().unwrap()
        };
        // Small pieces, so that the allocator keeps them, and one behind them that it can't give back by itself.
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
