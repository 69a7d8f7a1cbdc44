# SIGINT ends Claude Code in order, also in the middle of a turn.
start
expect idle
prompt stream:30
expect running
agtmux kill PANE --yes --wait 20s says ended at INT
screen (?m)^\$\s*\z
expect nobody
