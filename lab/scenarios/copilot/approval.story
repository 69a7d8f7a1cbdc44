# A command needs permission, and gets it. No hook says that it did.
start
expect idle
prompt tool:bash:touch x; sleep 2
screen Do you want to run
expect waiting_approval
key Enter
expect running
expect completed|idle
