# A question is refused with Escape. No hook says so.
start
prompt ask:Which colour?red,blue
screen Enter to select
expect waiting_input
key Escape
expect idle
