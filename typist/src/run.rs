//! A run: many panes, in each a fake agent, a person who types and an injector who sends.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use fastrand::Rng;
use rustix::process::{Pid, test_kill_process};

use crate::inject::Way;
use crate::journal::{Entry, Reader};
use crate::mischief::{Mischief, Victim};
use crate::oracle::{Verdict, judge};
use crate::person::Person;
use crate::sender::{Sender, together};
use crate::stage::{Stage, Tmux};

/// How long a fake agent may take to start.
const START: Duration = Duration::from_secs(20);

/// Nothing is submitted any more after so long without a submission.
const QUIET: Duration = Duration::from_secs(10);

/// What is run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What it is called in the report.
    pub name: String,
    /// How messages are sent.
    pub way: Way,
    /// How many, in all panes together.
    pub messages: usize,
    /// How many lines are typed at least, in all panes together.
    pub lines: usize,
    /// How many panes there are.
    pub panes: usize,
    /// How many times as fast as people type.
    pub haste: f64,
    /// The longest message.
    pub largest: usize,
    /// How the fake agents behave: the arguments of `tui`, without journal and seed.
    pub manners: Vec<String>,
    /// Of everything that is random.
    pub seed: u64,
    /// The program agtmux.
    pub agtmux: PathBuf,
    /// What is done meanwhile, and how often. Messages and lines go on until it is done.
    pub mischief: Option<(Mischief, usize)>,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// By pane.
    pub verdicts: Vec<Verdict>,
    /// How often a message was put off.
    pub put_off: usize,
    /// Bytes of all messages.
    pub bytes: usize,
    /// How often an agent took Enter for a part of a paste.
    pub eaten: usize,
    /// How long it took.
    pub took: Duration,
}

/// One pane at work.
struct Scene<'a> {
    plan: &'a Plan,
    tmux: Tmux,
    session: String,
    pane: String,
    journal: PathBuf,
    random: Rng,
}

/// What came of one pane.
struct Played {
    verdict: Verdict,
    put_off: usize,
    bytes: usize,
    eaten: usize,
}

/// Runs a plan.
pub fn run(plan: &Plan) -> Result<Outcome> {
    let stage = Stage::set()?;
    let started = Instant::now();
    let mut random = Rng::with_seed(plan.seed);
    let scenes = (0..plan.panes).map(|number| Scene::set(plan, &stage, number, random.fork()));
    let scenes = scenes.collect::<Result<Vec<_>>>()?;
    let victims = scenes.iter().map(Scene::victim).collect::<Result<Vec<_>>>()?;
    let troubled = AtomicBool::new(plan.mischief.is_some());
    let played = thread::scope(|scope| {
        let mischief = scope.spawn(|| {
            let made = plan.mischief.map_or(Ok(()), |(mischief, times)| {
                mischief.make(times, &stage.tmux(), &plan.agtmux, &victims, &mut random)
            });
            troubled.store(false, Ordering::Release);
            made
        });
        let troubled = &troubled;
        let threads: Vec<_> = scenes.into_iter().map(|scene| scope.spawn(move || scene.play(troubled))).collect();
        let played =
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| bail!("a pane's thread panicked")));
        let played = played.collect::<Result<Vec<_>>>();
        mischief.join().unwrap_or_else(|_| bail!("the mischief panicked"))?;
        played
    })?;
    for victim in &victims {
        ensure!(test_kill_process(victim.agent).is_ok(), "the agent {:?} is gone", victim.agent);
    }
    let mut outcome = Outcome { took: started.elapsed(), ..Outcome::default() };
    for pane in played {
        outcome.put_off += pane.put_off;
        outcome.bytes += pane.bytes;
        outcome.eaten += pane.eaten;
        outcome.verdicts.push(pane.verdict);
    }
    Ok(outcome)
}

impl<'a> Scene<'a> {
    /// Starts the agent and waits until it reads.
    fn set(plan: &'a Plan, stage: &Stage, number: usize, mut random: Rng) -> Result<Self> {
        let tmux = stage.tmux();
        let session = format!("p{number}");
        let journal = stage.path(&format!("journal.{number}"));
        let mut program = plan.way.wrapper(&plan.agtmux);
        program.extend([stage.agent()?.into(), "tui".into()]);
        program.extend(plan.manners.iter().map(OsString::from));
        program.extend([
            "--journal".into(),
            journal.clone().into(),
            "--seed".into(),
            random.u64(..).to_string().into(),
        ]);
        let program: Vec<_> = program.iter().map(OsString::as_os_str).collect();
        let pane = tmux.session(&session, &program)?;
        let mut reader = Reader::of(journal.clone());
        let since = Instant::now();
        while !matches!(reader.entries()?, [Entry::Started(_), ..]) {
            if since.elapsed() > START {
                bail!("the agent in {session} did not start: {}", tmux.run(&["capture-pane", "-p", "-t", &pane])?);
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(Self { plan, tmux, session, pane, journal, random })
    }

    fn victim(&self) -> Result<Victim> {
        let wrapper = self.tmux.run(&["display-message", "-p", "-t", &self.pane, "#{pane_pid}"])?;
        let wrapper = Pid::from_raw(wrapper.trim().parse()?).context("the pane is empty")?;
        let agent = match Reader::of(self.journal.clone()).entries()? {
            [Entry::Started(pid), ..] => Pid::from_raw(i32::try_from(*pid)?).context("no agent")?,
            _ => bail!("the agent in {} did not start", self.session),
        };
        Ok(Victim { wrapper, agent, socket: self.tmux.shim(&self.pane)? })
    }

    fn play(mut self, troubled: &AtomicBool) -> Result<Played> {
        let plan = self.plan;
        let share = |all: usize| all.div_ceil(plan.panes);
        let injector = plan.way.to(&self.tmux, &self.pane, self.random.fork())?;
        let sizes = 1..=plan.largest;
        let mut sender = Sender::new(injector, &self.session, sizes, plan.haste, self.random.fork());
        let terminals = 1 + self.random.u16(..2);
        let Self { tmux, session, pane, journal, random, .. } = &self;
        let mut person = Person::sit_down(tmux, session, pane, journal.clone(), random.clone(), plan.haste, terminals)?;
        together(&mut person, &mut sender, share(plan.lines), share(plan.messages), troubled)?;
        let mut reader = Reader::of(journal.clone());
        await_quiet(&mut reader, person.lines().len() + sender.texts().len())?;
        let eaten = reader.entries()?.iter().filter(|entry| **entry == Entry::EnterEaten).count();
        let bytes = sender.texts().iter().map(String::len).sum();
        let verdict = judge(person.lines(), sender.texts(), &reader.submissions()?);
        Ok(Played { verdict, put_off: sender.put_off(), bytes, eaten })
    }
}

/// Waits until as much was submitted as is expected, or until nothing comes any more.
fn await_quiet(journal: &mut Reader, expected: usize) -> Result<()> {
    let (mut count, mut since) = (0, Instant::now());
    while count < expected && since.elapsed() < QUIET {
        thread::sleep(Duration::from_millis(50));
        let now = journal.submissions()?.len();
        if now > count {
            (count, since) = (now, Instant::now());
        }
    }
    Ok(())
}
