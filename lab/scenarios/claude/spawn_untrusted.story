# A folder that is not trusted yet: the dialog is told and never answered. Once a person has, the agent is sent to by its name.
spawn in ../new say:hello refused E_BLOCKED
screen Accessing workspace
expect waiting_input
key Down
key Enter
screen manual mode on
expect idle
send say:hello
received
expect completed|idle
