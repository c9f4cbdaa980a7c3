//! The scripted agent's loop: answers the client while a turn plays.

use std::path::PathBuf;
use std::pin::Pin;
use std::process::ExitCode;

use serde_json::{Value, json};
use tokio::sync::watch;

use super::name::{GREETING, NAME};
use super::play::{Ending, Player};
use super::rpc::{self, Out};
use super::text::{PromptKey, Script, headline};
use super::tools::Tools;
use crate::Result;

type Playing = Pin<Box<dyn Future<Output = (Player, Ending)>>>;

struct Server {
    script: Script,
    file: String,
    out: Out,
    cancel: watch::Sender<bool>,
    /// `None` before `session/new` and while a turn plays.
    player: Option<Player>,
    turn: u32,
}

/// Serves until the client closes the input, or a step ends the process.
pub(super) async fn serve(script: Script, file: String) -> Result<ExitCode> {
    let mut incoming = rpc::incoming()?;
    let (cancel, _) = watch::channel(false);
    let mut server = Server { script, file, out: Out::default(), cancel, player: None, turn: 0 };
    let mut playing: Option<(Value, Playing)> = None;
    loop {
        tokio::select! {
            message = incoming.recv() => {
                let Some(message) = message else { return Ok(ExitCode::SUCCESS) };
                if let Some(started) = server.handle(message).await {
                    playing = Some(started);
                }
            }
            (player, ending) = played(&mut playing) => {
                let id = playing.take().map(|(id, _)| id).unwrap_or_default();
                server.player = Some(player);
                match ending {
                    Ending::Stop(reason) => server.out.answer(&id, &Ok(json!({ "stopReason": reason }))),
                    Ending::Failed(why) => server.out.answer(&id, &Err(why)),
                    Ending::Exit(code) => return Ok(ExitCode::from(code)),
                }
            }
        }
    }
}

async fn played(playing: &mut Option<(Value, Playing)>) -> (Player, Ending) {
    match playing {
        Some((_, playing)) => playing.await,
        None => std::future::pending().await,
    }
}

// === impl Server ===

impl Server {
    async fn handle(&mut self, message: Value) -> Option<(Value, Playing)> {
        let id = message.get("id").cloned();
        let Some(method) = message.get("method").and_then(Value::as_str) else {
            self.out.answered(&id?, message["result"].clone());
            return None;
        };
        let params = &message["params"];
        match (method, id) {
            ("initialize", Some(id)) => self.out.answer(&id, &Ok(self.introduce())),
            ("session/new", Some(id)) => {
                let opened = self.open(params).await;
                self.out.answer(&id, &opened);
            }
            ("session/prompt", Some(id)) => match self.player.take() {
                Some(player) => return Some((id, self.play(player, params))),
                None => self.out.answer(&id, &Err("there is no session, or a turn runs".to_owned())),
            },
            ("session/cancel", None) => drop(self.cancel.send_replace(true)),
            (method, Some(id)) => self.out.answer(&id, &Err(format!("{method} is not offered"))),
            (_, None) => {}
        }
        None
    }

    fn introduce(&self) -> Value {
        json!({
            "protocolVersion": 1,
            "agentCapabilities": { "promptCapabilities": {}, "mcpCapabilities": {} },
            "authMethods": [],
            "agentInfo": { "name": NAME, "title": "Scripted agent (no model)", "version": env!("CARGO_PKG_VERSION") },
            "_meta": { "scripted": true, "script": self.file },
        })
    }

    async fn open(&mut self, params: &Value) -> Result<Value, String> {
        let cwd = PathBuf::from(params["cwd"].as_str().unwrap_or_default());
        if !cwd.is_absolute() || !cwd.is_dir() {
            return Err("cwd is not an absolute path of a folder".to_owned());
        }
        let tools = Tools::start(&params["mcpServers"], &cwd).await?;
        self.player = Some(Player::new(self.out.clone(), cwd, tools));
        Ok(json!({ "sessionId": "script-1" }))
    }

    fn play(&mut self, mut player: Player, params: &Value) -> Playing {
        self.turn += 1;
        let turn = self.turn;
        let blocks = params["prompt"].as_array().map(Vec::as_slice).unwrap_or_default();
        let prompt = blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n");
        let (task, attempt) = about(&prompt);
        let step = switchboard_process::env::var("SWITCHBOARD_STEP");
        let section = self
            .script
            .section(&PromptKey { task: &task, step: step.as_deref(), attempt, turn, prompt: &prompt })
            .cloned();
        self.cancel.send_replace(false);
        let cancelled = self.cancel.subscribe();
        let file = self.file.clone();
        Box::pin(async move {
            if turn == 1 {
                player.say(GREETING);
            }
            let ending = match section {
                Some(section) => player.play(&section.steps, &task, attempt, cancelled).await,
                None if turn > 1 => {
                    player.say("Noted.");
                    Ending::Stop("end_turn")
                }
                None => Ending::Failed(format!("{file} says nothing about task {task}, attempt {attempt}")),
            };
            (player, ending)
        })
    }
}

/// Returns task and attempt of a prompt: from the environment, else from its first line.
fn about(prompt: &str) -> (String, u32) {
    let from_prompt = headline(prompt);
    let task = switchboard_process::env::var("SWITCHBOARD_TASK")
        .or_else(|| from_prompt.as_ref().map(|(task, _)| task.clone()));
    let attempt = switchboard_process::env::var("SWITCHBOARD_ATTEMPT").and_then(|attempt| attempt.parse().ok());
    (task.unwrap_or_default(), attempt.or(from_prompt.map(|(_, attempt)| attempt)).unwrap_or(1))
}
