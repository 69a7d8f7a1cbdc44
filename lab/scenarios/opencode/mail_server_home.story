# Where the screen shows no conversation, or one whose title another has too, the server is given nothing: it is typed.
start --port PORT
agtmux sm send PANE say:first --id letter1 --wait 60s says letter1 confirmed
screen say:first[\s\S]*first
expect completed|idle
agtmux sm show letter1 says tmux, since
prompt /new
screen Ask anything
agtmux sm send PANE say:second --id letter2 --wait 60s says letter2 confirmed
screen say:second[\s\S]*second
expect completed|idle
agtmux sm show letter2 says tmux, since
agtmux sm send PANE say:third --id letter3 --wait 60s says letter3 confirmed
screen say:third[\s\S]*third
expect completed|idle
agtmux sm show letter3 says tmux, since
