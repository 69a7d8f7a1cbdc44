//! `GET /v1/panes`, and what the three lists share.

use std::collections::BTreeSet;

use agtmux_core::id::{AgentId, TargetName};
use agtmux_core::query::{PaneFilter, PaneRow, Sort};
use agtmux_core::signal;
use agtmux_core::state::State as AgentState;
use agtmux_wire::SCHEMA_VERSION;
use agtmux_wire::error::ErrorCode;
use agtmux_wire::list::{Filters, List, PaneList, TargetError};
use axum::extract::State;

use super::Api;
use super::answer::{Answer, Json, Params};
use super::convert;
use crate::act::loaded::Session;
use crate::daemon::world::World;
use crate::error::CommandError;

pub async fn list(State(api): State<Api>, Params(filters): Params<Filters>) -> Answer<PaneList> {
    let list = api.synced().await.read(move |world| {
        let filter = filter(&filters, world)?;
        let order = filters.sort.map_or(Sort::Place, convert::sort);
        let mut views = world.panes(&filter);
        views.sort_by(|one, other| order.compare(&one.row, &other.row));
        let items = views.iter().map(convert::pane).collect();
        let rows: Vec<_> = views.into_iter().map(|view| view.row).collect();
        let list = document(filters, &rows, items, world);
        let sessions = Session::of(list.items.iter(), world);
        Ok::<_, CommandError>((list, sessions))
    });
    let (mut list, sessions) = list.await??;
    api.hands.tell_hooks(&mut list.items, sessions).await;
    Ok(Json(list))
}

/// A list around its items.
pub fn document<T>(filters: Filters, rows: &[PaneRow], items: Vec<T>, world: &World) -> List<T> {
    let is_wanted = |error: &TargetError| {
        let named = |text: &str| world.target(text).is_ok_and(|target| target.as_str() == error.target);
        let session = filters.target_session.as_deref().and_then(|text| text.split_once('/'));
        filters.target.as_deref().is_none_or(named) && session.is_none_or(|(target, _)| named(target))
    };
    let errors = convert::target_errors(world).into_iter().filter(is_wanted).collect();
    List {
        schema_version: SCHEMA_VERSION,
        generated_at: jiff::Timestamp::now().to_string(),
        summary: convert::summary(rows),
        items,
        errors,
        filters,
    }
}

/// The filter that query parameters mean.
///
/// # Errors
/// Fails for a state that nobody knows, a target that is not there, and a target-session without a slash.
pub fn filter(filters: &Filters, world: &World) -> Result<PaneFilter, CommandError> {
    let target = filters.target.as_deref().map(|name| world.target(name)).transpose()?;
    let target_session = filters.target_session.as_deref().map(|text| target_session(text, world)).transpose()?;
    let states = filters.state.as_deref().map(states).transpose()?.unwrap_or_default();
    Ok(PaneFilter {
        target,
        session: filters.session.clone(),
        target_session,
        states,
        agent: filters.agent.clone().map(AgentId::new),
        needs_action: filters.needs_action.then_some(true),
        all: filters.all,
    })
}

fn target_session(text: &str, world: &World) -> Result<(TargetName, String), CommandError> {
    let (target, session) = text.split_once('/').ok_or_else(|| {
        CommandError::new(ErrorCode::Usage, format!("{text:?} has no slash"))
            .hint("write TARGET/SESSION, local/work for instance")
    })?;
    Ok((world.target(target)?, session.to_owned()))
}

/// The states in a list with commas.
fn states(names: &str) -> Result<BTreeSet<AgentState>, CommandError> {
    names.split(',').map(|name| state(name.trim())).collect()
}

fn state(name: &str) -> Result<AgentState, CommandError> {
    AgentState::from_name(name).ok_or_else(|| {
        let names: Vec<_> = AgentState::ALL.iter().map(|state| state.name()).collect();
        let error = signal::UnknownStateName { name: name.to_owned() };
        CommandError::new(ErrorCode::UnknownState, error.to_string())
            .hint(format!("the states are {}", names.join(", ")))
    })
}
