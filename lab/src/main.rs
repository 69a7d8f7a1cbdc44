//! The lab's command line.

use std::io::{Write as _, stderr, stdout};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use agtmux_lab::agent::Agent;
use agtmux_lab::alike::{self, Alike};
use agtmux_lab::install::Packages;
use agtmux_lab::model::Server;
use agtmux_lab::play::{Manner, Outcome, agtmux_beside_us, play};
use agtmux_lab::record::{self, VARIANTS, Variant, Wish};
use agtmux_lab::story::Story;
use agtmux_lab::{mail, report, ring, stories, typing};
use agtmux_typist::report::failures;
use anyhow::{Context as _, Result, bail, ensure};
use clap::{Args, Parser, Subcommand};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// Real agents in real tmux, against a scripted model
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Install the agents into the cache, if they are not there
    Install,
    /// List the stories
    List,
    /// Run the scripted model until it is interrupted, to point an agent at it by hand
    Model,
    /// Play stories and check what agtmux says
    Run(RunArguments),
    /// Compare agents in the wrapper with agents without it, after each of many steps
    Alike(AlikeArguments),
    /// Let somebody type into wrapped agents while messages are sent, and say what became of each
    Type(TypeArguments),
    /// Let somebody type into agents, in the wrapper and without it, while they get mail, and say what became of each
    Mail(MailArguments),
    /// Record agents in many states and settings, each with what is true of it
    Record(RecordArguments),
    /// Let three agents talk over `sm` while somebody types into two of them and the daemon is killed
    Ring(RingArguments),
    /// Send messages to several agents of one kind at once, and say which agent each reached
    Cross(CrossArguments),
}

#[derive(Debug, Args)]
struct CrossArguments {
    /// The agents: `codex`, `claude`, …
    #[arg(required = true)]
    agents: Vec<String>,
    /// How many of each there are, in one folder
    #[arg(long, default_value_t = 2)]
    side_by_side: usize,
    /// How many messages are sent in all
    #[arg(long, default_value_t = 40)]
    messages: usize,
}

#[derive(Debug, Args)]
struct RingArguments {
    /// How many messages; six from each to the next are allowed in ten minutes
    #[arg(long, default_value_t = 12)]
    messages: usize,
    /// Kill the daemon about every so many seconds
    #[arg(long)]
    kill_every: Option<u64>,
}

#[derive(Debug, Args)]
struct RecordArguments {
    /// The agents: `claude`, `codex`, `gemini`, `opencode`, `copilot`
    #[arg(required = true)]
    agents: Vec<String>,
    /// Only these variants; all by default
    #[arg(long, value_name = "NAME")]
    variant: Vec<String>,
    /// Only these sessions of the takes
    #[arg(long, value_name = "NAME")]
    session: Vec<String>,
    /// The folder that takes VARIANT/AGENT/CASE
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// How many agents run at once
    #[arg(long, default_value_t = 2)]
    jobs: usize,
}

#[derive(Debug, Args)]
struct TypeArguments {
    /// The agents: `claude`, `codex`
    #[arg(required = true)]
    agents: Vec<String>,
    /// How many messages are sent to each
    #[arg(long, default_value_t = 20)]
    messages: usize,
    /// How many lines are typed into each at least
    #[arg(long, default_value_t = 10)]
    lines: usize,
    /// How many times as fast as people type
    #[arg(long, default_value_t = 1.5)]
    haste: f64,
    /// How many messages are in one conversation at most
    #[arg(long, default_value_t = 50)]
    conversation: usize,
}

