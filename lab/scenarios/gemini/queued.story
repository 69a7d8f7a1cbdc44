# A message typed while the agent is busy runs after the turn.
start
prompt stream:6
expect running
screen tick1
prompt stream:3
screen Queued
expect running
screen streamed[\s\S]*streamed
expect completed|idle
