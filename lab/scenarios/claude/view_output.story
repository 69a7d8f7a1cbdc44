# What was said is read from the record, since Claude Code leaves nothing in the scrollback.
start
expect idle
prompt say:the answer is forty-two
expect completed|idle
# The record is written a moment after the hooks have told.
holds 3s
agtmux view-output PANE says (?m)^> say:the answer is forty-two$
agtmux view-output PANE --ansi --lines 5 says (?m)^the answer is forty-two$
agtmux view-output PANE --json says "source":"transcript"
agtmux view-output PANE --if-state error refused E_PRECONDITION_FAILED