#[derive(Debug, Args)]
struct MailArguments {
    /// The agents: `claude`, `codex`
    #[arg(required = true)]
    agents: Vec<String>,
    /// How many messages are sent to each, in the wrapper and without it
    #[arg(long, default_value_t = 8)]
    messages: usize,
    /// Only in the wrapper
    #[arg(long)]
    wrapped: bool,
    /// Only without it
    #[arg(long, conflicts_with = "wrapped")]
    bare: bool,
    /// How many messages are in one conversation at most
    #[arg(long, default_value_t = 50)]
    conversation: usize,
    /// Keep what there is to know of a conversation that went wrong in this folder
    #[arg(long)]
    keep: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct AlikeArguments {
    /// The agents: `claude`, `codex`
    #[arg(required = true)]
    agents: Vec<String>,
    /// Only the steps that say most
    #[arg(long)]
    brief: bool,
    /// How often it is done
    #[arg(long, default_value_t = 1)]
    times: usize,
    /// Keep every picture, and all that was written to each pane, in this folder
    #[arg(long)]
    keep: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct RunArguments {
    /// Only stories whose name begins with one of these: `claude`, `codex/esc`
    names: Vec<String>,
    /// Tell each step as it happens
    #[arg(long)]
    verbose: bool,
    /// Leave a story that fails standing, to be looked at
    #[arg(long)]
    keep: bool,
    /// Do not ask agtmux: see whether the stories happen as written
    #[arg(long)]
    rehearse: bool,
    /// How often each story is played
    #[arg(long, default_value_t = 1)]
    times: usize,
    /// How many are played at once; by default one more than there are processors
    #[arg(long)]
    jobs: Option<usize>,
    /// If at most so many fail, play those once more, one by one: others' programs on a busy machine do miss a key
    #[arg(long, default_value_t = 0)]
    again: usize,
}

#[tokio::main]
async fn main() -> ExitCode {
    match command(Arguments::parse().command).await {
        Ok(code) => code,
        Err(error) => {
            // Nobody is left to be told if this fails.
            writeln!(stderr(), "agtmux-lab: {error:#}").ok();
            ExitCode::FAILURE
        }
    }
}

async fn command(command: Command) -> Result<ExitCode> {
    match command {
        Command::Install => {
            writeln!(stdout(), "{}", Packages::ready()?.bin().display())?;
        }
        Command::List => {
            for story in stories::all()? {
                writeln!(stdout(), "{story}")?;
            }
        }
        Command::Model => {
            let server = Server::start().await.context("no port on loopback")?;
            writeln!(stdout(), "http://127.0.0.1:{}", server.port())?;
            tokio::signal::ctrl_c().await?;
        }
        Command::Run(arguments) => return run(arguments).await,
        Command::Alike(arguments) => return compare(arguments).await,
        Command::Type(arguments) => return type_into(arguments).await,
        Command::Record(arguments) => return record_all(arguments).await,
        Command::Mail(arguments) => return mail_to(arguments).await,
        Command::Cross(arguments) => return cross(arguments).await,
        Command::Ring(arguments) => {
            let (packages, agtmux) = (Packages::ready()?, agtmux_beside_us()?);
            let killed = arguments.kill_every.map(std::time::Duration::from_secs);
            let talk = ring::talk(&packages, &agtmux, arguments.messages, killed).await?;
            write!(stdout(), "{talk}")?;
            return Ok(if talk.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn run(arguments: RunArguments) -> Result<ExitCode> {
    let chosen: Vec<_> = stories::all()?
        .into_iter()
        .filter(|story| {
            let name = story.to_string();
            arguments.names.is_empty() || arguments.names.iter().any(|prefix| name.starts_with(prefix.as_str()))
        })
        .collect();
    ensure!(!chosen.is_empty(), "no story begins with {:?}", arguments.names);
    let packages = match Packages::ready() {
        Ok(packages) => packages,
        Err(error) => {
            writeln!(stderr(), "SKIPPED: none of the {} stories with real agents was played: {error}", chosen.len())?;
            writeln!(stderr(), "`./test --without-lab` goes on without them")?;
            return Ok(ExitCode::FAILURE);
        }
    };
    let manner = Manner {
        packages,
        agtmux: agtmux_beside_us()?,
        verbose: arguments.verbose,
        keep: arguments.keep,
        rehearsal: arguments.rehearse,
    };
    let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    let plays = std::iter::repeat_n(chosen, arguments.times).flatten().collect();
    let mut outcomes = play_all(plays, manner.clone(), arguments.jobs.unwrap_or(cores + 1)).await?;
    play_again(&mut outcomes, manner, arguments.again).await?;
    write!(stdout(), "{}\n{}\n", report::sights(&outcomes), report::latencies(&outcomes))?;
    write!(stderr(), "{}", report::summary(&outcomes))?;
    let failed = outcomes.iter().any(|(_, outcome)| outcome.failure.is_some());
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

async fn compare(arguments: AlikeArguments) -> Result<ExitCode> {
    let agents =
        arguments.agents.iter().map(|name| Agent::from_name(name).with_context(|| format!("there is no agent {name}")));
    let agents = agents.collect::<Result<Vec<_>>>()?;
    let (packages, agtmux) = (Packages::ready()?, agtmux_beside_us()?);
    let mut outcomes = Vec::new();
    for _ in 0..arguments.times {
        let mut comparing = JoinSet::new();
        for (index, agent) in agents.iter().copied().enumerate() {
            let (packages, agtmux) = (packages.clone(), agtmux.clone());
            let manner = alike::Manner { brief: arguments.brief, keep: arguments.keep.clone() };
            comparing.spawn(async move { Ok((index, alike::alike(agent, &packages, &agtmux, &manner).await?)) });
        }
        outcomes.extend(in_order(comparing).await?);
    }
    write!(stdout(), "{}", alike::report(&outcomes))?;
    Ok(if outcomes.iter().all(Alike::is_same) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn record_all(arguments: RecordArguments) -> Result<ExitCode> {
    let agents =
        arguments.agents.iter().map(|name| Agent::from_name(name).with_context(|| format!("there is no agent {name}")));
    let variants: Vec<_> = if arguments.variant.is_empty() {
        VARIANTS.iter().collect()
    } else {
        let named = |name: &String| Variant::from_name(name).with_context(|| format!("there is no variant {name}"));
        arguments.variant.iter().map(named).collect::<Result<_>>()?
    };
    let wish = Wish {
        agents: agents.collect::<Result<_>>()?,
        variants,
        sessions: arguments.session,
        out: arguments.out,
        agtmux: agtmux_beside_us()?,
    };
    let seats = Arc::new(Semaphore::new(arguments.jobs.max(1)));
    let mut recording = JoinSet::new();
    for (index, job) in record::jobs(&wish)?.into_iter().enumerate() {
        let seats = Arc::clone(&seats);
        recording.spawn(async move {
            let _seat = seats.acquire_owned().await?;
            let recorded = job.record().await?;
            write!(stdout(), "{recorded}")?;
            Ok((index, recorded))
        });
    }
    let recorded = in_order(recording).await?;
    let (kept, dropped): (usize, usize) =
        recorded.iter().fold((0, 0), |(kept, dropped), one| (kept + one.kept.len(), dropped + one.dropped.len()));
    let broken = recorded.iter().filter(|one| one.broken.is_some()).count();
    writeln!(stdout(), "{kept} recordings kept, {dropped} dropped, {broken} sessions broken off")?;
    Ok(if dropped + broken == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn cross(arguments: CrossArguments) -> Result<ExitCode> {
    let (packages, agtmux) = (Packages::ready()?, agtmux_beside_us()?);
    let mut clean = true;
    for name in &arguments.agents {
        let agent = Agent::from_name(name).with_context(|| format!("there is no agent {name}"))?;
        let crossing =
            agtmux_lab::cross::cross(agent, &packages, &agtmux, arguments.side_by_side, arguments.messages).await?;
        write!(stdout(), "{agent}\n{crossing}")?;
        clean &= crossing.is_clean();
    }
    Ok(if clean { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn type_into(arguments: TypeArguments) -> Result<ExitCode> {
    let (packages, agtmux) = (Packages::ready()?, agtmux_beside_us()?);
    let mut clean = true;
    for name in &arguments.agents {
        let agent = Agent::from_name(name).with_context(|| format!("there is no agent {name}"))?;
        let mut typed = typing::Typed::default();
        while typed.messages.len() < arguments.messages || typed.lines.len() < arguments.lines {
            let left = |wanted: usize, done: usize| wanted.saturating_sub(done).min(arguments.conversation);
            let (messages, lines) =
                (left(arguments.messages, typed.messages.len()), left(arguments.lines, typed.lines.len()));
            typed += typing::converse(agent, &packages, &agtmux, lines, messages, arguments.haste).await?;
        }
        for stray in &typed.strays {
            writeln!(stderr(), "  stray: {:?}", stray.chars().take(400).collect::<String>())?;
        }
        let (messages, lines) = (typed.messages.len(), typed.lines.len());
        writeln!(stdout(), "{agent}: {messages} messages, not intact: {}", failures(&typed.messages))?;
        writeln!(stdout(), "{agent}: {lines} lines typed, not intact: {}", failures(&typed.lines))?;
        let (strays, overtaken, put_off) = (typed.strays.len(), typed.overtaken, typed.put_off);
        writeln!(stdout(), "{agent}: {strays} strays, {overtaken} overtaken in its queue, put off {put_off} times")?;
        clean &= typed.is_clean();
    }
    Ok(if clean { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn mail_to(arguments: MailArguments) -> Result<ExitCode> {
    let mut terminated = signal(SignalKind::terminate())?;
    let (packages, agtmux) = (Packages::ready()?, agtmux_beside_us()?);
    let mut clean = true;
    for name in &arguments.agents {
        let agent = Agent::from_name(name).with_context(|| format!("there is no agent {name}"))?;
        for wrapped in [true, false] {
            if wrapped && arguments.bare || !wrapped && arguments.wrapped {
                continue;
            }
            let how = if wrapped { "in the wrapper" } else { "without the wrapper" };
            let mut mailed = mail::Mailed::default();
            while mailed.messages.len() < arguments.messages {
                let messages = (arguments.messages - mailed.messages.len()).min(arguments.conversation);
                let keep = arguments.keep.as_deref();
                // What is broken off takes its stage down.
                mailed += tokio::select! {
                    mailed = mail::converse(agent, &packages, &agtmux, wrapped, messages, keep) => mailed?,
                    _ = tokio::signal::ctrl_c() => bail!("interrupted"),
                    _ = terminated.recv() => bail!("terminated"),
                };
                write!(stderr(), "{agent} {how}, so far: {mailed}")?;
            }
            write!(stdout(), "{agent} {how}: {mailed}")?;
            clean &= mailed.is_clean();
        }
    }
    Ok(if clean { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Plays all stories, so many at once, and gives their outcomes in order.
async fn play_all(stories: Vec<Story>, manner: Manner, jobs: usize) -> Result<Vec<(Story, Outcome)>> {
    let seats = Arc::new(Semaphore::new(jobs.max(1)));
    let mut playing = JoinSet::new();
    for (index, story) in stories.into_iter().enumerate() {
        let (seats, manner) = (Arc::clone(&seats), manner.clone());
        playing.spawn(async move {
            let _seat = seats.acquire_owned().await?;
            let outcome = play(&story, &manner).await.with_context(|| story.to_string())?;
            Ok((index, (story, outcome)))
        });
    }
    in_order(playing).await
}

/// Plays once more what failed, if that is little. How it failed the first time is told all the same.
async fn play_again(outcomes: &mut [(Story, Outcome)], manner: Manner, at_most: usize) -> Result<()> {
    let failed: Vec<_> = (0..outcomes.len()).filter(|place| outcomes[*place].1.failure.is_some()).collect();
    if failed.len() > at_most {
        return Ok(());
    }
    let stories = failed.iter().map(|place| outcomes[*place].0.clone()).collect();
    let played = play_all(stories, manner, 1).await?;
    for (place, again) in failed.into_iter().zip(played) {
        if let Some(failure) = &outcomes[place].1.failure {
            writeln!(stderr(), "PLAYED AGAIN, since it failed: {failure}")?;
        }
        outcomes[place] = again;
    }
    Ok(())
}

/// Waits for all of them, and gives what they give in order. What is broken off takes its stage down.
async fn in_order<T: 'static>(mut tasks: JoinSet<Result<(usize, T)>>) -> Result<Vec<T>> {
    let mut outcomes = Vec::new();
    let mut terminated = signal(SignalKind::terminate())?;
    loop {
        tokio::select! {
            ended = tasks.join_next() => match ended {
                Some(ended) => outcomes.push(ended??),
                None => break,
            },
            _ = tokio::signal::ctrl_c() => bail!("interrupted"),
            _ = terminated.recv() => bail!("terminated"),
        }
    }
    outcomes.sort_by_key(|(index, _)| *index);
    Ok(outcomes.into_iter().map(|(_, outcome)| outcome).collect())
}
