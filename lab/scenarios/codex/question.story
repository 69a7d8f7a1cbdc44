# The agent asks a question, which it can in plan mode.
start
prompt /plan
key Enter
screen Plan mode
prompt ask:Which colour?red,blue
screen enter to submit answer
expect waiting_input
key Enter
expect completed|idle
