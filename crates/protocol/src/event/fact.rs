//! Typed facts: reads and writes them as the kind of an event and its facts, the shape in which the log stores them.

use super::Facts;

/// The facts of one family of events: an enum with `#[serde(rename_all = "snake_case")]` whose variants are the kinds of
/// events, and `#[schemars(tag = "kind", content = "facts")]` for the shape in which readers see them.
///
/// Implemented for each type of [`for_each_event!`](crate::for_each_event). The functions are not generic, so their code is
/// compiled once, in this crate, and not in each crate that reads or writes events.
pub trait Fact: Sized {
    /// Reads a fact; `None` if the event is of another family.
    fn read(kind: &str, facts: &Facts) -> Option<Self>;

    /// Returns the kind and the facts of an event.
    ///
    /// # Errors
    /// If a value can't be written as JSON.
    fn write(&self) -> Result<(String, Facts), serde_json::Error>;
}

// `$subject` is what the events are about; the list also names it for the schemas.
macro_rules! implement {
    ($($subject:literal $fact:ty,)*) => {
        $(impl Fact for $fact {
            fn read(kind: &str, facts: &Facts) -> Option<Self> {
                serde_json::from_str(&tagged(kind, facts)?).ok()
            }

            fn write(&self) -> Result<(String, Facts), serde_json::Error> {
                split(&serde_json::to_string(self)?)
            }
        })*
    };
}

crate::for_each_event!(implement);

/// Returns the text of an enum's value: an object whose only key is the name of the variant. `None` if no variant has such
/// a name.
fn tagged(kind: &str, facts: &Facts) -> Option<String> {
    let is_name = kind.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    is_name.then(|| ["{\"", kind, "\":", facts.as_str(), "}"].concat())
}

/// Splits the text of an enum's value: of a variant without fields its name, of any other an object.
fn split(tagged: &str) -> Result<(String, Facts), serde_json::Error> {
    let fields = tagged.strip_prefix("{\"").and_then(|rest| rest.strip_suffix('}')?.split_once("\":"));
    let (kind, facts) = fields.unwrap_or((tagged.trim_matches('"'), "null"));
    Ok((kind.to_owned(), Facts::parse(facts)?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::message::MessageEvent;
    use crate::run::{PauseCause, RunEvent};

    #[test]
    fn a_fact_is_written_as_its_kind_and_its_fields() {
        let of = |fact: RunEvent| fact.write().map(|(kind, facts)| (kind, facts.to_string())).unwrap();

        assert_eq!(
            of(RunEvent::RunPaused { cause: PauseCause::Disk }),
            ("run_paused".to_owned(), r#"{"cause":"disk"}"#.to_owned())
        );
        assert_eq!(of(RunEvent::RunResumed), ("run_resumed".to_owned(), "null".to_owned()));
    }

    #[test]
    fn a_fact_is_read_from_its_kind_and_its_fields() {
        let paused = Facts::from(json!({ "cause": "disk" }));

        assert_eq!(RunEvent::read("run_paused", &paused), Some(RunEvent::RunPaused { cause: PauseCause::Disk }));
        assert_eq!(RunEvent::read("run_resumed", &Facts::default()), Some(RunEvent::RunResumed));
        assert!(MessageEvent::read("run_paused", &paused).is_none(), "of another family");
        assert!(RunEvent::read("run_paused", &Facts::default()).is_none(), "in another shape");
    }

    #[test]
    fn the_object_that_names_the_kind_takes_one_of_the_levels_that_are_read() {
        let is_read = |levels: usize| {
            let facts = Facts::parse("[".repeat(levels) + &"]".repeat(levels)).unwrap();
            serde_json::from_str::<serde_json::Value>(&tagged("kind", &facts).unwrap()).is_ok()
        };

        assert!(is_read(126) && !is_read(127));
    }

    #[test]
    fn a_kind_is_a_name_and_no_json() {
        for kind in [r#"run_resumed":null,"run_resumed"#, "run_resumed\"", "Run_Resumed", "run resumed", ""] {
            assert!(RunEvent::read(kind, &Facts::default()).is_none(), "{kind}");
        }
    }
}
