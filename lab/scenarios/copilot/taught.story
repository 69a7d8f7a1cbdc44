# The workspace has instructions of a person. The model is given them and how to signal, and what the agent signals counts.
shell echo 'The word is XYZZY.' > AGENTS.md
file AGENTS.md
spawn say:hello
received
told The word is XYZZY
told Status signaling.*SCHMUX_STATUS_FILE
expect completed|idle
prompt tool:bash:echo "needs_testing try it" > "$SCHMUX_STATUS_FILE"
screen Do you want to run
expect waiting_approval
key Enter
expect waiting_input because needs_testing
