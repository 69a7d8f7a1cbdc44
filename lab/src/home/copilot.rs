//! GitHub Copilot CLI's home.

use std::io;

use serde_json::json;

use super::{Home, KEY};

pub(super) fn seed(home: &Home) -> io::Result<Vec<(&'static str, String)>> {
    home.write_json(
        ".copilot/settings.json",
        &json!({ "banner": "never", "autoUpdate": false, "showTipsOnStartup": false, "memory": false }),
    )?;
    home.write_json(
        ".copilot/config.json",
        &json!({ "firstLaunchAt": "2026-01-01T00:00:00.000Z", "trustedFolders": [home.workspace()] }),
    )?;
    Ok(vec![
        ("COPILOT_OFFLINE", "true".to_owned()),
        ("COPILOT_PROVIDER_BASE_URL", format!("{}/v1", home.model())),
        ("COPILOT_PROVIDER_API_KEY", KEY.to_owned()),
        ("COPILOT_MODEL", "gpt-5.4".to_owned()),
        ("COPILOT_PROVIDER_WIRE_API", "responses".to_owned()),
        ("COPILOT_AUTO_UPDATE", "false".to_owned()),
    ])
}
