//! Whatever a person's configuration looks like, `setup` keeps every byte of it.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail, and asks how long it may take")]

use agtmux_agents::setup::{Agent, Given, Scope, Wish, plan};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

const PROGRAM: &str = "/opt/it's here/agtmux";
const INSTALL: Wish<'_> = Wish::Install { program: PROGRAM };
const SHARED: [Agent; 4] = [Agent::Claude, Agent::Codex, Agent::Gemini, Agent::Cursor];

/// A value as somebody may have written it.
#[derive(Debug, Clone)]
enum Value {
    Plain(&'static str),
    List(Vec<Self>),
    Object(Vec<(String, Self)>),
}

/// The habits of whoever wrote a file.
#[derive(Debug, Clone)]
struct Hand {
    newline: &'static str,
    indent: &'static str,
    colon: &'static str,
    spreads: bool,
    trailing_commas: bool,
    comments: bool,
    ends: &'static str,
}

impl Hand {
    fn write(&self, value: &Value, depth: usize, text: &mut String) {
        match value {
            Value::Plain(plain) => text.push_str(plain),
            Value::List(items) => {
                let items = items.iter().map(|item| (None, item)).collect();
                self.write_all('[', ']', items, depth, text);
            }
            Value::Object(members) => {
                let items = members.iter().map(|(name, item)| (Some(name), item)).collect();
                self.write_all('{', '}', items, depth, text);
            }
        }
    }

    fn write_all(
        &self,
        open: char,
        close: char,
        items: Vec<(Option<&String>, &Value)>,
        depth: usize,
        text: &mut String,
    ) {
        text.push(open);
        let count = items.len();
        for (place, (name, item)) in items.into_iter().enumerate() {
            self.line(depth + 1, text);
            if let Some(name) = name {
                text.extend(["\"", name, "\"", self.colon]);
            }
            self.write(item, depth + 1, text);
            if self.comments && place % 3 == 1 {
                text.push_str(" /* why, \"so\" } */");
            }
            if place + 1 < count || self.trailing_commas {
                text.push(',');
            }
            if self.comments && self.spreads && place % 2 == 0 {
                text.push_str(" // because, {");
            }
        }
        if count > 0 {
            self.line(depth, text);
        }
        text.push(close);
    }

    fn line(&self, depth: usize, text: &mut String) {
        if self.spreads {
            text.push_str(self.newline);
            text.push_str(&self.indent.repeat(depth));
        }
    }
}

fn hand() -> impl Strategy<Value = Hand> {
    (
        select(vec!["\n", "\r\n"]),
        select(vec!["", " ", "  ", "    ", "\t"]),
        select(vec![":", ": ", " : "]),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        select(vec!["", "\n", "\r\n", "\n\n", " ", "\n// the end\n"]),
    )
        .prop_map(|(newline, indent, colon, spreads, trailing_commas, comments, ends)| Hand {
            newline,
            indent,
            colon,
            spreads,
            trailing_commas,
            comments,
            ends,
        })
}

fn plain() -> impl Strategy<Value = Value> {
    select(vec!["1", "-2.5e3", "true", "null", "\"\"", "\"a \\\" b\"", "\"// no, {\"", "\"Zoë 🧪\"", "{}", "[]"])
        .prop_map(Value::Plain)
}

fn anything() -> impl Strategy<Value = Value> {
    plain().prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::List),
            vec(inner, 0..4).prop_map(|items| Value::Object(named(items))),
        ]
    })
}

fn named(items: Vec<Value>) -> Vec<(String, Value)> {
    items.into_iter().enumerate().map(|(place, item)| (format!("k{place}"), item)).collect()
}

/// A list of an event, with hooks of other people and with odd things.
fn list(agent: Agent) -> impl Strategy<Value = Value> {
    let hook =
        select(vec!["\"lint\"", "\"x # agtmux or not\"", "\"agtmux hook claude Stop\""]).prop_map(move |command| {
            let hook =
                Value::Object(vec![("command".into(), Value::Plain(command)), ("type".into(), Value::Plain("1"))]);
            if agent == Agent::Cursor { hook } else { Value::Object(vec![("hooks".into(), Value::List(vec![hook]))]) }
        });
    vec(prop_oneof![4 => hook, 1 => anything()], 0..4).prop_map(Value::List)
}

fn hooks(agent: Agent) -> impl Strategy<Value = Value> {
    let events: Vec<_> = agent.events().iter().copied().chain(["Other", "Another"]).collect();
    let count = events.len();
    (proptest::sample::subsequence(events, 0..=count.min(6)), vec(list(agent), 6))
        .prop_map(|(events, lists)| Value::Object(events.into_iter().map(str::to_owned).zip(lists).collect()))
}

/// A file that `setup` must be able to deal with.
fn document(agent: Agent) -> impl Strategy<Value = String> {
    let hooks = proptest::option::of(hooks(agent));
    (vec(anything(), 0..4), hooks, 0usize..4, hand()).prop_map(|(others, hooks, place, hand)| {
        let mut members = named(others);
        if let Some(hooks) = hooks {
            members.insert(place.min(members.len()), ("hooks".into(), hooks));
        }
        let mut text = String::new();
        hand.write(&Value::Object(members), 0, &mut text);
        text.push_str(hand.ends);
        text
    })
}

fn case() -> impl Strategy<Value = (Agent, String)> {
    select(SHARED.to_vec()).prop_flat_map(|agent| (Just(agent), document(agent)))
}

