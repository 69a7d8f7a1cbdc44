//! The lab's command line.

use std::io::{Write as _, stdout};

use agtmux_lab::model::Server;
use anyhow::Context as _;
use clap::{Parser, Subcommand};

/// Real agents in real tmux, against a scripted model
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the scripted model until it is interrupted, to point an agent at it by hand
    Model,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Model => {
            let server = Server::start().await.context("no port on loopback")?;
            writeln!(stdout(), "http://127.0.0.1:{}", server.port())?;
            tokio::signal::ctrl_c().await?;
        }
    }
    Ok(())
}
