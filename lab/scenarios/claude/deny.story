# What agtmux denies is not done, and the agent is told why.
start
expect idle
prompt tool:bash:touch x
screen Do you want to proceed
expect waiting_approval
agtmux deny PANE --reason=use-make-instead
told use-make-instead
expect completed|idle
no file x
