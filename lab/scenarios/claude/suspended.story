# Ctrl-Z: the process is there, but nobody can use it.
start
expect idle
key C-z
screen Stopped
expect unknown because suspended
shell fg
screen manual mode on
expect idle
