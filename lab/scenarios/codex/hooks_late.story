# A session does not load hooks that are put in while it runs, and agtmux says so.
agtmux setup codex --remove --yes
start
expect idle
holds 4s
agtmux setup codex --yes says hooks not loaded by this session
prompt say:hello
expect completed|idle
agtmux explain PANE says hooks not loaded by this session
agtmux list panes --json says "hooks_loaded": ?false
