//! What was said in a conversation, from the records that agents keep of it: a JSON object per line.
//!
//! For people who want to read on what a screen no longer shows. Only what they would have seen themselves is told: what they
//! typed, what the agent said, which tools it used and what came of that. Instructions, reminders and thoughts are left out, and
//! so are conversations of agents below the main one.

use serde_json::Value;

/// Something that was said or done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Whose.
    pub who: Who,
    /// What, as it was written. It may have lines.
    pub text: String,
}

/// Whose an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// The person's.
    User,
    /// The agent's.
    Agent,
    /// A tool that the agent used, and on what.
    Tool,
    /// What came of that.
    Result,
    /// What the program itself remarked: an interruption, an error.
    Note,
}

impl Who {
    /// The mark in front of an entry.
    pub const fn mark(self) -> &'static str {
        match self {
            Self::User => "> ",
            Self::Agent => "",
            Self::Tool => "* ",
            Self::Result => "  | ",
            Self::Note => "! ",
        }
    }
}

impl Entry {
    fn new(who: Who, text: &str) -> Option<Self> {
        let text = text.trim_matches('\n').trim_end();
        (!text.trim().is_empty()).then(|| Self { who, text: text.to_owned() })
    }

    /// The entry as lines, each with its mark.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        self.text.lines().map(|line| format!("{}{line}", self.who.mark()))
    }
}

/// Whether the records of an agent can be read.
pub fn is_readable(agent: &str) -> bool {
    matches!(agent, "claude" | "codex" | "copilot" | "gemini")
}

/// What one line of an agent's record tells. Nothing for lines that nobody would have seen, and for agents whose records are not
/// known.
pub fn entries(agent: &str, line: &Value) -> Vec<Entry> {
    let entries = match agent {
        "claude" => claude(line),
        "codex" => codex(line),
        "copilot" => copilot(line),
        "gemini" => gemini(line),
        _ => Vec::new(),
    };
    entries.into_iter().flatten().collect()
}

/// The texts that an agent's record says its model was given in a person's place, or by hooks. Neither what the agent said nor
/// what its tools gave is among them, so that nobody can make it seem to have been given something.
pub fn given(agent: &str, line: &Value) -> Vec<String> {
    let by_hook = match (agent, line["attachment"]["type"].as_str()) {
        ("claude", Some("hook_additional_context")) if line["isSidechain"] != true => &line["attachment"]["content"],
        _ => &Value::Null,
    };
    let by_hook = blocks(by_hook).filter_map(Value::as_str).map(str::to_owned);
    let said = entries(agent, line).into_iter().filter(|entry| entry.who == Who::User).map(|entry| entry.text);
    said.chain(by_hook).collect()
}

fn claude(line: &Value) -> Vec<Option<Entry>> {
    let is = |name: &str| line[name].as_bool() == Some(true);
    if is("isSidechain") || is("isMeta") {
        return Vec::new();
    }
    let content = &line["message"]["content"];
    match line["type"].as_str() {
        Some("user") => match content {
            Value::String(text) => vec![said_by_user(text)],
            Value::Array(blocks) => blocks.iter().map(|block| claude_block(block, said_by_user)).collect(),
            _ => Vec::new(),
        },
        Some("assistant") => {
            let who = if is("isApiErrorMessage") { Who::Note } else { Who::Agent };
            blocks(content).map(|block| claude_block(block, |text| Entry::new(who, text))).collect()
        }
        _ => Vec::new(),
    }
}

fn claude_block(block: &Value, said: impl Fn(&str) -> Option<Entry>) -> Option<Entry> {
    match block["type"].as_str()? {
        "text" => said(block["text"].as_str()?),
        "tool_use" => Entry::new(Who::Tool, &tool(block["name"].as_str()?, &block["input"])),
        "tool_result" => Entry::new(Who::Result, &text_of(&block["content"])),
        _ => None,
    }
}

