//! `sm send`: to one agent, or to several of whom each gets a message of its own.

use std::path::{Path, PathBuf};
use std::time::Duration;

use agtmux_wire::error::{ErrorCode, ErrorDetail};
use agtmux_wire::mail::{Message, PostMessage, PostMessages, PostedMessages};
use clap::Args;
use futures_util::future::join_all;
use serde_json::json;

use super::follow::{fresh_id, is_gone, surely, to_its_end, unsure};
use super::text::{line, waits_for, why};
use crate::cli::list::percent_encode;
use crate::cli::output::printable;
use crate::cli::{Context, DurationArg, body, output};
use crate::client::Unanswered;
use crate::error::CommandError;

/// How long `--wait` waits unless told.
const WAIT: Duration = Duration::from_secs(600);

/// Between what the daemon may take to answer and what is waited for.
const GRACE: Duration = Duration::from_secs(15);

/// How long the answer to a message may take: to something urgent the daemon answers when it is delivered, or eight seconds later.
const ACCEPTING: Duration = Duration::from_secs(25);

/// How long it is waited to know what a message waits for: a screen that is being painted is looked at for two seconds.
const SETTLING: Duration = Duration::from_millis(2_500);

/// More than this many seconds, ten years, nobody means.
const LONGEST: u64 = 10 * 366 * 86_400 + 1;

#[derive(Debug, Args)]
#[command(
    after_help = "The message is on the disk when this returns, and ends in one of three ways: confirmed, when the agent itself says that it\nwas given it; unconfirmed, when it was typed and nobody can say; not delivered. It is never typed into a dialog, over\nsomebody's draft, or at another agent, and never twice.\n\nA single line of yours that begins with a slash and a word, such as /compact, is a command: it is typed as it is and alone, for\nthe agent to run, and no agent says that it did, so it ends unconfirmed. With --words it is a message like any other.\n\nExamples:\n  sm send reviewer 'the tests are green, please look at the diff'\n  sm send api --file plan.md --important\n  git diff | sm send api - --timeout 10m\n  sm send api 'are you done?' --wait 5m\n\nSeveral agents get a message each; `--json` then prints an array, and the exit code is that of the first that failed:\n  sm send api,web 'main is red, please stop'\n  sm send --to api --to web 'main is red' --id red-1\n  sm send --all 'the schema has changed' --important\n  sm send --agent claude --state idle 'who can take the docs?'"
)]
pub struct SendArgs {
    /// To whom: a name, `%3`, `runtime:ID` or `pane:TARGET/SESSION/WINDOW/PANE`; several with commas. Not with --to, --all,
    /// --agent or --state
    #[arg(value_name = "TO")]
    to: Option<String>,
    /// The message; `-` reads it from standard input
    #[arg(value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "file")]
    text: Option<String>,
    /// A file that holds the message
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// To this agent; may be repeated
    #[arg(long = "to", value_name = "REF", value_delimiter = ',')]
    also: Vec<String>,
    /// To all agents but the one that sends it
    #[arg(long)]
    all: bool,
    /// To all agents of this kind, `claude` for instance
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// To all agents in this state
    #[arg(long, value_name = "STATE")]
    state: Option<String>,
    /// When its turn has ended, though something in the background may wake it
    #[arg(long)]
    important: bool,
    /// At once: a turn under way is interrupted. For emergencies. Answers when it is delivered, or after 8 seconds with exit code 5
    /// if it still waits
    #[arg(long, conflicts_with = "important")]
    urgent: bool,
    /// Do not deliver it later than this from now, such as `5m`
    #[arg(long, value_name = "TIME")]
    timeout: Option<DurationArg>,
    /// Tell the agent that sends it when it was delivered
    #[arg(long)]
    notify_on_delivery: bool,
    /// Tell the agent that sends it so long after it was delivered, to look what came of it
    #[arg(long, value_name = "TIME")]
    notify_after: Option<DurationArg>,
    /// The message that it answers
    #[arg(long, value_name = "ID")]
    reply_to: Option<String>,
    /// It is words for the agent to read, though it begins like a command: `/tmp is full`
    #[arg(long)]
    words: bool,
    /// Wait until it is known what became of it, 10 minutes unless told
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = false)]
    wait: Option<Option<DurationArg>>,
    /// An id of your own: sent again with it, it is not delivered twice. Of several messages each gets its own, made of it
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: SendArgs, context: &Context) -> Result<(), CommandError> {
    let wait = args.wait.map(|wait| wait.map_or(WAIT, |DurationArg(wait)| wait));
    let json = args.json;
    let (to, message) = request(&args)?;
    let To::One(to) = to else {
        return to_several(to, message, wait, json, context).await;
    };
    let (id, request) = named(PostMessage { to, ..message });
    let client = context.client().patient(ACCEPTING);
    let message = surely(async || client.post_unless_lost("/v1/messages", &request).await).await;
    let message = message.map_err(|lost| unsure(lost, &id, &format!("`sm show {id}` tells")))?;
    let message = settled(message, wait, context).await?;
    if json {
        output::print_json(&message)?;
    } else {
        if let Some(answered) = message.reply_to.as_ref().filter(|_| message.reply_to_forgotten) {
            output::remark(&printable(&format!(
                "{answered}, which it answers, is not remembered, if it ever was there"
            )));
        }
        output::print(&format!("{}\n", line(&message)))?;
    }
    outcome(&message, wait)
}

