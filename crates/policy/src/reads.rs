//! What rules read of a call, by their text. It decides which calls get the same decision.

use std::collections::BTreeSet;

use crate::bundle::File;

/// Fields of an object that rules read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fields {
    /// All that there are, as far as the text shows.
    All,
    /// These.
    Named(BTreeSet<String>),
}

/// What rules read of a call beside what tells few calls apart: verb, class and caller.
#[derive(Debug)]
pub(crate) struct Reads {
    /// Arguments.
    pub(crate) args: Fields,
    /// Facts about the agent that the call concerns.
    pub(crate) about: Fields,
}

// === impl Fields ===

impl Fields {
    /// Returns what rules read of an object in the input: each use must name a field, else it may read any.
    fn of<'a>(object: &str, mut texts: impl Iterator<Item = &'a str>) -> Self {
        let mut names = BTreeSet::new();
        let are_named = texts.all(|text| {
            let mut uses = text_after(text, "input").filter_map(|after| {
                let rest = after.strip_prefix('.')?.strip_prefix(object)?;
                (!rest.starts_with(is_word)).then_some(rest)
            });
            uses.all(|rest| {
                name_after_dot(rest).is_some_and(|name| names.insert(name.to_owned()) || names.contains(name))
            })
        });
        if are_named { Self::Named(names) } else { Self::All }
    }

    /// Returns true if rules may read a field.
    pub(crate) fn sees(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Named(names) => names.contains(name),
        }
    }
}

// === impl Reads ===

impl Reads {
    /// Returns what rules read if their decision depends on the call alone; `None` if it may depend on the time of day or on random
    /// numbers (`rand`). Rules of the first kind name each field of the input that they read, so none of them can be the time: a rule
    /// that reads `input` as a whole may read that too. Rego's own clock is not built in.
    pub(crate) fn of<'a>(files: impl IntoIterator<Item = &'a File>) -> Option<Self> {
        let texts: Vec<&str> = files.into_iter().map(|file| file.text.as_str()).collect();
        if !texts.iter().all(|text| names_its_fields(text) && !uses_random(text)) {
            return None;
        }
        let fields = |object| Fields::of(object, texts.iter().copied());
        Some(Self { args: fields("args"), about: fields("about") })
    }
}

/// Returns the text after each use of a word, without comment lines.
fn text_after<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = &'a str> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let uses = lines.flat_map(move |line| line.match_indices(word).map(move |(at, _)| line.split_at(at)));
    uses.filter_map(move |(before, rest)| {
        let after = &rest[word.len()..];
        (!before.ends_with(is_word) && !after.starts_with(is_word)).then_some(after)
    })
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Returns true if rules use Rego's random numbers.
fn uses_random(text: &str) -> bool {
    text_after(text, "rand").next().is_some()
}

/// Returns the name at the beginning of a text, behind a dot; `None` if there is none.
fn name_after_dot(text: &str) -> Option<&str> {
    let text = text.strip_prefix('.')?;
    let name = &text[..text.find(|c| !is_word(c)).unwrap_or(text.len())];
    (!name.is_empty()).then_some(name)
}

/// Returns true if `input` only occurs before a dot and the name of a field other than the time.
fn names_its_fields(text: &str) -> bool {
    text_after(text, "input").all(|after| name_after_dot(after).is_some_and(|field| field != "now"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_that_can_read_the_time_are_asked_each_time() {
        for timeless in
            ["allow if input.class == \"send\"", "# input\n\tinput.args[x] == 1", "my_input := 1; inputs := 2", ""]
        {
            assert!(names_its_fields(timeless), "{timeless}");
        }
        for timed in [
            "allow if input.now > 3",
            "some k; input[k] > 3",
            "f(input)",
            "import input as call",
            "import input\n",
            "x := input",
            "walk(input, [p, v])",
            "input . now > 3",
            "y if input.class; z if input.now",
        ] {
            assert!(!names_its_fields(timed), "{timed}");
        }
    }

    #[test]
    fn rules_that_draw_lots_are_asked_each_time() {
        assert!(uses_random("allow if rand.intn(\"x\", 9) == 1") && uses_random("x := rand . intn(\"x\", 9)"));
        assert!(!uses_random("brand.intn := 1; rands := 2") && !uses_random("# rand.intn"));
    }

    #[test]
    fn rules_read_the_fields_that_they_name_and_all_of_an_object_that_they_use_otherwise() {
        let args = |text: &str| Fields::of("args", [text].into_iter());
        let named = |names: &[&str]| Fields::Named(names.iter().map(|name| (*name).to_owned()).collect());

        assert_eq!(
            args("a if input.args.merge == true\nb if startswith(input.args.run, input.caller.run)"),
            named(&["merge", "run"])
        );
        assert_eq!(args("input.argsx.a; input.about.args; # input.args\n# input.args[k]"), Fields::All, "behind code");
        assert_eq!(args("input.argsx.a; input.about.args\n# input.args[k]"), named(&[]));
        assert_eq!(args("x := input.args.a.b[0]"), named(&["a"]));
        for all in [
            "input.args[k] == 1",
            "x := input.args",
            "walk(input.args, x)",
            "input.args . a",
            "import input.args as a",
            "input.args\n.a",
        ] {
            assert_eq!(args(all), Fields::All, "{all}");
        }
    }
}
