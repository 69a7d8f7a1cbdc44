# Killed while a message waits for it: whoever goes on with the conversation is given it, once.
spawn stream:30
expect running
screen tick1
agtmux sm send x hello --id letter1 says queued.*waiting for idle
agtmux kill x --yes --signal KILL --wait 20s says ended at KILL
agtmux sm show letter1 says letter1 dead
resume say:go on
received
told via sm send id=letter1_r2\.[0-9a-f]+\]
agtmux sm wait x --until idle --timeout 60s
agtmux sm show letter1_r2 until letter1_r2 confirmed
agtmux sm show letter1 says sent as  letter1_r2
expect completed|idle
