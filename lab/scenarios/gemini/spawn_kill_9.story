# Started by agtmux and killed in the middle of a turn: the wrapper tells.
spawn stream:30
expect running
screen tick3
signal KILL
expect nobody
agtmux events --limit 1000 says ended: crashed
