//! Runs commands of this binary in the scratch folder and prints their output as it comes.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use switchboard_process::lines::{self, Lines};
use switchboard_process::spawn::{Exit, Spawn};
use switchboard_protocol::error::Failure;
use tokio::io::{AsyncRead, BufReader};
use tokio::runtime::{Builder, Runtime};

use super::catalog::Answered;
use super::scratch::Scratch;
use crate::context::Context;
use crate::output::Tone;
use crate::report::Ending;

/// Interval between two checks for signals.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How long an interrupted command may take to end.
const EXIT_GRACE: Duration = Duration::from_secs(5);

/// Maximum wait for the daemon's end.
const DOWN: Duration = Duration::from_secs(30);

/// Maximum length of a command's line that is shown, in bytes.
const MAX_LINE_BYTES: usize = 1 << 20;

/// Runs the commands of an example; when dropped, it ends the daemon of the scratch folder.
pub(super) struct Stage<'a> {
    scratch: &'a Scratch,
    context: &'a mut Context,
    runtime: Runtime,
    signals: Signals,
    /// Answers that a person gives.
    person: &'static [Answered],
}

/// A line of a command's output.
enum Line {
    Out(String),
    Err(String),
}

// === impl Stage ===

impl<'a> Stage<'a> {
    pub(super) fn new(scratch: &'a Scratch, context: &'a mut Context) -> Result<Self, Failure> {
        let bug = |error: std::io::Error| Failure::new("internal.bug", "the example can't be staged").because(&error);
        let runtime = Builder::new_current_thread().enable_all().build().map_err(bug)?;
        let signals = Signals::new([SIGINT, SIGTERM]).map_err(bug)?;
        Ok(Self { scratch, context, runtime, signals, person: &[] })
    }

    /// Prints a line between the commands.
    pub(super) fn say(&mut self, line: &str) {
        if self.context.json {
            self.context.out.json(&serde_json::json!({ "note": line }));
        } else {
            self.context.out.line(format!("\n{line}"));
        }
    }

    /// Runs a command and shows its output; returns its exit code.
    pub(super) fn show(&mut self, args: &[&str]) -> Result<i32, Ending> {
        self.show_and_keep(args).map(|(code, _)| code)
    }

    /// Runs a command, shows its output and answers its questions as a person would; returns its exit code.
    pub(super) fn show_answered(&mut self, args: &[&str], person: &'static [Answered]) -> Result<i32, Ending> {
        self.person = person;
        let done = self.show(args);
        self.person = &[];
        done
    }

    /// Runs a command and shows its output; returns its exit code and its standard output.
    pub(super) fn show_and_keep(&mut self, args: &[&str]) -> Result<(i32, String), Ending> {
        if !self.context.json {
            let line = format!("\n$ switchboard {}", args.join(" "));
            let line = self.context.out.paint(Tone::Strong, &line);
            self.context.out.line(line);
        }
        self.run(args, true)
    }

    /// Runs a command that must succeed, without showing its output.
    pub(super) fn quiet(&mut self, args: &[&str]) -> Result<(), Ending> {
        match self.run(args, false)? {
            (0, _) => Ok(()),
            (code, said) => {
                let what = format!("switchboard {} ended with {code}: {}", args.join(" "), said.trim());
                Err(Failure::new("internal.bug", what).into())
            }
        }
    }

    fn spawn(&self, args: &[&str]) -> Spawn {
        let program = self.context.environment.program.display().to_string();
        let json = self.context.json.then_some("--json");
        let argv = [program.as_str()].into_iter().chain(args.iter().copied()).chain(json);
        // Starting the example is consent to all of its steps: they change nothing outside the scratch folder.
        Spawn::new(argv).cwd(&self.scratch.repo).env_only(self.scratch.env.clone().set("CI", "1"))
    }

    fn run(&mut self, args: &[&str], shown: bool) -> Result<(i32, String), Ending> {
        let spawn = self.spawn(args);
        let answering = (!self.person.is_empty()).then(|| Answering {
            scratch: self.scratch,
            program: self.context.environment.program.clone(),
            person: self.person,
        });
        let (context, signals) = (&mut *self.context, &mut self.signals);
        self.runtime.block_on(async {
            let mut child = spawn.piped().map_err(|error| error.failure())?;
            drop(child.stdin.take());
            let mut out = lines(child.stdout.take());
            let mut err = lines(child.stderr.take());
            let mut said = String::new();
            loop {
                let line = tokio::select! {
                    Some(line) = next(&mut out) => Line::Out(line),
                    Some(line) = next(&mut err) => Line::Err(line),
                    () = tokio::time::sleep(POLL_INTERVAL), if out.is_some() || err.is_some() => {
                        if signals.pending().next().is_some() {
                            child.terminate(EXIT_GRACE).await;
                            return Err(Ending::Signal(130));
                        }
                        continue;
                    }
                    else => break,
                };
                tell(&line, shown, &mut said, context);
                let asks = answering.as_ref().filter(|_| asks(&line));
                let answered = asks.map(Answering::answer).transpose()?.unwrap_or_default();
                for command in answered {
                    tell(&Line::Out(command), shown && !context.json, &mut said, context);
                }
            }
            match child.wait().await.exit {
                Exit::Exited(code) => Ok((code, said)),
                Exit::Signalled(signal) => Ok((128 + signal, said)),
            }
        })
    }
}

