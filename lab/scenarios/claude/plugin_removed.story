# The plugin is taken out while Claude runs, which may keep it, and put in again: messages arrive all the same.
start
prompt say:ready
expect completed|idle
agtmux sm send PANE hello --id letter1 --wait 60s says letter1 confirmed
agtmux sm show letter1 until server, since Claude's plugin takes it
expect completed|idle
agtmux setup claude --remove --yes says deleted
agtmux sm send PANE hello --id letter2 --wait 60s
agtmux sm show letter2 until (tmux|server), since
told via sm send id=letter2\.[0-9a-f]+\]
agtmux setup claude --yes says created
agtmux setup claude --check says current
