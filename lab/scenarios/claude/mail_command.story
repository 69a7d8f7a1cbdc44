# A command is run between the messages that were sent before and after it, and is a part of neither (F61).
start
prompt stream:4
expect running
screen tick1
agtmux sm send PANE before --id letter1 says queued.*waiting for idle
agtmux sm send PANE /compact --id command says queued for .* to run
agtmux sm send PANE after --id letter2 says number 3
agtmux sm send PANE after --id letter2 --wait 60s says letter2 confirmed
agtmux sm show letter1 says letter1 confirmed
agtmux sm show command says command unconfirmed
screen Compacted
told via sm send id=letter1\.[0-9a-f]+\]
told via sm send id=letter2\.[0-9a-f]+\]
expect completed|idle
