//! Computes the version of the rules: a hash of the sources of this crate and of those whose rules it runs, and of the
//! locked grammars. Cached results of another version are then never used.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::{fs, io};

fn main() -> io::Result<()> {
    // Cargo runs this in the package's folder.
    let here = PathBuf::from(".");
    let mut files = vec![here.join("../../Cargo.lock"), here.join("../grammars/src/lib.rs")];
    for sources in ["src", "../secrets/src", "../syntax/src"] {
        collect(&here.join(sources), &mut files)?;
        println!("cargo:rerun-if-changed={sources}");
    }
    files.sort();
    let mut hash = DefaultHasher::new();
    for file in files.iter().filter(|file| file.is_file()) {
        println!("cargo:rerun-if-changed={}", file.display());
        fs::read(file)?.hash(&mut hash);
    }
    println!("cargo:rustc-env=CHECK_RULES={:016x}", hash.finish());
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
