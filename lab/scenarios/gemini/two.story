# Two of them in one folder. Each is shown as it is, whatever the other does, and gets its own messages.
start
expect idle|unknown
pane b
start
expect idle|unknown
prompt stream:4
expect running
screen tick
expect completed|idle
pane a
never running|completed|waiting_approval|error
prompt stream:4
expect running
screen tick
expect completed|idle
pane b
never running|waiting_approval|error
agtmux sm send PANE:b say:one-for-b --id letter1 --wait 60s says letter1 confirmed
agtmux sm send PANE:a say:one-for-a --id letter2 --wait 60s says letter2 confirmed
screen one-for-b
no screen one-for-a
pane a
screen one-for-a
no screen one-for-b
expect completed|idle
