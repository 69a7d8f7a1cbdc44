# The model refuses. The hook that ends the turn sounds as if all was well.
start
prompt error:403
expect error
