//! Hooks of ours in a JSON file that others write too: merged event by event, and taken out again to the byte.

use jsonc_parser::ast::{Array, Object, Value};

use super::Refusal;
use super::agent::Agent;
use super::hook_entry::{self, Note};
use super::json::{self, member, range};
use super::json_lists::{append, take_out};
use super::json_text::{Json, Style, quoted, start};
use super::text::{Source, Splice, apply, newline};

/// The file with our hooks, all of them, once each and as they should be. What is right already stays where it is.
pub(super) fn install(agent: Agent, before: Option<&[u8]>, program: &str) -> Result<Vec<u8>, Refusal> {
    let Some(bytes) = before else {
        let text = document(agent, program, Note::MadeFile, &Style::of("", None));
        return Ok(text.into_bytes());
    };
    let source = Source::read(bytes)?;
    let Some(pruned) = prune(agent, source.text, agent.events())? else {
        return install(agent, None, program);
    };
    let refreshed = refresh(agent, &pruned, program)?;
    Ok(source.write(&add_missing(agent, &refreshed, program)?))
}

/// The file without our hooks; `None` if it was made for them and holds nothing else.
pub(super) fn remove(agent: Agent, before: &[u8]) -> Result<Option<Vec<u8>>, Refusal> {
    let source = Source::read(before)?;
    Ok(prune(agent, source.text, &[])?.map(|text| source.write(&text)))
}

/// A whole file.
fn document(agent: Agent, program: &str, note: Note, style: &Style) -> String {
    let mut note = Some(note);
    let lists = agent.events().iter().map(|event| {
        let element = hook_entry::element(agent, program, event, note.take());
        (*event, Json::List(vec![element]))
    });
    let hooks = ("hooks", Json::Object(lists.collect()));
    let members = match agent {
        // Cursor refuses a file that does not say its version.
        Agent::Cursor | Agent::Copilot => vec![("version", Json::Number(1)), hooks],
        Agent::Claude | Agent::Codex | Agent::Gemini | Agent::Opencode => vec![hooks],
    };
    style.render(&Json::Object(members), Some("")) + style.newline
}

/// A whole file of our own.
pub(super) fn own_document(agent: Agent, program: &str) -> String {
    document(agent, program, Note::MadeFile, &Style::of("", None))
}

/// Takes out our hooks of events that are not wanted, and all but the first of those that are.
fn prune(agent: Agent, text: &str, wanted: &[&str]) -> Result<Option<String>, Refusal> {
    let Some(root) = json::parse(text)? else {
        return Ok(Some(text.to_owned()));
    };
    let Some(hooks) = hooks_of(text, &root)? else {
        return Ok(Some(text.to_owned()));
    };
    let mut splices = Vec::new();
    let mut notes = Vec::new();
    let mut lists = Vec::new();
    for property in &hooks.properties {
        let event = property.name.as_str();
        let pruning = match &property.value {
            Value::Array(list) => prune_list(agent, text, list, wanted.contains(&event)),
            _ => Pruning::default(),
        };
        let list_was_there = pruning.notes.contains(&Note::FoundListEmpty);
        let goes = pruning.leaves_nothing && !list_was_there;
        lists.push((range(property), goes));
        if !goes {
            splices.extend(pruning.splices);
        }
        notes.extend(pruning.notes);
    }
    let is_emptied = !lists.is_empty() && lists.iter().all(|(_, goes)| *goes);
    if !is_emptied || notes.contains(&Note::FoundHooksEmpty) {
        splices.extend(take_out(text, &range(hooks), &lists));
        return Ok(Some(apply(text, splices)));
    }
    let is_hooks = |name: &str| name == "hooks";
    let leaves_nothing = root.properties.iter().all(|property| {
        let name = property.name.as_str();
        is_hooks(name) || agent == Agent::Cursor && name == "version"
    });
    if leaves_nothing && notes.contains(&Note::MadeFile) {
        return Ok(None);
    }
    if leaves_nothing && notes.contains(&Note::FilledFile) {
        let end = root.range.end;
        let newline = newline(text);
        let newline = if text[end..].starts_with(newline) { newline.len() } else { 0 };
        return Ok(Some(apply(text, vec![Splice::delete(root.range.start..end + newline)])));
    }
    let members: Vec<_> =
        root.properties.iter().map(|property| (range(property), is_hooks(property.name.as_str()))).collect();
    Ok(Some(apply(text, take_out(text, &range(&root), &members))))
}

