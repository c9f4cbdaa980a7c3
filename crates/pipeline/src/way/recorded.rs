//! Recorded ways, each once in memory: all runs that walk the same way share it, and while one of them is in memory,
//! nobody parses the way again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use switchboard_protocol::id::Digest;
use switchboard_protocol::run::way::Way;

use super::Graph;

/// Ways in memory, by digest.
static KNOWN: Mutex<BTreeMap<Digest, Weak<Graph>>> = Mutex::new(BTreeMap::new());

/// Returns the way that was recorded as this text under this digest.
///
/// # Errors
/// Why the text can't be read.
pub(crate) fn recorded(text: &str, digest: Digest) -> Result<Arc<Graph>, String> {
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner).get(&digest).and_then(Weak::upgrade);
    if let Some(known) = known.filter(|known| known.text() == text) {
        return Ok(known);
    }
    let graph = Arc::new(parse(text, digest)?);
    let mut all = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    all.retain(|_, way| way.strong_count() > 0);
    all.insert(digest, Arc::downgrade(&graph));
    Ok(graph)
}

fn parse(text: &str, digest: Digest) -> Result<Graph, String> {
    if Digest::of(text.as_bytes()) != digest {
        return Err("its digest is another".to_owned());
    }
    let way: Way = serde_json::from_str(text).map_err(|error| error.to_string())?;
    Graph::recorded(way, digest, text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_is_shared_as_long_as_it_is_held_and_another_text_is_refused_under_its_digest() {
        let text = r#"{"steps":[{"id":"only_here","do":"merge","need":"required"}]}"#;
        let digest = Digest::of(text.as_bytes());

        let first = recorded(text, digest).unwrap();
        assert!(Arc::ptr_eq(&first, &recorded(text, digest).unwrap()));
        assert!(recorded(&text.replace("only", "else"), digest).unwrap_err().contains("digest"));
        drop(first);
        let other = text.replace("only", "else");
        let held = recorded(&other, Digest::of(other.as_bytes())).unwrap();
        assert!(!KNOWN.lock().unwrap().contains_key(&digest), "nobody holds it");
        assert_eq!(recorded(text, digest).unwrap().digest(), digest);
        drop(held);
    }
}
