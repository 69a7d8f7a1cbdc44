// agtmux: tells agtmux what happens in opencode, so that its state is known.
// Written by `agtmux setup opencode`, taken away by `agtmux setup --remove opencode`. It changes nothing in opencode and
// never waits: without agtmux it does nothing.
import { spawn } from "node:child_process"

const PROGRAM = "PROGRAM"

const EVENTS = new Set([
  "EVENTS",
])

// Long texts say nothing about a state. A prompt may be made of messages, which are told whole.
const LONGEST = 4096
const LONGEST_PROMPT = 96 * 1024
const brief = (key, value) => {
  const longest = key === "prompt" ? LONGEST_PROMPT : LONGEST
  return typeof value === "string" && value.length > longest ? value.slice(0, longest) : value
}

// What was written in the person's place; not what opencode puts beside it, such as a file that is named there.
const written = (parts) =>
  (parts ?? []).filter((part) => part.type === "text" && !part.synthetic).map((part) => part.text).join("\n")

// One event at a time, so that they arrive in the order in which they happened. If agtmux hangs, events are dropped.
const PATIENCE_MS = 2000
const MOST_WAITING = 100
let waiting = 0
let last = Promise.resolve()

const deliver = (event, body) =>
  new Promise((done) => {
    try {
      const child = spawn(PROGRAM, ["hook", "opencode", event], { stdio: ["pipe", "ignore", "ignore"] })
      const timer = setTimeout(done, PATIENCE_MS)
      timer.unref?.()
      const finish = () => {
        clearTimeout(timer)
        done()
      }
      child.on("error", finish)
      child.on("close", finish)
      child.stdin.on("error", () => {})
      child.stdin.end(body)
      child.unref?.()
    } catch {
      done()
    }
  })

const tell = (event, payload) => {
  try {
    if (waiting >= MOST_WAITING) return
    const body = JSON.stringify(payload ?? {}, brief)
    waiting += 1
    last = last.then(() => deliver(event, body)).then(() => {
      waiting -= 1
    })
  } catch {
    // What cannot be told is not told.
  }
}

export const agtmux = async ({ directory }) => {
  tell("plugin.init", { directory })
  return {
    event: async ({ event }) => {
      if (EVENTS.has(event.type)) tell(event.type, event.properties)
    },
    "chat.message": async (input, output) => {
      tell("chat.message", { ...input, prompt: written(output?.parts) })
    },
    "tool.execute.before": async (input, output) => tell("tool.execute.before", { ...input, args: output?.args }),
    "tool.execute.after": async (input) => tell("tool.execute.after", { ...input, args: undefined }),
    dispose: async () => {
      tell("dispose", {})
      await last
    },
  }
}
