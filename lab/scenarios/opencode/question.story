# The agent asks a question with options.
start
prompt ask:Which colour?red,blue
screen enter submit
expect waiting_input
key Enter
expect completed|idle
