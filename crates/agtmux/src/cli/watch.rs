//! `agtmux watch`: the lists, live.

use std::collections::BTreeMap;
use std::time::Duration;

use agtmux_wire::SCHEMA_VERSION;
use agtmux_wire::error::ErrorCode;
use agtmux_wire::list::{PaneItem, PaneList, SessionList, WindowList};
use agtmux_wire::mail::MessageList;
use agtmux_wire::stream::Frame;
use clap::{Args, ValueEnum};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use super::fullscreen::Fullscreen;
use super::list::{Query, SortArg, panes_page, sessions_page, windows_page};
use super::page::Page;
use super::sm::messages_table;
use super::{Context, DurationArg, output};
use crate::client::Client;
use crate::client::follow::{Follower, is_gone};
use crate::error::CommandError;

/// Changes that come closer together than this are drawn together.
const REDRAW_PAUSE: Duration = Duration::from_millis(50);

#[derive(Debug, Args)]
#[command(
    after_help = "With --format jsonl every line is one JSON document:\n  {\"schema_version\":1,\"seq\":N,\"at\":TIME,\"scope\":\"panes\",\"change\":\"present|changed|removed\",\"item\":{…}}\nLines with `present` come first and describe what is there; `item` is as in `list --json`,\nand for `removed` it holds the identity alone. With --scope messages `change` is `present` or `step`."
)]
pub struct WatchArgs {
    /// Only this target
    #[arg(long, value_name = "NAME", conflicts_with = "all_targets")]
    target: Option<String>,
    /// Every target (the default)
    #[arg(long)]
    all_targets: bool,
    /// What to show
    #[arg(long, value_enum, default_value_t)]
    scope: Scope,
    /// A table that is redrawn, or one JSON document per change
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// The order of panes in the table: on a terminal by urgency, else by place
    #[arg(long, value_enum)]
    sort: Option<SortArg>,
    /// Redraw the table at least this often, for the ages
    #[arg(long, default_value = "1s", value_name = "DURATION")]
    interval: DurationArg,
    /// Of what is there at the start, show only what changed since then: a time, or a duration ago
    #[arg(long, value_name = "TIMESTAMP")]
    since: Option<String>,
    /// Show what is there and end
    #[arg(long)]
    once: bool,
    /// With --scope messages and --format jsonl: not what is there, but every step after this one, which was the last seen
    #[arg(long, value_name = "SEQ", conflicts_with = "once")]
    after: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Scope {
    /// Panes that hold an agent
    #[default]
    Panes,
    /// Windows
    Windows,
    /// Sessions
    Sessions,
    /// Messages that wait, and with --format jsonl every step of every message
    Messages,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A table
    #[default]
    Table,
    /// One JSON document per line
    Jsonl,
}

impl Scope {
    const fn name(self) -> &'static str {
        match self {
            Self::Panes => "panes",
            Self::Windows => "windows",
            Self::Sessions => "sessions",
            Self::Messages => "messages",
        }
    }
}

pub async fn run(args: WatchArgs, context: &Context) -> Result<(), CommandError> {
    let since = args.since.as_deref().map(parse_since).transpose()?;
    let fullscreen = args.format == Format::Table && !args.once && Fullscreen::is_possible();
    let sort = args.sort.unwrap_or(if fullscreen { SortArg::Urgency } else { SortArg::Place });
    let mut query = Query::new(&format!("/v1/{}", args.scope.name()));
    query.text("target", args.target.as_deref());
    query.text("sort", (args.scope == Scope::Panes && sort != SortArg::Place).then(|| sort.name()));
    let watch = Watch { client: context.client(), path: query.path, scope: args.scope, since, color: context.color };
    match (args.format, args.once) {
        (Format::Table, true) => output::print(&watch.page().await?.text()),
        (Format::Table, false) if fullscreen => watch.redraw(args.interval.0).await,
        (Format::Table, false) => watch.print_changes().await,
        (Format::Jsonl, once) if args.scope == Scope::Messages => watch.steps(once, args.after).await,
        (Format::Jsonl, once) => watch.lines(once).await,
    }
}

struct Watch {
    client: Client,
    path: String,
    scope: Scope,
    since: Option<Timestamp>,
    color: bool,
}

