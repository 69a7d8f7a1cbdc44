# What agtmux sends is what the model is given, byte for byte, also where the composer folds it.
start
expect idle|unknown
send say:first line\n\tsecond, "quotes" 'and' $HOME ~ #(touch canary) #{pid} %1\n\n-x; é 你好 🧪 \\ `touch canary` {a} end;
received
expect completed|idle
send 60x line of a long text
received
expect completed|idle
