# A session goes on in a new process.
start
prompt say:hello
expect running|completed
expect completed|idle
prompt /quit
screen (?m)^\$\s*\z
expect nobody
start resume --last
expect idle
prompt stream:2
expect running
expect completed|idle
