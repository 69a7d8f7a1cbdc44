//! Codex's home.

use std::io;

use super::{Home, KEY};

pub(super) fn seed(home: &Home) -> io::Result<Vec<(&'static str, String)>> {
    let (model, workspace) = (home.model(), home.workspace());
    home.write(
        ".codex/config.toml",
        &format!(
            r#"model = "mock-model"
model_provider = "lab"
approval_policy = "on-request"
sandbox_mode = "workspace-write"
check_for_update_on_startup = false

[model_providers.lab]
name = "lab"
base_url = "{model}/v1"
wire_api = "responses"
env_key = "LAB_KEY"
request_max_retries = 0
stream_max_retries = 0

[features]
daemon_auto_start = false
# Plugins are fetched from the world at every start.
plugins = false

[analytics]
enabled = false

[feedback]
enabled = false

[otel]
exporter = "none"
trace_exporter = "none"
metrics_exporter = "none"

[tui]
show_tooltips = false
screen_reader_detection_done = true

[projects."{workspace}"]
trust_level = "trusted"
"#
        ),
    )?;
    Ok(vec![("LAB_KEY", KEY.to_owned())])
}
