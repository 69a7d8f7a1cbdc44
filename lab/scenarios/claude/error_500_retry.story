# The model fails twice and then answers: the turn goes on all the while.
start
prompt error:500:2
expect running
screen Retrying within 20s
expect running
screen recovered within 30s
expect completed|idle
