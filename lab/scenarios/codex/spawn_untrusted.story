# A folder that is not trusted yet: the dialog is told and never answered. Once a person has, the agent is sent to by its name.
shell mkdir -p ../new/.codex && echo 'approval_policy = "on-request"' > ../new/.codex/config.toml
spawn in ../new say:hello refused E_BLOCKED
screen Trust this folder
expect waiting_input
key Enter
screen Ask Codex to do anything
expect idle
send say:hello
received
expect completed|idle