/// What taking our hooks out of one list comes to.
#[derive(Debug, Default)]
struct Pruning {
    splices: Vec<Splice>,
    /// What the hooks that go had noted.
    notes: Vec<Note>,
    leaves_nothing: bool,
}

fn prune_list(agent: Agent, text: &str, list: &Array<'_>, keep_one: bool) -> Pruning {
    let mut pruning = Pruning::default();
    let mut kept = !keep_one;
    let mut elements = Vec::new();
    for element in &list.elements {
        let inner: Vec<_> = hooks_in(agent, element)
            .into_iter()
            .map(|hook| {
                let note = hook_entry::recognise_value(agent, hook);
                let goes = note.is_some() && std::mem::replace(&mut kept, true);
                pruning.notes.extend(note.flatten().filter(|_| goes));
                (range(hook), goes)
            })
            .collect();
        let goes = !inner.is_empty() && inner.iter().all(|(_, goes)| *goes);
        elements.push((range(element), goes));
        if !goes && let Some(group) = group_list(agent, element) {
            pruning.splices.extend(take_out(text, &range(group), &inner));
        }
    }
    pruning.leaves_nothing = !elements.is_empty() && elements.iter().all(|(_, goes)| *goes);
    pruning.splices.extend(take_out(text, &range(list), &elements));
    pruning
}

/// Brings hooks of ours up to date where they stand.
fn refresh(agent: Agent, text: &str, program: &str) -> Result<String, Refusal> {
    let Some(root) = json::parse(text)? else {
        return Ok(text.to_owned());
    };
    let style = Style::of(text, Some(&root));
    let mut splices = Vec::new();
    for (event, list) in lists_of(agent, text, &root)? {
        for element in &list.elements {
            let inner = hooks_in(agent, element);
            for hook in &inner {
                let Some(note) = hook_entry::recognise_value(agent, hook) else {
                    continue;
                };
                // A group of nothing but our hook is ours as well, with all that it says.
                let is_alone = inner.len() == 1;
                let (value, wanted) = if is_alone {
                    (element, hook_entry::element(agent, program, event, note))
                } else {
                    (*hook, hook_entry::hook(agent, program, event, note))
                };
                if !wanted.says(value) {
                    let layout = style.layout(text, &range(list), Some(start(value)));
                    splices.push(Splice::replace(range(value), style.render(&wanted, layout.indent.as_deref())));
                }
            }
        }
    }
    Ok(apply(text, splices))
}

/// Adds the hooks that are missing.
fn add_missing(agent: Agent, text: &str, program: &str) -> Result<String, Refusal> {
    let Some(root) = json::parse(text)? else {
        let style = Style::of(text, None);
        return Ok(format!("{text}{}", document(agent, program, Note::FilledFile, &style)));
    };
    let style = Style::of(text, Some(&root));
    let mut splices = Vec::new();
    let mut missing = Vec::new();
    let hooks = hooks_of(text, &root)?;
    for event in agent.events() {
        match list_of(text, hooks, event)? {
            None => missing.push(*event),
            Some(list) => {
                let is_there = list
                    .elements
                    .iter()
                    .flat_map(|element| hooks_in(agent, element))
                    .any(|hook| hook_entry::recognise_value(agent, hook).is_some());
                if !is_there {
                    let note = list.elements.is_empty().then_some(Note::FoundListEmpty);
                    let element = hook_entry::element(agent, program, event, note);
                    let first = list.elements.first().map(start);
                    let layout = style.layout(text, &range(list), first);
                    let item = style.render(&element, layout.indent.as_deref());
                    let last = list.elements.last().map(|last| range(last).end);
                    splices.extend(append(text, &range(list), last, &layout, &[item]));
                }
            }
        }
    }
    if missing.is_empty() {
        return Ok(apply(text, splices));
    }
    // The members go into `hooks`, which itself may have to go into the file.
    let into = hooks.unwrap_or(&root);
    let layout = style.layout(text, &range(into), into.properties.first().map(|first| first.range.start));
    let mut note = hooks.filter(|hooks| hooks.properties.is_empty()).map(|_| Note::FoundHooksEmpty);
    let lists = missing.into_iter().map(|event| {
        let element = hook_entry::element(agent, program, event, note.take());
        (event, Json::List(vec![element]))
    });
    let member = |name: &str, value: &Json| {
        format!("{}{}{}", quoted(name), style.colon(), style.render(value, layout.indent.as_deref()))
    };
    let items: Vec<String> = if hooks.is_some() {
        lists.map(|(event, list)| member(event, &list)).collect()
    } else {
        vec![member("hooks", &Json::Object(lists.collect()))]
    };
    let last = into.properties.last().map(|last| last.range.end);
    splices.extend(append(text, &range(into), last, &layout, &items));
    Ok(apply(text, splices))
}

