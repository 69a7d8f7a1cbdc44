# The kernel ends it: no farewell, and its terminal is left as it was.
start
expect idle
prompt stream:30
expect running
agtmux kill PANE --yes --signal KILL --if-state running
expect nobody
agtmux events --limit 1000 says ended: exited
