# A folder that is not trusted yet: the dialog is told and never answered, and nothing is typed.
spawn in ../new say:hello refused E_BLOCKED
screen Do you trust the files in this folder
expect waiting_input
holds 2s
no screen say:hello|restarting
