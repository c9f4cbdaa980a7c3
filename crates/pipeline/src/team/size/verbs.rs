//! Verbs of task descriptions.

/// Verbs that are rarely nouns: after `and`, they begin another action.
const STRONG: &str = "\
add adapt adjust align allocate analyse analyze append apply assign attach authenticate bind bring bump calculate cancel carry change choose collect combine compare \
compile compress compute configure connect consolidate convert create decode decompose decouple decrypt deduplicate define delegate delete deploy deprecate \
derive detect disable disconnect eliminate embed emit enable encapsulate encode encrypt enforce escape evaluate execute expand expose extend extract fetch \
fix flatten flush forbid fold gather generate give grant handle hide highlight implement improve increase initialise initialize inject inline insert inspect install \
instrument integrate introduce invalidate invoke isolate join locate make merge migrate minify modify move normalise normalize notify omit optimise optimize \
organise organize override paginate parse persist polish populate prepare preview prevent print propagate provide prune publish push put raise read rebuild \
receive redact redesign redirect reduce refactor refresh refuse register reject reload relocate remove rename render reorganise reorganize reorder repair replace \
resolve restore restrict restructure retrieve reuse revert revoke rewrite rotate route sanitise sanitize save select send serialise serialize simplify \
speed start stop strip submit subscribe swap take teach throw tidy transform translate trim truncate tune unify unlock update upgrade upload use \
validate wrap write";

/// Verbs that are equally often nouns: they begin another action if an object follows that can't belong to a noun.
const WEAK: &str = "\
allow ask audit batch benchmark block build bundle cache call cap capture cast check clean close comment copy correct count cover debug deal describe design \
display document download draft drop export filter find format group guard hash hook host import index limit link lint list load lock log look map mark match \
measure mock monitor mount name open order patch pin plan poll port process query queue re-export record release replay report request reset retry \
review rework roll run scan schedule scope search seed separate set ship show sign skip sort split store stream stub style support switch sync tag tear test track \
trace trigger type view warn wire work";

/// Verbs that state a condition or result of the same action instead of beginning another.
const HOLDING: [&str; 14] = [
    "assert", "avoid", "confirm", "ensure", "exit", "fail", "keep", "leave", "let", "preserve", "prove", "retain",
    "return", "verify",
];

/// Kind of a verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    /// The word is nearly always a verb.
    Strong,
    /// The word may be a noun.
    Weak,
    /// The word is a verb that adds a condition to the action before it.
    Holding,
}

/// Returns the kind of verb of a word in its base form, if it is a verb.
pub(super) fn verb(word: &str) -> Option<Verb> {
    let is_in = |list: &str| list.split_ascii_whitespace().any(|verb| verb == word);
    if HOLDING.contains(&word) {
        Some(Verb::Holding)
    } else if is_in(STRONG) {
        Some(Verb::Strong)
    } else if is_in(WEAK) {
        Some(Verb::Weak)
    } else {
        None
    }
}

/// Returns the kind of verb of an `-ing` form.
pub(super) fn gerund(word: &str) -> Option<Verb> {
    let stem = word.strip_suffix("ing").filter(|stem| stem.len() > 1)?;
    let doubled = stem.chars().rev().nth(1).filter(|c| stem.ends_with(*c)).map(|_| &stem[..stem.len() - 1]);
    let bases = [Some(stem.to_owned()), Some(format!("{stem}e")), doubled.map(ToOwned::to_owned)];
    bases.into_iter().flatten().find_map(|base| verb(&base))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_are_known_in_both_forms() {
        for (word, form, kind) in [
            ("add", "adding", Verb::Strong),
            ("remove", "removing", Verb::Strong),
            ("trim", "trimming", Verb::Strong),
            ("test", "testing", Verb::Weak),
            ("keep", "keeping", Verb::Holding),
        ] {
            assert_eq!((verb(word), gerund(form)), (Some(kind), Some(kind)), "{word}");
        }
        for word in ["parser", "ring", "ing", "string", "thing", ""] {
            assert_eq!((verb(word), gerund(word)), (None, None), "{word}");
        }
    }
}
