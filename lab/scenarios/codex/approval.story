# A command wants to leave the sandbox, and may.
start
expect idle
prompt tool:esc:touch x; sleep 2
screen Would you like to run
expect waiting_approval
key y
expect running
expect completed|idle
