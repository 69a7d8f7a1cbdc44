//! opencode's home.

use std::fs;
use std::io;

use serde_json::json;

use super::{Home, KEY};

pub(super) fn seed(home: &Home) -> io::Result<Vec<(&'static str, String)>> {
    home.write_json(
        ".config/opencode/opencode.json",
        &json!({
            "autoupdate": false,
            "share": "disabled",
            "model": "lab/mock-model",
            "small_model": "lab/mock-model",
            "enabled_providers": ["lab"],
            "provider": { "lab": {
                "npm": "@ai-sdk/openai-compatible",
                "name": "Lab",
                "options": { "baseURL": format!("{}/v1", home.model()), "apiKey": KEY },
                "models": { "mock-model": {
                    "name": "Lab Model", "tool_call": true, "limit": { "context": 200_000, "output": 8192 },
                } },
            } },
            // Everything is allowed by default.
            "permission": { "bash": "ask", "edit": "ask" },
        }),
    )?;
    // With a plugin, it installs a package for plugins before it draws anything, unless this looks as if it had.
    let installed = json!({ "dependencies": { "@opencode-ai/plugin": "1.18.33" } });
    home.write_json(".config/opencode/package.json", &installed)?;
    home.write_json(".config/opencode/package-lock.json", &json!({ "packages": { "": installed } }))?;
    fs::create_dir_all(home.home.join(".config/opencode/node_modules"))?;
    let on = || "1".to_owned();
    Ok(vec![
        ("OPENCODE_DISABLE_MODELS_FETCH", on()),
        ("OPENCODE_DISABLE_AUTOUPDATE", on()),
        ("OPENCODE_DISABLE_LSP_DOWNLOAD", on()),
    ])
}
