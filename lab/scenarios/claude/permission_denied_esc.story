# A command needs permission; the person presses Escape. No hook says so.
start
prompt tool:bash:touch x
screen Do you want to proceed
expect waiting_approval
key Escape
expect idle
