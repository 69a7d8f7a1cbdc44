//! `agtmux send REF --text TEXT`: types a text at an agent, as its next prompt.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agtmux_wire::error::ErrorCode;
use agtmux_wire::send::{SendEffect, SendRequest, SendStatus, Sent};
use clap::Args;

use super::acting::{Acted, act, tell_found};
use super::guard::GuardArgs;
use super::output::printable;
use super::{Context, body, output};
use crate::error::CommandError;

/// The daemon waits for a quiet moment, for the agent to draw, and for it to take the text.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, Args)]
#[command(
    group = clap::ArgGroup::new("body").required(true),
    after_help = "The text arrives byte for byte, or is refused: 1 byte to 256 KiB of UTF-8, line feeds and tabs, no other\ncontrol characters. Line feeds at its end are left out. A text that the agent would run (`/clear`, `!ls`) needs --raw.\n\nNothing is typed into a dialog, over somebody's draft, while somebody types, in copy mode, or into a shell that an agent\nleft behind. The exit code is 0 only when the agent took the text (or shows it, with --no-enter). It is 1\nalso when the daemon ended before it answered: the outcome is then unknown.\n\nExamples:\n  agtmux send %3 --text 'run the tests again'\n  agtmux send reviewer --file plan.md --if-state idle\n  git diff | agtmux send runtime:rt_4f1c -\n  agtmux send %3 --text /compact --raw"
)]
pub struct SendArgs {
    /// Which agent: `%3`, a name, `runtime:ID` or `pane:TARGET/SESSION/WINDOW/PANE`
    #[arg(value_name = "REF")]
    reference: String,
    /// The text, read from standard input
    #[arg(value_name = "-", group = "body", value_parser = ["-"])]
    stdin: Option<String>,
    /// The text
    #[arg(long, value_name = "TEXT", group = "body", allow_hyphen_values = true)]
    text: Option<String>,
    /// A file that holds the text; `-` is standard input
    #[arg(long, value_name = "FILE", group = "body")]
    file: Option<PathBuf>,
    /// Leave it in the composer
    #[arg(long, overrides_with = "enter")]
    no_enter: bool,
    /// Submit it, which is the default
    #[arg(long, overrides_with = "no_enter")]
    enter: bool,
    /// Send it though the agent would run it, or pick from a menu, instead of reading it as a prompt
    #[arg(long)]
    raw: bool,
    #[command(flatten)]
    guard: GuardArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub async fn run(args: SendArgs, context: &Context) -> Result<(), CommandError> {
    let text = match (args.text, &args.file) {
        (Some(text), _) => text,
        (None, Some(file)) => body::read(file)?,
        (None, None) => body::read(Path::new("-"))?,
    };
    let aim = args.guard.aim(args.reference);
    let action = aim.action_id.clone().unwrap_or_default();
    let request = SendRequest { aim, text, enter: !args.no_enter, raw: args.raw };
    let client = context.client().patient(PATIENCE);
    let mut answer = std::pin::pin!(act::<Sent>(&client, "/v1/actions/send", &request, &action));
    let acted = tokio::select! {
        sent = &mut answer => sent?,
        () = tokio::time::sleep(Duration::from_secs(1)) => {
            if std::io::stderr().is_terminal() {
                output::remark("waiting for the agent to take it …");
            }
            answer.await?
        }
    };
    let sent = match acted {
        Acted::Answered(sent) => sent,
        Acted::Found(item) => return tell_found(&item, args.json),
    };
    if args.json {
        output::print_json(&sent)?;
    } else if sent.status != SendStatus::Unconfirmed {
        output::print(&format!("{}\n", summary(&sent)))?;
    }
    if sent.status == SendStatus::Unconfirmed {
        let message = format!("typed at {}, but not confirmed: {}", sent.runtime_id, sent.detail);
        return Err(CommandError::new(ErrorCode::Unconfirmed, message)
            .hint("look at its pane before you send it again: it may be there already"));
    }
    Ok(())
}

fn summary(sent: &Sent) -> String {
    let what = match (sent.status, sent.effect) {
        (SendStatus::Typed, _) => "typed, not submitted",
        (_, Some(SendEffect::Queued)) => "sent; it waits for the turn under way",
        (_, Some(SendEffect::Steers)) => "sent into the turn under way",
        _ => "sent",
    };
    printable(&format!("{what}: {} ({}, {}); {}", sent.runtime_id, sent.agent, sent.pane_id, sent.detail))
}
