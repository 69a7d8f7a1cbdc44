# A draft while text streams hides every word that says busy.
start
prompt stream:6
expect running
screen tick3
type half a thought
screen half a thought
holds 2s
expect running
screen streamed
expect completed|idle
