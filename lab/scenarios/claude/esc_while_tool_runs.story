# Escape while a command runs.
start
prompt tool:bash:for i in $(seq 30); do sleep 1; done
screen Do you want to proceed
expect waiting_approval
key Enter
expect running
screen Running|esc to interrupt
key Escape
expect idle
