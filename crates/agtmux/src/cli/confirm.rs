//! Asking a person before something that cannot be undone.

use std::io::{self, BufRead, IsTerminal};

use agtmux_wire::error::ErrorCode;

use super::output;
use crate::error::CommandError;

/// Asks on the terminal. Without one nobody can say yes, which is an error of the code `unattended`.
///
/// # Errors
/// Fails unless somebody says yes.
pub fn confirm(question: &str, unattended: ErrorCode) -> Result<(), CommandError> {
    let refused = |code, message: &str| CommandError::new(code, message).hint("say --yes to go ahead unasked");
    if !io::stdin().is_terminal() {
        return Err(refused(unattended, "nobody is there to confirm it"));
    }
    output::remark(&format!("{} [y/N]", output::printable(question)));
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).map_err(CommandError::internal)?;
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err(refused(ErrorCode::Cancelled, "nothing was done")),
    }
}
