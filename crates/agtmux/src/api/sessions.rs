//! `GET /v1/sessions`.

use agtmux_core::query::{self, Grouping};
use agtmux_wire::list::{Filters, GroupBy, SessionList};
use axum::extract::State;

use super::Api;
use super::answer::{Answer, Json, Params};
use super::{convert, panes};
use crate::error::CommandError;

pub async fn list(State(api): State<Api>, Params(mut filters): Params<Filters>) -> Answer<SessionList> {
    let group_by = *filters.group_by.get_or_insert(GroupBy::TargetSession);
    let list = api.synced().await.read(move |world| {
        let grouping = match group_by {
            GroupBy::TargetSession => Grouping::TargetSession,
            GroupBy::SessionName => Grouping::SessionName,
        };
        let filter = panes::filter(&filters, world)?;
        let rows = query::panes(&world.engine, &filter);
        let items = query::sessions(&world.engine, &filter, grouping).iter().map(convert::session).collect();
        Ok::<_, CommandError>(panes::document(filters, &rows, items, world))
    });
    Ok(Json(list.await??))
}
