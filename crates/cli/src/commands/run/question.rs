//! Questions of workers, answered in place by the person at the terminal.

use std::collections::VecDeque;
use std::io::BufRead as _;
use std::sync::mpsc::{Receiver, sync_channel};

use switchboard_protocol::error::Failure;
use switchboard_protocol::id::{NeedId, RunId};
use switchboard_protocol::need::{NeedAbout, NeedEvent};
use switchboard_protocol::verb::need::{Approve, Deny, ResolveRequest};

use crate::client::Client;
use crate::output::{Output, Tone, plain};

/// Lines of a command or a diff that are shown.
const SHOWN: usize = 60;

/// Lines that were typed and not read yet.
const TYPED: usize = 16;

/// The open questions of a run, the oldest first, and what the person types.
pub(super) struct Questions {
    typed: Receiver<String>,
    open: VecDeque<NeedId>,
}

// === impl Questions ===

impl Questions {
    /// Listens to standard input. The thread ends with the input, or with the process: nothing else can end a read of a terminal.
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

    /// The lines that ask: what it is about, coloured as a diff, and how to answer. Other events have none.
    pub(super) fn hear(&mut self, fact: &NeedEvent, detail: &str, run: &RunId, out: &Output) -> Vec<String> {
        match fact {
            NeedEvent::NeedAsked { id, about: NeedAbout::Permission { run: of, .. }, .. } if of == run => {
                if self.open.is_empty() {
                    // What was typed before a question is no answer to it.
                    while self.typed.try_recv().is_ok() {}
                }
                self.open.push_back(id.clone());
                let mut lines: Vec<_> = plain(detail).lines().take(SHOWN).map(|line| shown(line, out)).collect();
                if detail.lines().count() > SHOWN {
                    lines.push(format!("    … all of it: switchboard needs {id}"));
                }
                if self.open.len() == 1 {
                    lines.push(prompt(id));
                }
                lines
            }
            NeedEvent::NeedAsked { .. } => Vec::new(),
            NeedEvent::NeedSettled { id, .. } => {
                let asked = self.open.front().cloned();
                self.open.retain(|open| open != id);
                let next = self.open.front().filter(|next| Some(*next) != asked.as_ref());
                next.map(prompt).into_iter().collect()
            }
        }
    }

    /// Answers the oldest open question with what was typed since; returns what to say of it.
    pub(super) fn answer(&mut self, client: &mut Client) -> Result<Option<String>, Failure> {
        let Ok(typed) = self.typed.try_recv() else { return Ok(None) };
        let Some(id) = self.open.front().cloned() else { return Ok(None) };
        let request = ResolveRequest { id: id.to_string() };
        let answered = match typed.trim().to_lowercase().as_str() {
            "y" | "yes" => client.call::<Approve>(&request),
            "n" | "no" => client.call::<Deny>(&request),
            _ => return Ok(Some(prompt(&id))),
        };
        match answered {
            Ok(_) => Ok(None),
            // Somebody else was faster.
            Err(failure) if failure.code == "need.settled" => Ok(None),
            Err(failure) => Err(failure),
        }
    }
}

fn prompt(id: &NeedId) -> String {
    format!("    allow it? y / n   ({id})")
}

fn shown(line: &str, out: &Output) -> String {
    let tone = match line.as_bytes().first() {
        Some(b'+') => Tone::Good,
        Some(b'-') => Tone::Bad,
        Some(_) | None => Tone::Faint,
    };
    out.paint(tone, &format!("    {line}"))
}
