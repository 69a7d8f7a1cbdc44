# The person answers in the dialog while the hook waits; agtmux comes too late, and the next question is a new one.
start
expect idle
prompt tool:bash:touch x
screen Do you want to proceed
expect waiting_approval
key Enter
expect running|completed|idle
file x
expect completed|idle
agtmux approve PANE refused E_PRECONDITION_FAILED
prompt tool:bash:touch y
screen Do you want to proceed
expect waiting_approval
key Escape
expect idle
no file y
prompt tool:bash:touch z
screen Do you want to proceed
expect waiting_approval
agtmux approve PANE
file z
expect completed|idle
no file y
