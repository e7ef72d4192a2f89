import { type ChildProcess, execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"
import { WebSocket } from "ws"
import { makeTab, type Tab } from "./browserTab.ts"

/** A browser that uploads a file with the tour's album page. */
export interface Browser extends AsyncDisposable {
  /** Opens the page, chooses the file, and returns the resulting text of the page. */
  readonly choose: (page: string, file: string) => Promise<string>
}

/** A real browser, with tabs. */
export interface Chromium extends Browser {
  readonly open: () => Promise<Tab>
}

/** The path of Chromium, under the first of its names that exists. The shell, without a user interface, takes a third less time. */
export const findChromium = async (): Promise<string | undefined> => {
  for (const name of ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"]) {
    const there = await promisify(execFile)(name, ["--version"]).catch(() => undefined)
    if (there !== undefined) return name
  }
  return undefined
}

/** Headless, with its own profile, controlled by the Chrome DevTools Protocol. */
export const startChromium = async (program: string): Promise<Chromium> => {
  const profile = await mkdtemp(join(tmpdir(), "svc-chromium-"))
  const options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
  const child = spawn(program, [...options, `--user-data-dir=${profile}`, "--remote-debugging-port=0", "about:blank"], {
    // Without a locale it accepts only ASCII file names.
    env: { ...process.env, LC_ALL: "C.UTF-8" },
    stdio: ["ignore", "ignore", "pipe"],
    // In a process group of its own: the program may be a script that starts the browser.
    detached: true
  })
  const kill = () => {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
      process.kill(-child.pid, "SIGKILL")
  }
  process.once("exit", kill)
  const stop = async () => {
    process.off("exit", kill)
    if (child.exitCode === null && child.signalCode === null) {
      kill()
      await once(child, "close")
    }
    // Its helper processes may still be writing.
    await rm(profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  }
  try {
    const { ask, close } = await connectTo(await debuggerOf(child))
    return {
      choose: (page, file) => chooseIn(ask, page, file),
      open: () => openTab(ask),
      [Symbol.asyncDispose]: async () => {
        close()
        await stop()
      }
    }
  } catch (cause) {
    await stop()
    throw cause
  }
}

/** The DevTools URL, from stderr. */
const debuggerOf = (child: ChildProcess) =>
  new Promise<string>((done, failed) => {
    let output = ""
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      output += text
      const address = /DevTools listening on (ws:\S+)/.exec(output)?.[1]
      if (address !== undefined) done(address)
    })
    child.once("error", failed)
    child.once("close", () => failed(new Error(`Chromium exited:\n${output}`)))
  })

interface Message {
  readonly id?: number
  readonly result?: Readonly<Record<string, unknown>>
  readonly error?: { readonly message: string }
}

type Ask = <A>(method: string, params: object, sessionId?: string) => Promise<A>

const connectTo = async (address: string) => {
  const socket = new WebSocket(address)
  const waiting = new Map<number, (message: Message) => void>()
  socket.on("message", (data: Buffer) => {
    const message = JSON.parse(data.toString("utf8")) as Message
    if (message.id !== undefined) waiting.get(message.id)?.(message)
  })
  socket.on("close", () => {
    for (const [id, answer] of waiting) answer({ id, error: { message: "Chromium has exited" } })
  })
  await once(socket, "open")
  let lastId = 0
  const ask: Ask = async <A>(method: string, params: object, sessionId?: string) => {
    const id = ++lastId
    const { error, result } = await new Promise<Message>((done) => {
      waiting.set(id, done)
      socket.send(JSON.stringify({ id, method, params, sessionId }))
    })
    waiting.delete(id)
    if (error !== undefined) throw new Error(`${method}: ${error.message}`)
    return result as A
  }
  return { ask, close: () => socket.close() }
}

