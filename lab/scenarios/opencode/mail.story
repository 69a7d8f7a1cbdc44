# A message waits for the turn to end, is typed once, and the agent itself says that it was given it.
start
prompt stream:6
expect running
screen tick1
agtmux sm send PANE hello --id letter1 says queued.*waiting for idle
agtmux sm send PANE again --id letter2 says number 2
screen streamed
agtmux sm send PANE again --id letter2 --wait 60s says letter2 confirmed
agtmux sm show letter1 says letter1 confirmed
told via sm send id=letter1\.[0-9a-f]+\]
expect completed|idle
