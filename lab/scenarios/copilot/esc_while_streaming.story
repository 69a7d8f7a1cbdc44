# Escape twice while text streams. No hook says so.
start
prompt stream:30
expect running
screen tick3
key Escape until / commands
expect idle
holds 1s
