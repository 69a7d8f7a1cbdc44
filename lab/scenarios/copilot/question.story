# The agent asks a question with options.
start
prompt ask:Which colour?red,blue
screen enter accept
expect waiting_input
key Enter
expect completed|idle
