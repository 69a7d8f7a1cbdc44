//! What a pane shows as a condition, compared inside the server in the same breath as the act.

use crate::command::{Command, Script};
use crate::id::PaneId;

/// More would make a format that old servers refuse to expand.
const MOST: usize = 4;

/// What is printed when the script ran.
const RAN: &str = "shown";

/// A script that runs only if the pane shows all of these rows at that moment: of many, those that say most.
pub fn if_shown(pane: PaneId, rows: &[String], script: &Script) -> Script {
    let mut patterns: Vec<_> = rows.iter().map(|row| pattern(row)).collect();
    patterns.sort_by_key(|pattern| std::cmp::Reverse(pattern.len()));
    patterns.dedup();
    let terms = patterns.into_iter().take(MOST).map(|pattern| format!("#{{C:{pattern}}}"));
    // Nothing to compare means that nothing is known to be shown.
    let condition = terms.reduce(|all, term| format!("#{{&&:{term},{all}}}")).unwrap_or_else(|| "0".to_owned());
    let ran = Command::new("display-message").flag("-p").arg(RAN);
    let done = Script::new().join(script).then(&ran);
    Script::from(&Command::new("if-shell").flag("-F").target(pane).arg(condition).commands(&done))
}

/// Whether the script ran, by what was printed.
pub fn was_shown(printed: &[u8]) -> bool {
    printed.trim_ascii() == RAN.as_bytes()
}

/// A row as a pattern that matches it: whatever means something to formats or patterns, or may be wide, matches anything.
fn pattern(row: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/') { c } else { '*' };
    let mut pattern: String = row.chars().map(plain).collect();
    while pattern.contains("**") {
        pattern = pattern.replace("**", "*");
    }
    pattern.trim_matches('*').to_owned()
}

#[cfg(test)]
mod tests {
    use super::pattern;

    #[test]
    fn a_pattern_has_nothing_that_a_format_obeys() {
        assert_eq!(pattern("$ touch a-b_c.d #{pid},#(rm) 你好 x}"), "touch*a-b_c.d*pid*rm*x");
        assert_eq!(pattern("───"), "");
    }
}
