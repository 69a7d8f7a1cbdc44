# A file is to be written.
start
prompt tool:write:note.txt:hello
screen Allow once
expect waiting_approval
key Enter
expect completed|idle
