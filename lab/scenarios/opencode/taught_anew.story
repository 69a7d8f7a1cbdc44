# The workspace has no instructions. The model is told how to signal all the same, and nothing of that is left when it is taken back.
agtmux provision --agent opencode
start
prompt say:hello
expect completed|idle
told Status signaling.*SCHMUX_STATUS_FILE
agtmux provision --agent opencode --check
agtmux provision --agent opencode --remove
no file AGENTS.md
