# What agtmux approves is done: by the answer of the hook that waits, without a key.
start
expect idle
prompt tool:bash:touch x; sleep 1
screen Do you want to proceed
expect waiting_approval
no file x
agtmux approve PANE --if-prompt 00000000 refused E_PRECONDITION_FAILED
holds 1s
no file x
agtmux approve PANE
expect running|completed|idle
file x
expect completed|idle
agtmux approve PANE refused E_PRECONDITION_FAILED
