# A session goes on in a new process.
start
prompt say:hello
expect running|completed
expect completed|idle
prompt /exit
screen (?m)^\$\s*\z
expect nobody
start --continue
expect idle
prompt stream:2
expect running
expect completed|idle
