# What is urgent interrupts the turn at the server.
shell codex app-server --listen unix://$HOME/app.sock > /dev/null 2>&1 &
shell until test -S $HOME/app.sock; do sleep 0.1; done; codex --remote unix://$HOME/app.sock
screen Ask Codex to do anything
expect idle
prompt stream:60
expect running
screen tick
agtmux sm send PANE say:stopped --id letter1 --urgent says letter1 delivered
agtmux sm show letter1 says interrupted a turn
agtmux sm show letter1 says server, since
told via sm send id=letter1\.[0-9a-f]+\]
screen stopped
expect completed|idle