fn codex(line: &Value) -> Vec<Option<Entry>> {
    let payload = &line["payload"];
    let text = || text_of(&payload["content"]);
    let entry = match (line["type"].as_str(), payload["type"].as_str()) {
        (Some("response_item"), Some("message")) => match payload["role"].as_str() {
            Some("user") => said_by_user(&text()),
            Some("assistant") => Entry::new(Who::Agent, &text()),
            _ => None,
        },
        (Some("response_item"), Some("function_call" | "custom_tool_call" | "local_shell_call")) => {
            let given = payload["arguments"].as_str().or(payload["input"].as_str()).unwrap_or_default();
            let input = serde_json::from_str(given).unwrap_or_else(|_| Value::String(given.to_owned()));
            Entry::new(Who::Tool, &tool(payload["name"].as_str().unwrap_or("shell"), &input))
        }
        (Some("response_item"), Some("function_call_output" | "custom_tool_call_output")) => {
            Entry::new(Who::Result, &text_of(&payload["output"]))
        }
        (Some("event_msg"), Some("turn_aborted")) => Entry::new(Who::Note, "interrupted"),
        (Some("event_msg"), Some("task_complete")) => {
            payload["error"]["message"].as_str().and_then(|error| Entry::new(Who::Note, error))
        }
        _ => None,
    };
    vec![entry]
}

fn copilot(line: &Value) -> Vec<Option<Entry>> {
    let data = &line["data"];
    if line["agentId"].is_string() || data["parentToolCallId"].is_string() {
        return Vec::new();
    }
    let field = |name: &str| data[name].as_str().unwrap_or_default();
    let entry = match line["type"].as_str() {
        Some("user.message") => Entry::new(Who::User, field("content")),
        Some("assistant.message") => Entry::new(Who::Agent, field("content")),
        Some("tool.execution_start") => Entry::new(Who::Tool, &tool(field("toolName"), &data["arguments"])),
        Some("tool.execution_complete") => Entry::new(Who::Result, &text_of(&data["result"])),
        Some("abort") => Entry::new(Who::Note, "interrupted"),
        Some("session.error") => Entry::new(Who::Note, field("message")),
        _ => None,
    };
    vec![entry]
}

fn gemini(line: &Value) -> Vec<Option<Entry>> {
    let text = text_of(&line["content"]);
    match line["type"].as_str() {
        Some("user") => vec![said_by_user(&text)],
        Some("gemini") => {
            let tools = line["toolCalls"].as_array().map(Vec::as_slice).unwrap_or_default();
            // A call is written when it is made and once more when it is done; the second tells all.
            let done = tools.iter().filter(|call| call["status"].is_string());
            let told = done.flat_map(|call| {
                let name = call["name"].as_str().unwrap_or("tool");
                let result = text_of(&call["resultDisplay"]);
                [Entry::new(Who::Tool, &tool(name, &call["args"])), Entry::new(Who::Result, &result)]
            });
            std::iter::once(Entry::new(Who::Agent, &text)).chain(told).collect()
        }
        Some("info" | "error" | "warning") => vec![Entry::new(Who::Note, &text)],
        _ => Vec::new(),
    }
}

/// What stands in a person's place, unless the program put it there: those texts are wrapped in tags.
fn said_by_user(text: &str) -> Option<Entry> {
    let text = text.trim();
    if let Some(note) = text.strip_prefix("[Request interrupted by user") {
        return Entry::new(Who::Note, if note.is_empty() { "interrupted" } else { text });
    }
    const OF_THE_PROGRAM: [&str; 8] = [
        "<system-reminder>",
        "<environment_context>",
        "<session_context>",
        "<user_instructions>",
        "<local-command-",
        "<command-",
        "<task-notification>",
        "# AGENTS.md instructions",
    ];
    if OF_THE_PROGRAM.iter().any(|beginning| text.starts_with(beginning)) {
        return None;
    }
    Entry::new(Who::User, text)
}

fn blocks(content: &Value) -> impl Iterator<Item = &Value> {
    content.as_array().into_iter().flatten()
}

/// The text of a value: itself, or that of its parts.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts: Vec<_> = parts.iter().map(text_of).filter(|text| !text.is_empty()).collect();
            texts.join("\n")
        }
        Value::Object(fields) => {
            let told = ["text", "content", "output", "stdout"].iter().find_map(|name| fields.get(*name));
            told.map(text_of).unwrap_or_default()
        }
        _ => String::new(),
    }
}

