# An opencode that serves is answered there, and told why not.
start --port PORT
expect idle
prompt tool:bash:touch x
screen Permission required
expect waiting_approval
agtmux approve PANE says by its server
file x
expect completed|idle
prompt tool:bash:touch y
screen Permission required
expect waiting_approval
agtmux deny PANE --reason never says by its server
told never
expect completed|idle
no file y
