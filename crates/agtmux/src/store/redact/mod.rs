//! Secrets out of texts, before they are written.
//!
//! Hook payloads, questions and screens carry whatever an agent had in its hands. What looks like a credential is
//! replaced by `[redacted:<kind>]` before the first byte reaches the disk; the rules are in [`rules`].
//!
//! The writer redacts everything it is given. The daemon should redact a signal's texts when they come in, too: then
//! the state it shows and the state that a replay gives are the same.

mod rules;

use std::borrow::Cow;
use std::fmt::Write;
use std::sync::{LazyLock, OnceLock};

use regex::{Captures, Regex, RegexSet};
use serde_json::Value;

use rules::{RULES, Rule, WORDS};

/// Replaces what looks like a secret. Redacting twice changes nothing more.
pub fn redact(text: &str) -> Cow<'_, str> {
    if !is_suspect(text) {
        return Cow::Borrowed(text);
    }
    let mut text = Cow::Borrowed(text);
    for index in CANDIDATES.matches(&text) {
        if let Some(cleaned) = apply(&RULES[index], regex(index), &text) {
            text = Cow::Owned(cleaned);
        }
    }
    text
}

/// Redacts every string inside a JSON document.
pub fn json(document: String) -> String {
    // No keyword of the gate holds a character that JSON escapes, so the encoded text can be asked.
    if !is_suspect(&document) {
        return document;
    }
    match serde_json::from_str(&document) {
        Ok(mut value) => {
            walk(&mut value);
            value.to_string()
        }
        // Not JSON after all: then it is plain text.
        Err(_) => redact(&document).into_owned(),
    }
}

/// Whether any rule is worth running; most texts end here.
///
/// One pattern for all keywords is the fastest way to ask, once it is compiled. A program that runs for a millisecond asks
/// once, and looks for plain words first.
fn is_suspect(text: &str) -> bool {
    static GATE: OnceLock<Regex> = OnceLock::new();
    if GATE.get().is_none() && text.len() <= SHORT && !has_word(text) {
        return false;
    }
    let compile = || {
        let keywords: Vec<String> = RULES.iter().map(|rule| format!("(?:{})", rule.keywords)).collect();
        Regex::new(&keywords.join("|")).unwrap_or_else(|error| unreachable!("{error}"))
    };
    GATE.get_or_init(compile).is_match(text)
}

/// A longer text is worth a compiled pattern.
const SHORT: usize = 16 * 1024;

fn has_word(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    WORDS.iter().any(|word| memchr::memmem::find(lower.as_bytes(), word.as_bytes()).is_some())
}

/// Which rules are worth running.
static CANDIDATES: LazyLock<RegexSet> = LazyLock::new(|| {
    RegexSet::new(RULES.iter().map(|rule| rule.keywords)).unwrap_or_else(|error| unreachable!("{error}"))
});

/// The pattern of a rule, compiled when it is needed for the first time.
fn regex(index: usize) -> &'static Regex {
    static COMPILED: [OnceLock<Regex>; RULES.len()] = [const { OnceLock::new() }; RULES.len()];
    COMPILED[index].get_or_init(|| Regex::new(RULES[index].pattern).unwrap_or_else(|error| unreachable!("{error}")))
}

/// Replaces the accepted matches of one rule; `None` if there are none.
fn apply(rule: &Rule, regex: &Regex, text: &str) -> Option<String> {
    let mut cleaned = String::new();
    let mut copied = 0;
    for captures in regex.captures_iter(text) {
        let Some(secret) = secret_of(rule, &captures) else {
            continue;
        };
        cleaned.push_str(&text[copied..secret.start()]);
        write!(cleaned, "[redacted:{}]", rule.kind).ok()?;
        copied = secret.end();
    }
    if copied == 0 {
        return None;
    }
    cleaned.push_str(&text[copied..]);
    Some(cleaned)
}

/// The part of a match that is secret: the group of that name, or all of it.
fn secret_of<'t>(rule: &Rule, captures: &Captures<'t>) -> Option<regex::Match<'t>> {
    let secret = captures.name("secret").or_else(|| captures.get(0))?;
    let key = captures.name("key").map_or("", |key| key.as_str());
    (rule.accepts)(key, secret.as_str()).then_some(secret)
}

fn walk(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(cleaned) = redact(text) {
                *text = cleaned;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(walk),
        Value::Object(fields) => fields.values_mut().for_each(walk),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the words let pass no rule would have replaced.
    #[test]
    fn every_keyword_has_a_word() {
        let keywords = [
            "PRIVATE KEY",
            "AGE-SECRET-KEY",
            "AKIA",
            "ASIA",
            "ABIA",
            "ACCA",
            "ghp_",
            "gho_",
            "ghu_",
            "ghs_",
            "ghr_",
            "github_pat_",
            "glpat-",
            "glptt-",
            "gldt-",
            "glrt-",
            "glcbt-",
            "glimt-",
            "glagent-",
            "glsoat-",
            "glft-",
            "gloas-",
            "glffct-",
            "xoxb",
            "xapp-",
            "hooks.slack.com",
            "sk-ant-",
            "sk-",
            "AIza",
            "ya29.",
            "GOCSPX-",
            "sk_live_",
            "rk_live_",
            "sk_test_",
            "rk_test_",
            "whsec_",
            "npm_",
            "pypi-AgE",
            "hf_",
            "gsk_",
            "xai-",
            "hvs.",
            "hvb.",
            "SG.",
            "shpat_",
            "shpca_",
            "shppa_",
            "shpss_",
            "dckr_pat_",
            "dop_v1_",
            "tskey-",
            "lin_api_",
            "glsa_",
            ":AA",
            "eyJ",
            "Authorization",
            "BEARER",
            "://",
            "Cookie",
            "PASSWORD",
            "passwd",
            "Passphrase",
            "pwd",
            "pass ",
            "PASS_",
            "pass1",
            "--user",
            "-u ",
            "SECRET",
            "Token",
            "apikey",
            "API_KEY",
            "api-key",
            "access_key",
            "auth-key",
            "accountkey",
            "PRIVATE_KEY",
            "encryption-key",
            "signingkey",
            "Credentials",
            "AGTMUX_CAPABILITY",
            "_auth",
        ];
        for keyword in keywords {
            assert!(CANDIDATES.matches(keyword).matched_any(), "{keyword} is no keyword");
            assert!(has_word(keyword), "{keyword} has no word");
        }
    }
}
