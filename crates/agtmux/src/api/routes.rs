//! The one table of routes. The router, the OpenAPI document and the tests are made from it.

use agtmux_wire::audit;
use agtmux_wire::error::ErrorCode;
use agtmux_wire::{
    DAEMON_HEADER, PROGRAM_REPLACED, TMUX_SOCKET_HEADER, action, adopt, agent, approve, attach, busy, clear_draft,
    daemon, event, explain, inbox, kill, list, mail, next, resume, send, spawn, stream, target, view_output, worktree,
};
use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::HeaderValue;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter, on};
use schemars::{Schema, SchemaGenerator};
use std::os::unix::ffi::OsStrExt;

use super::Api;
use super::answer::Failure;
use crate::error::CommandError;
use crate::platform::Program;
use crate::target::socket;

/// A route and what there is to say about it.
pub struct Route {
    /// The HTTP method. The router and the document both take it from here.
    pub method: Method,
    /// The path, with `{parameters}`.
    pub path: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// The schema of the query parameters.
    pub query: Option<SchemaOf>,
    /// The schema of the body.
    pub body: Option<SchemaOf>,
    /// The schema of the answer; none for what is not JSON.
    pub answer: Option<SchemaOf>,
    handler: fn(MethodFilter) -> MethodRouter<Api>,
}

/// A method that routes have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Reads.
    Get,
    /// Does or adds something.
    Post,
    /// Removes something.
    Delete,
}

impl Method {
    /// Its name in the document.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Post => "post",
            Self::Delete => "delete",
        }
    }

    const fn filter(self) -> MethodFilter {
        match self {
            Self::Get => MethodFilter::GET,
            Self::Post => MethodFilter::POST,
            Self::Delete => MethodFilter::DELETE,
        }
    }
}

