# The model refuses.
start
prompt error:400
expect error
