//! Where things are. Everything follows from `HOME`, the XDG variables and `AGTMUX_SOCKET`, so that setting those
//! isolates a whole instance.

use std::env;
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use agtmux_wire::error::ErrorCode;
use etcetera::BaseStrategy;

use crate::error::CommandError;

/// The longest path that fits a unix socket address on every platform, with room for a suffix.
const SOCKET_PATH_LIMIT: usize = 100;

/// The places of one instance.
#[derive(Clone, Debug)]
pub struct Paths {
    /// `config.toml` and the folder `agents/`.
    pub config_dir: PathBuf,
    /// The database, the lock and the log.
    pub state_dir: PathBuf,
    /// The daemon's socket.
    pub socket: PathBuf,
}

impl Paths {
    /// The places that the environment gives.
    ///
    /// # Errors
    /// Fails when there is no home directory, and when the socket's path is too long to be one.
    pub fn from_env() -> Result<Self, CommandError> {
        let base = etcetera::base_strategy::Xdg::new().map_err(|error| {
            CommandError::new(ErrorCode::Config, format!("no home directory: {error}")).hint("set HOME")
        })?;
        let config_dir = base.config_dir().join("agtmux");
        let state_dir = base.state_dir().unwrap_or_else(|| base.data_dir()).join("agtmux");
        let socket = match non_empty("AGTMUX_SOCKET") {
            Some(path) => PathBuf::from(path),
            None => default_socket(&state_dir),
        };
        if socket.as_os_str().len() > SOCKET_PATH_LIMIT {
            let message = format!("{} is too long for a socket", socket.display());
            return Err(CommandError::new(ErrorCode::Config, message)
                .hint("set XDG_RUNTIME_DIR or AGTMUX_SOCKET to a shorter path"));
        }
        Ok(Self { config_dir, state_dir, socket })
    }

    /// The socket over which pane streams are handed to the daemon.
    pub fn pipe_socket(&self) -> PathBuf {
        self.socket.with_extension("pipe")
    }

    /// The socket over which hooks are told to the daemon.
    pub fn hook_socket(&self) -> PathBuf {
        self.socket.with_extension("hook")
    }

    /// The socket over which the plugins of agents are given something to do.
    pub fn plugin_socket(&self) -> PathBuf {
        self.socket.with_extension("plugin")
    }

    /// Where the wrappers of agents have their sockets.
    pub fn shim_dir(&self) -> PathBuf {
        self.socket.with_file_name("shim")
    }

    /// Where hooks wait that no daemon took.
    pub fn spool_dir(&self) -> PathBuf {
        self.state_dir.join("spool")
    }

    /// The daemon's log file.
    pub fn log_file(&self) -> PathBuf {
        self.state_dir.join("daemon.log")
    }
}

/// `$XDG_RUNTIME_DIR/agtmux/agtmuxd.sock`. Without a runtime directory the socket lies in the state directory, so
/// that two instances never meet.
fn default_socket(state_dir: &Path) -> PathBuf {
    match non_empty("XDG_RUNTIME_DIR") {
        Some(runtime) => PathBuf::from(runtime).join("agtmux/agtmuxd.sock"),
        None => state_dir.join("run/agtmuxd.sock"),
    }
}

/// Fails when something that is not a socket lies where a socket belongs.
///
/// # Errors
/// That, and nothing else: a place where nothing lies is in order.
pub fn check_socket_place(socket: &Path) -> Result<(), CommandError> {
    match fs::symlink_metadata(socket) {
        Ok(meta) if !meta.file_type().is_socket() => {
            let message = format!("{} is not a socket", socket.display());
            Err(CommandError::new(ErrorCode::SocketNotASocket, message)
                .hint("move it away, or choose another place with AGTMUX_SOCKET"))
        }
        _ => Ok(()),
    }
}

fn non_empty(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

/// Makes a directory that only this user may enter, or checks that an existing one is such.
///
/// # Errors
/// Fails when it cannot be made, is not a directory, belongs to somebody else or is open to others.
pub fn private_dir(dir: &Path) -> Result<(), CommandError> {
    let foreign = |what: &str| {
        CommandError::new(ErrorCode::StateDirForeign, format!("{} {what}", dir.display()))
            .hint("give it to yourself with mode 0700, or choose another place with the XDG variables")
    };
    if let Err(error) = DirBuilder::new().recursive(true).mode(0o700).create(dir) {
        let not_a_directory = fs::metadata(dir).is_ok_and(|meta| !meta.is_dir());
        return Err(if not_a_directory {
            CommandError::new(ErrorCode::StateDirForeign, format!("{} is not a directory", dir.display()))
                .hint("move it away, or choose another place with the XDG variables")
        } else {
            CommandError::new(ErrorCode::StoreReadOnly, format!("cannot make {}: {error}", dir.display()))
                .hint("make its parent writable, or choose another place with the XDG variables")
        });
    }
    let meta = fs::metadata(dir).map_err(|error| foreign(&format!("cannot be read: {error}")))?;
    if meta.uid() != rustix::process::getuid().as_raw() {
        return Err(foreign("belongs to another user"));
    }
    if meta.permissions().mode() & 0o022 != 0 {
        return Err(foreign("may be written by others"));
    }
    if meta.permissions().mode() & 0o077 != 0 {
        fs::set_permissions(dir, fs::Permissions::from_mode(0o700))
            .map_err(|error| foreign(&format!("cannot be closed to others: {error}")))?;
    }
    Ok(())
}
