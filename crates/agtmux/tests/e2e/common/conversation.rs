//! The conversation of a composer that reads what its hooks print: the record that it keeps, and the hooks themselves.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::environment::AGTMUX;

pub(super) struct Conversation {
    session: String,
    transcript: PathBuf,
}

impl Conversation {
    /// Begins one, and says so where Claude Code does: in a file that names the process.
    pub(super) fn begin() -> Self {
        let pid = std::process::id();
        let config = PathBuf::from(std::env::var_os("HOME").unwrap()).join(".claude");
        let session = format!("composer-{pid}");
        let transcript = config.join(format!("projects/p/{session}.jsonl"));
        for path in [config.join("sessions"), transcript.parent().unwrap().to_owned()] {
            fs::create_dir_all(path).unwrap();
        }
        fs::write(&transcript, "").unwrap();
        let stat = fs::read_to_string("/proc/self/stat").unwrap();
        let start = stat.rsplit(") ").next().unwrap().split(' ').nth(19).unwrap();
        let record = json!({ "pid": pid, "procStart": start, "sessionId": session });
        fs::write(config.join(format!("sessions/{pid}.json")), record.to_string()).unwrap();
        Self { session, transcript }
    }

    /// Somebody gives the agent a prompt. Says whether the model is given it.
    pub(super) fn prompt(&self, text: &str) -> bool {
        self.hook("UserPromptSubmit", &json!({ "prompt": text }))["decision"] != "block"
    }

    /// The agent wants to end its turn. Gives what it was told instead, each time that it was.
    pub(super) fn stop(&self) -> Vec<String> {
        let mut told = Vec::new();
        loop {
            let answer = self.hook("Stop", &json!({ "stop_hook_active": !told.is_empty(), "background_tasks": [] }));
            let Some(text) = answer["hookSpecificOutput"]["additionalContext"].as_str() else { return told };
            self.record(&json!({ "type": "attachment", "isSidechain": false,
                "attachment": { "type": "hook_additional_context", "content": [text], "hookEvent": "Stop" } }));
            told.push(text.to_owned());
        }
    }

    /// Somebody has interrupted the turn, which no hook tells.
    pub(super) fn interrupted(&self) {
        self.record(&json!({ "type": "user", "message": { "content": "[Request interrupted by user]" } }));
    }

    fn record(&self, line: &Value) {
        let mut file = OpenOptions::new().append(true).open(&self.transcript).unwrap();
        file.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// Runs the hook that `agtmux setup` gives to Claude Code, and waits for it.
    fn hook(&self, event: &str, rest: &Value) -> Value {
        let mut payload =
            json!({ "session_id": self.session, "transcript_path": self.transcript, "hook_event_name": event });
        payload.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        let mut command = Command::new(AGTMUX);
        command.args(["hook", "claude", event]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut hook = command.spawn().unwrap();
        hook.stdin.take().unwrap().write_all(payload.to_string().as_bytes()).unwrap();
        let said = hook.wait_with_output().unwrap().stdout;
        if said.is_empty() { Value::Null } else { serde_json::from_slice(&said).unwrap() }
    }
}
