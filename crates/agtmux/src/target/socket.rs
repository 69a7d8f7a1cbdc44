//! Which tmux server is meant.

use std::path::{Path, PathBuf};

use agtmux_tmux::server::{self, SocketChoice};
use agtmux_wire::error::ErrorCode;

use crate::error::CommandError;

/// A server named on the command line: a path as for `tmux -S`, or a name as for `tmux -L`.
///
/// # Errors
/// Refuses the empty name.
pub fn from_argument(text: &str) -> Result<PathBuf, CommandError> {
    if text.is_empty() {
        return Err(CommandError::new(ErrorCode::Usage, "the name of the tmux server is empty")
            .hint("give a name as for `tmux -L` or a path as for `tmux -S`"));
    }
    let path = SocketChoice::parse(text).path();
    Ok(normal(&std::path::absolute(&path).unwrap_or(path)))
}

/// The server that this process runs in.
pub fn from_tmux_variable() -> Option<PathBuf> {
    let value = std::env::var_os("TMUX")?;
    server::socket_of_tmux_variable(&value).map(|path| normal(&path))
}

/// The server that plain `tmux` talks to.
pub fn default_socket() -> PathBuf {
    SocketChoice::Default.path()
}

/// One name for one socket: tmux resolves links in the directory, and so do we.
pub fn normal(path: &Path) -> PathBuf {
    match (path.parent().map(Path::canonicalize), path.file_name()) {
        (Some(Ok(parent)), Some(name)) => parent.join(name),
        _ => path.to_owned(),
    }
}
