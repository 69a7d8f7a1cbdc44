# Escape while text streams.
start
prompt stream:30
expect running
screen tick3
key Escape
expect idle
holds 1s
