# The model fails once and then answers: the turn goes on all the while.
start
prompt error:500:1
expect running
screen retrying in
expect running
screen recovered within 30s
expect completed|idle
