# A command needs permission; the person presses Escape. No hook says so.
start
prompt tool:bash:touch x
screen Allow once
expect waiting_approval
key Escape
expect idle