/// A message with an id that is known before it is asked for, so that it can be asked for again.
fn named(message: PostMessage) -> (String, PostMessage) {
    let id = message.id.clone().unwrap_or_else(fresh_id);
    (id.clone(), PostMessage { id: Some(id), ..message })
}

/// Who is meant.
enum To {
    One(String),
    Several(Vec<String>),
    Filtered { named: Vec<String>, all: bool, agent: Option<String>, state: Option<String> },
}

/// Who is to get what.
fn request(args: &SendArgs) -> Result<(To, PostMessage), CommandError> {
    let is_filtered = args.all || args.agent.is_some() || args.state.is_some();
    let is_said = is_filtered || !args.also.is_empty();
    // Where it is said otherwise who gets it, a single word is the message.
    let (to, text) = match (&args.to, &args.text, &args.file) {
        (Some(text), None, None) if is_said => (None, Some(text)),
        (Some(to), _, _) if is_said => {
            let twice = format!("it is said twice who gets it: {to:?}, and with --to, --all, --agent or --state");
            return Err(CommandError::new(ErrorCode::Usage, twice)
                .hint("a message of several words needs quotes: `sm send --all 'two words'`"));
        }
        (to, text, _) => (to.as_ref(), text.as_ref()),
    };
    let text = match (text.map(String::as_str), &args.file) {
        (Some("-"), _) => body::read(Path::new("-"))?,
        (Some(text), _) => text.to_owned(),
        (None, Some(file)) => body::read(file)?,
        (None, None) => {
            return Err(CommandError::new(ErrorCode::Usage, "there is no message").hint("see `sm send --help`"));
        }
    };
    // Only one of them is there.
    let mut named: Vec<_> = to.map(String::as_str).map(names).unwrap_or_default();
    named.extend(args.also.iter().cloned());
    let to = if is_filtered {
        To::Filtered { named, all: args.all, agent: args.agent.clone(), state: args.state.clone() }
    } else if args.also.is_empty() && named.len() == 1 {
        To::One(named.remove(0))
    } else {
        To::Several(named)
    };
    if matches!(&to, To::Several(named) if named.is_empty()) {
        return Err(CommandError::new(ErrorCode::Usage, "it is not said who gets it").hint("see `sm send --help`"));
    }
    let message = PostMessage {
        text,
        delivery_mode: match (args.important, args.urgent) {
            (true, _) => Some("important".to_owned()),
            (_, true) => Some("urgent".to_owned()),
            (false, false) => None,
        },
        id: args.id.clone(),
        timeout_seconds: seconds(args.timeout, "--timeout")?,
        reply_to: args.reply_to.clone(),
        notify_on_delivery: args.notify_on_delivery,
        notify_after_seconds: seconds(args.notify_after, "--notify-after")?,
        words: args.words,
        ..PostMessage::default()
    };
    Ok((to, message))
}

/// A time in whole seconds, if it is one that somebody can mean.
fn seconds(time: Option<DurationArg>, option: &str) -> Result<Option<u64>, CommandError> {
    let Some(DurationArg(time)) = time else { return Ok(None) };
    match time.as_secs() {
        0 => Err(CommandError::new(ErrorCode::Usage, format!("{option} is less than a second"))),
        LONGEST.. => Err(CommandError::new(ErrorCode::Usage, format!("{option} is more than ten years"))
            .hint("leave it out to let the message wait for ever")),
        seconds => Ok(Some(seconds)),
    }
}

