# An important message reaches Claude between two tools, while its turn goes on: no key is pressed, and a patient one waits on.
start
expect idle
prompt tool:bash:sleep 3; touch x ;; say:done
screen Do you want to proceed
agtmux sm send PANE later --id patient says queued
agtmux sm send PANE soon --id soon --important says queued
key Enter
agtmux sm send PANE soon --id soon --important --wait 60s says soon confirmed
agtmux sm show soon says hook, since the agent asks it after a tool
told via sm send id=soon\.[0-9a-f]+\]
agtmux sm send PANE later --id patient --wait 60s says patient confirmed
agtmux sm show patient says hook, since the agent asks it at the end of its turn
expect completed|idle
