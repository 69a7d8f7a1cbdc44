# A message typed while the agent is busy steers the turn that runs.
start
prompt stream:20
expect running
screen tick3
prompt say:enough
screen (?m)^• enough
expect completed|idle
