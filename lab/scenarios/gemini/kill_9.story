# The process is killed in the middle of a turn. Its title goes on saying that it works.
start
prompt stream:30
expect running
screen tick3
signal KILL
expect nobody
