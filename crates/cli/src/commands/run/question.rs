//! Lets the person at the terminal answer workers' questions while following a run.

use std::collections::VecDeque;
use std::io::BufRead as _;
use std::sync::mpsc::{Receiver, sync_channel};

use switchboard_protocol::error::Failure;
use switchboard_protocol::id::{NeedId, RunId};
use switchboard_protocol::need::{NeedAbout, NeedEvent, NeedKind};
use switchboard_protocol::verb::need::{Answer, AnswerRequest, Approve, Deny, ResolveRequest};

use crate::client::Client;
use crate::output::{Output, Tone, plain};

/// Maximum number of lines shown of a command or a diff.
const MAX_SHOWN_LINES: usize = 60;

/// Maximum number of typed lines that are not yet read.
const TYPED: usize = 16;

/// The open questions of a run, oldest first, and the lines that the person types.
pub(super) struct Questions {
    typed: Receiver<String>,
    open: VecDeque<Question>,
}

/// An open question.
#[derive(Clone, PartialEq)]
struct Question {
    id: NeedId,
    /// Kind of the question.
    kind: NeedKind,
    /// Ids of the question's options.
    options: Vec<String>,
}

// === impl Questions ===

impl Questions {
    /// Starts to read standard input. The thread ends with the input or the process, because nothing else can end a read from a terminal.
    pub(super) fn new() -> Self {
        let (sender, typed) = sync_channel(TYPED);
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { typed, open: VecDeque::new() }
    }

    /// Formats a question: its detail, coloured as a diff, and how to answer. Other events have no lines.
    pub(super) fn lines_about(&mut self, fact: &NeedEvent, detail: &str, run: &RunId, out: &Output) -> Vec<String> {
        match fact {
            NeedEvent::NeedAsked {
                id,
                about:
                    about @ (NeedAbout::Permission { run: of, .. }
                    | NeedAbout::Denied { run: of, .. }
                    | NeedAbout::Change { run: of, .. }
                    | NeedAbout::Team { run: of, .. }),
                options,
                ..
            } if of == run => {
                if self.open.is_empty() {
                    // Lines typed before a question do not answer it.
                    while self.typed.try_recv().is_ok() {}
                }
                let options = options.iter().map(|option| option.id.clone()).collect();
                let question = Question { id: id.clone(), kind: about.kind(), options };
                self.open.push_back(question.clone());
                let mut lines: Vec<_> =
                    plain(detail).lines().take(MAX_SHOWN_LINES).map(|line| shown(line, out)).collect();
                if detail.lines().count() > MAX_SHOWN_LINES {
                    lines.push(format!("    … all of it: switchboard needs {id}"));
                }
                if self.open.len() == 1 {
                    lines.push(question.prompt());
                }
                lines
            }
            NeedEvent::NeedAsked { .. } => Vec::new(),
            NeedEvent::NeedSettled { id, .. } => {
                let asked = self.open.front().cloned();
                self.open.retain(|open| open.id != *id);
                let next = self.open.front().filter(|next| Some(*next) != asked.as_ref());
                next.map(Question::prompt).into_iter().collect()
            }
        }
    }

    /// Answers the oldest open question with the line typed since; returns a line to print.
    pub(super) fn answer(&mut self, client: &mut Client) -> Result<Option<String>, Failure> {
        let Ok(typed) = self.typed.try_recv() else { return Ok(None) };
        let Some(question) = self.open.front().cloned() else { return Ok(None) };
        let request = ResolveRequest { id: question.id.to_string() };
        let typed = typed.trim();
        let answered = match typed.to_lowercase().as_str() {
            "y" | "yes" => client.call::<Approve>(&request),
            "n" | "no" => client.call::<Deny>(&request),
            "r" | "retry" if question.may_retry() => client.call::<Answer>(&retry(&question.id, None)),
            word if question.kind == NeedKind::Team && !word.is_empty() => {
                client.call::<Answer>(&words(&question, typed))
            }
            _ => match note(typed).filter(|_| question.may_retry()) {
                Some(note) => client.call::<Answer>(&retry(&question.id, Some(note))),
                None => return Ok(Some(question.prompt())),
            },
        };
        match answered {
            Ok(_) => Ok(None),
            // Another client has answered first.
            Err(failure) if failure.code == "need.settled" => Ok(None),
            Err(failure) => Err(failure),
        }
    }
}

// === impl Question ===

impl Question {
    fn prompt(&self) -> String {
        let id = &self.id;
        match self.kind {
            NeedKind::Denied => {
                format!("    allow it for this task? y / n, or r NOTE to try again without it   ({id})")
            }
            NeedKind::Change => format!("    may it be merged? y / n, or r NOTE to have it done differently   ({id})"),
            NeedKind::Merge => format!("    merge it into your branch? y / n   ({id})"),
            NeedKind::Team => format!("    y / n, or one of the words above   ({id})"),
            NeedKind::Permission | NeedKind::Call | NeedKind::DeadLetter | NeedKind::HeldMessage => {
                format!("    allow it? y / n   ({id})")
            }
        }
    }

    /// Returns true if the question is about a task that can also be tried again with a note.
    fn may_retry(&self) -> bool {
        matches!(self.kind, NeedKind::Denied | NeedKind::Change)
    }
}

/// Interprets the line typed for a team's question: an option's word, a word with a note, or an answer in free text.
fn words(question: &Question, typed: &str) -> AnswerRequest {
    let (first, rest) = typed.split_once(' ').unwrap_or((typed, ""));
    let note = Some(rest.trim().to_owned()).filter(|rest| !rest.is_empty());
    let offered = |word: &str| question.options.iter().any(|option| option == word);
    let (option, note) = match (offered(first), note) {
        (true, note) if note.is_none() || first == "revise" => (first, note),
        _ => ("text", Some(typed.to_owned())),
    };
    AnswerRequest { id: question.id.to_string(), option: option.to_owned(), note }
}

fn retry(id: &NeedId, note: Option<&str>) -> AnswerRequest {
    AnswerRequest { id: id.to_string(), option: "retry".to_owned(), note: note.map(str::to_owned) }
}

/// Returns the note of `r NOTE`; `None` for any other line.
fn note(typed: &str) -> Option<&str> {
    let note = typed.strip_prefix("r ").or_else(|| typed.strip_prefix("retry "))?.trim();
    (!note.is_empty()).then_some(note)
}

fn shown(line: &str, out: &Output) -> String {
    let tone = match line.as_bytes().first() {
        Some(b'+') => Tone::Good,
        Some(b'-') => Tone::Bad,
        Some(_) | None => Tone::Faint,
    };
    out.paint(tone, &format!("    {line}"))
}
