//! References: how people and programs point at a pane or a runtime, and what exactly they mean.
//!
//! | form | means |
//! |---|---|
//! | `runtime:<id>` | a runtime, by its id or a unique beginning of it |
//! | `pane:<target>/<session>/<window>/<pane>` | a pane by where it sits; window is `@id`, index or name, pane is `%id` or index |
//! | `rt_…`, `%3`, `name` | a beginning of a runtime id, a tmux pane id, a friendly name |
//! | `claude-1f0c33aa` | the session id in a runtime's environment, `SCHMUX_SESSION_ID`, unless a runtime has that name |
//!
//! A session's name may hold anything, slashes too: the first segment is the target, the last two are window and pane,
//! and what is between is the session. A slash may be written `%2F` as well. Nothing that matches more than one pane is
//! ever resolved: the candidates are listed instead.

use crate::engine::Engine;
use crate::event::{Ending, Place};
use crate::id::{PaneId, PaneKey, RuntimeId, TargetName, WindowId};
use crate::runtime::Runtime;

/// A reference as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ref {
    /// A runtime id or the beginning of one.
    Runtime(String),
    /// A place.
    Pane {
        /// The target.
        target: TargetName,
        /// The session's name.
        session: String,
        /// The window's id, index or name.
        window: String,
        /// The pane's id or index.
        pane: String,
    },
    /// A friendly name, a bare beginning of a runtime id, or a bare pane id.
    Name(String),
}

/// What a reference means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The pane.
    pub pane: PaneKey,
    /// The runtime that lives in it.
    pub runtime: Option<RuntimeId>,
}

/// Why a reference means nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefError {
    /// Nothing matches.
    #[error("nothing matches {text:?}")]
    NotFound {
        /// The reference.
        text: String,
        /// What may help.
        hint: Option<String>,
    },
    /// More than one thing matches.
    #[error("{text:?} matches {}", candidates.join(", "))]
    Ambiguous {
        /// The reference.
        text: String,
        /// References that tell the matches apart.
        candidates: Vec<String>,
    },
    /// It is no reference.
    #[error("{text:?} is not a reference: {why}")]
    Malformed {
        /// The text.
        text: String,
        /// What is wrong with it.
        why: &'static str,
    },
}

/// The grammar, for people.
pub const GRAMMAR: &str =
    "runtime:<id>, pane:<target>/<session>/<window>/<pane>, %<pane>, rt_<id>, a name, or a SCHMUX_SESSION_ID";

impl RefError {
    /// The stable code.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "E_REF_NOT_FOUND",
            Self::Ambiguous { .. } => "E_REF_AMBIGUOUS",
            Self::Malformed { .. } => "E_REF_MALFORMED",
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotFound { hint, .. } => {
                hint.clone().or_else(|| Some("`agtmux list panes --all` shows what there is".to_owned()))
            }
            Self::Ambiguous { candidates, .. } => Some(format!("use one of: {}", candidates.join(", "))),
            Self::Malformed { .. } => Some(format!("a reference is {GRAMMAR}")),
        }
    }
}

impl Ref {
    /// Reads a reference.
    ///
    /// # Errors
    /// Text that cannot be one is refused.
    pub fn parse(text: &str) -> Result<Self, RefError> {
        let malformed = |why| Err(RefError::Malformed { text: text.to_owned(), why });
        if let Some(prefix) = text.strip_prefix("runtime:") {
            return if prefix.is_empty() { malformed("no runtime id") } else { Ok(Self::Runtime(prefix.to_owned())) };
        }
        let Some(path) = text.strip_prefix("pane:") else {
            return if text.is_empty() { malformed("it is empty") } else { Ok(Self::Name(text.to_owned())) };
        };
        let segments: Vec<_> = path.split('/').collect();
        let [target, session @ .., window, pane] = segments.as_slice() else {
            return malformed("fewer than four segments");
        };
        if session.is_empty() {
            return malformed("fewer than four segments");
        }
        let target = TargetName::new(*target);
        if !target.is_valid() {
            return malformed("the first segment is not a target name");
        }
        if pane.parse::<PaneId>().is_err() && pane.parse::<u32>().is_err() {
            return malformed("the last segment is neither a pane id nor an index");
        }
        Ok(Self::Pane { target, session: session.join("/"), window: (*window).to_owned(), pane: (*pane).to_owned() })
    }
}

impl Engine {
    /// Finds what a reference means.
    ///
    /// # Errors
    /// Unless exactly one thing matches.
    pub fn resolve_ref(&self, text: &str) -> Result<Resolved, RefError> {
        match Ref::parse(text)? {
            Ref::Runtime(prefix) => self.runtime_by_prefix(text, &prefix),
            Ref::Pane { target, session, window, pane } => self.pane_by_place(text, &target, &session, &window, &pane),
            Ref::Name(name) => match name.parse::<PaneId>() {
                Ok(id) => self.only(text, self.placed().filter(|(key, _, _)| key.pane == id).collect()),
                Err(_) => self.runtime_by_name(text, &name),
            },
        }
    }

    fn runtime_by_name(&self, text: &str, name: &str) -> Result<Resolved, RefError> {
        let named: Vec<_> = self.live().filter(|runtime| runtime.name.as_deref() == Some(name)).collect();
        let in_session: Vec<_> = self.live().filter(|runtime| runtime.session.as_deref() == Some(name)).collect();
        match named.as_slice() {
            [] if name.starts_with("rt_") => self.runtime_by_prefix(text, name),
            [] if !in_session.is_empty() => one_runtime(text, &in_session),
            [] => {
                let over = self.last_named(name).map(|(runtime, how)| {
                    format!(
                        "the agent of that name, {}, is over: {}; `agtmux resume {name}` goes on with it",
                        runtime.id,
                        how.name()
                    )
                });
                let hint = over.unwrap_or_else(|| format!("a reference is {GRAMMAR}"));
                Err(RefError::NotFound { text: text.to_owned(), hint: Some(hint) })
            }
            found => one_runtime(text, found),
        }
    }

