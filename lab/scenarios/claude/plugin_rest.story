# An agent that rests is given its messages by the plugin inside it: no key is pressed, and every line arrives as it was written.
start
prompt say:ready
expect completed|idle
agtmux sm send PANE say:one\n\ttwo\n\n\t\tthree --id letter1 --wait 60s says letter1 confirmed
agtmux sm show letter1 until server, since Claude's plugin takes it
agtmux sm show letter1 says confirmed .*hook
told say:one\\n\\ttwo\\n\\n\\t\\tthree
expect completed|idle
agtmux sm send PANE hello --id letter2 --wait 60s says letter2 confirmed
agtmux sm show letter2 until server, since Claude's plugin takes it
expect completed|idle