/// Makes a schema.
pub type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// All routes.
pub fn table() -> Vec<Route> {
    fn of<T: schemars::JsonSchema>() -> Option<SchemaOf> {
        Some(|generator| generator.subschema_for::<T>())
    }
    vec![
        Route {
            method: Method::Get,
            path: "/v1/panes",
            summary: "Panes and the agents in them",
            query: of::<list::Filters>(),
            body: None,
            answer: of::<list::PaneList>(),
            handler: |method| on(method, super::panes::list),
        },
        Route {
            method: Method::Get,
            path: "/v1/windows",
            summary: "Windows and what their agents add up to",
            query: of::<list::Filters>(),
            body: None,
            answer: of::<list::WindowList>(),
            handler: |method| on(method, super::windows::list),
        },
        Route {
            method: Method::Get,
            path: "/v1/sessions",
            summary: "Sessions and what their agents add up to",
            query: of::<list::Filters>(),
            body: None,
            answer: of::<list::SessionList>(),
            handler: |method| on(method, super::sessions::list),
        },
        Route {
            method: Method::Get,
            path: "/v1/agents",
            summary: "The agents that are known, what can be known of each, and how that works out",
            query: None,
            body: None,
            answer: of::<agent::AgentList>(),
            handler: |method| on(method, super::agents::list),
        },
        Route {
            method: Method::Get,
            path: "/v1/targets",
            summary: "The places where agents run",
            query: None,
            body: None,
            answer: of::<target::TargetList>(),
            handler: |method| on(method, super::targets::list),
        },
        Route {
            method: Method::Post,
            path: "/v1/targets",
            summary: "Makes a target known",
            query: None,
            body: of::<target::AddTarget>(),
            answer: of::<target::TargetItem>(),
            handler: |method| on(method, super::targets::add),
        },
        Route {
            method: Method::Delete,
            path: "/v1/targets/{name}",
            summary: "Forgets a target",
            query: None,
            body: None,
            answer: of::<target::TargetItem>(),
            handler: |method| on(method, super::targets::remove),
        },
        Route {
            method: Method::Post,
            path: "/v1/targets/{name}/connect",
            summary: "Connects to a target now",
            query: None,
            body: None,
            answer: of::<target::TargetItem>(),
            handler: |method| on(method, super::targets::connect),
        },
        Route {
            method: Method::Get,
            path: "/v1/events",
            summary: "A stretch of the log",
            query: of::<super::events::EventsQuery>(),
            body: None,
            answer: of::<event::EventList>(),
            handler: |method| on(method, super::events::list),
        },
        Route {
            method: Method::Post,
            path: "/v1/events",
            summary: "Takes in a signal",
            query: None,
            body: of::<event::PostEvent>(),
            answer: of::<event::PostedEvent>(),
            handler: |method| on(method, super::events::post),
        },
        Route {
            method: Method::Post,
            path: "/v1/events/batch",
            summary: "Takes in many signals",
            query: None,
            body: of::<event::PostEvents>(),
            answer: of::<event::PostedEvents>(),
            handler: |method| on(method, super::events::post_batch),
        },
        Route {
            method: Method::Post,
            path: "/v1/messages",
            summary: "Takes a message for an agent, which is delivered when the agent can take it",
            query: None,
            body: of::<mail::PostMessage>(),
            answer: of::<mail::Message>(),
            handler: |method| on(method, super::mail::post),
        },
        Route {
            method: Method::Get,
            path: "/v1/messages",
            summary: "Messages that wait, or all that are remembered",
            query: of::<mail::MessageQuery>(),
            body: None,
            answer: of::<mail::MessageList>(),
            handler: |method| on(method, super::mail::list),
        },
        Route {
            method: Method::Get,
            path: "/v1/messages/{id}",
            summary: "A message and what became of it",
            query: of::<mail::MessageWait>(),
            body: None,
            answer: of::<mail::Message>(),
            handler: |method| on(method, super::mail::show),
        },
        Route {
            method: Method::Delete,
            path: "/v1/messages/{id}",
            summary: "Takes a message back that waits",
            query: None,
            body: None,
            answer: of::<mail::Message>(),
            handler: |method| on(method, super::mail::cancel),
        },
        Route {
            method: Method::Post,
            path: "/sessions/{id}/send",
            summary: "Takes a message for the agent of the path",
            query: None,
            body: of::<super::mail::PostToSession>(),
            answer: of::<mail::Message>(),
            handler: |method| on(method, super::mail::post_to),
        },
        Route {
            method: Method::Post,
            path: "/scheduler/remind",
            summary: "Takes a message to be delivered later",
            query: None,
            body: of::<mail::RemindRequest>(),
            answer: of::<mail::Message>(),
            handler: |method| on(method, super::mail::remind),
        },
        Route {
            method: Method::Get,
            path: "/sessions/{id}/send-queue",
            summary: "The messages that wait for the agent of the path",
            query: None,
            body: None,
            answer: of::<mail::SendQueue>(),
            handler: |method| on(method, super::mail::queue),
        },
        Route {
            method: Method::Post,
            path: "/v1/mailings",
            summary: "Takes a message for several agents; each gets one of its own",
            query: None,
            body: of::<mail::PostMessages>(),
            answer: of::<mail::PostedMessages>(),
            handler: |method| on(method, super::mailings::post),
        },
        Route {
            method: Method::Get,
            path: "/v1/inbox",
            summary: "What waits for an agent and what it was given, with the texts that wait",
            query: of::<inbox::InboxQuery>(),
            body: None,
            answer: of::<inbox::Inbox>(),
            handler: |method| on(method, super::inbox::show),
        },
        Route {
            method: Method::Get,
            path: "/v1/whoami",
            summary: "For whom the daemon takes who asks",
            query: None,
            body: None,
            answer: of::<inbox::Whoami>(),
            handler: |method| on(method, super::inbox::whoami),
        },
        Route {
            method: Method::Post,
            path: "/v1/busy",
            summary: "Says that an agent has something to do, so that messages that can wait wait",
            query: None,
            body: of::<busy::BusyRequest>(),
            answer: of::<busy::Readiness>(),
            handler: |method| on(method, super::busy::busy),
        },
        Route {
            method: Method::Post,
            path: "/v1/ready",
            summary: "Says that an agent has done what it had to do",
            query: None,
            body: of::<busy::ReadyRequest>(),
            answer: of::<busy::Readiness>(),
            handler: |method| on(method, super::busy::ready),
        },
        Route {
            method: Method::Get,
            path: "/v1/explain/{ref}",
            summary: "The evidence behind a state, and what would change it",
            query: None,
            body: None,
            answer: of::<explain::Explanation>(),
            handler: |method| on(method, super::explain::show),
        },
        Route {
            method: Method::Post,
            path: "/v1/snapshots",
            summary: "What an action would be done to, to be acted on within a minute",
            query: None,
            body: of::<action::SnapshotRequest>(),
            answer: of::<action::Snapshot>(),
            handler: |method| on(method, super::actions::snapshots::make),
        },
        Route {
            method: Method::Post,
            path: "/v1/actions/kill",
            summary: "Signals an agent and tells what came of it",
            query: None,
            body: of::<kill::KillRequest>(),
            answer: of::<kill::Killed>(),
            handler: |method| on(method, super::actions::kill::act),
        },
        Route {
            method: Method::Post,
            path: "/v1/actions/approve",
            summary: "Says yes to what an agent asks permission for",
            query: None,
            body: of::<approve::ApproveRequest>(),
            answer: of::<approve::Answered>(),
            handler: |method| on(method, super::actions::approve::approve),
        },
        Route {
            method: Method::Post,
            path: "/v1/actions/deny",
            summary: "Says no to what an agent asks permission for",
            query: None,
            body: of::<approve::DenyRequest>(),
            answer: of::<approve::Answered>(),
            handler: |method| on(method, super::actions::approve::deny),
        },
        Route {
            method: Method::Post,
            path: "/v1/actions/send",
            summary: "Types a text at an agent",
            query: None,
            body: of::<send::SendRequest>(),
            answer: of::<send::Sent>(),
            handler: |method| on(method, super::actions::send::act),
        },
        Route {
            method: Method::Post,
            path: "/v1/actions/view-output",
            summary: "What an agent printed",
            query: None,
            body: of::<view_output::ViewOutputRequest>(),
            answer: of::<view_output::Output>(),
            handler: |method| on(method, super::actions::view_output::act),
        },
        Route {
            method: Method::Post,
            path: "/v1/actions/attach",
            summary: "Switches a terminal to an agent's pane, or tells how a new one attaches to it",
            query: None,
            body: of::<attach::AttachRequest>(),
            answer: of::<attach::Attached>(),
            handler: |method| on(method, super::actions::attach::act),
        },
        Route {
            method: Method::Get,
            path: "/v1/next",
            summary: "Who waits for a person, the one to go to first in front",
            query: None,
            body: None,
            answer: of::<next::Queue>(),
            handler: |method| on(method, super::next::list),
        },
        Route {
            method: Method::Post,
            path: "/v1/acks",
            summary: "Says that a person knows of a call, or of all",
            query: None,
            body: of::<next::AckRequest>(),
            answer: of::<next::Acknowledged>(),
            handler: |method| on(method, super::next::acknowledge),
        },
        Route {
            method: Method::Post,
            path: "/v1/actions/spawn",
            summary: "Starts an agent in a window of its own",
            query: None,
            body: of::<spawn::SpawnRequest>(),
            answer: of::<spawn::Spawned>(),
            handler: |method| on(method, super::actions::spawn::make),
        },
        Route {
            method: Method::Post,
            path: "/v1/actions/resume",
            summary: "Starts an agent that goes on with a conversation",
            query: None,
            body: of::<resume::ResumeRequest>(),
            answer: of::<spawn::Spawned>(),
            handler: |method| on(method, super::actions::resume::make),
        },
        Route {
            method: Method::Post,
            path: "/v1/actions/clear-draft",
            summary: "Keep the text in an agent's composer in a file, and clear it",
            query: None,
            body: of::<clear_draft::ClearDraftRequest>(),
            answer: of::<clear_draft::ClearedDraft>(),
            handler: |method| on(method, super::actions::clear_draft::act),
        },
        Route {
            method: Method::Post,
            path: "/v1/actions/adopt",
            summary: "Gives an agent a name, or takes it away",
            query: None,
            body: of::<adopt::AdoptRequest>(),
            answer: of::<adopt::Adopted>(),
            handler: |method| on(method, super::actions::adopt::make),
        },
        Route {
            method: Method::Get,
            path: "/v1/audit",
            summary: "Who did what to which agent, and what was refused",
            query: of::<super::audit::AuditQuery>(),
            body: None,
            answer: of::<audit::AuditList>(),
            handler: |method| on(method, super::audit::list),
        },
        Route {
            method: Method::Get,
            path: "/v1/actions/{id}",
            summary: "What became of an action",
            query: None,
            body: None,
            answer: of::<audit::AuditItem>(),
            handler: |method| on(method, super::audit::action),
        },
        Route {
            method: Method::Get,
            path: "/v1/audit/verify",
            summary: "Whether the record of that is whole",
            query: of::<super::audit::VerifyQuery>(),
            body: None,
            answer: of::<audit::AuditVerdict>(),
            handler: |method| on(method, super::audit::verify),
        },
        Route {
            method: Method::Get,
            path: "/v1/worktrees",
            summary: "The git worktrees of a repository, and who works in them",
            query: of::<worktree::WorktreeQuery>(),
            body: None,
            answer: of::<worktree::WorktreeList>(),
            handler: |method| on(method, super::worktrees::list),
        },
        Route {
            method: Method::Post,
            path: "/v1/worktrees/remove",
            summary: "Removes a git worktree, if nothing would be lost by that",
            query: None,
            body: of::<worktree::RemoveWorktree>(),
            answer: of::<worktree::WorktreeItem>(),
            handler: |method| on(method, super::worktrees::remove),
        },
        Route {
            method: Method::Get,
            path: "/v1/stream",
            summary: "WebSocket: a snapshot, then every change",
            query: of::<super::stream::StreamQuery>(),
            body: None,
            answer: of::<stream::Frame>(),
            handler: |method| on(method, super::stream::follow),
        },
        Route {
            method: Method::Get,
            path: "/v1/health",
            summary: "Whether everything works",
            query: None,
            body: None,
            answer: of::<daemon::Health>(),
            handler: |method| on(method, super::daemon::health),
        },
        Route {
            method: Method::Get,
            path: "/v1/metrics",
            summary: "Figures, in the text format of OpenMetrics",
            query: None,
            body: None,
            answer: None,
            handler: |method| on(method, super::metrics::show),
        },
        Route {
            method: Method::Get,
            path: "/v1/daemon",
            summary: "The daemon about itself",
            query: None,
            body: None,
            answer: of::<daemon::DaemonStatus>(),
            handler: |method| on(method, super::daemon::status),
        },
        Route {
            method: Method::Post,
            path: "/v1/daemon/stop",
            summary: "Stops the daemon",
            query: None,
            body: None,
            answer: of::<daemon::DaemonStatus>(),
            handler: |method| on(method, super::daemon::stop),
        },
        Route {
            method: Method::Get,
            path: "/openapi.json",
            summary: "This description",
            query: None,
            body: None,
            answer: None,
            handler: |method| on(method, super::openapi::show),
        },
    ]
}

