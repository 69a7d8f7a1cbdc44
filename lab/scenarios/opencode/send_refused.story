# Text and Enter would answer a dialog, and would be added to a draft: nothing is typed.
start
send tool:bash:touch x
screen Permission required
expect waiting_approval
agtmux send PANE --text yes refused E_BLOCKED
screen Permission required
expect waiting_approval
key Escape
expect completed|idle
no screen Permission required
type half a thought
screen half a thought
agtmux send PANE --text zebra refused E_DRAFT
screen half a thought
no screen zebra
