# A command waits for permission. The message does not answer that, and comes when the turn is over.
start
prompt say:ready
expect completed|idle
prompt tool:bash:touch x
screen Do you want to proceed
expect waiting_approval
agtmux sm send PANE hello --id letter1 says letter1 queued
holds 2s
screen Do you want to proceed
no file x
key Escape
agtmux sm show letter1 until letter1 confirmed
agtmux sm show letter1 until server, since Claude's plugin takes it
no file x
expect completed|idle
