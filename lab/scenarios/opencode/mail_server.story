# An opencode that serves is given its mail there: without a key, and what somebody has left unsent stays where it is.
start --port PORT
prompt say:hello
expect completed|idle
# What is typed while it still changes to the conversation is lost by itself.
screen ▣
type half a thought
screen half a thought
agtmux sm send PANE say:taken --id letter1 --wait 60s says letter1 confirmed
agtmux sm show letter1 says server, since opencode's server takes it
told via sm send id=letter1\.[0-9a-f]+\]
screen taken[\s\S]*half a thought
expect completed|idle
agtmux sm queue PANE --json says "saved_user_input":null
