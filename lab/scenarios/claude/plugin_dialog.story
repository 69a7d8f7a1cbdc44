# A dialog of Claude's own has the keyboard. Nothing is submitted meanwhile, the dialog is not answered, and the message comes after it.
start
prompt say:ready
expect completed|idle
prompt /model
screen Select model
agtmux sm send PANE hello --id letter1 says letter1 queued
holds 2s
screen Select model
key Escape
screen Kept model
agtmux sm show letter1 until letter1 confirmed
agtmux sm show letter1 until server, since Claude's plugin takes it
told via sm send id=letter1\.[0-9a-f]+\]
expect completed|idle
