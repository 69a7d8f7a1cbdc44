# Without the plugin, an agent that rests has no hook to ask: the message is typed, once, and Claude itself says that it was given it.
setting agents.claude.plugin = false
start
expect idle
agtmux sm send PANE say:hello --id letter1 --wait 60s says letter1 confirmed
agtmux sm show letter1 until tmux, since (?s:.*)confirmed .*hook
told via sm send id=letter1\.[0-9a-f]+\]
expect completed|idle
