# Somebody types and does not send: that changes nothing.
start
prompt say:hello
expect running|completed
screen hello[\s\S]*/ commands
expect completed|idle
type half a thought
screen half a thought
holds 2s
expect completed|idle
