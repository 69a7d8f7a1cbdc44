# Without hooks there is nobody to answer but the dialog: a key is pressed at it, once.
agtmux setup claude --remove --yes
start
expect idle
prompt tool:bash:touch x; sleep 1
screen Do you want to proceed
expect waiting_approval
agtmux deny PANE --reason=because refused E_PRECONDITION_FAILED
no file x
agtmux approve PANE
file x
expect completed|idle
prompt tool:bash:touch y
screen Do you want to proceed
expect waiting_approval
agtmux deny PANE
expect idle
no file y
