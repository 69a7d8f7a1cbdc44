# A command needs permission; the person picks No. No hook says so.
start
prompt tool:bash:touch x
screen Do you want to proceed
expect waiting_approval
key Down Down Down
screen ❯ \d\. No
key Enter
expect idle
screen Interrupted
expect idle
