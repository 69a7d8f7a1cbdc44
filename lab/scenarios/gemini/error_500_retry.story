# The model fails twice and then answers: the turn goes on all the while, and nothing shows that it is retried.
start
prompt error:500:2
expect running
screen recovered within 60s
expect completed|idle
