//! `agtmux skill`: what an agent has to know to work with other agents, in a page.

use std::path::PathBuf;

use agtmux_agents::setup::Base;
use clap::Args;

use super::output;
use crate::error::CommandError;
use crate::setup::SetupError;
use crate::setup::change::{self, Outcome, prune_folders};
use crate::setup::places::Places;

/// The page.
const SKILL: &str = include_str!("skill.md");

/// Where Claude Code looks for it, below its configuration.
const PLACE: &str = "skills/agtmux/SKILL.md";

#[derive(Debug, Args)]
#[command(
    after_help = "Claude Code finds it by itself once it is installed. For other agents put it where they read instructions:\n  agtmux skill >> AGENTS.md"
)]
pub struct SkillArgs {
    /// Write it where Claude Code looks for skills; a page that was written before is brought up to date
    #[arg(long)]
    install: bool,
    /// Take it away again
    #[arg(long, conflicts_with = "install")]
    remove: bool,
}

pub fn run(args: &SkillArgs) -> Result<(), CommandError> {
    if !args.install && !args.remove {
        return output::print(SKILL);
    }
    let (file, outcome) = write(args.install.then_some(SKILL.as_bytes())).map_err(CommandError::from)?;
    let what = match outcome {
        Outcome::Unchanged if args.remove => "is not there",
        Outcome::Unchanged => "is as it should be",
        Outcome::Created => "written",
        Outcome::Edited => "brought up to date",
        Outcome::Deleted => "taken away",
    };
    output::print(&format!("{} {what}\n", output::printable(&file.display().to_string())))
}

fn write(page: Option<&[u8]>) -> Result<(PathBuf, Outcome), SetupError> {
    let folder = Places::from_env(PathBuf::from(".")).folder(Base::ClaudeConfig)?;
    let file = folder.join(PLACE);
    let outcome = change::read(&file, false)?.replace(page)?;
    if outcome == Outcome::Deleted {
        prune_folders(&file, &folder);
    }
    Ok((file, outcome))
}

#[cfg(test)]
mod tests {
    use super::SKILL;

    /// The words of a command as a shell would see them. The page quotes with single quotes only.
    fn words(line: &str) -> Vec<String> {
        let mut words = Vec::new();
        for (place, piece) in line.split('\'').enumerate() {
            if place % 2 == 1 {
                words.push(piece.to_owned());
            } else {
                let piece = piece.split(" #").next().unwrap_or(piece);
                words.extend(piece.split_whitespace().map(str::to_owned));
            }
        }
        words
    }

    #[test]
    fn every_command_of_the_page_can_be_given() {
        let block = SKILL.split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
        let mut count = 0;
        for line in block.lines() {
            let words = words(line);
            assert_eq!(words[0], "sm", "{line}");
            let parsed = crate::cli::command().try_get_matches_from(["agtmux".to_owned()].into_iter().chain(words));
            assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
            count += 1;
        }
        assert_eq!(count, 14);
        assert!(SKILL.lines().count() <= 30, "{}", SKILL.lines().count());
    }
}
