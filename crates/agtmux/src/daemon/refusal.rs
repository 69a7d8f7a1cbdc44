//! Errors of core and store as errors of commands: same code, same hint.

use agtmux_core::action::NotPrepared;
use agtmux_core::command::{Refusal, RefusalCode};
use agtmux_core::reference::RefError;
use agtmux_wire::error::ErrorCode;

use crate::error::CommandError;
use crate::store::StoreError;

impl From<Refusal> for CommandError {
    fn from(refusal: Refusal) -> Self {
        let code = match refusal.code {
            RefusalCode::BadName => ErrorCode::BadName,
            RefusalCode::NameTaken => ErrorCode::NameTaken,
            RefusalCode::TargetExists => ErrorCode::TargetExists,
            RefusalCode::TargetNotFound => ErrorCode::TargetNotFound,
            RefusalCode::RuntimeStale => ErrorCode::RuntimeStale,
            RefusalCode::PreconditionFailed => ErrorCode::PreconditionFailed,
            RefusalCode::SnapshotExpired => ErrorCode::SnapshotExpired,
            RefusalCode::TargetUnreachable => ErrorCode::TargetUnreachable,
            RefusalCode::Blocked => ErrorCode::Blocked,
            RefusalCode::NotAllowed => ErrorCode::NotAllowed,
            RefusalCode::RateLimited => ErrorCode::RateLimited,
            RefusalCode::MessageNotFound => ErrorCode::RefNotFound,
        };
        Self { code, message: refusal.message, hint: refusal.hint }
    }
}

impl From<RefError> for CommandError {
    fn from(error: RefError) -> Self {
        let code = ErrorCode::from_name(error.code()).unwrap_or(ErrorCode::Internal);
        Self { code, message: error.to_string(), hint: error.hint() }
    }
}

impl From<NotPrepared> for CommandError {
    fn from(why: NotPrepared) -> Self {
        match why {
            NotPrepared::Reference(error) => error.into(),
            NotPrepared::Refused(refusal) => refusal.into(),
        }
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        let code = match error {
            StoreError::Full { .. } => ErrorCode::StoreFull,
            StoreError::ReadOnly { .. } => ErrorCode::StoreReadOnly,
            StoreError::Corrupt { .. } => ErrorCode::StoreCorrupt,
            StoreError::Newer { .. } => ErrorCode::StoreNewer,
            StoreError::Owned { .. } => ErrorCode::StoreOwned,
            StoreError::ForeignOwner { .. } | StoreError::Exposed { .. } | StoreError::NotADirectory { .. } => {
                ErrorCode::StateDirForeign
            }
            StoreError::Busy { .. }
            | StoreError::Io { .. }
            | StoreError::Fenced { .. }
            | StoreError::Rejected { .. }
            | StoreError::OldLibrary { .. }
            | StoreError::Closed => ErrorCode::Store,
        };
        Self { code, message: error.to_string(), hint: Some(error.hint()) }
    }
}
