//! `switchboard call`

use std::borrow::Cow;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value};
use switchboard_protocol::answer::outline_of;
use switchboard_protocol::error::{Failure, near_matches};
use switchboard_protocol::verb::{Access, Row, table};
use switchboard_protocol::wire::MAX_LINE_BYTES;

use crate::choices::choices;
use crate::client::new_key;
use crate::context::Context;
use crate::output::Table;
use crate::report::Outcome;

/// Width of a verb's help in columns.
const HELP: usize = 80;
/// Indent of the text below a field's name.
const BELOW: &str = "      ";

/// Call any verb by its name and print its reply as JSON
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Args {
    /// The verb; all verbs when left out
    verb: Option<String>,
    /// `key=value` (JSON where it parses, else text), `key:=json`, or `-` for a JSON object on standard input. `@FILE` for
    /// a value is the content of a file, `@-` that of standard input, and `@@` an at sign
    args: Vec<String>,
    /// Idempotency key: the same key and arguments return the first answer again
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Wait at most so many seconds for the answer
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    wait: u64,
    /// Print the verb's request and reply
    #[arg(long, short)]
    help: bool,
}

/// Calls a verb, or lists the verbs.
pub(crate) fn run(args: Args, context: &mut Context) -> Outcome {
    let rows = table();
    let Some(verb) = &args.verb else {
        list(&rows, context);
        if args.help && !context.json {
            context.out.line("");
            context.out.line("what a verb takes: switchboard call VERB --help; flags: switchboard help call");
        }
        return Ok(());
    };
    let row = rows.iter().find(|row| row.name == verb.as_str()).ok_or_else(|| unknown(verb, &rows))?;
    if args.help {
        describe(row, context);
        return Ok(());
    }
    let request = arguments(&args.args, &row.request.value(), context.folder())?;
    let key = match args.key {
        Some(key) => Some(key),
        None if row.effect == Access::Read => None,
        None => Some(new_key()?),
    };
    let limit = Duration::from_secs(args.wait.clamp(1, 3600));
    let reply = context.daemon()?.call_value(&row.name, request, key, limit)?;
    if context.json || !context.environment.stdout_is_terminal {
        context.out.json(&reply);
    } else {
        let text = serde_json::to_string_pretty(&reply);
        context.out.line(text.unwrap_or_else(|_| reply.to_string()));
    }
    Ok(())
}

fn list(rows: &[Row], context: &mut Context) {
    if context.json {
        rows.iter().for_each(|row| context.out.json(row));
        return;
    }
    let mut table = Table::new(&["VERB", "WHAT IT DOES"]);
    rows.iter().for_each(|row| table.row([row.name.as_ref(), row.about.as_ref()]));
    context.out.table(&table);
}

fn describe(row: &Row, context: &mut Context) {
    if context.json {
        context.out.json(row);
        return;
    }
    let width = context.out.width().unwrap_or(HELP).min(HELP);
    help(row, width).iter().for_each(|line| context.out.line(line));
}

/// Describes a verb, its request and its reply, in lines of at most `width` columns where its names allow that.
fn help(row: &Row, width: usize) -> Vec<String> {
    let mut lines = vec![format!("switchboard call {} [KEY=VALUE]...", row.name)];
    lines.extend(wrapped(row.about.as_ref(), "", "", width));
    for (title, schema) in [("takes", &row.request), ("gives", &row.reply)] {
        lines.extend([String::new(), format!("{title}:")]);
        lines.extend(fields(&schema.value(), width));
    }
    lines
}

/// Lists each field of an object: name, type, whether it is required, and its description below.
fn fields(schema: &Value, width: usize) -> Vec<String> {
    let required = |name: &str| schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
    let mut lines = Vec::new();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let kind = match (choices(field, &schema["$defs"]), &field["type"]) {
            (words, _) if !words.is_empty() => words.join(" | "),
            (_, Value::String(word)) => word.clone(),
            (_, Value::Array(words)) => words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
            (_, Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) => "object".to_owned(),
        };
        let needed = if required(name) { ", required" } else { "" };
        let about = field["description"].as_str().unwrap_or_default();
        lines.extend(wrapped(&format!("{name}: {kind}{needed}"), "  ", BELOW, width));
        lines.extend(wrapped(about, BELOW, BELOW, width));
        if let Some(form) = form(field, &schema["$defs"]) {
            lines.extend(wrapped(&form, BELOW, BELOW, width));
        }
    }
    if lines.is_empty() { vec!["  nothing".to_owned()] } else { lines }
}

