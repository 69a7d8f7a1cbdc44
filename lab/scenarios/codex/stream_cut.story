# The connection breaks in the middle of a reply.
start
prompt cut:
expect running|error
expect error
