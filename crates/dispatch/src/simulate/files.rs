//! Files of a commit, in chunks shared between commits: the cost of a copy and of a comparison depends on the
//! differences.

use std::cmp::Ordering;
use std::sync::Arc;

/// Maximum number of files in a chunk.
const CHUNK: usize = 32;

type Entry = (Arc<str>, Arc<str>);

/// Changed path with its content; `None` if it was removed.
pub(super) type Changed<'a> = (&'a Arc<str>, Option<&'a Arc<str>>);

/// Contents by path, in the order of the paths.
#[derive(Clone, Default)]
pub(super) struct Files {
    /// Chunks of files; none is empty.
    chunks: Vec<Arc<Vec<Entry>>>,
}

/// Position in the files.
struct Cursor<'a> {
    chunks: &'a [Arc<Vec<Entry>>],
    at: usize,
}

// === impl Files ===

impl Files {
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<str>)> {
        self.chunks.iter().flat_map(|chunk| chunk.iter()).map(|(path, content)| (path, content))
    }

    pub(super) fn get(&self, path: &str) -> Option<&Arc<str>> {
        let chunk = self.chunks.get(self.chunk_of(path))?;
        place(chunk, path).ok().map(|at| &chunk[at].1)
    }

    pub(super) fn has(&self, path: &str) -> bool {
        self.get(path).is_some()
    }

    pub(super) fn insert(&mut self, path: Arc<str>, content: Arc<str>) {
        let at = self.chunk_of(&path);
        let Some(chunk) = self.chunks.get_mut(at) else { return self.chunks.push(Arc::new(vec![(path, content)])) };
        let chunk = Arc::make_mut(chunk);
        match place(chunk, &path) {
            Ok(known) => chunk[known].1 = content,
            Err(free) => chunk.insert(free, (path, content)),
        }
        if chunk.len() > CHUNK {
            let second = chunk.split_off(CHUNK / 2);
            self.chunks.insert(at + 1, Arc::new(second));
        }
    }

    pub(super) fn remove(&mut self, path: &str) {
        let at = self.chunk_of(path);
        let Some(chunk) = self.chunks.get_mut(at) else { return };
        let Ok(known) = place(chunk, path) else { return };
        Arc::make_mut(chunk).remove(known);
        if chunk.is_empty() {
            self.chunks.remove(at);
        }
    }

    /// Returns the differences from earlier files, in the order of the paths.
    pub(super) fn changed_since<'a>(&'a self, earlier: &'a Self) -> Vec<Changed<'a>> {
        let (mut before, mut after) = (earlier.begin(), self.begin());
        let mut changed = Vec::new();
        loop {
            before.skip_shared(&mut after);
            let order = match (before.head(), after.head()) {
                (None, None) => return changed,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some((gone, _)), Some((path, _))) => gone.cmp(path),
            };
            let old = if order.is_le() { before.next() } else { None };
            let new = if order.is_ge() { after.next() } else { None };
            match (old, new) {
                (Some((_, old)), Some((_, new))) if Arc::ptr_eq(old, new) || old == new => {}
                (_, Some((path, content))) => changed.push((path, Some(content))),
                (Some((gone, _)), None) => changed.push((gone, None)),
                (None, None) => return changed,
            }
        }
    }

    fn begin(&self) -> Cursor<'_> {
        Cursor { chunks: &self.chunks, at: 0 }
    }

    /// Returns the index of the chunk in which a path would be.
    fn chunk_of(&self, path: &str) -> usize {
        self.chunks.partition_point(|chunk| *chunk[0].0 <= *path).saturating_sub(1)
    }
}

fn place(chunk: &[Entry], path: &str) -> Result<usize, usize> {
    chunk.binary_search_by(|(known, _)| (**known).cmp(path))
}

// === impl Cursor ===

impl<'a> Cursor<'a> {
    fn head(&self) -> Option<&'a Entry> {
        self.chunks.first().map(|chunk| &chunk[self.at])
    }

    fn next(&mut self) -> Option<&'a Entry> {
        let (chunk, behind) = self.chunks.split_first()?;
        let entry = &chunk[self.at];
        self.at += 1;
        if self.at == chunk.len() {
            (self.chunks, self.at) = (behind, 0);
        }
        Some(entry)
    }

    /// Skips chunks shared by both.
    fn skip_shared(&mut self, other: &mut Self) {
        while let (0, 0, Some((own, own_behind)), Some((others, others_behind))) =
            (self.at, other.at, self.chunks.split_first(), other.chunks.split_first())
            && Arc::ptr_eq(own, others)
        {
            (self.chunks, other.chunks) = (own_behind, others_behind);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    type Plain = BTreeMap<Arc<str>, Arc<str>>;

    fn is_same(files: &Files, plain: &Plain) -> bool {
        files.iter().eq(plain.iter()) && plain.iter().all(|(path, content)| files.get(path) == Some(content))
    }

    fn changed(before: &Plain, after: &Plain) -> Vec<(Arc<str>, Option<Arc<str>>)> {
        let paths: Plain = before.iter().chain(after).map(|(path, content)| (path.clone(), content.clone())).collect();
        let differs = |path: &&Arc<str>| before.get(*path) != after.get(*path);
        paths.keys().filter(differs).map(|path| (path.clone(), after.get(path).cloned())).collect()
    }

    #[test]
    fn files_are_kept_and_compared_as_a_plain_map_would() {
        let mut rng = fastrand::Rng::with_seed(1);
        let (mut files, mut plain) = (Files::default(), Plain::new());
        let mut earlier = Vec::new();

        for round in 0..3_000_u32 {
            let path: Arc<str> = format!("t/{}", rng.u32(..400)).into();
            if rng.u8(..3) == 0 {
                files.remove(&path);
                plain.remove(&path);
            } else {
                let content: Arc<str> = rng.u8(..3).to_string().into();
                files.insert(Arc::clone(&path), Arc::clone(&content));
                plain.insert(path, content);
            }
            if round % 100 == 0 {
                earlier.push((files.clone(), plain.clone()));
            }
        }

        assert!(is_same(&files, &plain) && !files.has("t/none"));
        for (before, plain_before) in &earlier {
            let found = files.changed_since(before).into_iter();
            let found: Vec<_> = found.map(|(path, content)| (path.clone(), content.cloned())).collect();
            assert_eq!(found, changed(plain_before, &plain));
        }
    }
}
