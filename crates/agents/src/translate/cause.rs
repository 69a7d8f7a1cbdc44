//! Why a turn failed or is being tried again, from what a provider's error says.

use agtmux_core::signal::Cause;

/// The cause that an error's words mean. The order decides where several fit: an allowance that is used up is told with
/// the status of a rate limit, and nearly everything is told as an "API error".
pub(crate) fn from_text(text: &str) -> Option<Cause> {
    let head: String = text.chars().take(2_000).collect();
    let text = head.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if says(&["usage limit", "spend limit", "hit your limit", "quota", "credit balance", "out of credits"]) {
        Some(Cause::UsageLimit)
    } else if says(&["rate limit", "rate_limit", "too many requests", "resource_exhausted", "(429)", "status 429"]) {
        Some(Cause::RateLimit)
    } else if says(&["usage policy", "refused to respond", "refusal"]) {
        Some(Cause::Refused)
    } else if says(&["authentication", "unauthorized", "api key", "api_key", "permission_denied", "please run /login"])
    {
        Some(Cause::Auth)
    } else if says(&[
        "server_error",
        "server error",
        "server-side issue",
        "overloaded",
        "connection",
        "econn",
        "network",
        "timed out",
        "timeout",
        "stream disconnected",
        "socket",
    ]) {
        Some(Cause::Network)
    } else {
        // A status that is told as a word of its own, as in "API Error: 503".
        text.split(|c: char| !c.is_ascii_alphanumeric())
            .filter(|word| word.len() == 3)
            .find_map(|word| from_status(word.parse().ok()?))
    }
}

/// The cause that a status of HTTP means.
pub(crate) fn from_status(status: u64) -> Option<Cause> {
    match status {
        429 => Some(Cause::RateLimit),
        401 | 403 => Some(Cause::Auth),
        408 | 500..=599 => Some(Cause::Network),
        _ => None,
    }
}

/// The cause that an error with a status and a text means. Only the text knows a used-up allowance.
pub(crate) fn from_error(status: Option<u64>, text: &str) -> Cause {
    let told = from_text(text);
    match (status.and_then(from_status), told) {
        (_, Some(Cause::UsageLimit)) => Cause::UsageLimit,
        (Some(cause), _) => cause,
        (None, told) => told.unwrap_or(Cause::Other),
    }
}

#[cfg(test)]
mod tests {
    use agtmux_core::signal::Cause;

    use super::from_error;

    #[test]
    fn words_and_statuses_have_their_causes() {
        let cases = [
            (Some(429), "mock 429 rate_limit_error", Cause::RateLimit),
            (Some(429), "You exceeded your current quota", Cause::UsageLimit),
            (Some(500), "mock says 500", Cause::Network),
            (Some(403), "forbidden", Cause::Auth),
            (Some(400), "mock says 400", Cause::Other),
            (None, "You've hit your usage limit. Try again at 3 PM.", Cause::UsageLimit),
            (None, "Connection reset by server", Cause::Network),
            (None, "mock says 503", Cause::Network),
            (None, "item 5031 of a429b", Cause::Other),
            (None, "", Cause::Other),
        ];
        for (status, text, cause) in cases {
            assert_eq!(from_error(status, text), cause, "{status:?} {text:?}");
        }
    }
}
