#!/bin/sh
exec 9<>"$AGENT_DIR/fifo"
echo "$$" >"$AGENT_DIR/pid.new" && mv "$AGENT_DIR/pid.new" "$AGENT_DIR/pid"
while IFS= read -r line <&9; do eval "$line"; done
