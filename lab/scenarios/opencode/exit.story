# The agent is told to leave.
start
expect idle
prompt /exit
screen (?m)^\$\s*\z
expect nobody
