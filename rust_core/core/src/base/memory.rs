//! Giving memory back after an index run, whose buffers are large and whose pages the allocator would keep for the next one.

/// Hand free pages back to the system where the allocator has to be asked (glibc); elsewhere it does so by itself.
pub fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: `malloc_trim` may be called at any time from any thread.
    unsafe {
        libc::malloc_trim(0);
    }
}
