//! Which of the tools that an agent offers does what the script wants, and how it is called.

use serde_json::{Value, json};

use super::conversation::Request;
use super::dialect::fill;
use super::script::Tool;

/// The use of a tool that the agent offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ToolUse {
    /// The tool's name.
    pub(super) name: String,
    /// What it is given: an object, or a text for a tool that takes free text.
    pub(super) input: Value,
}

/// Tools by what they are for, as the agents call them, the preferred first.
const SHELLS: &[&str] = &["Bash", "exec_command", "shell_command", "shell", "run_shell_command", "bash"];
const READERS: &[&str] = &["Read", "read_file", "read", "view"];
const WRITERS: &[&str] = &["Write", "write_file", "write", "create", "apply_patch"];
const EDITORS: &[&str] = &["Edit", "replace", "edit", "apply_patch"];
const QUESTIONS: &[&str] = &["AskUserQuestion", "request_user_input", "ask_user", "question"];
const SUBAGENTS: &[&str] = &["Agent", "Task", "task", "invoke_agent", "spawn_agent"];

/// What has to be used for the purpose, in order; nothing if no such tool is offered.
pub(super) fn choose(tool: &Tool, request: &Request) -> Vec<ToolUse> {
    match tool {
        Tool::Shell { .. } => single(tool, SHELLS, request),
        Tool::Read(_) => single(tool, READERS, request),
        Tool::Write { .. } => single(tool, WRITERS, request),
        Tool::Edit { .. } => single(tool, EDITORS, request),
        Tool::Ask { .. } => single(tool, QUESTIONS, request),
        Tool::Subagent(_) => single(tool, SUBAGENTS, request),
        Tool::Plan(text) => plan(text, request),
    }
}

fn single(tool: &Tool, names: &[&str], request: &Request) -> Vec<ToolUse> {
    let Some((name, schema)) = names.iter().find_map(|name| request.tools.get_key_value(*name)) else {
        return Vec::new();
    };
    let input = if name == "apply_patch" { patch(tool, schema) } else { fill(schema, &known(tool, schema)) };
    vec![ToolUse { name: name.clone(), input }]
}

/// The plan is written to the file that the agent wants it in, and then presented. The tool that presents it is not
/// among those that are offered, but it is taken.
fn plan(text: &str, request: &Request) -> Vec<ToolUse> {
    let text = format!("# Lab plan\n\n1. {text}\n2. Verify\n");
    let written = request.plan_file.iter().flat_map(|path| {
        let write = Tool::Write { path: path.clone(), text: text.clone() };
        choose(&write, request)
    });
    let presented = ToolUse { name: "ExitPlanMode".to_owned(), input: json!({ "plan": text }) };
    written.chain([presented]).collect()
}

/// Every name under which an agent may want to be told.
fn known(tool: &Tool, schema: &Value) -> Value {
    match tool {
        Tool::Shell { command, background, escalate } => {
            let mut known = json!({ "command": command, "cmd": command, "description": "Lab command" });
            if *background {
                known["run_in_background"] = json!(true);
            }
            if *escalate {
                known["sandbox_permissions"] = json!("require_escalated");
                known["justification"] = json!("Does the lab run this outside of the sandbox?");
            }
            known
        }
        Tool::Read(path) => json!({ "file_path": path, "filePath": path, "path": path, "absolute_path": path }),
        Tool::Write { path, text } => {
            json!({ "file_path": path, "filePath": path, "path": path, "content": text, "file_text": text })
        }
        Tool::Edit { path, old, new } => json!({
            "file_path": path, "filePath": path, "path": path, "old_string": old, "oldString": old,
            "new_string": new, "newString": new, "instruction": "Lab edit",
        }),
        Tool::Ask { question, options } => asked(question, options, schema),
        Tool::Plan(plan) => json!({ "plan": plan }),
        Tool::Subagent(prompt) => json!({
            "description": "Lab subagent", "prompt": prompt, "message": prompt, "objective": prompt,
            "subagent_type": "general-purpose", "agent_name": "generalist",
        }),
    }
}

/// A question in the shape that the schema asks for: a list of questions, a form, or question and choices.
fn asked(question: &str, options: &[String], schema: &Value) -> Value {
    let property = |name: &str| schema.get("properties").and_then(|properties| properties.get(name));
    let described: Vec<_> = options
        .iter()
        .map(|option| json!({ "label": option, "description": format!("the {option} choice") }))
        .collect();
    if let Some(questions) = property("questions") {
        let whole = json!({
            "id": "lab", "header": "Lab", "question": question, "type": "choice", "options": described,
            "multiSelect": false, "multiple": false,
        });
        let item = questions.get("items").filter(|item| item.get("properties").is_some());
        return json!({ "questions": [item.map_or_else(|| whole.clone(), |item| fill(item, &whole))] });
    }
    if property("requestedSchema").is_some() {
        let choice = json!({ "type": "string", "title": "Choice", "enum": options });
        let form = json!({ "type": "object", "required": ["choice"], "properties": { "choice": choice } });
        return json!({ "message": question, "requestedSchema": form });
    }
    json!({ "question": question, "choices": options, "options": described })
}

/// A file change in the language of patches, as free text or under the name that the schema has for it.
fn patch(tool: &Tool, schema: &Value) -> Value {
    let body = match tool {
        Tool::Write { path, text } => {
            let lines: Vec<_> = text.lines().map(|line| format!("+{line}")).collect();
            format!("*** Add File: {path}\n{}", lines.join("\n"))
        }
        Tool::Edit { path, old, new } => format!("*** Update File: {path}\n@@\n-{old}\n+{new}"),
        _ => String::new(),
    };
    let patch = json!(format!("*** Begin Patch\n{body}\n*** End Patch"));
    if schema.is_null() {
        return patch;
    }
    fill(schema, &json!({ "input": patch, "patch": patch, "patchText": patch }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(name: &str, schema: Value) -> Request {
        Request { tools: [(name.to_owned(), schema)].into(), ..Request::default() }
    }

    fn shell(escalate: bool) -> Tool {
        Tool::Shell { command: "ls".to_owned(), background: false, escalate }
    }

    #[test]
    fn a_tool_is_called_as_its_schema_wants() {
        let schema = json!({
            "properties": {
                "cmd": { "type": "string" }, "workdir": { "type": "string" }, "tty": { "type": "boolean" },
                "sandbox_permissions": { "type": "string" },
            },
            "required": ["cmd", "tty"],
        });
        let used = &choose(&shell(true), &offered("exec_command", schema))[0];
        assert_eq!(used.name, "exec_command");
        assert_eq!(used.input, json!({ "cmd": "ls", "sandbox_permissions": "require_escalated", "tty": false }));
        let words = json!({ "properties": { "command": { "type": "array" } } });
        let used = &choose(&shell(false), &offered("shell", words))[0];
        assert_eq!(used.input, json!({ "command": ["bash", "-lc", "ls"] }));
    }

    #[test]
    fn a_tool_that_is_not_offered_is_not_used() {
        assert_eq!(choose(&shell(false), &offered("Write", json!({}))), []);
    }

    #[test]
    fn a_patch_is_free_text_where_the_tool_takes_that() {
        let write = Tool::Write { path: "a.txt".to_owned(), text: "x\n".to_owned() };
        let used = &choose(&write, &offered("apply_patch", Value::Null))[0];
        assert_eq!(used.input, json!("*** Begin Patch\n*** Add File: a.txt\n+x\n*** End Patch"));
    }
}
