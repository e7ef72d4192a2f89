import { placeholderHost } from "./OwnApi.ts"

/**
 * What Deno runs before a function, within its process. It listens on the process's socket and then gives up the
 * permissions for that, so that no code of the function can write a file. `Deno.serve` of the function only sets the
 * handler. Arguments: the process's socket, that of this service's API, and the URLs that it serves.
 */
export const bootScript = `
import { AsyncLocalStorage } from "node:async_hooks"
const [path, api, own, origin] = Deno.args
const { serve, inspect, stdout, stderr } = Deno
const current = new AsyncLocalStorage()
const encoder = new TextEncoder()
const write = (text) => {
  for (let bytes = encoder.encode(text); bytes.length > 0; ) bytes = bytes.subarray(stdout.writeSync(bytes))
}
const frame = (level, values) => {
  const text = values.map((value) => (typeof value === "string" ? value : inspect(value, { depth: 4 }))).join(" ")
  write("\\u0001" + JSON.stringify([level, current.getStore() ?? "", text.slice(0, 8192)]) + "\\n")
}
for (const [method, level] of Object.entries({ debug: "debug", log: "info", info: "info", warn: "warn", error: "error", trace: "debug" })) {
  console[method] = (...values) => frame(level, values)
}
let handler, onError, found
const ready = new Promise((resolve) => (found = resolve))
const failed = (error) => {
  frame("error", [error instanceof Error ? error.stack ?? String(error) : error])
  return Response.json({ error: "The function failed", code: "FUNCTION_FAILED", message: "The function failed" }, { status: 500 })
}
const answer = async (request, info) => {
  const { pathname, search } = new URL(request.url)
  if (request.headers.get("x-svc-ping") !== null) return new Response(null, { status: 204 })
  if (handler === undefined) await ready
  Object.defineProperty(request, "url", { value: origin + pathname + search })
  const id = request.headers.get("x-request-id") ?? ""
  return current.run(id, async () => {
    try {
      return await handler(request, { ...info, remoteAddr: { transport: "tcp", hostname: request.headers.get("x-forwarded-for") ?? "", port: 0 } })
    } catch (error) {
      return onError === undefined ? failed(error) : await onError(error)
    }
  })
}
const server = serve({ path, onListen() {}, onError: failed }, answer)
server.unref()
const client = Deno.createHttpClient({ proxy: { transport: "unix", path: api } })
for (const name of ["write", "read"]) Deno.permissions.revokeSync({ name, path })
const fetchOutside = globalThis.fetch
const ownOrigin = new URL(own).origin
globalThis.fetch = (input, init) => {
  if (init?.client === undefined) {
    const url = input instanceof Request ? input.url : String(input)
    if (url === own || url.startsWith(ownOrigin + "/")) {
      const target = "http://${placeholderHost}" + url.slice(ownOrigin.length)
      return fetchOutside(input instanceof Request ? new Request(target, input) : target, { ...init, client })
    }
  }
  return fetchOutside(input, init)
}
const begin = (options, given) => {
  handler = given
  onError = options.onError
  server.ref()
  found()
  options.onListen?.({ transport: "tcp", hostname: "0.0.0.0", port: options.port ?? 8000 })
  const { promise, resolve } = Promise.withResolvers()
  return { finished: promise, addr: { transport: "tcp", hostname: "0.0.0.0", port: 8000 }, ref() {}, unref() {}, shutdown: async () => resolve(), [Symbol.asyncDispose]: async () => resolve() }
}
Deno.serve = (first, second) => {
  if (typeof first === "function") return begin({}, first)
  const given = second ?? first?.handler
  if (typeof given !== "function") throw new TypeError("Deno.serve needs a handler")
  return begin(first ?? {}, given)
}
globalThis.EdgeRuntime = { waitUntil: (work) => void Promise.resolve(work).catch((error) => frame("error", [error])) }
const survive = (event, error) => {
  if (handler === undefined) return
  event.preventDefault()
  frame("error", ["Uncaught", error])
}
addEventListener("error", (event) => survive(event, event.error))
addEventListener("unhandledrejection", (event) => survive(event, event.reason))
addEventListener("load", async () => {
  if (handler !== undefined) return
  const given = (await import(Deno.mainModule)).default
  if (typeof given?.fetch === "function") begin({}, (request, info) => given.fetch(request, info))
})
write("\\u0001ready\\n")
`
