# Ended by agtmux, together with nothing else: the shell is there again.
start
expect idle
agtmux kill PANE --yes --signal TERM --wait 20s says ended at TERM
screen (?m)^\$\s*\z
expect nobody
agtmux kill PANE --yes refused E_PRECONDITION_FAILED
