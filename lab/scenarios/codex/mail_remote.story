# A Codex that is a client of a server is given its mail there: without a key, and what somebody has left unsent stays where it is.
# What it asks because of a message is asked in its pane.
shell codex app-server --listen unix://$HOME/app.sock > /dev/null 2>&1 &
shell until test -S $HOME/app.sock; do sleep 0.1; done; codex --remote unix://$HOME/app.sock
screen Ask Codex to do anything
expect idle
prompt say:hello
screen hello
expect completed|idle
type half a thought
screen half a thought
agtmux sm send PANE say:taken --id letter1 --wait 60s says letter1 confirmed
agtmux sm show letter1 says server, since Codex's app server takes it
told via sm send id=letter1\.[0-9a-f]+\]
screen taken[\s\S]*half a thought
expect completed|idle
agtmux sm send PANE tool:esc:id --id letter2 --wait 60s says letter2 confirmed
screen Would you like to run
expect waiting_approval
key y
expect completed|idle
screen half a thought
