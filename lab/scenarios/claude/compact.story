# /compact is work, and ends without a Stop.
start
prompt say:hello
expect running|completed
expect completed|idle
prompt /compact
expect running
screen Compacted
expect completed|idle
