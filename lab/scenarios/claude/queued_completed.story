# A prompt that waits begins its turn when the one before it ends. Nothing is completed between the two.
start
prompt stream:4
expect running
screen tick1
prompt stream:4
screen Press up to edit queued
screen streamed
holds 3s
screen streamed[\s\S]*streamed
expect completed
