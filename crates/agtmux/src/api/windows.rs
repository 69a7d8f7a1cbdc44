//! `GET /v1/windows`.

use agtmux_core::query;
use agtmux_wire::list::{Filters, WindowList};
use axum::extract::State;

use super::Api;
use super::answer::{Answer, Json, Params};
use super::{convert, panes};
use crate::error::CommandError;

pub async fn list(State(api): State<Api>, Params(filters): Params<Filters>) -> Answer<WindowList> {
    let list = api.synced().await.read(move |world| {
        let filter = panes::filter(&filters, world)?;
        let rows = query::panes(&world.engine, &filter);
        let items = query::windows(&world.engine, &filter).iter().map(convert::window).collect();
        Ok::<_, CommandError>(panes::document(filters, &rows, items, world))
    });
    Ok(Json(list.await??))
}
