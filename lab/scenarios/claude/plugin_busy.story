# A turn is under way: nothing is submitted before its end. Somebody stops it, which no hook tells. From then on Claude refuses prompts of
# a plugin until a person has sent one, and the message waits for that too.
start
prompt say:ready
expect completed|idle
prompt stream:60
expect running
screen tick1
agtmux sm send PANE hello --id letter1 says queued.*waiting for idle
holds 2s
key Escape
agtmux sm show letter1 until waiting for the next prompt
prompt say:again
agtmux sm show letter1 until letter1 confirmed
told via sm send id=letter1\.[0-9a-f]+\]
expect completed|idle
