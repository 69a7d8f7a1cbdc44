# A message typed while the agent is busy starts a turn of its own, of which no hook tells.
start
prompt stream:6
expect running
screen tick1
prompt stream:3
screen Press up to edit queued
expect running
screen streamed
expect running
screen streamed[\s\S]*streamed
expect completed|idle
