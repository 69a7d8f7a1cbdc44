# Started by agtmux, in the wrapper: it takes its first prompt, and what is sent to it by its name, each once and as it is.
spawn say:hello, "first" 'prompt' $HOME #{pid} #(touch canary); é 你好 🧪
received
expect completed|idle
send say:first line\n  second, "quotes" $HOME #(touch canary) %1\n\n-x; é 你好 🧪 \\ `touch canary` end;
received
expect completed|idle
