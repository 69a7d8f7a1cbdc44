# Somebody has left a text unsent. When it has been the same for long enough it makes room for a message, and is back afterwards.
setting agents.claude.plugin = false
start
type half a thought
screen half a thought
agtmux sm send PANE hello --id letter1 says letter1 queued
told via sm send id=letter1\.[0-9a-f]+\]
screen half a thought
expect completed|idle
screen half a thought
agtmux sm queue PANE --json says "saved_user_input":null
