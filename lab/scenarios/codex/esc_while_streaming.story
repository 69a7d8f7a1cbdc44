# Escape while text streams, when the screen looks as if nothing was going on.
start
prompt stream:30
expect running
screen tick3
key Escape
expect idle
holds 1s