    /// The agent that had a name or a session id last, of those that are over.
    fn last_named(&self, name: &str) -> Option<(&Runtime, Ending)> {
        let all = self.state().topology.runtimes.values().filter(|runtime| runtime.is_called(name));
        let over = all.filter_map(|runtime| runtime.ended.map(|(how, at)| (at, runtime, how)));
        over.max_by_key(|(at, _, _)| *at).map(|(_, runtime, how)| (runtime, how))
    }

    fn runtime_by_prefix(&self, text: &str, prefix: &str) -> Result<Resolved, RefError> {
        let exact = self.live().find(|runtime| runtime.id.as_str() == prefix);
        let matching = || self.live().filter(|runtime| runtime.id.as_str().starts_with(prefix));
        let found: Vec<_> = exact.map_or_else(|| matching().collect(), |runtime| vec![runtime]);
        if !found.is_empty() {
            return one_runtime(text, &found);
        }
        let all = self.state().topology.runtimes.values();
        let over = all.filter(|runtime| runtime.id.as_str().starts_with(prefix)).find_map(|runtime| {
            runtime.ended.map(|(how, _)| format!("runtime {} is over: {}", runtime.id, how.name()))
        });
        Err(RefError::NotFound { text: text.to_owned(), hint: over })
    }

    fn pane_by_place(
        &self,
        text: &str,
        target: &TargetName,
        session: &str,
        window: &str,
        pane: &str,
    ) -> Result<Resolved, RefError> {
        let in_session: Vec<_> = self.placed().filter(|(_, on, _)| *on == target).collect();
        let in_session = named(in_session, session, |place| &place.session_name);
        let by_index = in_session.iter().any(|(_, _, place)| window == place.window_index.to_string());
        let in_window: Vec<_> = match window.parse::<WindowId>() {
            Ok(id) => in_session.into_iter().filter(|(_, _, place)| place.window == id).collect(),
            Err(_) if by_index => {
                in_session.into_iter().filter(|(_, _, place)| window == place.window_index.to_string()).collect()
            }
            Err(_) => named(in_session, window, |place| &place.window_name),
        };
        let is_pane = |key: &PaneKey, place: &Place| match pane.parse::<PaneId>() {
            Ok(id) => key.pane == id,
            Err(_) => pane == place.pane_index.to_string(),
        };
        let found = in_window.into_iter().filter(|(key, _, place)| is_pane(key, place)).collect();
        self.only(text, found)
    }

    /// The pane, if there is one and no other.
    fn only(&self, text: &str, found: Vec<PlacedPane<'_>>) -> Result<Resolved, RefError> {
        match found.as_slice() {
            [] => Err(RefError::NotFound { text: text.to_owned(), hint: None }),
            [(key, _, _)] => {
                let runtime = self.state().topology.living_in(key).map(|runtime| runtime.id.clone());
                Ok(Resolved { pane: (*key).clone(), runtime })
            }
            many => {
                let describe = |(key, target, place): &PlacedPane<'_>| match self.state().topology.living_in(key) {
                    Some(runtime) => format!("runtime:{}", runtime.id),
                    None => pane_ref(target, place, key.pane),
                };
                Err(RefError::Ambiguous { text: text.to_owned(), candidates: many.iter().map(describe).collect() })
            }
        }
    }

    fn placed(&self) -> impl Iterator<Item = PlacedPane<'_>> {
        let topology = &self.state().topology;
        topology.panes.iter().filter_map(|(key, pane)| Some((key, topology.target_of(key)?, pane.place.as_ref()?)))
    }

    fn live(&self) -> impl Iterator<Item = &Runtime> {
        self.state().topology.runtimes.values().filter(|runtime| runtime.is_live())
    }
}

type PlacedPane<'a> = (&'a PaneKey, &'a TargetName, &'a Place);

/// The reference of a pane, by ids where there are ids.
pub fn pane_ref(target: &TargetName, place: &Place, pane: PaneId) -> String {
    format!("pane:{target}/{}/{}/{pane}", place.session_name, place.window)
}

fn one_runtime(text: &str, found: &[&Runtime]) -> Result<Resolved, RefError> {
    match found {
        [runtime] => Ok(Resolved { pane: runtime.pane.clone(), runtime: Some(runtime.id.clone()) }),
        many => Err(RefError::Ambiguous {
            text: text.to_owned(),
            candidates: many.iter().map(|runtime| format!("runtime:{}", runtime.id)).collect(),
        }),
    }
}

/// The panes whose session or window a segment names: as it is written or, if there are none, percent-decoded. A name
/// may well hold a percent sign of its own.
fn named<'a>(
    panes: Vec<PlacedPane<'a>>,
    segment: &str,
    name_of: impl Fn(&'a Place) -> &'a String,
) -> Vec<PlacedPane<'a>> {
    let of_name = |name: &str| panes.iter().copied().filter(|(_, _, place)| name_of(place) == name).collect::<Vec<_>>();
    let as_written = of_name(segment);
    if as_written.is_empty() { percent_decode(segment).map_or(as_written, |name| of_name(&name)) } else { as_written }
}

fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        match (first, tail) {
            (b'%', [high, low, tail @ ..]) => {
                let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
                bytes.push(digit(high)? << 4 | digit(low)?);
                rest = tail;
            }
            (b'%', _) => return None,
            (byte, tail) => {
                bytes.push(*byte);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).ok()
}
