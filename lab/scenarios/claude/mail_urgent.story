# What is urgent interrupts the turn. The command that Claude runs goes on in the background.
start
prompt tool:bash:touch begun; sleep 12; touch finished ;; stream:8
screen Do you want to proceed
key Enter
expect running
file begun
screen run in background
agtmux sm send PANE stop --id letter1 --urgent says letter1 delivered
agtmux sm show letter1 says interrupted a turn
told via sm send id=letter1\.[0-9a-f]+\]
agtmux sm send PANE again --id letter2 --wait 60s says letter2 confirmed
file finished
