# A plan is presented in plan mode, and approved.
start
key BTab BTab
screen plan mode on
prompt plan:build it
screen Would you like to proceed
expect waiting_approval
key Down Enter
expect running|completed|idle
expect completed|idle
