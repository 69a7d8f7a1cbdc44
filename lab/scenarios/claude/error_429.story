# The model refuses: retries, then an error with its own reason. It is not idle, and the next prompt mends it.
start
prompt error:429
expect running
expect error because rate_limit
prompt say:better now
expect running|completed
expect completed|idle
