# A Codex that is alone with its server gets its messages there, and no key is pressed.
shell sed -i /daemon_auto_start/d $HOME/.codex/config.toml; codex
screen (?s)\A[^\n]*work\s*\n.*Ask Codex to do anything within 120s
expect idle
prompt say:hello
screen hello
expect completed|idle
type half a thought
screen half a thought
agtmux sm send PANE say:taken --id letter1 --wait 60s says letter1 confirmed
agtmux sm show letter1 says server, since Codex's app server takes it
screen taken[\s\S]*half a thought
