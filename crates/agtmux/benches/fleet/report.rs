//! The table: one row per figure, with its baseline from the same run.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

const BEGIN: &str = "<!-- figures: begin (./bench --write) -->";
const END: &str = "<!-- figures: end -->";

/// A row of the table.
#[derive(Debug)]
pub(crate) struct Figure {
    pub(crate) name: String,
    pub(crate) measured: String,
    pub(crate) baseline: String,
    pub(crate) ratio: Option<f64>,
    pub(crate) goal: Option<Goal>,
}

/// What was aimed at, and whether it was reached.
#[derive(Debug)]
pub(crate) struct Goal {
    pub(crate) text: String,
    pub(crate) met: bool,
}

impl Goal {
    pub(crate) fn new(text: impl Into<String>, met: bool) -> Option<Self> {
        Some(Self { text: text.into(), met })
    }
}

/// Everything that was measured in one run.
#[derive(Debug, Default)]
pub(crate) struct Report {
    figures: Vec<Figure>,
}

impl Report {
    pub(crate) fn add(&mut self, figure: Figure) {
        say(&row(&figure));
        self.figures.push(figure);
    }

    pub(crate) fn missed(&self) -> usize {
        self.figures.iter().filter(|figure| figure.goal.as_ref().is_some_and(|goal| !goal.met)).count()
    }

    /// The table with where it was measured, as Markdown.
    pub(crate) fn markdown(&self, circumstances: &str) -> String {
        let mut text = format!("{circumstances}\n\n");
        text.push_str(
            "| figure | measured | baseline in the same run | ratio | goal | met? |\n|---|---|---|---|---|---|\n",
        );
        for figure in &self.figures {
            let _ = writeln!(text, "{}", row(figure));
        }
        text
    }
}

fn row(figure: &Figure) -> String {
    let ratio = figure.ratio.map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.3}×"));
    let (goal, met) = match &figure.goal {
        Some(goal) => (goal.text.as_str(), if goal.met { "yes" } else { "**no**" }),
        None => ("–", "–"),
    };
    format!("| {} | {} | {} | {ratio} | {goal} | {met} |", figure.name, figure.measured, figure.baseline)
}

/// When and on what: a figure without this cannot be compared with anything.
pub(crate) fn circumstances(load_before: &str) -> String {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .map_or("unknown CPU", |rest| rest.trim_start_matches([' ', '\t', ':']));
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let said = |program: &str, argument: &str| {
        let output = Command::new(program).arg(argument).output().map(|output| output.stdout).unwrap_or_default();
        String::from_utf8_lossy(&output).trim().to_owned()
    };
    let temporary = std::env::temp_dir();
    format!(
        "Measured {} on {model}, {cores} cores, Linux {}, {}, {} under `{}`; load average {load_before} before, {} after.",
        jiff::Timestamp::now().strftime("%Y-%m-%d"),
        said("uname", "-r"),
        said("tmux", "-V"),
        file_system(&temporary),
        temporary.display(),
        load_average(),
    )
}

/// The file system that databases were put on: what a sync costs depends on it.
fn file_system(dir: &Path) -> String {
    let output = Command::new("df").arg("--output=fstype").arg(dir).output().map(|output| output.stdout);
    let text = String::from_utf8_lossy(&output.unwrap_or_default()).into_owned();
    text.lines().nth(1).map_or_else(|| "unknown".to_owned(), |name| name.trim().to_owned())
}

/// How busy the machine was over the last minute, five and fifteen.
pub(crate) fn load_average() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

/// Puts the table between the markers of a document.
pub(crate) fn write_into(document: &Path, table: &str) -> Result<()> {
    let text = fs::read_to_string(document).with_context(|| document.display().to_string())?;
    let before = text.find(BEGIN).context("the document has no marker where the figures begin")? + BEGIN.len();
    let after = text.find(END).context("the document has no marker where the figures end")?;
    fs::write(document, format!("{}\n{table}{}", &text[..before], &text[after..]))?;
    Ok(())
}

/// Says something to whoever waits for the figures.
#[expect(clippy::print_stdout, reason = "a program that measures tells what it measured")]
pub(crate) fn say(text: &str) {
    println!("{text}");
}
