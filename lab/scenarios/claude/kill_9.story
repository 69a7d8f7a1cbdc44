# The process is killed in the middle of a turn. Nothing of it says so, and its files go on saying busy.
start
prompt stream:30
expect running
screen tick3
signal KILL
expect nobody
agtmux events --limit 1000 says ended: crashed