/// Whether the file switches all hooks off.
pub(super) fn switched_off(agent: Agent, before: Option<&[u8]>) -> Result<bool, Refusal> {
    let source = Source::read(before.unwrap_or_default())?;
    let Some(root) = json::parse(source.text)? else {
        return Ok(false);
    };
    let says = |object: &Object<'_>, name: &str, value: bool| {
        object.get_boolean(name).is_some_and(|found| found.value == value)
    };
    Ok(match agent {
        Agent::Claude => says(&root, "disableAllHooks", true),
        Agent::Gemini => root.get_object("hooksConfig").is_some_and(|config| says(config, "enabled", false)),
        Agent::Codex | Agent::Opencode | Agent::Copilot | Agent::Cursor => false,
    })
}

/// Each hook of ours with its event, the place of its group and its place in the group.
pub(super) fn ours<'o, 't>(
    agent: Agent,
    text: &str,
    root: &'o Object<'t>,
) -> Result<Vec<(&'static str, usize, usize, &'o Object<'t>)>, Refusal> {
    let mut found = Vec::new();
    for (event, list) in lists_of(agent, text, root)? {
        for (group, element) in list.elements.iter().enumerate() {
            for (index, hook) in hooks_in(agent, element).into_iter().enumerate() {
                if hook_entry::recognise_value(agent, hook).is_some()
                    && let Some(hook) = hook.as_object()
                {
                    found.push((event, group, index, hook));
                }
            }
        }
    }
    Ok(found)
}

fn hooks_of<'o, 't>(text: &str, root: &'o Object<'t>) -> Result<Option<&'o Object<'t>>, Refusal> {
    let Some(property) = member(text, root, "hooks")? else {
        return Ok(None);
    };
    let hooks = property.value.as_object();
    hooks.map(Some).ok_or_else(|| Refusal::at(text, start(&property.value), "\"hooks\" is not an object"))
}

fn list_of<'o, 't>(text: &str, hooks: Option<&'o Object<'t>>, event: &str) -> Result<Option<&'o Array<'t>>, Refusal> {
    let Some(property) = hooks.map(|hooks| member(text, hooks, event)).transpose()?.flatten() else {
        return Ok(None);
    };
    let list = property.value.as_array();
    list.map(Some)
        .ok_or_else(|| Refusal::at(text, start(&property.value), format!("\"hooks\".{event:?} is not a list")))
}

/// The lists of the events that we ask for, as far as they are there.
fn lists_of<'o, 't>(
    agent: Agent,
    text: &str,
    root: &'o Object<'t>,
) -> Result<Vec<(&'static str, &'o Array<'t>)>, Refusal> {
    let hooks = hooks_of(text, root)?;
    let mut lists = Vec::new();
    for event in agent.events() {
        if let Some(list) = list_of(text, hooks, event)? {
            lists.push((*event, list));
        }
    }
    Ok(lists)
}

/// The hooks that an element of a list stands for.
fn hooks_in<'o, 't>(agent: Agent, element: &'o Value<'t>) -> Vec<&'o Value<'t>> {
    if !hook_entry::is_grouped(agent) {
        return vec![element];
    }
    group_list(agent, element).map(|list| list.elements.iter().collect()).unwrap_or_default()
}

/// The list inside a group.
fn group_list<'o, 't>(agent: Agent, element: &'o Value<'t>) -> Option<&'o Array<'t>> {
    element.as_object().filter(|_| hook_entry::is_grouped(agent))?.get_array("hooks")
}
