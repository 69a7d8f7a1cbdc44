# Escape before the first word of the reply: the prompt is put back into the composer.
start
prompt think:30
expect running
screen esc to interrupt
key Escape
expect idle
