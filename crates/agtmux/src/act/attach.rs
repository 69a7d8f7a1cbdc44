//! `attach`: a person's terminal, brought to an agent's pane.
//!
//! A terminal that is attached to the agent's tmux server already is switched, and no other one: whoever else looks at that server
//! stays in the session where they are. A terminal that is not gets a command that compares and attaches in one breath, since only
//! a tmux that runs at that terminal can attach it.

use agtmux_core::action::Snapshot;
use agtmux_tmux::act::{Acted, Guard, guarded};
use agtmux_tmux::attach::{ClientRow, Place, attach as arguments, clients, switch};
use agtmux_tmux::client::ClientError;
use agtmux_tmux::list::{self, Detail, PaneRow};
use agtmux_tmux::{PaneId, Plain, Script, SessionId};
use agtmux_wire::attach::Caller;
use agtmux_wire::error::ErrorCode;

use super::aim::{STEP_DEADLINE, act_failed, missed, tmux_failed};
use super::{Done, Hands, mark};
use crate::error::CommandError;

/// What is to be done.
#[derive(Clone, Debug)]
pub struct Order {
    /// The terminal that is to show the pane, if it is attached already.
    pub caller: Option<Caller>,
    /// A new terminal only looks.
    pub read_only: bool,
}

/// Where the pane is shown.
pub struct Attached {
    /// What it was decided on.
    pub snapshot: Snapshot,
    /// Where the pane is.
    pub place: Place,
    /// The terminal that shows it.
    pub client: Option<String>,
    /// What a new terminal has to run.
    pub command: Option<Vec<String>>,
}

/// Brings a terminal to the pane of a snapshot.
///
/// # Errors
/// Refused if the pane or the agent is not the one of the snapshot any more, or it is not clear which terminal is meant.
pub async fn attach(hands: Hands, snapshot: Snapshot, order: Order) -> Result<Done<Attached>, CommandError> {
    let mark = mark(&hands, &snapshot).await?;
    // Whatever runs in the foreground by then is for the person to see.
    let guard = Guard { command: None, ..mark.guard };
    let plain = &mark.plain;
    let rows = list::panes(plain, Detail::Light, STEP_DEADLINE).await.map_err(|error| tmux_failed(&error))?;
    let (place, client, command) = match &order.caller {
        Some(caller) => {
            let attached = clients(plain, STEP_DEADLINE).await.map_err(|error| tmux_failed(&error))?;
            let client = choose_client(&attached, caller, &rows)?;
            let place = choose_place(&rows, guard.pane, Some(client.session)).ok_or_else(gone)?;
            switch_client(plain, &guard, &client.name, place).await?;
            (place, Some(client.name.clone()), None)
        }
        None => {
            let place = choose_place(&rows, guard.pane, None).ok_or_else(gone)?;
            let command = arguments(plain, &guard, place, order.read_only).map_err(CommandError::internal)?;
            let command = command.into_iter().map(|word| word.to_string_lossy().into_owned()).collect();
            (place, None, Some(command))
        }
    };
    let result = match &client {
        Some(client) => format!("switched {client} to {}:{}", place.session, place.window),
        None => format!("told how to attach to {}:{}", place.session, place.window),
    };
    Ok(Done { answer: Attached { snapshot, place, client, command }, result })
}

async fn switch_client(plain: &Plain, guard: &Guard, client: &str, place: Place) -> Result<(), CommandError> {
    let script = switch(client, guard.pane, place);
    match guarded(plain, guard, &script, &Script::new(), STEP_DEADLINE).await {
        Ok(Acted::Done(_)) => Ok(()),
        Ok(Acted::Refused(mismatch)) => Err(missed(&mismatch)),
        Err(ClientError::Refused(text)) => {
            Err(CommandError::new(ErrorCode::PreconditionFailed, format!("tmux refused: {text}")))
        }
        Err(error) => Err(act_failed(&error)),
    }
}

/// The terminal that the request was made at.
///
/// tmux tells a program which pane it runs in, not which of several terminals showed that pane when Enter was pressed. So
/// it is the one that shows the pane; of several, the one at which a key was typed last.
fn choose_client<'a>(
    attached: &'a [ClientRow],
    caller: &Caller,
    rows: &[PaneRow],
) -> Result<&'a ClientRow, CommandError> {
    let refuse = |code, message: String| {
        CommandError::new(code, message).hint("name the terminal: --client TTY; `tmux list-clients` shows them")
    };
    let terminals: Vec<_> = attached.iter().filter(|client| !client.is_control).collect();
    if let Some(name) = &caller.client {
        let named = terminals.into_iter().find(|client| client.name == *name);
        return named.ok_or_else(|| refuse(ErrorCode::PreconditionFailed, format!("no terminal {name:?} is attached")));
    }
    let pane = caller.pane.as_deref().and_then(|id| PaneId::parse(id.as_bytes()));
    let session = caller.session.as_deref().and_then(|id| SessionId::parse(id.as_bytes()));
    let holds_it = |client: &ClientRow| {
        rows.iter().any(|row| Some(row.pane_id) == pane && row.session_id == client.session && row.window_active)
    };
    let ways: [&dyn Fn(&ClientRow) -> bool; 3] = [
        &|client| Some(client.pane) == pane,
        &holds_it,
        // A program that tmux itself runs, for a key for instance, has no pane.
        &|client| pane.is_none() && Some(client.session) == session,
    ];
    let near = ways.iter().map(|way| terminals.iter().copied().filter(|client| way(client)).collect::<Vec<_>>());
    let mut near = near.into_iter().find(|near| !near.is_empty()).unwrap_or_default();
    near.sort_by_key(|client| std::cmp::Reverse(client.activity));
    match near.as_slice() {
        [] => Err(refuse(ErrorCode::PreconditionFailed, "no terminal shows the pane this was asked from".to_owned())),
        [first, second, ..] if first.activity == second.activity => {
            let message = format!("{} and {} both show the pane this was asked from", first.name, second.name);
            Err(refuse(ErrorCode::RefAmbiguous, message))
        }
        [first, ..] => Ok(first),
    }
}

