//! `/v1/targets`.

use std::collections::BTreeMap;

use agtmux_core::command::Command;
use agtmux_core::event::{Health, TargetKind};
use agtmux_core::id::TargetName;
use agtmux_core::query;
use agtmux_wire::SCHEMA_VERSION;
use agtmux_wire::error::ErrorCode;
use agtmux_wire::target::{self, AddTarget, TargetFilters, TargetItem, TargetList, TargetSummary};
use axum::extract::{Path, State};

use super::Api;
use super::answer::{Answer, Body, Json};
use super::convert;
use crate::daemon::world::LOCAL;
use crate::error::CommandError;

pub async fn list(State(api): State<Api>) -> Answer<TargetList> {
    let list = api.synced().await.read(|world| {
        let items: Vec<_> = query::targets(&world.engine).into_iter().map(convert::target).collect();
        TargetList {
            schema_version: SCHEMA_VERSION,
            generated_at: jiff::Timestamp::now().to_string(),
            filters: TargetFilters::default(),
            summary: summary(&items),
            items,
            errors: convert::target_errors(world),
        }
    });
    Ok(Json(list.await?))
}

fn summary(items: &[TargetItem]) -> TargetSummary {
    let mut by_health: BTreeMap<_, _> =
        [Health::Ok, Health::Degraded, Health::Down].map(|health| (health.name().to_owned(), 0)).into();
    for item in items {
        *by_health.entry(item.health.clone()).or_default() += 1;
    }
    TargetSummary { total: items.len() as u64, by_health, runtimes: items.iter().map(|item| item.runtimes).sum() }
}

pub async fn add(State(api): State<Api>, Body(request): Body<AddTarget>) -> Answer<TargetItem> {
    let (kind, connection) = connection(&request)?;
    let command = Command::AddTarget { target: TargetName::new(request.name.clone()), kind, connection };
    api.handle.request(command).await?;
    Ok(Json(find(&api, &request.name).await?))
}

pub async fn remove(State(api): State<Api>, Path(name): Path<String>) -> Answer<TargetItem> {
    let item = find(&api, &name).await?;
    api.handle.request(Command::RemoveTarget { target: TargetName::new(name) }).await?;
    Ok(Json(item))
}

pub async fn connect(State(api): State<Api>, Path(name): Path<String>) -> Answer<TargetItem> {
    let item = find(&api, &name).await?;
    match item.kind {
        target::TargetKind::Local => Ok(Json(item)),
        target::TargetKind::Ssh => Err(CommandError::new(
            ErrorCode::TargetUnreachable,
            format!("{name} is not connected: {}", item.detail.unwrap_or_default()),
        )
        .hint("the target is kept; panes of this host are listed meanwhile")
        .into()),
    }
}

async fn find(api: &Api, name: &str) -> Result<TargetItem, CommandError> {
    let wanted = name.to_owned();
    api.handle
        .read(move |world| {
            world.target(&wanted)?;
            query::targets(&world.engine)
                .into_iter()
                .find(|target| target.target.as_str() == wanted)
                .map(convert::target)
                .ok_or_else(|| CommandError::internal("the target is gone"))
        })
        .await?
}

/// An ssh host is handed to `ssh` as an argument, so it must not be able to pass for an option or carry a line end.
fn connection(request: &AddTarget) -> Result<(TargetKind, Option<String>), CommandError> {
    let is_valid = TargetName::new(request.name.clone()).is_valid();
    let usage = |message: &str| CommandError::new(ErrorCode::Usage, message);
    match (request.kind, &request.ssh_target) {
        // What cannot be a name is refused as such by whoever keeps the names.
        (target::TargetKind::Local, None) if request.name == LOCAL || !is_valid => Ok((TargetKind::Local, None)),
        // A second name would be a second row for the same agents, and no pane would carry it.
        (target::TargetKind::Local, None) => {
            let message = format!("this host is the target {LOCAL:?} already; it has no second name");
            Err(CommandError::new(ErrorCode::TargetExists, message).hint(format!("use `--target {LOCAL}`")))
        }
        (target::TargetKind::Local, Some(_)) => {
            Err(usage("a local target has no ssh host").hint("leave --ssh-target out"))
        }
        (target::TargetKind::Ssh, None) => Err(usage("an ssh target needs its host").hint("give --ssh-target HOST")),
        (target::TargetKind::Ssh, Some(host)) => {
            let plain = |c: char| c.is_ascii_alphanumeric() || "._-@:[]%".contains(c);
            if host.is_empty() || host.len() > 255 || host.starts_with('-') || !host.chars().all(plain) {
                return Err(CommandError::new(ErrorCode::BadName, format!("{host:?} cannot be an ssh host"))
                    .hint("give an alias of ~/.ssh/config, HOST or USER@HOST"));
            }
            Ok((TargetKind::Ssh, Some(host.clone())))
        }
    }
}
