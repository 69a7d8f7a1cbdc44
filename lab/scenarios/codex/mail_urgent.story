# What is urgent interrupts the turn.
start
prompt stream:60
expect running
screen tick
agtmux sm send PANE stop --id letter1 --urgent says letter1 delivered
agtmux sm show letter1 says interrupted a turn
told via sm send id=letter1\.[0-9a-f]+\]
expect completed|idle
