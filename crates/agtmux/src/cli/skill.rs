//! `agtmux skill`: what an agent has to know to work with other agents, in a page.

use std::path::{Path, PathBuf};

use agtmux_agents::setup::Base;
use clap::Args;

use super::output;
use crate::error::CommandError;
use crate::setup::SetupError;
use crate::setup::change::{self, Outcome, prune_folders};
use crate::setup::places::Places;

/// The page.
const SKILL: &str = include_str!("skill.md");

/// Where agents look for it: Claude Code below its configuration, and Codex, Gemini, opencode and Copilot below a folder that they
/// share.
const PLACE: &str = "skills/agtmux/SKILL.md";
const SHARED: &str = ".agents";

#[derive(Debug, Args)]
#[command(
    after_help = "Claude Code, Codex, Gemini, opencode and Copilot find it by themselves once it is installed: the first in its own\nconfiguration, the others in ~/.agents/skills. For other agents put it where they read instructions:\n  agtmux skill >> AGENTS.md"
)]
pub struct SkillArgs {
    /// Write it where agents look for skills; a page that was written before is brought up to date
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
    let places = Places::from_env(PathBuf::from("."));
    let claude = places.folder(Base::ClaudeConfig)?;
    let home = places.home()?;
    // Each with the folder that is not ours to take away.
    for (file, above) in [(claude.join(PLACE), &claude), (home.join(SHARED).join(PLACE), &home)] {
        let outcome = write(&file, above, args.install.then_some(SKILL.as_bytes()))?;
        let what = match outcome {
            Outcome::Unchanged if args.remove => "is not there",
            Outcome::Unchanged => "is as it should be",
            Outcome::Created => "written",
            Outcome::Edited => "brought up to date",
            Outcome::Deleted => "taken away",
        };
        output::print(&format!("{} {what}\n", output::printable(&file.display().to_string())))?;
    }
    Ok(())
}

fn write(file: &Path, above: &Path, page: Option<&[u8]>) -> Result<Outcome, SetupError> {
    let outcome = change::read(file, false)?.replace(page)?;
    if outcome == Outcome::Deleted {
        prune_folders(file, above);
    }
    Ok(outcome)
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

    /// What stands above the page is read by strict readers of YAML too, to whom a second colon in a line is a mistake.
    #[test]
    fn the_head_of_the_page_is_plain() {
        let head = SKILL.strip_prefix("---\n").unwrap().split("\n---\n").next().unwrap();
        let fields: Vec<_> = head.lines().map(|line| line.split_once(": ").unwrap()).collect();
        assert_eq!(fields.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["name", "description"]);
        assert!(fields.iter().all(|(_, value)| !value.contains(": ") && !value.contains(" #")), "{fields:?}");
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
