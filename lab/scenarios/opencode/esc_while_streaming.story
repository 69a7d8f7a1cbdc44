# Escape twice while text streams.
start
prompt stream:30
expect running
screen tick3
key Escape
screen again to interrupt
key Escape
expect idle
holds 1s
