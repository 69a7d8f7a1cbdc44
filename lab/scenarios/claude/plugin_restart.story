# Another daemon takes over. The plugin finds it by itself, and messages go through it again.
start
prompt say:ready
expect completed|idle
agtmux sm send PANE hello --id letter1 --wait 60s says letter1 confirmed
agtmux sm show letter1 until server, since Claude's plugin takes it
agtmux daemon stop
agtmux daemon start
prompt say:again
screen ● again
agtmux sm send PANE hello --id letter2 --wait 60s says letter2 confirmed
agtmux sm show letter2 until server, since Claude's plugin takes it
