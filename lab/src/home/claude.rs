//! Claude Code's home.

use std::io;

use serde_json::json;

use super::{Home, KEY};

pub(super) fn seed(home: &Home) -> io::Result<Vec<(&'static str, String)>> {
    home.write_json(
        ".claude.json",
        &json!({
            // Without this the first run calls home, whatever the base URL is, and ends if nobody answers.
            "hasCompletedOnboarding": true,
            "customApiKeyResponses": { "approved": [&KEY[KEY.len() - 20..]], "rejected": [] },
            "projects": { home.workspace(): { "hasTrustDialogAccepted": true } },
            "theme": "dark",
            "hasSeenAutoDefaultNotice": true,
            "hasSeenAutoDefaultNudge": true,
            "officialMarketplaceAutoInstallAttempted": true,
            "lastReleaseNotesSeen": "2.1.325",
            "lastOnboardingVersion": "2.1.325",
        }),
    )?;
    home.write_json(
        ".claude/settings.json",
        &json!({
            // The default mode asks for nothing.
            "permissions": { "defaultMode": "default" },
            "spinnerTipsEnabled": false,
            "promptSuggestionEnabled": false,
        }),
    )?;
    let on = || "1".to_owned();
    Ok(vec![
        ("ANTHROPIC_BASE_URL", home.model()),
        ("ANTHROPIC_API_KEY", KEY.to_owned()),
        // Ten retries, as usual, would take minutes.
        ("CLAUDE_CODE_MAX_RETRIES", "3".to_owned()),
        ("DISABLE_TELEMETRY", on()),
        ("DISABLE_ERROR_REPORTING", on()),
        ("DISABLE_AUTOUPDATER", on()),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", on()),
        ("CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL", on()),
    ])
}
