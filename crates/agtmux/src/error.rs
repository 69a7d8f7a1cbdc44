//! The one error of commands: a stable code, a message for people, a hint that says what to do next.

use std::fmt;

use agtmux_wire::error::{ErrorCode, ErrorDetail};

/// Why a command or request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandError {
    /// Stable code; decides the exit code and the HTTP status.
    pub code: ErrorCode,
    /// For people.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
}

impl CommandError {
    /// An error without a hint.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None }
    }

    /// Adds what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Something failed that should not have.
    pub fn internal(error: impl fmt::Display) -> Self {
        Self::new(ErrorCode::Internal, error.to_string())
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code.name())
    }
}

impl std::error::Error for CommandError {}

impl From<CommandError> for ErrorDetail {
    fn from(error: CommandError) -> Self {
        Self { code: error.code, message: error.message, hint: error.hint }
    }
}

impl From<ErrorDetail> for CommandError {
    fn from(detail: ErrorDetail) -> Self {
        Self { code: detail.code, message: detail.message, hint: detail.hint }
    }
}
