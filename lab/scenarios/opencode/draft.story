# Somebody types and does not send: that changes nothing.
start
expect idle
type half a thought
screen half a thought
holds 2s
expect idle