/// The references in a list. The name of a session may hold a comma, and stands in one kind of reference only.
fn names(list: &str) -> Vec<String> {
    if list.starts_with("pane:") {
        return vec![list.to_owned()];
    }
    list.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

async fn to_several(
    to: To,
    message: PostMessage,
    wait: Option<Duration>,
    json: bool,
    context: &Context,
) -> Result<(), CommandError> {
    let request = match to {
        To::One(to) => PostMessages { to: vec![to], message, ..PostMessages::default() },
        To::Several(to) => PostMessages { to, message, ..PostMessages::default() },
        To::Filtered { named, all, agent, state } => PostMessages { to: named, all, agent, state, message },
    };
    let (id, message) = named(request.message);
    let request = PostMessages { message, ..request };
    let client = context.client().patient(ACCEPTING);
    let posted = surely(async || {
        let posted: PostedMessages = client.post_unless_lost("/v1/mailings", &request).await?;
        let mut errors = posted.items.iter().filter_map(|item| item.error.clone().map(CommandError::from));
        errors.find(is_gone).map_or(Ok(posted), |error| Err(Unanswered { error, may_be_done: true }))
    });
    let look = format!("`sm queue --all` shows them: their ids begin with {id}");
    let posted = posted.await.map_err(|lost| unsure(lost, &id, &look))?;
    let are_accepted = posted.items.iter().all(|item| item.message.is_some());
    let answers = posted.items.into_iter().map(|item| async move {
        let accepted = item.message.ok_or_else(|| item.error.unwrap_or_else(nothing_said));
        let answer = match accepted {
            Ok(message) => settled(message, wait, context).await.map_err(ErrorDetail::from),
            Err(error) => Err(error),
        };
        (item.to, answer)
    });
    let answers = join_all(answers).await;
    let mut known = answers.iter().filter_map(|(_, answer)| answer.as_ref().ok());
    let first_bad = known.find_map(|message| outcome(message, wait).err());
    answer_each(answers, json, if are_accepted { "seen through, though accepted" } else { "accepted" })?;
    first_bad.map_or(Ok(()), Err)
}

fn nothing_said() -> ErrorDetail {
    CommandError::internal("the daemon said nothing of it").into()
}

/// Tells what became of each of several messages. Fails as the first of them did, if any did.
pub(super) fn answer_each(
    answers: Vec<(String, Result<Message, ErrorDetail>)>,
    json: bool,
    what: &str,
) -> Result<(), CommandError> {
    let failures = answers.iter().filter_map(|(_, answer)| answer.as_ref().err());
    let (count, all) = (failures.clone().count(), answers.len());
    let first = failures.clone().next().map(|error| (error.code, error.hint.clone()));
    if json {
        let items = answers.iter().map(|(to, answer)| match answer {
            Ok(message) => json!(message),
            Err(error) => json!({ "to": to, "error": error }),
        });
        output::print_json(&items.collect::<Vec<_>>())?;
    } else {
        for (to, answer) in &answers {
            match answer {
                Ok(message) => output::print(&format!("{}\n", line(message)))?,
                Err(error) => {
                    output::remark(&printable(&format!("{to}: {} [{}]", error.message, error.code.name())));
                }
            }
        }
    }
    let Some((code, hint)) = first else { return Ok(()) };
    let error = CommandError::new(code, format!("{count} of {all} messages not {what}"));
    Err(CommandError { hint, ..error })
}

/// A message when it is known what became of it, or when it was waited long enough.
async fn settled(message: Message, wait: Option<Duration>, context: &Context) -> Result<Message, CommandError> {
    let Some(wait) = wait else { return Ok(known_to_wait(message, context).await) };
    let ask = async |id: &str, left: Duration| {
        let path = format!("/v1/messages/{}?wait_ms={}", percent_encode(id), left.as_millis());
        context.client().patient(left.saturating_add(GRACE)).get(&path).await
    };
    to_its_end(message, wait, ask).await
}

/// A message that seemed to wait for nothing, once it was delivered or it is known what it waits for after all: whether text can be typed
/// is found out by looking. One that is not known in time is given as it was.
async fn known_to_wait(message: Message, context: &Context) -> Message {
    if !matches!(message.estimated_delivery.as_deref(), Some("now" | "waiting_for_a_delivery_under_way")) {
        return message;
    }
    let path = format!("/v1/messages/{}?settle_ms={}", percent_encode(&message.id), SETTLING.as_millis());
    context.client().patient(SETTLING + GRACE).get(&path).await.unwrap_or(message)
}

/// Whether what was wanted came of a message, if somebody wanted to hear of that: to wait for its end, or to interrupt for it.
fn outcome(message: &Message, wait: Option<Duration>) -> Result<(), CommandError> {
    let is_late = message.delivery_mode == "urgent" && !matches!(message.status.as_str(), "delivered" | "submitted");
    if wait.is_some() || is_late { verdict(message) } else { Ok(()) }
}

/// What became of a message that was waited for.
fn verdict(message: &Message) -> Result<(), CommandError> {
    match message.verdict.as_deref() {
        Some("confirmed") => Ok(()),
        None => {
            let waits = waits_for(message).filter(|waits| waits != "now");
            let waits = waits.map(|waits| format!(", {waits}")).unwrap_or_default();
            Err(CommandError::new(ErrorCode::Timeout, format!("{} is still {}{waits}", message.id, message.status))
                .hint(format!("it goes on by itself; `sm show {}` tells", message.id)))
        }
        Some("unconfirmed") => {
            Err(CommandError::new(ErrorCode::Unconfirmed, format!("{} is unconfirmed: {}", message.id, why(message)))
                .hint("look at its pane before you send it again: it may be there already"))
        }
        Some(_) => Err(CommandError::new(
            ErrorCode::PreconditionFailed,
            format!("{} was not delivered: {}", message.id, why(message)),
        )
        .hint("send it again when it can be")),
    }
}
