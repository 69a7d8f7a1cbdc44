# The agent is told to leave.
start
expect idle
prompt /quit
screen (?m)^\$\s*\z
expect nobody
