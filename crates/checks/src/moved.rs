//! Recognises a new file that the base had under another name, so that its old findings are not reported as new.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::OnceLock;

use crate::git::Blob;
use crate::reader::Reader;

/// Maximum number of removed files that are read; with more, moved files count as new.
const MAX_REMOVED_FILES: usize = 200;

/// Files that the base had and the change removed, read when the first new file is compared.
pub(crate) struct Moved {
    gone: Vec<(PathBuf, String)>,
    texts: OnceLock<Vec<Vec<u8>>>,
}

impl Moved {
    pub(crate) fn new(gone: Vec<(PathBuf, String)>) -> Self {
        Self { gone, texts: OnceLock::new() }
    }

    /// Returns the base's text of a new file if more than half of its lines are those of one removed file.
    pub(crate) fn base_of(&self, text: &[u8], reader: &Reader<'_>) -> Option<Vec<u8>> {
        if self.gone.is_empty() {
            return None;
        }
        let texts = self.texts.get_or_init(|| self.read(reader));
        texts
            .iter()
            .map(|old| (shared(old, text), old))
            .filter(|(shared, _)| *shared > 0.5)
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, old)| old.clone())
    }

    fn read(&self, reader: &Reader<'_>) -> Vec<Vec<u8>> {
        let blobs = self.gone.iter().take(MAX_REMOVED_FILES).filter_map(|(_, id)| reader.blob(id).ok());
        blobs
            .filter_map(|blob| match blob {
                Blob::Content(text) => Some(text),
                Blob::TooLarge | Blob::Missing => None,
            })
            .collect()
    }
}

/// Returns the share of the longer text's lines that both texts have, from 0 to 1; blank lines do not count.
fn shared(old: &[u8], new: &[u8]) -> f64 {
    let lines =
        |text| <[u8]>::split(text, |byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
    let mut counts: HashMap<&[u8], usize> = HashMap::new();
    let mut olds = 0_usize;
    for line in lines(old) {
        *counts.entry(line).or_default() += 1;
        olds += 1;
    }
    let (mut news, mut both) = (0_usize, 0_usize);
    for line in lines(new) {
        news += 1;
        if let Some(left) = counts.get_mut(line).filter(|left| **left > 0) {
            *left -= 1;
            both += 1;
        }
    }
    both as f64 / olds.max(news).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moved_file_shares_most_lines_and_another_does_not() {
        let old = b"fn a() {}\nfn b() {}\nfn c() {}\n";

        assert!(shared(old, b"fn a() {}\n\nfn b() {}\nfn d() {}\n") > 0.5);
        assert!(shared(old, b"struct X;\nfn a() {}\nstruct Y;\n") < 0.5);
    }
}
