//! Prompts: what an agent asks permission for, and which of two looks saw the same question.
//!
//! Several sources tell of one question, each in its own terms and in any order: a hook hashes the tool and its input, a
//! screen the rows it shows, a status file only says that something is asked. An answer must not fail because the second
//! of them came in between, and must never go to another question. Hence:
//!
//! * a prompt is everything that fresh sources say of it together, each with its own hash;
//! * a source that shows no content is known by the event in which it last said so;
//! * two looks saw the same question if some source says the same in both, and none that shows content shows another.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::engine::Engine;
use crate::facts::Value;
use crate::id::RuntimeId;
use crate::resolve::{self, Weighed};
use crate::runtime::Runtime;
use crate::signal::{Blocking, Source};
use crate::state::State;

/// What an agent asks permission for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prompt {
    /// The tool or command, as shown.
    pub subject: Option<String>,
    /// The name of the question: the hash of the source that is to be trusted most.
    pub hash: String,
    /// What each source says, the most trusted first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tellings: Vec<Telling>,
}

/// A question as one source tells of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Telling {
    /// Who.
    pub source: Source,
    /// Tells questions of this source apart.
    pub hash: String,
    /// Whether the hash is of what is asked; else it only counts how often something was.
    pub shown: bool,
    /// What is asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
}

impl Prompt {
    /// The shortest beginning of a hash that names a question.
    pub const SHORTEST: usize = 6;

    /// Whether two looks saw the same question.
    pub fn is_same(&self, other: &Self) -> bool {
        let pairs = || {
            let of = |source| other.tellings.iter().find(move |telling| telling.source == source);
            self.tellings.iter().filter_map(move |telling| Some((telling, of(telling.source)?)))
        };
        let differs = pairs().any(|(one, two)| one.shown && two.shown && one.hash != two.hash);
        !differs && pairs().any(|(one, two)| one.hash == two.hash)
    }

    /// Whether somebody who gives this hash, or a beginning of it, means this question.
    pub fn is_named(&self, wanted: &str) -> bool {
        let names = |hash: &str| hash == wanted || wanted.len() >= Self::SHORTEST && hash.starts_with(wanted);
        names(&self.hash) || self.tellings.iter().any(|telling| names(&telling.hash))
    }

    /// What a source says of it.
    pub fn told_by(&self, source: Source) -> Option<&Telling> {
        self.tellings.iter().find(|telling| telling.source == source)
    }
}

impl Engine {
    /// The question that is shown with a runtime.
    pub(crate) fn shown_prompt(&self, runtime: &Runtime) -> Option<Prompt> {
        (runtime.verdict.state == State::WaitingApproval).then(|| self.prompt(runtime)).flatten()
    }

    /// The questions of all runtimes that live.
    pub(crate) fn all_prompts(&self) -> BTreeMap<RuntimeId, Prompt> {
        let live = self.state().topology.runtimes.values().filter(|runtime| runtime.is_live());
        live.filter_map(|runtime| Some((runtime.id.clone(), self.shown_prompt(runtime)?))).collect()
    }

    /// What an agent asks permission for, if it does.
    pub fn prompt(&self, runtime: &Runtime) -> Option<Prompt> {
        let Blocking::Approval { .. } = self.blocking(runtime)? else {
            return None;
        };
        let mut asking: Vec<_> = self.fresh(runtime).into_iter().filter(|w| !w.source.declares()).collect();
        asking.sort_by_key(|w| std::cmp::Reverse(resolve::weight(w)));
        let tellings: Vec<_> = asking.iter().filter_map(telling).collect();
        let named = tellings.iter().find(|telling| telling.shown).or(tellings.first())?;
        Some(Prompt {
            subject: tellings.iter().find_map(|telling| telling.subject.clone()),
            hash: named.hash.clone(),
            tellings,
        })
    }
}

fn telling(fact: &Weighed<'_>) -> Option<Telling> {
    let Value::Blocked(Blocking::Approval { subject, prompt_hash }) = &fact.held.value else {
        return None;
    };
    let counted = || format!("q{}", fact.held.last.seq);
    Some(Telling {
        source: fact.source,
        hash: prompt_hash.clone().unwrap_or_else(counted),
        shown: prompt_hash.is_some(),
        subject: subject.clone(),
    })
}
