# Two Codexes share a server, which the first one starts. Each is shown as it is, whatever the other does, and gets its own messages.
shell sed -i /daemon_auto_start/d $HOME/.codex/config.toml; codex
screen (?s)\A[^\n]*work\s*\n.*Ask Codex to do anything within 120s
expect idle
pane b
shell sed -i /daemon_auto_start/d $HOME/.codex/config.toml; codex
screen (?s)\A[^\n]*work\s*\n.*Ask Codex to do anything within 120s
expect idle
prompt stream:4
expect running
screen tick
expect completed|idle
pane a
never running|completed|waiting_approval|error
prompt tool:esc:touch x
screen Would you like to run
expect waiting_approval
pane b
never running|waiting_approval|error
pane a
key y
expect completed|idle
pane b
never running|waiting_approval|error
agtmux sm send PANE:b say:one-for-b --id letter1 --wait 60s says letter1 confirmed
agtmux sm send PANE:a say:one-for-a --id letter2 --wait 60s says letter2 confirmed
screen one-for-b
no screen one-for-a
expect completed|idle
agtmux doctor says passed over, codex
# One goes on with another conversation, and the other one comes into the old one.
pane a
screen one-for-a
no screen one-for-b
type /new
key Enter
screen (?s)\A[^\n]*work\s*\n.*Ask Codex to do anything
agtmux sm send PANE:a say:two-for-a --id letter3 --wait 60s says letter3 confirmed
agtmux sm send PANE:b say:two-for-b --id letter4 --wait 60s says letter4 confirmed
screen two-for-a
no screen two-for-b
expect completed|idle
