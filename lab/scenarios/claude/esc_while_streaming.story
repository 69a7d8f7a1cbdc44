# Escape while text streams. No hook says so, and there is no spinner to see.
start
prompt stream:30
expect running
screen tick3
key Escape
expect idle
holds 1s
