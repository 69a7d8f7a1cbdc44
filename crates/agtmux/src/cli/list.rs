//! `agtmux list panes|windows|sessions`.

use agtmux_wire::list::{GroupBy, MailItem, PaneItem, PaneList, SessionList, Summary, TargetError, WindowList};
use clap::{Args, Subcommand, ValueEnum};
use jiff::Timestamp;

use super::page::Page;
use super::table::{Sheet, age, or_dash};
use super::{Context, hooks, output};
use crate::client::Client;
use crate::error::CommandError;

#[derive(Debug, Subcommand)]
pub enum ListVerb {
    /// Every pane that holds an agent
    Panes(PanesArgs),
    /// Every window, with its most urgent state
    Windows(WindowsArgs),
    /// Every session, with counts by state
    Sessions(SessionsArgs),
}

#[derive(Debug, Args)]
pub struct PanesArgs {
    #[command(flatten)]
    place: PlaceArgs,
    /// Only agents in this state, or these with commas: running, waiting_input, waiting_approval, completed, idle, error, unknown
    #[arg(long, value_name = "STATE[,STATE…]")]
    state: Option<String>,
    /// Only this agent: claude, codex, gemini, …
    #[arg(long, value_name = "TYPE")]
    agent: Option<String>,
    /// Only agents that wait for you or failed
    #[arg(long)]
    needs_action: bool,
    /// Panes without an agent too
    #[arg(long)]
    all: bool,
    /// The order of the rows
    #[arg(long, value_enum, default_value_t)]
    sort: SortArg,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub struct WindowsArgs {
    #[command(flatten)]
    place: PlaceArgs,
    /// Add a column for each state
    #[arg(long)]
    with_agent_status: bool,
    /// Windows without an agent too
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub struct SessionsArgs {
    #[command(flatten)]
    scope: ScopeArgs,
    /// Add a column that counts agents by kind
    #[arg(long)]
    agent_summary: bool,
    /// One row per session of each target, or sessions of one name merged
    #[arg(long, value_enum, default_value_t = GroupByArg::TargetSession)]
    group_by: GroupByArg,
    /// Sessions without an agent too
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Where to look.
#[derive(Debug, Args)]
pub struct PlaceArgs {
    #[command(flatten)]
    scope: ScopeArgs,
    /// Only this session of this target
    #[arg(long, value_name = "TARGET/SESSION")]
    target_session: Option<String>,
    /// Only sessions of this name, on any target
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
}

/// Which targets.
#[derive(Debug, Args)]
pub struct ScopeArgs {
    /// Only this target
    #[arg(long, value_name = "NAME", conflicts_with = "all_targets")]
    target: Option<String>,
    /// Every target (the default)
    #[arg(long)]
    all_targets: bool,
}

/// The order of panes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum SortArg {
    /// By target, session, window and pane
    #[default]
    Place,
    /// Those that need you first, then by state and by how long that has been so
    Urgency,
    /// The latest change of state first
    Since,
    /// By the agent's kind
    Agent,
    /// By name, agents without one last
    Name,
}

impl SortArg {
    /// The value of the query parameter.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Place => "place",
            Self::Urgency => "urgency",
            Self::Since => "since",
            Self::Agent => "agent",
            Self::Name => "name",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GroupByArg {
    /// One row per session of each target
    TargetSession,
    /// Sessions of one name merged over all targets
    SessionName,
}

pub async fn run(verb: ListVerb, context: &Context) -> Result<(), CommandError> {
    let client = context.client();
    match verb {
        ListVerb::Panes(args) => {
            let mut query = args.place.query("/v1/panes");
            query.text("state", args.state.as_deref());
            query.text("agent", args.agent.as_deref());
            query.flag("needs_action", args.needs_action);
            query.flag("all", args.all);
            query.text("sort", (args.sort != SortArg::Place).then(|| args.sort.name()));
            if args.json {
                return print_document(&client, &query.path).await;
            }
            let list: PaneList = client.get(&query.path).await?;
            output::print(&panes_page(&list, context.color).text())?;
            hooks::remark(&list.items);
            Ok(())
        }
        ListVerb::Windows(args) => {
            let mut query = args.place.query("/v1/windows");
            query.flag("all", args.all);
            if args.json {
                return print_document(&client, &query.path).await;
            }
            let list: WindowList = client.get(&query.path).await?;
            output::print(&windows_page(&list, args.with_agent_status, context.color).text())
        }
        ListVerb::Sessions(args) => {
            let mut query = Query::new("/v1/sessions");
            query.text("target", args.scope.target.as_deref());
            query.flag("all", args.all);
            query.text(
                "group_by",
                Some(match args.group_by {
                    GroupByArg::TargetSession => "target-session",
                    GroupByArg::SessionName => "session-name",
                }),
            );
            if args.json {
                return print_document(&client, &query.path).await;
            }
            let list: SessionList = client.get(&query.path).await?;
            output::print(&sessions_page(&list, args.agent_summary, context.color).text())
        }
    }
}

/// Prints the daemon's document as it is: one copy, no parsing, however long the list.
async fn print_document(client: &Client, path: &str) -> Result<(), CommandError> {
    let document = client.get_text(path).await?;
    output::print_bytes(&document)?;
    output::print("\n")
}

/// A path with query parameters in the making.
pub struct Query {
    /// What to ask the daemon for.
    pub path: String,
}

impl Query {
    /// A path without parameters.
    pub fn new(path: &str) -> Self {
        Self { path: path.to_owned() }
    }

    /// Adds a parameter, if it has a value.
    pub fn text(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.path.push(if self.path.contains('?') { '&' } else { '?' });
            self.path.push_str(name);
            self.path.push('=');
            self.path.push_str(&percent_encode(value));
        }
    }

    /// Adds a parameter that is on.
    pub fn flag(&mut self, name: &str, on: bool) {
        self.text(name, on.then_some("true"));
    }
}

/// Percent-encodes everything but the unreserved characters of RFC 3986.
pub fn percent_encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => encoded.push(char::from(byte)),
            _ => {
                const HEX: &[u8; 16] = b"0123456789ABCDEF";
                encoded.push('%');
                encoded.push(char::from(HEX[usize::from(byte >> 4)]));
                encoded.push(char::from(HEX[usize::from(byte & 15)]));
            }
        }
    }
    encoded
}

