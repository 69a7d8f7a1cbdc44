# /clear begins a new session in the same process.
start
prompt say:hello
expect running|completed
expect completed|idle
prompt /clear
no screen hello
expect idle|completed
prompt stream:2
expect running
expect completed|idle
