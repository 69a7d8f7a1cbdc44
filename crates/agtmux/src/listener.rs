//! The daemon's sockets: in a directory that only this user may enter, and never in the place of somebody else's file.

use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;

use agtmux_wire::error::ErrorCode;
use tokio::net::UnixListener;

use crate::error::CommandError;
use crate::paths::{check_socket_place, private_dir};

/// Binds the socket. The caller owns the state directory by now, so a socket that lies there is a dead daemon's.
///
/// # Errors
/// Fails when the directory is not ours alone, when something else lies in the way, or when another daemon answers.
pub fn bind(path: &Path) -> Result<UnixListener, CommandError> {
    if let Some(dir) = path.parent() {
        private_dir(dir)?;
    }
    check_socket_place(path)?;
    if agtmux_tmux::server::is_alive(path) {
        return Err(CommandError::new(
            ErrorCode::StoreOwned,
            format!("another daemon already listens on {}", path.display()),
        )
        .hint("it has another state directory; choose another socket with AGTMUX_SOCKET"));
    }
    remove_socket(path);
    let fail = |error: std::io::Error| {
        CommandError::new(ErrorCode::DaemonUnreachable, format!("cannot listen on {}: {error}", path.display()))
            .hint("choose another place with AGTMUX_SOCKET or XDG_RUNTIME_DIR")
    };
    let listener = UnixListener::bind(path).map_err(fail)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(fail)?;
    Ok(listener)
}

/// Removes the socket.
pub fn unbind(path: &Path) {
    remove_socket(path);
}

fn remove_socket(path: &Path) {
    if fs::symlink_metadata(path).is_ok_and(|meta| meta.file_type().is_socket()) {
        // A socket that cannot be removed makes the next bind fail, with a message.
        fs::remove_file(path).ok();
    }
}