impl PlaceArgs {
    fn query(&self, path: &str) -> Query {
        let mut query = Query::new(path);
        query.text("target", self.scope.target.as_deref());
        query.text("target_session", self.target_session.as_deref());
        query.text("session", self.session.as_deref());
        query
    }
}

/// The table of `list panes` and `watch`.
pub fn panes_page(list: &PaneList, color: bool) -> Page {
    let now = generated_at(&list.generated_at);
    let mut sheet = Sheet::new(&["STATE", "FOR", "AGENT", "WHERE", "PANE", "WHY", "MESSAGE"], color);
    for pane in &list.items {
        sheet.row(
            pane.state.as_deref(),
            &[
                or_dash(pane.state.as_deref()),
                age(pane.since.as_deref(), now),
                who(pane),
                place(pane),
                pane.identity.pane_id.clone(),
                why(pane),
                message(pane),
            ],
        );
    }
    finish(&sheet, list.items.is_empty(), "no agent panes", &list.summary, &list.errors)
}

/// Who lives in a pane: the kind of agent, with its name if it has one; without an agent the program.
pub fn who(pane: &PaneItem) -> String {
    match (&pane.name, &pane.agent) {
        (Some(name), Some(agent)) => format!("{name} ({agent})"),
        (Some(only), None) | (None, Some(only)) => only.clone(),
        (None, None) => or_dash(pane.command.as_deref()),
    }
}

