//! Gemini CLI's home.

use std::io;

use serde_json::json;

use super::{Home, KEY};

pub(super) fn seed(home: &Home) -> io::Result<Vec<(&'static str, String)>> {
    home.write_json(
        ".gemini/settings.json",
        &json!({
            "security": { "auth": { "selectedType": "gemini-api-key" }, "folderTrust": { "enabled": true } },
            "general": { "enableAutoUpdate": false, "enableAutoUpdateNotification": false, "retryFetchErrors": false },
            "privacy": { "usageStatisticsEnabled": false },
            "telemetry": { "enabled": false },
            "ide": { "enabled": false, "hasSeenNudge": true },
            "ui": { "hideTips": true },
            "model": { "name": "gemini-2.5-pro" },
        }),
    )?;
    home.write_json(".gemini/trustedFolders.json", &json!({ home.workspace(): "TRUST_FOLDER" }))?;
    Ok(vec![("GEMINI_API_KEY", KEY.to_owned()), ("GOOGLE_GEMINI_BASE_URL", home.model())])
}
