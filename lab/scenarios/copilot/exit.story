# The agent is told to leave.
start
prompt say:hello
expect completed|idle
prompt /exit
screen (?m)^\$\s*\z
expect nobody
