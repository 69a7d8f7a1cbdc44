# What is sent while the agent is busy waits for the turn to end. The agent does not stop between the two turns.
start
send stream:20
expect running
screen tick1
send stream:3
screen streamed[\s\S]*streamed
received
expect completed|idle
