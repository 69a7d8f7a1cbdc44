# Messages wait for the turn to end. Claude's own hook then gives them to it: no key is pressed, and what the person has typed
# meanwhile stays as it is. Its transcript says that it was given them.
start
prompt stream:6
expect running
screen tick1
agtmux sm send PANE hello --id letter1 says queued.*waiting for idle
agtmux sm send PANE again --id letter2 says number 2
type a draft of mine
agtmux sm send PANE again --id letter2 --wait 60s says letter2 confirmed
agtmux sm show letter1 says letter1 confirmed
agtmux sm show letter1 says hook, since the agent asks it at the end of its turn
told via sm send id=letter1\.[0-9a-f]+\]
screen a draft of mine
expect completed|idle
screen a draft of mine
