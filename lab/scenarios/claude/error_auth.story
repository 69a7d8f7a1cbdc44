# The key is wrong: an error with its own reason.
start
prompt error:401
expect error because auth
