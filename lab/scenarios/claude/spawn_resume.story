# Ended by agtmux and started again by its name: the model is given what was said before.
spawn say:remember the number 71
received
expect completed|idle
agtmux kill x --yes --signal TERM --wait 20s says ended at TERM
resume say:which number was it
received
expect completed|idle
