//! How commands reach a server.

use std::future::Future;
use std::time::Duration;

use crate::client::{Client, ClientError};
use crate::command::{Command, Script};
use crate::protocol::Reply;

/// Runs commands on one server, each with a deadline.
pub trait Transport: Clone + Send + Sync {
    /// Runs one command and waits for its reply until the deadline.
    fn run(&self, command: &Command, deadline: Duration) -> impl Future<Output = Result<Reply, ClientError>> + Send;

    /// Runs a script to its end and gives all its output. The first failure is the result.
    fn run_script(
        &self,
        script: &Script,
        deadline: Duration,
    ) -> impl Future<Output = Result<Vec<u8>, ClientError>> + Send;
}

impl Transport for Client {
    async fn run(&self, command: &Command, deadline: Duration) -> Result<Reply, ClientError> {
        Self::run(self, command, deadline).await
    }

    async fn run_script(&self, script: &Script, deadline: Duration) -> Result<Vec<u8>, ClientError> {
        let replies = Self::run_script(self, script, deadline).await?;
        Ok(replies.iter().flat_map(|reply| reply.lines.iter()).flat_map(|line| [line, &b"\n"[..]].concat()).collect())
    }
}
