# The same message typed once more is kept from the model; with a word of the person's own it goes through.
start
expect idle
agtmux sm send PANE say:hello --id letter1 --wait 60s says letter1 confirmed
expect completed|idle
no screen esc to interrupt
expect completed|idle
holds 12s
key Up Enter
screen this agent was given letter1 before
holds 2s
type and once more
key Enter
told say:helloand once more
expect completed|idle