/** Isolated from the cookies of other tabs. */
const openTab = async (ask: Ask): Promise<Tab> => {
  const { browserContextId } = await ask<{ browserContextId: string }>("Target.createBrowserContext", {})
  const { targetId } = await ask<{ targetId: string }>("Target.createTarget", { url: "about:blank", browserContextId })
  const { sessionId } = await ask<{ sessionId: string }>("Target.attachToTarget", { targetId, flatten: true })
  return makeTab(
    (method, params = {}) => ask(method, params, sessionId),
    () => ask("Target.disposeBrowserContext", { browserContextId })
  )
}

/** Runs in a new tab. */
const chooseIn = async (ask: Ask, page: string, file: string) => {
  const { targetId } = await ask<{ targetId: string }>("Target.createTarget", { url: page })
  const { sessionId } = await ask<{ sessionId: string }>("Target.attachToTarget", { targetId, flatten: true })
  /** Waits until an expression has a value. */
  const valueOf = async (expression: string) => {
    for (const deadline = Date.now() + 20_000; Date.now() < deadline; await sleep(25)) {
      const params = { expression, returnByValue: true }
      const { result } = await ask<{ result: { value?: unknown } }>("Runtime.evaluate", params, sessionId)
      if (typeof result.value === "string" && result.value !== "") return result.value
    }
    throw new Error(`Timed out waiting for: ${expression}`)
  }
  await valueOf("document.readyState === 'complete' && document.querySelector('input') ? 'ready' : ''")
  const before = await valueOf("document.getElementById('result').textContent")
  const { root } = await ask<{ root: { nodeId: number } }>("DOM.getDocument", {}, sessionId)
  const input = { nodeId: root.nodeId, selector: "input[type=file]" }
  const { nodeId } = await ask<{ nodeId: number }>("DOM.querySelector", input, sessionId)
  await ask("DOM.setFileInputFiles", { nodeId, files: [file] }, sessionId)
  const changed = `document.getElementById('result').textContent.replace(${JSON.stringify(before)}, '')`
  const answer = await valueOf(changed)
  await ask("Target.closeTarget", { targetId })
  return answer
}

/** Used without a real browser: performs the same requests, and enforces CORS as strictly. */
export const imitatedBrowser: Browser = {
  choose: async (page, file) => {
    const { origin } = new URL(page)
    const name = basename(file)
    const query = new URLSearchParams({ name, type: name.endsWith(".png") ? "image/png" : "application/octet-stream" })
    const signed = await fetch(new URL(`/sign?${query}`, page))
    const { headers, url } = (await signed.json()) as { url: string; headers: Record<string, string> }
    const body = await readFile(file)
    if (!(await mayPut(url, origin, Object.keys(headers)))) return "Refused: Failed to fetch"
    const stored = await fetch(url, { method: "PUT", headers: { ...headers, origin }, body })
    if (!namesOrigin(stored, origin)) return "Refused: Failed to fetch"
    return stored.ok ? `Uploaded: ${name}, ${body.length} bytes` : `Refused: ${await stored.text()}`
  },
  [Symbol.asyncDispose]: async () => {}
}

const namesOrigin = ({ headers }: Response, origin: string) =>
  ["*", origin].includes(headers.get("access-control-allow-origin") ?? "")

/** Sends the preflight request that browsers send for a PUT to another origin. */
const mayPut = async (url: string, origin: string, headers: ReadonlyArray<string>) => {
  const names = headers.map((name) => name.toLowerCase()).toSorted()
  const preflight = {
    origin,
    "access-control-request-method": "PUT",
    "access-control-request-headers": names.join(",")
  }
  const answer = await fetch(url, { method: "OPTIONS", headers: preflight })
  const allowed = (what: string) =>
    (answer.headers.get(`access-control-allow-${what}`) ?? "").split(",").map((one) => one.trim().toLowerCase())
  const covers = (what: string, wanted: string) => allowed(what).some((one) => one === "*" || one === wanted)
  return (
    answer.ok && namesOrigin(answer, origin) && covers("methods", "put") && names.every((one) => covers("headers", one))
  )
}
