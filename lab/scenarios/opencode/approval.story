# A command needs permission, and gets it.
start
expect idle
prompt tool:bash:touch x; sleep 2
screen Permission required
expect waiting_approval
key Enter
expect running
expect completed|idle
