# The first of two Codexes is killed in the midst of a turn, which goes on in the server. That says nothing of the other one.
shell sed -i /daemon_auto_start/d $HOME/.codex/config.toml; codex
screen (?s)\A[^\n]*work\s*\n.*Ask Codex to do anything within 120s
expect idle
prompt say:first
screen first
expect completed|idle
pane b
shell sed -i /daemon_auto_start/d $HOME/.codex/config.toml; codex
screen (?s)\A[^\n]*work\s*\n.*Ask Codex to do anything within 120s
expect idle
pane a
prompt stream:10
expect running
screen tick
signal KILL
expect nobody
pane b
never running|completed|waiting_approval|error
holds 5s
agtmux sm send PANE say:still-here --id letter1 --wait 60s says letter1 confirmed
screen still-here
no screen tick
expect completed|idle
