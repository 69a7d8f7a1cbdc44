# What agtmux approves is done, and what it denies is not.
start
expect idle
prompt tool:bash:touch x; sleep 1
screen Permission required
expect waiting_approval
no file x
agtmux approve PANE --if-prompt 00000000 refused E_PRECONDITION_FAILED
agtmux approve PANE
file x
expect completed|idle
prompt tool:bash:touch y
screen Permission required
expect waiting_approval
agtmux deny PANE
expect completed|idle
no file y
agtmux approve PANE refused E_PRECONDITION_FAILED
