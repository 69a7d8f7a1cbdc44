//! `agtmux completions SHELL`.

use clap::Args;
use clap_complete::Shell;

use super::output;
use crate::error::CommandError;

#[derive(Debug, Args)]
#[command(after_help = "bash:  agtmux completions bash > ~/.local/share/bash-completion/completions/agtmux\n\
                        zsh:   agtmux completions zsh > ~/.zfunc/_agtmux\n\
                        fish:  agtmux completions fish > ~/.config/fish/completions/agtmux.fish")]
pub struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub fn run(args: &CompletionsArgs) -> Result<(), CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut super::command(), "agtmux", &mut script);
    output::print_bytes(&script)
}
