# Codex is a client of a server, which tells whoever listens how each thread stands.
shell codex app-server --listen unix://$HOME/app.sock > /dev/null 2>&1 &
shell until test -S $HOME/app.sock; do sleep 0.1; done; codex --remote unix://$HOME/app.sock
screen Ask Codex to do anything
expect idle
prompt tool:esc:touch x; sleep 2
screen Would you like to run
expect waiting_approval
key y
expect running
expect completed|idle
prompt hang:30
screen esc to interrupt
expect running
key Escape
expect idle
