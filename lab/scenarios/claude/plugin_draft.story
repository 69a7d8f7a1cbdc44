# Somebody has left a text unsent, with lines of its own. The plugin submits a message beside it, at once, and the text stays.
start
prompt say:ready
expect completed|idle
type half a thought
key C-j
type and its other half
screen and its other half
agtmux sm send PANE hello --id letter1 --wait 60s says letter1 confirmed
agtmux sm show letter1 until server, since Claude's plugin takes it
told via sm send id=letter1\.[0-9a-f]+\]
expect completed|idle
screen half a thought
screen and its other half
key Enter
told half a thought\\nand its other half
expect completed|idle
