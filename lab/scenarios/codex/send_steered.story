# What is sent while the agent is busy steers the turn that runs.
start
send stream:20
expect running
screen tick3
send say:enough
screen (?m)^• enough
received
expect completed|idle