/// Returns true if a line asks a person.
fn asks(line: &Line) -> bool {
    let (Line::Out(line) | Line::Err(line)) = line;
    line.contains("switchboard answer need_") || line.contains("\"kind\":\"need_asked\"")
}

/// Answers a command's questions as a person would.
struct Answering<'a> {
    scratch: &'a Scratch,
    program: PathBuf,
    person: &'static [Answered],
}

// === impl Answering ===

impl Answering<'_> {
    /// Answers the open question, if the example has an answer to it; first trusts what the question names. Returns the commands.
    fn answer(&self) -> Result<Vec<String>, Failure> {
        let needs = self.run(&["needs", "--json"])?;
        let needs: Value = serde_json::from_str(&needs).unwrap_or_default();
        let need = &needs["needs"][0];
        let (title, detail) = (need["title"].as_str().unwrap_or_default(), need["detail"].as_str().unwrap_or_default());
        let Some(answer) = self.person.iter().find(|answer| title.starts_with(answer.asked)) else {
            return Ok(Vec::new());
        };
        let trusts =
            detail.split_once("switchboard trust ").map(|(_, path)| path.split_whitespace().next().unwrap_or_default());
        let id = need["id"].as_str().unwrap_or_default();
        let mut commands: Vec<Vec<&str>> = trusts.map(|path| vec!["trust", path, "--yes"]).into_iter().collect();
        commands.push(vec!["answer", id, answer.option, "--yes"]);
        let mut told = Vec::new();
        for command in commands {
            self.run(&command)?;
            told.push(format!("$ switchboard {}", command.join(" ")));
        }
        Ok(told)
    }

    fn run(&self, args: &[&str]) -> Result<String, Failure> {
        let program = self.program.display().to_string();
        let argv = [program.as_str()].into_iter().chain(args.iter().copied());
        let spawn = Spawn::new(argv).cwd(&self.scratch.repo).env_only(self.scratch.env.clone().set("CI", "1"));
        let output = spawn.wall(DOWN).output().map_err(|error| error.failure())?;
        let said = output.stdout.text();
        match output.succeeded() {
            true => Ok(said),
            // Already answered: another line of the same question was read first.
            false if output.stderr.text().contains("need.settled") => Ok(said),
            false => {
                let what = format!("switchboard {} failed: {}", args.join(" "), output.stderr.text().trim());
                Err(Failure::new("internal.bug", what))
            }
        }
    }
}

impl Drop for Stage<'_> {
    fn drop(&mut self) {
        // The daemon also ends by itself after a while; if ending it fails, only the user can be informed.
        let ended = self.spawn(&["down"]).wall(DOWN).output();
        if !ended.is_ok_and(|output| output.succeeded()) {
            self.say("the daemon could not be ended; it ends by itself after 15 minutes");
        }
    }
}

/// Output of a command, until its end.
type Stream = Option<(BufReader<Box<dyn AsyncRead + Unpin>>, Lines)>;

fn lines<R: AsyncRead + Unpin + 'static>(stream: Option<R>) -> Stream {
    stream.map(|stream| (BufReader::new(Box::new(stream) as _), Lines::new(MAX_LINE_BYTES)))
}

/// Returns the next line; `None` once the stream has ended.
async fn next(stream: &mut Stream) -> Option<String> {
    let (reader, lines) = stream.as_mut()?;
    let rest = match lines.read_async(reader).await {
        Ok(lines::Line::Whole(line)) => return Some(String::from_utf8_lossy(&line).into_owned()),
        Ok(lines::Line::TooLong) => return Some("(a line that is too long)".to_owned()),
        Ok(lines::Line::End(rest)) => rest,
        Err(_) => Vec::new(),
    };
    *stream = None;
    (!rest.is_empty()).then(|| String::from_utf8_lossy(&rest).into_owned())
}

fn tell(line: &Line, shown: bool, said: &mut String, context: &mut Context) {
    match line {
        Line::Out(line) => {
            if shown {
                context.out.line(line);
            }
            said.push_str(line);
            said.push('\n');
        }
        Line::Err(line) if shown => eprintln!("{line}"),
        Line::Err(line) => {
            said.push_str(line);
            said.push('\n');
        }
    }
}
