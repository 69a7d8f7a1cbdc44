# The same in the wrapper, which holds the keys of whoever comes back that very moment; and at once when it is urgent.
setting agents.claude.plugin = false
spawn say:hello
expect completed|idle
type half a thought
screen half a thought
agtmux sm send x hello --id letter1 says letter1 queued
told via sm send id=letter1\.[0-9a-f]+\]
expect completed|idle
screen half a thought
agtmux sm send x stop --id letter2 --urgent says letter2 delivered
told via sm send id=letter2\.[0-9a-f]+\]
expect completed|idle
screen half a thought
