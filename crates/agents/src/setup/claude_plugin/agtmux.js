// agtmux: hands the messages that agtmux has for Claude to it as prompts.
// Written by `agtmux setup claude`, taken away by `agtmux setup claude --remove`. It asks the daemon of agtmux over its socket and
// nobody else, never touches what you type, and does nothing where there is no daemon.

const PROTOCOL = 1

// A submission that is not through by then is waiting inside Claude, for a dialog or a turn that began just now.
const PATIENCE_MS = 10_000

const SHORTEST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 15_000

// Tells this load of the module from an earlier one in the same process.
const instance = crypto.randomUUID()

// The main loop's turn that is under way, and how many compactions are.
let turn
let compactions = 0

// Ends a pause early.
let wake = () => {}

async function socket($) {
  const named = await $.env.get("AGTMUX_SOCKET")
  const runtime = await $.env.get("XDG_RUNTIME_DIR")
  const state = await $.env.get("XDG_STATE_HOME")
  const home = await $.env.get("HOME")
  const base = state?.startsWith("/") ? state : `${home}/.local/state`
  const path = named || (runtime ? `${runtime}/agtmux/agtmuxd.sock` : `${base}/agtmux/run/agtmuxd.sock`)
  return path.replace(/\.[^./]*$/, "") + ".plugin"
}

async function post($, path, body) {
  const answer = await $.http.fetch(`http://agtmux${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ instance, ...body }),
    socketPath: await socket($),
  })
  if (!answer.ok) throw new Error(`${answer.status}`)
  return answer.text ? JSON.parse(answer.text) : {}
}

// What Claude is at. A fill of nothing changes nothing, and is refused while a dialog has the keyboard.
async function at($) {
  const box = await $.prompt.fill({ text: "", mode: "insert" })
  if (box.refusal === "dialog") return "dialog"
  if (!box.isFilled) return "unknown"
  return turn === undefined && compactions === 0 ? "rest" : "turn"
}

async function look($) {
  return { is: "look", session: await $.session.id(), at: await at($) }
}

// What is refused here has not been submitted. A submission that Claude drops was never seen by the model.
async function submit($, { session, text }) {
  if (session !== (await $.session.id())) return { is: "refused", why: "it is in another conversation" }
  const now = await at($)
  if (now !== "rest") return { is: "refused", why: `it is at: ${now}` }
  const submitted = $.prompt
    .submit({ text, asUser: true })
    .then((done) => (done.drop === undefined ? { is: "entered", text: done.text } : { is: "refused", why: done.drop }))
    .catch((error) => ({ is: "failed", why: String(error) }))
  return Promise.race([submitted, $.clock.sleep(PATIENCE_MS).then(() => ({ is: "waiting" }))])
}

async function obey($, { number, task }) {
  const reply = await (task.do === "submit" ? submit($, task) : look($)).catch((error) => ({
    is: "failed",
    why: String(error),
  }))
  await post($, "/answer", { number, reply }).catch(() => {})
}

// Asks for something to do; the daemon answers when there is something, or after a while. Where no daemon answers, the pauses grow,
// and the next turn ends them.
async function listen($) {
  const { version } = await $.session.version()
  for (let failures = 0; ; ) {
    try {
      const { order, stop } = await post($, "/wait", { protocol: PROTOCOL, version })
      if (stop) return
      failures = 0
      if (order) void obey($, order)
    } catch {
      const pause = Math.min(SHORTEST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS)
      failures += 1
      await Promise.race([$.clock.sleep(pause), new Promise((done) => (wake = done))]).catch(() => {})
    }
  }
}

export function register(on) {
  on("session.start", async ($, e, next) => {
    const started = await next(e)
    if (e.isInteractive) void listen($).catch(() => {})
    return started
  })
  on("turn.start", ($, e, next) => {
    if (e.agentId === undefined) {
      turn = e.turnId
      wake()
    }
    return next(e)
  })
  on("turn.complete", ($, e, next) => {
    if (e.agentId === undefined) {
      turn = undefined
      wake()
    }
    return next(e)
  })
  on("session.compact", async ($, e, next) => {
    // One that is made ahead of time goes on beside everything else.
    if (e.trigger === "precompute") return next(e)
    compactions += 1
    try {
      return await next(e)
    } finally {
      compactions -= 1
    }
  })
}