/// Returns the form of an object, or of the objects in a list: `{id: text, note?: text}`.
fn form(field: &Value, definitions: &Value) -> Option<String> {
    let form = outline_of(field, definitions);
    let has_fields = form.trim_start_matches('[').starts_with('{') && form.contains(':');
    has_fields.then(|| format!("Form: {}", form.replace('|', " | ")))
}

/// Wraps a text at `width` columns, with the indent `first` before the first line and `rest` before the others.
fn wrapped(text: &str, first: &str, rest: &str, width: usize) -> Vec<String> {
    // Flags, paths and ids stay whole.
    let options = textwrap::Options::new(width)
        .initial_indent(first)
        .subsequent_indent(rest)
        .break_words(false)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.flat_map(|line| textwrap::wrap(line.trim(), &options)).map(std::borrow::Cow::into_owned).collect()
}

fn unknown(verb: &str, rows: &[Row]) -> Failure {
    let near = near_matches(verb, rows.iter().map(|row| row.name.as_ref()));
    let failure = Failure::new("request.unknown-verb", format!("there is no verb {verb}"));
    match near.as_slice() {
        [] => failure.hint("all verbs: switchboard call"),
        near => failure.hint(format!("did you mean {}?", near.join(" or "))),
    }
}

/// Parses `key=value` words into one object; later words win. A value stays text if its field takes only text. Files are
/// relative to `folder`.
pub(crate) fn arguments(words: &[String], schema: &Value, folder: &Path) -> Result<Value, Failure> {
    let mut object = Map::new();
    for word in words {
        if word == "-" {
            object.extend(object_of_input()?);
            continue;
        }
        let (key, value) = word.split_once('=').ok_or_else(|| bad(word, "expected key=value"))?;
        let value = content(word, value, folder)?;
        let (key, value) = match key.strip_suffix(':') {
            Some(key) => (key, serde_json::from_str(&value).map_err(|error| bad(word, &error.to_string()))?),
            None if schema["properties"][key]["type"] == "string" => (key, Value::String(value.into_owned())),
            None => (key, serde_json::from_str(&value).unwrap_or_else(|_| Value::String(value.into_owned()))),
        };
        object.insert(key.to_owned(), value);
    }
    Ok(Value::Object(object))
}

/// Returns what a value stands for: the text of a file (`@FILE`) or of standard input (`@-`), or itself, without the first
/// of two at signs.
fn content<'a>(word: &str, value: &'a str, folder: &Path) -> Result<Cow<'a, str>, Failure> {
    match value.strip_prefix('@') {
        None => Ok(value.into()),
        Some(rest) if rest.starts_with('@') => Ok(rest.into()),
        Some("-") => Ok(standard_input()?.into()),
        Some(file) => {
            let path = folder.join(file);
            let text = File::open(&path).and_then(text_of).map_err(|error| {
                let failure = bad(word, "the file can't be read").at(path.display().to_string()).because(&error);
                failure.hint(format!("a value that begins with an at sign: {}", word.replacen("=@", "=@@", 1)))
            })?;
            Ok(text.into())
        }
    }
}

fn object_of_input() -> Result<Map<String, Value>, Failure> {
    let text = standard_input()?;
    serde_json::from_str(&text).map_err(|error| bad("-", &format!("standard input is not a JSON object: {error}")))
}

fn standard_input() -> Result<String, Failure> {
    text_of(std::io::stdin())
        .map_err(|error| Failure::new("request.bad-args", "standard input can't be read").because(&error))
}

/// Reads a text that fits into a request.
fn text_of(source: impl Read) -> std::io::Result<String> {
    let mut text = String::new();
    source.take(MAX_LINE_BYTES as u64 + 1).read_to_string(&mut text)?;
    if text.len() > MAX_LINE_BYTES {
        return Err(std::io::Error::other(format!("it has more than {MAX_LINE_BYTES} bytes")));
    }
    Ok(text)
}

