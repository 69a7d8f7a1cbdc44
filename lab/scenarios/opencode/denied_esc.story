# A command needs permission; the person presses Escape, which ends the turn.
start
prompt tool:bash:touch x
screen Permission required
expect waiting_approval
key Escape
expect idle