impl Watch {
    async fn page(&self) -> Result<Page, CommandError> {
        self.page_by(&self.client).await
    }

    async fn page_by(&self, client: &Client) -> Result<Page, CommandError> {
        Ok(match self.scope {
            Scope::Panes => {
                let mut list: PaneList = client.get(&self.path).await?;
                list.items.retain(|pane| self.is_recent(pane));
                panes_page(&list, self.color)
            }
            Scope::Windows => windows_page(&client.get::<WindowList>(&self.path).await?, true, self.color),
            Scope::Sessions => sessions_page(&client.get::<SessionList>(&self.path).await?, true, self.color),
            Scope::Messages => {
                Page::from_text(&messages_table(&client.get::<MessageList>(&self.path).await?, self.color))
            }
        })
    }

    /// Redraws a terminal in place, until the person ends it. While there is no daemon it shows what it knew last.
    async fn redraw(&self, interval: Duration) -> Result<(), CommandError> {
        let mut page = self.page().await?;
        // What these clients have to tell would be drawn over.
        let quiet = self.client.clone().telling(|_| {});
        let mut follower = Follower::open(quiet.clone(), None).await?.patient(Duration::MAX);
        let client = quiet.never_starting();
        let mut screen = Fullscreen::open()?;
        loop {
            screen.draw(&page.fit(Fullscreen::height()))?;
            let changed = async {
                // Either something happened, or the ages have to be drawn anew.
                if let Ok(frame) = timeout(interval, follower.next()).await {
                    frame?;
                    sleep_until(Instant::now() + REDRAW_PAUSE).await;
                }
                Ok::<_, CommandError>(())
            };
            tokio::select! {
                changed = changed => changed?,
                () = screen.redraw_needed() => {}
            }
            let asked = tokio::select! {
                asked = self.page_by(&client) => asked,
                () = screen.redraw_needed() => continue,
            };
            match asked {
                Ok(now) => page = now,
                Err(error) if is_gone(&error) || error.code == ErrorCode::Timeout => {
                    page.foot = vec![String::new(), format!("{}; this is what was so before", error.message)];
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Prints the table anew for every change.
    async fn print_changes(&self) -> Result<(), CommandError> {
        let mut follower = Follower::open(self.client.clone(), None).await?;
        let client = self.client.clone().never_starting();
        let mut last = String::new();
        loop {
            match self.page_by(&client).await.map(|page| page.text()) {
                Ok(text) if text != last => {
                    output::print(&format!("{text}\n"))?;
                    last = text;
                }
                Ok(_) => {}
                // The follower waits for the next daemon.
                Err(error) if is_gone(&error) => {}
                Err(error) => return Err(error),
            }
            follower.next().await?;
            let deadline = Instant::now() + REDRAW_PAUSE;
            while let Ok(frame) = timeout_at(deadline, follower.next()).await {
                frame?;
            }
        }
    }

    /// The messages that wait, then every step of every message; or every step after one that was seen.
    async fn steps(&self, once: bool, after: Option<u64>) -> Result<(), CommandError> {
        let mut follower = Follower::open(self.client.clone(), after).await?;
        if after.is_none() {
            let list: MessageList = self.client.get(&self.path).await?;
            list.items.iter().try_for_each(|message| step_line(0, &message.queued_at, "present", &json!(message)))?;
        }
        if once {
            return Ok(());
        }
        loop {
            let (Frame::Change { messages, .. } | Frame::Snapshot { messages, .. }) = follower.next().await?;
            messages.iter().try_for_each(|step| step_line(step.seq, &step.at, "step", &json!(step)))?;
        }
    }

    async fn lines(&self, once: bool) -> Result<(), CommandError> {
        let mut follower = Follower::open(self.client.clone(), None).await?;
        let client = self.client.clone().never_starting();
        let mut known = BTreeMap::new();
        let mut begun = false;
        loop {
            let frame = follower.next().await?;
            let items = match self.items(&client, &frame, &known).await {
                Ok(items) => items,
                // The next daemon begins with everything there is.
                Err(error) if is_gone(&error) => continue,
                Err(error) => return Err(error),
            };
            let (seq, at) = stamp(&frame);
            for (change, identity, item) in items {
                if begun || self.since.is_none() || is_since(&item, self.since) {
                    output::print_json(&json!({
                        "schema_version": SCHEMA_VERSION, "seq": seq, "at": at, "scope": self.scope.name(),
                        "change": if begun { change } else { "present" }, "item": item,
                    }))?;
                }
                if change == "removed" {
                    known.remove(&identity)
                } else {
                    known.insert(identity, item)
                };
            }
            begun = true;
            if once {
                return Ok(());
            }
        }
    }

    /// What the frame changes in what this watch shows: kind of change, identity, item.
    async fn items(
        &self,
        client: &Client,
        frame: &Frame,
        known: &BTreeMap<String, Value>,
    ) -> Result<Vec<(&'static str, String, Value)>, CommandError> {
        if let (Scope::Panes, Frame::Change { panes, removed, .. }) = (self.scope, frame) {
            let mut changes = Vec::new();
            for pane in panes.iter().filter(|pane| self.is_on_target(&pane.identity.target)) {
                let identity = key(&json!(pane));
                if pane.runtime_id.is_some() {
                    changes.push(("changed", identity, json!(pane)));
                } else if known.contains_key(&identity) {
                    changes.push((
                        "removed",
                        identity,
                        json!({ "identity": pane.identity, "tmux_socket": pane.tmux_socket }),
                    ));
                }
            }
            for gone in removed {
                let identity = key(&json!(gone));
                if known.contains_key(&identity) {
                    changes.push(("removed", identity, json!(gone)));
                }
            }
            return Ok(changes);
        }
        let document: Value = client.get(&self.path).await?;
        let now: BTreeMap<String, Value> =
            document["items"].as_array().into_iter().flatten().map(|item| (key(item), item.clone())).collect();
        let gone = known.iter().filter(|(identity, _)| !now.contains_key(*identity)).map(|(identity, item)| {
            ("removed", identity.clone(), json!({ "identity": item["identity"], "tmux_socket": item["tmux_socket"] }))
        });
        let changed = now
            .iter()
            .filter(|(identity, item)| known.get(*identity) != Some(item))
            .map(|(identity, item)| ("changed", identity.clone(), item.clone()));
        Ok(gone.chain(changed).collect())
    }

    fn is_on_target(&self, target: &str) -> bool {
        match self.path.split_once("target=") {
            Some((_, wanted)) => wanted == super::list::percent_encode(target),
            None => true,
        }
    }

    fn is_recent(&self, pane: &PaneItem) -> bool {
        self.since.is_none_or(|since| pane.updated_at.as_deref().and_then(parse_time).is_some_and(|at| at >= since))
    }
}

fn step_line(seq: u64, at: &str, change: &str, item: &Value) -> Result<(), CommandError> {
    output::print_json(&json!({
        "schema_version": SCHEMA_VERSION, "seq": seq, "at": at, "scope": "messages", "change": change, "item": item,
    }))
}

/// What tells an item from others: its identity, and the server it is on where that matters.
fn key(item: &Value) -> String {
    format!("{} {}", item["identity"], item["tmux_socket"])
}

fn is_since(item: &Value, since: Option<Timestamp>) -> bool {
    let at = item["updated_at"].as_str().and_then(parse_time);
    since.zip(at).is_none_or(|(since, at)| at >= since)
}

fn parse_time(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}

fn stamp(frame: &Frame) -> (u64, &str) {
    match frame {
        Frame::Snapshot { seq, at, .. } | Frame::Change { seq, at, .. } => (*seq, at),
    }
}

fn parse_since(text: &str) -> Result<Timestamp, CommandError> {
    if let Ok(at) = text.parse() {
        return Ok(at);
    }
    let ago: DurationArg = text.parse().map_err(|_unparsed| {
        CommandError::new(ErrorCode::Usage, format!("{text:?} is neither a time nor a duration"))
            .hint("write 2026-01-31T09:00:00Z, or 5m for five minutes ago")
    })?;
    let ago = jiff::SignedDuration::try_from(ago.0).map_err(CommandError::internal)?;
    Timestamp::now().checked_sub(ago).map_err(CommandError::internal)
}