/// Where a pane is to be looked at: in the session that the terminal shows already, else in the one that fewest look at.
fn choose_place(rows: &[PaneRow], pane: PaneId, shown: Option<SessionId>) -> Option<Place> {
    let places = rows.iter().filter(|row| row.pane_id == pane);
    let best = places.min_by_key(|row| (Some(row.session_id) != shown, row.session_attached, row.session_id.0))?;
    Some(Place { session: best.session_id, window: best.window_id })
}

fn gone() -> CommandError {
    missed(&agtmux_tmux::act::Mismatch::PaneGone)
}

#[cfg(test)]
mod tests {
    use agtmux_tmux::WindowId;

    use super::*;

    fn client(name: &str, session: u32, pane: u32, activity: i64) -> ClientRow {
        let (session, pane) = (SessionId(session), PaneId(pane));
        ClientRow { name: name.to_owned(), session, pane, activity, is_control: false }
    }

    fn row(session: u32, window: u32, pane: u32, attached: u32) -> PaneRow {
        PaneRow {
            session_id: SessionId(session),
            window_id: WindowId(window),
            pane_id: PaneId(pane),
            window_index: 0,
            pane_index: 0,
            pane_pid: 1,
            pane_dead: false,
            pane_active: true,
            window_active: true,
            session_attached: attached,
            pane_pipe: false,
            session_name: String::new(),
            window_name: String::new(),
            title: String::new(),
            command: None,
            cwd: None,
        }
    }

    fn from_pane(pane: &str) -> Caller {
        Caller { pane: Some(pane.to_owned()), ..Caller::default() }
    }

    #[test]
    fn the_terminal_at_which_it_was_asked_is_chosen() {
        let all = [client("a", 1, 1, 10), client("b", 2, 2, 99), client("c", 1, 1, 20)];
        let chosen = |caller: &Caller| choose_client(&all, caller, &[]).map(|client| client.name.as_str());
        assert_eq!(chosen(&from_pane("%2")), Ok("b"));
        assert_eq!(chosen(&from_pane("%1")), Ok("c"), "the one that typed last");
        let named = Caller { client: Some("a".to_owned()), ..from_pane("%2") };
        assert_eq!(chosen(&named), Ok("a"), "what is said decides");
        let by_key = Caller { session: Some("$2".to_owned()), ..Caller::default() };
        assert_eq!(chosen(&by_key), Ok("b"), "a key has a session and no pane");
        let code = |caller: &Caller| chosen(caller).unwrap_err().code;
        assert_eq!(code(&from_pane("%7")), ErrorCode::PreconditionFailed);
        assert_eq!(code(&Caller { client: Some("z".to_owned()), ..Caller::default() }), ErrorCode::PreconditionFailed);
    }

    #[test]
    fn who_cannot_be_told_apart_is_asked_for() {
        let all = [client("a", 1, 1, 10), client("b", 1, 1, 10)];
        let refused = choose_client(&all, &from_pane("%1"), &[]).unwrap_err();
        assert_eq!(refused.code, ErrorCode::RefAmbiguous);
        let program = ClientRow { is_control: true, ..client("p", 1, 1, 99) };
        let with_program = [program, client("a", 1, 1, 10)];
        assert_eq!(choose_client(&with_program, &from_pane("%1"), &[]).map(|client| client.name.as_str()), Ok("a"));
    }

    /// A pane beside the active one of a window that a terminal shows.
    #[test]
    fn a_pane_without_the_keys_is_shown_all_the_same() {
        let all = [client("a", 1, 1, 10), client("b", 2, 3, 99)];
        let rows = [row(1, 1, 1, 1), row(1, 1, 2, 1), row(2, 2, 3, 1)];
        assert_eq!(choose_client(&all, &from_pane("%2"), &rows).map(|client| client.name.as_str()), Ok("a"));
    }

    #[test]
    fn nobody_is_taken_away_where_that_can_be_helped() {
        let rows = [row(1, 1, 5, 2), row(2, 1, 5, 0), row(3, 1, 5, 1), row(3, 2, 6, 0)];
        let place =
            |shown: Option<u32>| choose_place(&rows, PaneId(5), shown.map(SessionId)).map(|place| place.session.0);
        assert_eq!(place(None), Some(2), "nobody looks at that session");
        assert_eq!(place(Some(1)), Some(1), "it is shown there already");
        assert_eq!(place(Some(9)), Some(2));
        assert_eq!(choose_place(&rows, PaneId(7), None), None);
    }
}
