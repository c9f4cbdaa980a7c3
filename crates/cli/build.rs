//! Has the linker pack the relative relocations of the binary where the loader of the system reads them: glibc since
//! version 2.36. Unpacked they take 2 MB of the binary, all of which each process reads at its start. Also has it leave the
//! symbols out of a release, 16 MB: Cargo does not if the package has an optimisation level of its own.

#![expect(clippy::disallowed_methods, reason = "Cargo tells a build script in variables what it builds")]

use std::env;

/// First version of glibc whose loader reads packed relocations (`DT_RELR`).
const READS_PACKED: (u32, u32) = (2, 36);

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if env::var_os("HOST") == env::var_os("TARGET") && glibc().is_some_and(|version| version >= READS_PACKED) {
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
    if env::var("PROFILE").is_ok_and(|profile| profile == "release") && cfg!(target_os = "linux") {
        println!("cargo:rustc-link-arg-bins=-Wl,--strip-all");
    }
}

/// Returns the version of this system's glibc; `None` if it has another C library.
#[cfg(target_env = "gnu")]
fn glibc() -> Option<(u32, u32)> {
    #[expect(unsafe_code, reason = "the standard library does not tell")]
    unsafe extern "C" {
        safe fn gnu_get_libc_version() -> *const std::ffi::c_char;
    }
    #[expect(unsafe_code, reason = "the standard library does not tell")]
    // SAFETY: glibc returns a pointer to a constant string.
    let version = unsafe { std::ffi::CStr::from_ptr(gnu_get_libc_version()) };
    let (major, minor) = version.to_str().ok()?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Returns the version of this system's glibc; `None` if it has another C library.
#[cfg(not(target_env = "gnu"))]
fn glibc() -> Option<(u32, u32)> {
    None
}
