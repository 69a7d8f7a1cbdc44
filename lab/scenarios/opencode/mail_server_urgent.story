# What is urgent interrupts the turn at the server.
start --port PORT
prompt stream:60
expect running
screen tick
agtmux sm send PANE say:stopped --id letter1 --urgent says letter1 delivered
agtmux sm show letter1 says interrupted a turn
agtmux sm show letter1 says server, since
told via sm send id=letter1\.[0-9a-f]+\]
screen stopped
expect completed|idle
