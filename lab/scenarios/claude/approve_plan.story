# A plan is presented in plan mode, and approved by agtmux: by a key, since the agent wants to hear that from the person.
start
key BTab BTab
screen plan mode on
prompt plan:build it
screen Would you like to proceed
expect waiting_approval
agtmux approve PANE
expect running|completed|idle
expect completed|idle
no screen plan mode on
