# A command inside of the sandbox needs nobody.
start
prompt tool:bash:sleep 2
expect running
screen sleep 2
expect running
expect completed|idle
