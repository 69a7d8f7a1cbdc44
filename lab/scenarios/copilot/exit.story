# The agent is told to leave.
start
prompt say:hello
expect running|completed
screen hello[\s\S]*/ commands
expect completed|idle
prompt /exit
screen (?m)^\$\s*\z
expect nobody
