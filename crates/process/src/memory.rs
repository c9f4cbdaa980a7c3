//! Memory that a burst of work has left with the allocator.

/// Gives back to the system what the allocator keeps for later; where it has no such call, nothing happens. Takes some milliseconds.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn give_back() {
    #[expect(unsafe_code, reason = "the allocator's own call; the system's library has no other way")]
    // SAFETY: it may be called at any time from any thread, and takes a number of bytes to keep.
    let _had_some = unsafe { libc::malloc_trim(0) };
}

/// Gives back to the system what the allocator keeps for later; where it has no such call, nothing happens. Takes some milliseconds.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn give_back() {}

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
}
