//! Records real agents: screens, streams, hooks and files of many states, in many settings, each with what is true of it.
//!
//! A take says what was done to the agent, so it says what is true. Nothing here asks agtmux. What the model answered,
//! which processes run and what the vendor's status file says must agree with the take; otherwise it is not kept.

mod capture;
mod evidence;
mod scrub;
mod session;
mod takes;
mod variant;

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::agent::Agent;
use crate::install::Packages;

pub use takes::{Session, all as takes};
pub use variant::{VARIANTS, Variant};

/// What is to be recorded.
#[derive(Clone, Debug)]
pub struct Wish {
    /// The agents.
    pub agents: Vec<Agent>,
    /// The variants.
    pub variants: Vec<&'static Variant>,
    /// Only sessions of these names; all if empty.
    pub sessions: Vec<String>,
    /// The folder that takes VARIANT/AGENT/CASE.
    pub out: PathBuf,
    /// The program agtmux, whose `setup` puts the hooks in place.
    pub agtmux: PathBuf,
}

/// What became of a session.
#[derive(Debug)]
pub struct Recorded {
    /// VARIANT/AGENT/SESSION.
    pub name: String,
    /// The cases that were kept.
    pub kept: Vec<String>,
    /// The cases that were not, each with the reason.
    pub dropped: Vec<String>,
    /// Why it did not get to its end.
    pub broken: Option<String>,
}

impl fmt::Display for Recorded {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{}: kept {}", self.name, self.kept.join(" "))?;
        for dropped in &self.dropped {
            writeln!(formatter, "  dropped {dropped}")?;
        }
        self.broken.iter().try_for_each(|broken| writeln!(formatter, "  broken off: {broken}"))
    }
}

/// One session of one agent in one variant.
#[derive(Clone, Debug)]
pub struct Job {
    variant: &'static Variant,
    session: Session,
    packages: Packages,
    agtmux: PathBuf,
    out: PathBuf,
}

/// Everything that is to be recorded, one session at a time.
///
/// # Errors
/// Fails when takes cannot be read or agents cannot be installed.
pub fn jobs(wish: &Wish) -> Result<Vec<Job>> {
    let sessions = takes::all()?;
    let mut jobs = Vec::new();
    for variant in &wish.variants {
        let packages = Packages::of(variant.release)?;
        for agent in wish.agents.iter().filter(|agent| variant.is_for(**agent)) {
            let chosen = sessions.iter().filter(|session| {
                session.agent == *agent
                    && session.is_in(variant.name)
                    && (wish.sessions.is_empty() || wish.sessions.contains(&session.name))
            });
            jobs.extend(chosen.map(|session| Job {
                variant,
                session: session.clone(),
                packages: packages.clone(),
                agtmux: wish.agtmux.clone(),
                out: wish.out.clone(),
            }));
        }
    }
    Ok(jobs)
}

impl Job {
    /// Records it. A session that goes wrong keeps what was recorded until then.
    ///
    /// # Errors
    /// Fails when it cannot be taken down.
    pub async fn record(self) -> Result<Recorded> {
        let agent = self.session.agent;
        let mut recorded = Recorded {
            name: format!("{}/{agent}/{}", self.variant.name, self.session.name),
            kept: Vec::new(),
            dropped: Vec::new(),
            broken: None,
        };
        let mut session = match session::Running::begin(&self).await {
            Ok(session) => session,
            Err(error) => {
                recorded.broken = Some(format!("{error:#}"));
                return Ok(recorded);
            }
        };
        for (line, step) in &self.session.steps {
            match session.make(step).await {
                Ok(None) => {}
                Ok(Some(session::Taken::Kept(case))) => recorded.kept.push(case),
                Ok(Some(session::Taken::Dropped(why))) => recorded.dropped.push(why),
                Err(error) => {
                    let screen = session.screen().await;
                    recorded.broken = Some(format!("line {line}: {error:#}\n{}", screen.trim_end()));
                    break;
                }
            }
        }
        session.end().await?;
        Ok(recorded)
    }

    fn folder(&self, case: &str) -> PathBuf {
        self.out.join(self.variant.name).join(self.session.agent.name()).join(case)
    }

    fn agtmux_folder(&self) -> &Path {
        self.agtmux.parent().unwrap_or(Path::new("."))
    }
}