/// What it says, and what waits for it.
fn message(pane: &PaneItem) -> String {
    let said = pane.attention.message.clone().or_else(|| told_title(pane));
    let mail = pane.mail.as_ref().map(|mail| format!("[{}]", waiting(mail)));
    // The state may say the same already.
    let detail =
        pane.detail.as_ref().filter(|detail| said.as_ref() != Some(detail)).map(|detail| format!("[{detail}]"));
    let draft = pane.draft.then(|| "[draft]".to_owned());
    [said, detail, draft, busy(pane), mail].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// What an agent says it has to do between its turns.
pub fn busy(pane: &PaneItem) -> Option<String> {
    let reason = &pane.busy.as_ref()?.reason;
    Some(if reason.is_empty() { "[busy]".to_owned() } else { format!("[busy: {reason}]") })
}

/// The messages that wait for an agent, in words.
pub fn waiting(mail: &MailItem) -> String {
    let messages = if mail.waiting == 1 { "message" } else { "messages" };
    let waits = mail.waits_for.replace("now", "about to be delivered").replace('_', " ");
    format!("{} {messages} from {} {waits}", mail.waiting, mail.from.join(", "))
}

/// The title, unless it is what tmux calls a pane that nobody gave a title: the name of this host.
fn told_title(pane: &PaneItem) -> Option<String> {
    let host = rustix::system::uname();
    pane.title.clone().filter(|title| Some(title.as_str()) != host.nodename().to_str().ok())
}

pub fn place(pane: &PaneItem) -> String {
    let target = match pane.identity.target.as_str() {
        "local" => String::new(),
        target => format!("{target}/"),
    };
    format!("{target}{}:{}.{}", pane.identity.session_name, pane.window_index, pane.pane_index)
}

fn why(pane: &PaneItem) -> String {
    match (&pane.reason_code, &pane.source) {
        (Some(reason), Some(source)) => format!("{reason} ({source})"),
        (Some(reason), None) => reason.clone(),
        (None, _) => "-".to_owned(),
    }
}

/// The table of `list windows` and `watch --scope windows`.
pub fn windows_page(list: &WindowList, with_agent_status: bool, color: bool) -> Page {
    let mut headings = vec!["STATE", "WAITING", "RUNNING", "PANES", "WHERE", "WINDOW", "NAME"];
    if with_agent_status {
        headings.push("AGENTS");
    }
    let mut sheet = Sheet::new(&headings, color);
    for window in &list.items {
        let mut cells = vec![
            or_dash(window.top_state.as_deref()),
            window.waiting.to_string(),
            window.running.to_string(),
            window.panes.to_string(),
            format!("{}/{}:{}", window.identity.target, window.identity.session_name, window.window_index),
            window.identity.window_id.clone(),
            window.window_name.clone(),
        ];
        if with_agent_status {
            cells.push(counts(&window.by_state));
        }
        sheet.row(window.top_state.as_deref(), &cells);
    }
    finish(&sheet, list.items.is_empty(), "no windows with agents", &list.summary, &list.errors)
}

/// The table of `list sessions` and `watch --scope sessions`.
pub fn sessions_page(list: &SessionList, agent_summary: bool, color: bool) -> Page {
    let merged = list.filters.group_by == Some(GroupBy::SessionName);
    let mut headings = vec!["STATE", "AGENTS", "SESSION", "STATES"];
    if merged {
        headings.push("TARGETS");
    }
    if agent_summary {
        headings.push("KINDS");
    }
    let mut sheet = Sheet::new(&headings, color);
    for session in &list.items {
        let name = match &session.identity.target {
            Some(target) => format!("{target}/{}", session.identity.session_name),
            None => session.identity.session_name.clone(),
        };
        let mut cells =
            vec![or_dash(session.top_state.as_deref()), session.total.to_string(), name, counts(&session.by_state)];
        if merged {
            let targets = session.by_target.iter().map(|(target, on)| format!("{target}: {}", on.total));
            cells.push(targets.collect::<Vec<_>>().join(", "));
        }
        if agent_summary {
            cells.push(counts(&session.by_agent));
        }
        sheet.row(session.top_state.as_deref(), &cells);
    }
    finish(&sheet, list.items.is_empty(), "no sessions with agents", &list.summary, &list.errors)
}

fn finish(sheet: &Sheet, empty: bool, nothing: &str, summary: &Summary, errors: &[TargetError]) -> Page {
    let mut page = if empty { Page::from_text(nothing) } else { sheet.page() };
    if !empty && summary.total > 0 {
        let noun = if summary.total == 1 { "agent" } else { "agents" };
        page.foot.extend([String::new(), format!("{} {noun}: {}", summary.total, counts(&summary.by_state))]);
    }
    let shown =
        |error: &TargetError| format!("{}: {} [{}]", error.target, output::printable(&error.message), error.code);
    page.foot.extend(errors.iter().map(shown));
    page
}

/// `2 running, 1 idle`, leaving out what there is none of.
fn counts(counts: &std::collections::BTreeMap<String, u64>) -> String {
    let parts: Vec<_> =
        counts.iter().filter(|(_, count)| **count > 0).map(|(name, count)| format!("{count} {name}")).collect();
    if parts.is_empty() { "-".to_owned() } else { parts.join(", ") }
}

fn generated_at(text: &str) -> Timestamp {
    text.parse().unwrap_or_else(|_| Timestamp::now())
}
