# The model refuses. No hook says so.
start
prompt error:429
expect error because rate_limit
prompt say:better now
expect running|completed
expect completed|idle
