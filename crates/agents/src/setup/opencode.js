// agtmux: tells agtmux what happens in opencode, so that its state is known.
// Written by `agtmux setup opencode`, taken away by `agtmux setup --remove opencode`. It changes nothing in opencode and
// never waits: without agtmux it does nothing.
import { spawn } from "node:child_process"

const PROGRAM = "PROGRAM"

const EVENTS = new Set([
  "EVENTS",
])

// Long texts say nothing about a state.
const LONGEST = 4096
const brief = (_key, value) => (typeof value === "string" && value.length > LONGEST ? value.slice(0, LONGEST) : value)

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
      tell("chat.message", { ...input, parts: (output?.parts ?? []).map((part) => part.text ?? part.type) })
    },
    "tool.execute.before": async (input, output) => tell("tool.execute.before", { ...input, args: output?.args }),
    "tool.execute.after": async (input) => tell("tool.execute.after", { ...input, args: undefined }),
    dispose: async () => {
      tell("dispose", {})
      await last
    },
  }
}
