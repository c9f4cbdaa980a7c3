//! Flattens settings of configuration files, and judges how a change alters them.

use std::collections::BTreeMap;

use super::changed_file::ChangedFile;
use super::hit::{Consequence, Hit};

/// Values of settings by their dotted names.
pub(super) type Settings = BTreeMap<String, String>;

/// Parts of setting names whose numbers concern layout or the version of a tool.
const LAYOUT: [&str; 10] =
    ["linelength", "maxlen", "width", "indent", "tabsize", "tabs", "spaces", "version", "edition", "year"];
/// Parts of setting names where a larger number is stricter.
const FLOORS: [&str; 2] = ["min", "failunder"];
/// Parts of setting names where a smaller number is stricter.
const CEILINGS: [&str; 3] = ["max", "threshold", "complexity"];

/// A setting that the change alters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setting<'a> {
    pub(super) name: &'a str,
    pub(super) before: Option<&'a str>,
    pub(super) after: Option<&'a str>,
}

pub(super) fn different<'a>(before: &'a Settings, after: &'a Settings) -> Vec<Setting<'a>> {
    let names = before.keys().chain(after.keys().filter(|name| !before.contains_key(*name)));
    let setting = |name: &'a String| Setting {
        name,
        before: before.get(name).map(String::as_str),
        after: after.get(name).map(String::as_str),
    };
    names.map(setting).filter(|setting| setting.before != setting.after).collect()
}

/// Makes a hit about one setting.
pub(super) fn setting(file: &ChangedFile, rule: &'static str, consequence: Consequence, of: &Setting<'_>) -> Hit {
    let cut = |value: &str| -> String { switchboard_secrets::redact(value).chars().take(60).collect() };
    let what = match (of.before, of.after) {
        (None, Some(after)) => format!("is new: {}", cut(after)),
        (Some(before), None) => format!("was taken out, before: {}", cut(before)),
        (Some(before), Some(after)) => format!("is {}, before: {}", cut(after), cut(before)),
        (None, None) => String::new(),
    };
    let last = of.name.rsplit('.').next().unwrap_or(of.name);
    let text = file.texts().1;
    let at = text.find(last).map_or(0..0, |at| at..at + last.len());
    Hit::new(rule, consequence, &file.path, at, format!("the setting `{}` {what}", of.name))
}

/// Flattens TOML into settings; returns `None` if it is invalid.
pub(super) fn toml(text: &str) -> Option<Settings> {
    let value: serde_json::Value = toml_edit::de::from_str(text).ok()?;
    Some(flat(&value))
}

/// Flattens a value into settings by their dotted names; a list of plain values stays one setting.
pub(super) fn flat(value: &serde_json::Value) -> Settings {
    fn add(name: &str, value: &serde_json::Value, into: &mut Settings) {
        let below = |key: &str| if name.is_empty() { key.to_owned() } else { format!("{name}.{key}") };
        match value {
            serde_json::Value::Object(map) => map.iter().for_each(|(key, value)| add(&below(key), value, into)),
            serde_json::Value::Array(list) if list.iter().any(serde_json::Value::is_object) => {
                list.iter().enumerate().for_each(|(at, value)| add(&below(&at.to_string()), value, into));
            }
            serde_json::Value::String(text) => drop(into.insert(name.to_owned(), text.clone())),
            plain @ (serde_json::Value::Null
            | serde_json::Value::Bool(_)
            | serde_json::Value::Number(_)
            | serde_json::Value::Array(_)) => drop(into.insert(name.to_owned(), plain.to_string())),
        }
    }
    let mut settings = Settings::new();
    add("", value, &mut settings);
    settings
}

/// Returns whether a list kept all of its items.
pub(super) fn keeps_all(before: &str, after: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        text.split([' ', '\n', '[', ']', ',', '"']).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    let new = words(after);
    words(before).iter().all(|word| new.contains(word))
}

/// Returns whether the change to a setting's number may make it less strict. True for any change, unless it is known to
/// be stricter or the setting concerns layout.
pub(super) fn moves_threshold(key: &str, before: &str, after: &str) -> bool {
    let key: String = key.chars().filter(char::is_ascii_alphabetic).map(|c| c.to_ascii_lowercase()).collect();
    let has = |parts: &[&str]| parts.iter().any(|part| key.contains(part));
    if key == "rev" || has(&LAYOUT) {
        return false;
    }
    let (old, new) = (numbers(before), numbers(after));
    let is_stricter = match (&old[..], &new[..]) {
        ([old], [new]) => has(&FLOORS) && new > old || has(&CEILINGS) && new < old,
        _ => false,
    };
    old != new && !is_stricter
}

/// Returns the numbers in a value, without those of a comment behind it.
fn numbers(value: &str) -> Vec<f64> {
    let value = value.split(" #").next().unwrap_or(value).split("//").next().unwrap_or(value);
    // `E501` is not a number.
    let words = value.split(|c: char| !c.is_alphanumeric() && !['.', '_'].contains(&c));
    words.filter_map(|word| word.trim_matches('.').parse().ok()).collect()
}

/// Returns whether two command lines differ only in words that change neither what runs nor what counts as a failure.
pub(super) fn is_harmless(before: &str, after: &str) -> bool {
    const HARMLESS: [&str; 24] = [
        "-v",
        "-vv",
        "-q",
        "-ra",
        "-rA",
        "-rs",
        "--verbose",
        "--quiet",
        "--silent",
        "--coverage",
        "--cov",
        "--tb",
        "--durations",
        "--color",
        "--colors",
        "--no-color",
        "--test-reporter",
        "--reporter",
        "--experimental-test-coverage",
        "--strict-markers",
        "--strict-config",
        "--no-warnings",
        "--nocapture",
        "--show-output",
    ];
    let words = |text: &str| -> Vec<String> {
        text.split([' ', '\n', ',', '"', '[', ']', '\'']).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    let (old, new) = (words(before), words(after));
    let is_known = |word: &String| {
        let name = word.split('=').next().unwrap_or(word);
        HARMLESS.contains(&name) || name.starts_with("--cov")
    };
    let changed = new.iter().filter(|word| !old.contains(word)).chain(old.iter().filter(|word| !new.contains(word)));
    let mut changed = changed.peekable();
    changed.all(is_known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_moves_may_let_more_through_unless_it_is_stricter_or_of_layout() {
        for (key, before, after) in [
            ("fail_under", "90", "1"),
            ("max-complexity", "10", "50"),
            ("level", "3", "2"),
            ("complexity", "[2, 9]", "[0, 9]"),
        ] {
            assert!(moves_threshold(key, before, after), "{key}");
        }
        for (key, before, after) in [
            ("fail_under", "90", "95.5 # of 100"),
            ("max-complexity", "10", "8"),
            ("max-line-length", "80", "100"),
            ("rev", "1.2.3", "1.3.0"),
            ("level", "3", "3 // the same"),
            ("select", "[\"E501\"]", "[\"E501\",\"W605\"]"),
        ] {
            assert!(!moves_threshold(key, before, after), "{key}");
        }
    }

    #[test]
    fn a_flag_of_layout_is_harmless_and_one_that_chooses_tests_is_not() {
        assert!(is_harmless("node --test", "node --test --test-reporter=spec"));
        assert!(is_harmless("-q", "-ra --strict-markers"));
        for bad in ["node --test || true", "true", "node --test -k x", "echo node --test", "node --test; exit 0"] {
            assert!(!is_harmless("node --test", bad), "{bad}");
        }
    }
}
