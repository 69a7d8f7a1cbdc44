//! `agtmux explain REF`.

use std::fmt::Write as _;

use agtmux_wire::error::ErrorCode;
use agtmux_wire::explain::Explanation;
use clap::Args;
use jiff::Timestamp;

use super::list::{percent_encode, waiting};
use super::output::printable;
use super::sm::way;
use super::table::{age, or_dash};
use super::{Context, output};
use crate::error::CommandError;

#[derive(Debug, Args)]
#[command(
    after_help = "A reference is one of\n  runtime:ID                            a runtime, by id or unique prefix\n  pane:TARGET/SESSION/WINDOW/PANE       a pane; WINDOW is @id, index or name, PANE is %id or index\n  %3                                    a pane id, if it is unique\n  NAME                                  a friendly name"
)]
pub struct ExplainArgs {
    /// Which agent
    #[arg(value_name = "REF")]
    reference: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub async fn run(args: ExplainArgs, context: &Context) -> Result<(), CommandError> {
    if args.reference.is_empty() {
        return Err(CommandError::new(ErrorCode::RefMalformed, "the reference is empty")
            .hint("`agtmux list panes` shows the agents there are; `agtmux explain --help` the grammar"));
    }
    let path = format!("/v1/explain/{}", percent_encode(&args.reference));
    let client = context.client();
    if args.json {
        output::print_bytes(&client.get_text(&path).await?)?;
        return output::print("\n");
    }
    let explanation: Explanation = client.get(&path).await?;
    output::print(&render(&explanation))
}

fn render(explanation: &Explanation) -> String {
    let now: Timestamp = explanation.generated_at.parse().unwrap_or_else(|_| Timestamp::now());
    let pane = &explanation.pane;
    let mut text = String::new();
    let mut line = |label: &str, value: &str| {
        let _ = writeln!(text, "{label:<12}{}", printable(value));
    };
    let state = or_dash(pane.state.as_deref());
    let reason = or_dash(pane.reason_code.as_deref());
    line("state", &format!("{state}, because {reason}, for {}", age(pane.since.as_deref(), now)));
    line("confidence", &or_dash(pane.confidence.as_deref()));
    if let Some(message) = &pane.attention.message {
        line("message", message);
    }
    if pane.attention.kind.as_deref() == Some("mail_waiting") {
        line("calls for", "mail_waiting");
    }
    if let Some(busy) = &pane.busy {
        line("busy", &format!("{} (until {} at the latest)", busy.reason, busy.until));
    }
    if let Some(mail) = &pane.mail {
        line("mail", &format!("{}, the first for {}", waiting(mail), age(Some(&mail.since), now)));
    }
    if let Some(message) = &explanation.last_message {
        line("was given", &format!("{} {}", message.id, way(message)));
    }
    if pane.hooks_loaded == Some(false) {
        line("hooks", "hooks not loaded by this session: restart it to load them");
    }
    if let Some(prompt) = &pane.prompt {
        line("prompt", &format!("{} {}", prompt.hash, prompt.subject.as_deref().unwrap_or_default()));
    }
    line(
        "agent",
        &format!(
            "{} (pid {})",
            or_dash(pane.agent.as_deref()),
            pane.pid.map_or_else(|| "-".to_owned(), |pid| pid.to_string())
        ),
    );
    if let Some(why) = &explanation.identified_by {
        line("known by", why);
    }
    line("runtime", &or_dash(pane.runtime_id.as_deref()));
    let identity = &pane.identity;
    line(
        "pane",
        &format!("pane:{}/{}/{}/{}", identity.target, identity.session_name, identity.window_id, identity.pane_id),
    );
    text.push_str("\nevidence\n");
    if explanation.chain.is_empty() {
        text.push_str("  none: no source has said anything about this runtime\n");
    }
    for step in &explanation.chain {
        let expires = step.expires_at.as_deref().map_or_else(String::new, |at| format!(", holds until {at}"));
        let note = step.note.as_deref().map_or_else(String::new, |note| format!(" ({note})"));
        let _ = writeln!(
            text,
            "  {:<10} {} = {} [{} from {}, event {}, {} ago{expires}]{}",
            step.status,
            step.fact,
            printable(&step.value),
            step.evidence,
            step.source,
            step.seq,
            age(Some(&step.at), now),
            printable(&note),
        );
    }
    if !explanation.sources.is_empty() {
        text.push_str("\nsources\n");
        for source in &explanation.sources {
            let misses = match source.near_misses {
                0 => String::new(),
                misses => {
                    let last = source.last_near_miss.as_deref().unwrap_or_default();
                    format!(", {misses} not understood, the last: {last:?}")
                }
            };
            let _ =
                writeln!(text, "  {:<12} heard {} ago{misses}", source.source, age(source.last_heard.as_deref(), now));
        }
    }
    if !explanation.limits.is_empty() {
        text.push_str("\nlimits\n");
        for limit in &explanation.limits {
            let _ = writeln!(text, "  {}", printable(limit));
        }
    }
    text.push_str("\nwhat would change it\n");
    for change in &explanation.would_change {
        let _ = writeln!(text, "  {}", printable(change));
    }
    text
}
