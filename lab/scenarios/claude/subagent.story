# A subagent works on after the main turn has ended, and asks for permission itself.
start
prompt agent:tool:bash:touch from_subagent; sleep 1
screen Do you want to proceed
expect waiting_approval
key Enter
expect running
expect completed|idle within 30s
