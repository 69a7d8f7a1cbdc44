# A session loads hooks that are put in while it runs: those of a project that had no .claude before, too.
agtmux setup claude --remove --yes
start
expect idle
holds 4s
agtmux setup claude --scope project --yes says loads the hooks by itself
holds 4s
prompt say:hello
expect completed because turn_done
agtmux explain PANE says hook +heard
agtmux list panes --json says "hooks_loaded": ?true
