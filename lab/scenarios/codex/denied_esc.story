# A command wants to leave the sandbox; the person presses Escape. No hook says so.
start
prompt tool:esc:touch x
screen Would you like to run
expect waiting_approval
key Escape
expect idle
