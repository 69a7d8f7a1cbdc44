# The workspace has no instructions. The model is told how to signal all the same, and nothing of that is left when it is taken back.
spawn say:hello
received
told Status signaling.*SCHMUX_STATUS_FILE
expect completed|idle
agtmux provision --agent copilot --check
agtmux provision --agent copilot --remove
no file AGENTS.md
no file GEMINI.md
no file .claude/CLAUDE.md
