# What is sent while the agent is busy waits for the turn to end.
start
send stream:8
expect running
screen tick1
send stream:1
screen streamed[\s\S]*streamed
received
expect completed|idle