/// The hooks file after a wish, and Codex's other file.
fn edited(agent: Agent, wish: Wish<'_>, hooks: &str, config: Option<&str>) -> (String, Option<String>) {
    let mut files = vec![Given { path: "/h/hooks.json".into(), before: Some(hooks.into()) }];
    if agent == Agent::Codex {
        files.push(Given { path: "/h/config.toml".into(), before: config.map(Into::into) });
    }
    let plan = plan(agent, Scope::User, wish, &files).unwrap_or_else(|(_, refusal)| panic!("{refusal}\n{hooks}"));
    let mut texts = plan.files.into_iter().map(|file| file.after.map(|bytes| String::from_utf8(bytes).unwrap()));
    (texts.next().flatten().expect("a file that was there stays"), texts.next().flatten())
}

/// Whether a text is what is left of another when some of its characters are taken away.
fn is_within(part: &str, whole: &str) -> bool {
    let mut whole = whole.chars();
    part.chars().all(|wanted| whole.any(|found| found == wanted))
}

/// A TOML file, put together from pieces that people write.
fn toml() -> impl Strategy<Value = String> {
    let keys = select(vec!["model = \"x\"\n", "# a comment\n", "\n", "a.b = [1,\n 2] # c\n", "s = '''\n[x]\n'''\n"]);
    let tables = select(vec![
        "[tui]\nn = true\n",
        "[[hooks.Stop]]\ncommand = \"mine\"\n",
        "\n# about it\n[projects.\"/a b\"]\ntrust_level = \"trusted\"\n",
        "[hooks.state.\"/h/hooks.json:other:0:0\"]\ntrusted_hash = \"sha256:0\"\n",
        "[mcp]\nx = { a = 1 }\n\n\n",
    ]);
    let keys = proptest::collection::btree_set(keys, 0..4);
    let tables = proptest::collection::btree_set(tables, 0..4);
    (keys, tables, any::<bool>(), any::<bool>(), any::<bool>()).prop_map(|(keys, tables, ends, crlf, bom)| {
        let mut text: String = keys.into_iter().chain(tables).collect();
        if !ends {
            text.truncate(text.trim_end().len());
        }
        let text = if crlf { text.replace('\n', "\r\n") } else { text };
        if bom { format!("\u{feff}{text}") } else { text }
    })
}

/// How many cases each property is tried on.
fn cases() -> u32 {
    std::env::var("AGTMUX_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(500)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_put_in_can_be_taken_out((agent, before) in case()) {
        let (installed, config) = edited(agent, INSTALL, &before, None);
        prop_assert!(is_within(&before, &installed), "a byte was lost:\n{before}\n---\n{installed}");
        let (again, config_again) = edited(agent, INSTALL, &installed, config.as_deref());
        prop_assert_eq!((&again, &config_again), (&installed, &config));
        let (removed, config) = edited(agent, Wish::Remove, &installed, config.as_deref());
        prop_assert_eq!((removed, config), (before, None));
    }

    /// Another program takes the place of the former: the same entries, where they stand.
    #[test]
    fn a_program_that_moves_leaves_no_trace((agent, before) in case()) {
        let (elsewhere, config) = edited(agent, Wish::Install { program: "/old/agtmux" }, &before, None);
        let (moved, config) = edited(agent, INSTALL, &elsewhere, config.as_deref());
        prop_assert!(!moved.contains("/old/agtmux"));
        prop_assert!(!config.as_deref().unwrap_or_default().contains("/old/agtmux"));
        let (fresh, fresh_config) = edited(agent, INSTALL, &before, None);
        prop_assert_eq!((&moved, &config), (&fresh, &fresh_config));
        prop_assert_eq!(edited(agent, Wish::Remove, &moved, config.as_deref()).0, before);
    }

    /// What a person writes into the file later is theirs as well.
    #[test]
    fn what_is_written_later_stays((agent, before) in case()) {
        let later = "\n  \"later\": [ 1, 2 ], // mine\n";
        let with_later = |text: &str| text.replacen('{', &format!("{{{later}"), 1);
        let (installed, config) = edited(agent, INSTALL, &before, None);
        let (removed, _) = edited(agent, Wish::Remove, &with_later(&installed), config.as_deref());
        if !before.trim_start().starts_with("{}") {
            prop_assert_eq!(removed, with_later(&before));
        } else {
            prop_assert!(removed.contains("\"later\": [ 1, 2 ]"));
        }
    }

    #[test]
    fn codex_configuration_comes_back(before in toml()) {
        let (hooks, config) = edited(Agent::Codex, INSTALL, "{}", Some(&before));
        let config = config.expect("there");
        prop_assert!(is_within(&before, &config), "a byte was lost:\n{before}\n---\n{config}");
        let again = edited(Agent::Codex, INSTALL, &hooks, Some(&config));
        prop_assert_eq!((&again.0, again.1.as_deref()), (&hooks, Some(config.as_str())));
        prop_assert_eq!(edited(Agent::Codex, Wish::Remove, &hooks, Some(&config)).1, Some(before));
    }

    /// No bytes make it fail otherwise than by saying so.
    #[test]
    fn nonsense_is_refused(bytes in vec(any::<u8>(), 0..200), agent in select(Agent::ALL.to_vec())) {
        let given = Given { path: "/h/x".into(), before: Some(bytes) };
        let files = if agent == Agent::Codex { vec![given.clone(), given] } else { vec![given] };
        for wish in [INSTALL, Wish::Remove] {
            // Either is in order; what counts is that it comes back at all.
            let _either = plan(agent, Scope::User, wish, &files);
        }
    }
}
