# Escape before the first word.
start
prompt hang:30
expect running
screen esc to interrupt
key Escape
expect idle
