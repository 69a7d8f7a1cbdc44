//! The typist's command line.

use std::io::{Write as _, stderr, stdout};
use std::path::PathBuf;
use std::process::ExitCode;

use agtmux_typist::inject::Way;
use agtmux_typist::mischief::Mischief;
use agtmux_typist::run::{Plan, run};
use agtmux_typist::{body, deaths, prove, report, tui};
use anyhow::{Result, ensure};
use clap::{Args, Parser, Subcommand};

/// People who type while messages come in
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// The fake agent
    Tui(tui::Manners),
    /// Let people type and messages come in, and say what became of each
    Run(RunArguments),
    /// Everything that is promised, one after the other, with a table
    Prove(ProveArguments),
    /// Kill tmux servers, and see that nothing reaches the one that follows
    Deaths(DeathArguments),
}

#[derive(Debug, Args)]
struct ProveArguments {
    /// The full counts, which take about an hour
    #[arg(long)]
    long: bool,
}

#[derive(Debug, Args)]
struct DeathArguments {
    /// How often
    #[arg(long, default_value_t = 20)]
    times: usize,
    /// With how many agents each
    #[arg(long, default_value_t = 4)]
    panes: usize,
    /// The program agtmux; by default the one beside this program
    #[arg(long)]
    agtmux: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct RunArguments {
    /// How messages are sent
    #[arg(required = true)]
    ways: Vec<Way>,
    /// How many messages are sent each way
    #[arg(long, default_value_t = 200)]
    messages: usize,
    /// How many lines are typed at least
    #[arg(long, default_value_t = 100)]
    lines: usize,
    /// In how many panes at once
    #[arg(long, default_value_t = 8)]
    panes: usize,
    /// How many times as fast as people type
    #[arg(long, default_value_t = 3.0)]
    haste: f64,
    /// The longest message, in bytes
    #[arg(long, default_value_t = body::LARGEST)]
    largest: usize,
    /// The agents draw a change this many milliseconds later at most
    #[arg(long, default_value_t = 500)]
    lag: u64,
    /// Now and then the agents read nothing for this many milliseconds at most
    #[arg(long, default_value_t = 0)]
    stall: u64,
    /// The agents take Enter so many milliseconds after a paste for a part of it
    #[arg(long, default_value_t = 0)]
    settle: u64,
    /// The program agtmux; by default the one beside this program
    #[arg(long)]
    agtmux: Option<PathBuf>,
    /// What is done to daemon and wrappers meanwhile
    #[arg(long)]
    mischief: Option<Mischief>,
    /// How often
    #[arg(long, default_value_t = 100)]
    times: usize,
    /// Repeats a run; by default each is another
    #[arg(long)]
    seed: Option<u64>,
    /// Fail if anything is not intact
    #[arg(long)]
    expect_clean: bool,
    /// Show this many submissions that are none of the texts
    #[arg(long, default_value_t = 5)]
    show: usize,
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Tui(manners) => tui::run(&manners),
        Command::Run(arguments) => run_all(&arguments),
        Command::Prove(arguments) => prove(&arguments),
        Command::Deaths(arguments) => die(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            writeln!(stderr(), "error: {error:#}").ok();
            ExitCode::FAILURE
        }
    }
}

fn run_all(arguments: &RunArguments) -> Result<()> {
    let seed = arguments.seed.unwrap_or_else(|| fastrand::u64(..));
    let agtmux = program(arguments.agtmux.as_ref())?;
    let manner = |name: &str, value: u64| [format!("--{name}"), value.to_string()];
    let mut runs = Vec::new();
    for way in &arguments.ways {
        let plan = Plan {
            name: way.name().to_owned(),
            way: *way,
            messages: arguments.messages,
            lines: arguments.lines,
            panes: arguments.panes,
            haste: arguments.haste,
            largest: arguments.largest,
            manners: [
                manner("lag", arguments.lag),
                manner("stall", arguments.stall),
                manner("settle", arguments.settle),
            ]
            .concat(),
            seed,
            agtmux: agtmux.clone(),
            mischief: arguments.mischief.map(|mischief| (mischief, arguments.times)),
        };
        writeln!(stderr(), "{}: {} messages, seed {seed}, load {}", way.name(), plan.messages, report::load())?;
        let outcome = run(&plan)?;
        for stray in outcome.verdicts.iter().flat_map(|verdict| &verdict.strays).take(arguments.show) {
            let shown: String = stray.chars().take(300).collect();
            writeln!(stderr(), "  stray: {shown:?}")?;
        }
        runs.push((plan, outcome));
    }
    writeln!(stdout(), "{}\nload {}", report::table(&runs), report::load())?;
    ensure!(
        !arguments.expect_clean || runs.iter().all(|(_, outcome)| report::is_clean(outcome)),
        "not everything is intact"
    );
    Ok(())
}

fn die(arguments: &DeathArguments) -> Result<()> {
    let agtmux = program(arguments.agtmux.as_ref())?;
    let deaths = deaths::die(arguments.times, arguments.panes, &agtmux)?;
    writeln!(stdout(), "{}\nload {}", deaths.told(), report::load())?;
    ensure!(deaths.is_in_time(), "an agent whose server was dead was shown for too long");
    Ok(())
}

fn prove(arguments: &ProveArguments) -> Result<()> {
    let before = report::load();
    let mut say = |line: &str| Ok(writeln!(stderr(), "{line}")?);
    let proof = prove::prove(arguments.long, &program(None)?, &mut say)?;
    writeln!(stdout(), "{}\nload {before} before, {} after", proof.told(), report::load())?;
    let failures = proof.failures();
    ensure!(failures.is_empty(), "{}", failures.join("; "));
    Ok(())
}

fn program(chosen: Option<&PathBuf>) -> Result<PathBuf> {
    let beside = std::env::current_exe()?.with_file_name("agtmux");
    let agtmux = chosen.cloned().unwrap_or(beside);
    ensure!(agtmux.exists(), "{} is not there: cargo build --bins", agtmux.display());
    Ok(agtmux)
}