/// A tool and what it was used on, on one line.
fn tool(name: &str, input: &Value) -> String {
    const TELLING: [&str; 9] =
        ["command", "cmd", "file_path", "path", "pattern", "query", "url", "description", "prompt"];
    let told = match input {
        Value::String(text) => text.clone(),
        Value::Object(fields) => {
            let telling = TELLING.iter().find_map(|name| fields.get(*name));
            telling.map_or_else(
                || input.to_string(),
                |value| value.as_str().map_or_else(|| value.to_string(), str::to_owned),
            )
        }
        Value::Null => String::new(),
        other => other.to_string(),
    };
    let told: String = told.lines().next().unwrap_or_default().chars().take(200).collect();
    format!("{name}({told})")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::entries;

    fn shown(agent: &str, lines: &[Value]) -> String {
        let entries: Vec<_> = lines.iter().flat_map(|line| entries(agent, line)).collect();
        entries.iter().flat_map(super::Entry::lines).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_conversation_with_claude() {
        let lines = [
            json!({"type": "user", "isSidechain": false, "message": {"content": "fix it\nplease"}}),
            json!({"type": "user", "message": {"content": "<command-name>/clear</command-name>"}}),
            json!({"type": "user", "isMeta": true, "message": {"content": "caveat"}}),
            json!({"type": "assistant", "message": {"content": [{"type": "thinking", "thinking": "hm"},
                {"type": "text", "text": "I look."}, {"type": "tool_use", "name": "Bash", "input": {"command": "ls -l\nwc", "description": "x"}}]}}),
            json!({"type": "user", "message": {"content": [{"type": "tool_result", "content": [{"type": "text", "text": "a\nb"}]}]}}),
            json!({"type": "assistant", "isSidechain": true, "message": {"content": [{"type": "text", "text": "below"}]}}),
            json!({"type": "assistant", "isApiErrorMessage": true, "message": {"content": [{"type": "text", "text": "API Error: 500"}]}}),
            json!({"type": "user", "message": {"content": [{"type": "text", "text": "[Request interrupted by user for tool use]"}]}}),
            json!({"type": "attachment", "rendered": [{"content": "<system-reminder>"}]}),
            json!(7),
        ];
        insta::assert_snapshot!(shown("claude", &lines), @r"
        > fix it
        > please
        I look.
        * Bash(ls -l)
          | a
          | b
        ! API Error: 500
        ! [Request interrupted by user for tool use]
        ");
    }

    #[test]
    fn a_conversation_with_codex() {
        let item = |payload: Value| json!({"type": "response_item", "payload": payload});
        let lines = [
            item(json!({"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "rules"}]})),
            item(
                json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "<environment_context>x"}]}),
            ),
            item(json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "say:hello"}]})),
            json!({"type": "event_msg", "payload": {"type": "item_completed", "item": {"type": "UserMessage", "content": [{"text": "say:hello"}]}}}),
            item(json!({"type": "function_call", "name": "shell", "arguments": "{\"command\":[\"ls\",\"-l\"]}"})),
            item(json!({"type": "function_call_output", "output": "done"})),
            item(
                json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hello"}]}),
            ),
            json!({"type": "event_msg", "payload": {"type": "turn_aborted", "reason": "interrupted"}}),
            json!({"type": "event_msg", "payload": {"type": "task_complete", "error": {"message": "429"}}}),
            json!({"type": "event_msg", "payload": {"type": "task_complete", "last_agent_message": "hello"}}),
        ];
        insta::assert_snapshot!(shown("codex", &lines), @r#"
        > say:hello
        * shell(["ls","-l"])
          | done
        hello
        ! interrupted
        ! 429
        "#);
    }

    #[test]
    fn a_conversation_with_copilot() {
        let lines = [
            json!({"type": "user.message", "data": {"content": "say:hello", "transformedContent": "<x>"}}),
            json!({"type": "system.message", "data": {"content": "You are"}}),
            json!({"type": "tool.execution_start", "data": {"toolName": "bash", "arguments": {"command": "ls"}}}),
            json!({"type": "tool.execution_complete", "data": {"result": {"content": "a"}}}),
            json!({"type": "assistant.message", "data": {"content": "hello", "toolRequests": []}}),
            json!({"type": "assistant.message", "agentId": "sub", "data": {"content": "below"}}),
            json!({"type": "abort", "data": {"reason": "user_abort"}}),
        ];
        insta::assert_snapshot!(shown("copilot", &lines), @r"
        > say:hello
        * bash(ls)
          | a
        hello
        ! interrupted
        ");
    }

    #[test]
    fn a_conversation_with_gemini() {
        let lines = [
            json!({"sessionId": "x", "kind": "main"}),
            json!({"$set": {"messages": [{"type": "user", "content": "<session_context>"}]}}),
            json!({"type": "user", "content": [{"text": "say:hello"}]}),
            json!({"type": "gemini", "content": "hello", "toolCalls": [
                {"name": "run", "args": {"command": "ls"}, "status": "success", "resultDisplay": "a"}]}),
            json!({"type": "info", "content": "Request cancelled."}),
        ];
        insta::assert_snapshot!(shown("gemini", &lines), @r"
        > say:hello
        hello
        * run(ls)
          | a
        ! Request cancelled.
        ");
    }

    /// An agent that repeats what it read was not given it by that (I25).
    #[test]
    fn only_what_stands_in_a_persons_place_was_given() {
        let given = |agent: &str, line: Value| super::given(agent, &line);
        let hook = |below: bool| json!({"type": "attachment", "isSidechain": below, "attachment": {"type": "hook_additional_context", "content": ["x"], "hookEvent": "Stop"}});
        let user = |content: Value| json!({"type": "user", "message": {"role": "user", "content": content}});
        assert_eq!(given("claude", user(json!("x\ny"))), ["x\ny"]);
        assert_eq!(given("claude", user(json!([{"type": "text", "text": "x"}]))), ["x"]);
        assert_eq!(given("claude", hook(false)), ["x"]);
        let item = |payload: Value| json!({"type": "response_item", "payload": payload});
        let said = |role: &str| {
            item(json!({"type": "message", "role": role, "content": [{"type": "input_text", "text": "x"}]}))
        };
        assert_eq!(given("codex", said("user")), ["x"]);
        assert_eq!(given("gemini", json!({"type": "user", "content": [{"text": "x"}]})), ["x"]);
        assert_eq!(given("copilot", json!({"type": "user.message", "data": {"content": "x"}})), ["x"]);
        for (agent, line) in [
            ("claude", user(json!([{"type": "tool_result", "content": "x"}]))),
            ("claude", hook(true)),
            (
                "claude",
                json!({"type": "attachment", "attachment": {"type": "hook_success", "content": "x", "stdout": "x"}}),
            ),
            ("claude", json!({"type": "assistant", "message": {"content": [{"type": "text", "text": "x"}]}})),
            ("claude", json!({"type": "user", "isSidechain": true, "message": {"content": "x"}})),
            ("claude", json!({"type": "queue-operation", "operation": "enqueue", "content": "x"})),
            ("claude", json!({"type": "system", "subtype": "informational", "content": "blocked by hook: x"})),
            ("codex", said("assistant")),
            ("codex", item(json!({"type": "function_call_output", "output": "x"}))),
            (
                "gemini",
                json!({"type": "gemini", "content": "x", "toolCalls": [{"name": "t", "status": "success", "resultDisplay": "x"}]}),
            ),
            ("copilot", json!({"type": "tool.execution_complete", "data": {"result": {"content": "x"}}})),
            ("copilot", json!({"type": "assistant.message", "data": {"content": "x"}})),
        ] {
            assert_eq!(given(agent, line.clone()), Vec::<String>::new(), "{line}");
        }
    }

    #[test]
    fn others_are_not_read() {
        assert!(!super::is_readable("opencode"));
        assert!(entries("opencode", &json!({"type": "user", "content": "x"})).is_empty());
    }
}
