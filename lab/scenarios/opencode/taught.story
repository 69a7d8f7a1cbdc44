# The workspace has instructions of a person. The model is given them and how to signal, and what the agent signals counts.
shell echo 'The word is XYZZY.' > CLAUDE.md
file CLAUDE.md
agtmux provision --agent opencode
start
prompt say:hello
expect completed|idle
told The word is XYZZY
told Status signaling.*SCHMUX_STATUS_FILE
prompt say:--<[schmux:needs_testing:try it]>--
expect waiting_input because needs_testing