/// The router of all routes, behind the checks that hold for every one of them.
pub fn router(api: Api) -> Router {
    let mut router = Router::new();
    for route in table() {
        router = router.route(route.path, (route.handler)(route.method.filter()));
    }
    router
        .fallback(no_such_route)
        .method_not_allowed_fallback(no_such_route)
        .layer(middleware::from_fn_with_state(api.clone(), watch_meant_server))
        .layer(middleware::from_fn_with_state(api.clone(), super::limits::not_too_fast))
        .layer(middleware::from_fn(super::peer::same_user))
        .layer(middleware::from_fn_with_state(api.clone(), tell_version))
        .layer(DefaultBodyLimit::max(super::limits::BODY_LIMIT))
        .with_state(api)
}

async fn no_such_route(request: Request) -> Response {
    Failure(
        CommandError::new(ErrorCode::NoSuchRoute, format!("no route {} {}", request.method(), request.uri().path()))
            .hint("GET /openapi.json lists the routes"),
    )
    .into_response()
}

/// Every answer says which daemon gave it, so that a client can tell a person who has installed another one.
async fn tell_version(State(api): State<Api>, request: Request, next: Next) -> Response {
    const VERSION: &str = env!("CARGO_PKG_VERSION");
    let mut response = next.run(request).await;
    let is_replaced = api.program.as_ref().as_ref().is_some_and(Program::is_replaced);
    let text = if is_replaced { format!("{VERSION} {PROGRAM_REPLACED}") } else { VERSION.to_owned() };
    if let Ok(value) = HeaderValue::try_from(text) {
        response.headers_mut().insert(DAEMON_HEADER, value);
    }
    response
}

/// A client that runs in a tmux server, or was told to look at one, means that server: it is watched from then on.
async fn watch_meant_server(State(api): State<Api>, request: Request, next: Next) -> Response {
    if let Some(value) = request.headers().get(TMUX_SOCKET_HEADER) {
        let path = socket::normal(std::ffi::OsStr::from_bytes(value.as_bytes()).as_ref());
        if let Err(error) = api.handle.watch(path).await {
            return Failure(error).into_response();
        }
    }
    next.run(request).await
}