fn bad(word: &str, why: &str) -> Failure {
    Failure::new("request.bad-args", format!("{word:?}: {why}"))
        .hint("switchboard call send_message recipient=ada payload='are you there?'")
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use unicode_width::UnicodeWidthStr as _;

    use super::*;

    fn read(words: &[&str]) -> Result<Value, Failure> {
        let schema = json!({"properties": {"text": {"type": "string"}}});
        arguments(&words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>(), &schema, Path::new("/"))
    }

    #[test]
    fn a_value_with_an_at_sign_is_the_content_of_a_file() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("text"), "one\n{two}\n").unwrap();
        std::fs::write(folder.path().join("list"), "[1, 2]").unwrap();
        let schema = json!({"properties": {"text": {"type": "string"}}});
        let read = |words: &[&str]| {
            arguments(&words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>(), &schema, folder.path())
        };

        let read_all = read(&["text=@text", "a=@list", "b:=@list", "c=@text"]).unwrap();
        assert_eq!(read_all, json!({"text": "one\n{two}\n", "a": [1, 2], "b": [1, 2], "c": "one\n{two}\n"}));
        assert_eq!(read(&["text=@@text", "b=@@", "c=a@b"]).unwrap(), json!({"text": "@text", "b": "@", "c": "a@b"}));

        let missing = read(&["text=@nowhere"]).unwrap_err();
        assert_eq!(missing.code, "request.bad-args");
        assert!(missing.hint.contains("text=@@nowhere"));
        assert_eq!(read(&["b:=@text"]).unwrap_err().code, "request.bad-args");
    }

    #[test]
    fn values_are_json_where_they_parse_and_text_elsewhere() {
        let read = read(&["a=1", "b=one two", "c=true", r#"d=["x"]"#, "e=x=y", "f="]).unwrap();

        assert_eq!(read, json!({"a": 1, "b": "one two", "c": true, "d": ["x"], "e": "x=y", "f": ""}));
    }

    #[test]
    fn a_field_that_takes_only_text_is_never_read_as_json() {
        assert_eq!(read(&["text=5", "other=5"]).unwrap(), json!({"text": "5", "other": 5}));
    }

    #[test]
    fn a_colon_insists_on_json() {
        assert_eq!(read(&[r#"a:="1""#]).unwrap(), json!({"a": "1"}));
        assert_eq!(read(&["a:=one"]).unwrap_err().code, "request.bad-args");
    }

    #[test]
    fn a_word_without_an_equals_sign_is_refused() {
        assert_eq!(read(&["payload"]).unwrap_err().code, "request.bad-args");
    }

    #[test]
    fn the_help_of_a_verb_names_its_fields() {
        let rows = table();
        let row = rows.iter().find(|row| row.name == "ack_message").unwrap();

        let lines = [
            "  id: string, required",
            "      Id of the message.",
            "  lease_token: integer",
            "      Token of the delivery, if it came by receive_messages.",
            "  done: boolean",
            "      True if what it asks for is done, too.",
        ];
        assert_eq!(fields(&row.request.value(), HELP), lines);
    }

    #[test]
    fn the_help_of_every_verb_fits_80_columns_and_leaves_nothing_out() {
        for row in table() {
            let help = help(&row, 80);

            let wide: Vec<_> = help.iter().filter(|line| line.width() > 80).collect();
            assert_eq!(wide, Vec::<&String>::new(), "{}", row.name);
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ");
            let whole = words(&help.join(" "));
            for schema in [row.request.value(), row.reply.value()] {
                for (name, field) in schema["properties"].as_object().into_iter().flatten() {
                    let about = words(field["description"].as_str().unwrap_or_default());
                    assert!(whole.contains(&format!(" {name}: ")) && whole.contains(&about), "{}.{name}", row.name);
                }
            }
        }
    }

    #[test]
    fn the_help_of_a_verb_names_the_words_of_a_choice() {
        let rows = table();
        let row = rows.iter().find(|row| row.name == "send_message").unwrap();

        let help = fields(&row.request.value(), HELP).join(" ").split_whitespace().collect::<Vec<_>>().join(" ");

        assert!(help.contains("request_review | ") && help.contains("| execute"), "{help}");
        assert!(help.contains("normal | ") || help.contains("| normal"), "{help}");
    }

    #[test]
    fn a_misspelt_verb_gets_a_near_one() {
        let failure = unknown("send_mesage", &table());

        assert!(failure.hint.contains("send_message"), "{}", failure.hint);
    }
}
