import { Effect, Option, Redacted } from "effect"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { integer, secret, text } from "../../domain/Settings.ts"
import { loopback } from "../../services/identity/AccountSettings.ts"
import { CommandFailed } from "../process/Output.ts"

const failed = (message: string) => new CommandFailed({ message, code: 1 })

/** The reason of an error of Node's, which may be inside of it. */
export const reasonOfCause = (cause: unknown) => {
  const { cause: inner, message } = cause as Error
  return inner instanceof Error && inner.message !== "" ? inner.message : message
}

const errorOf = (text: string) => {
  try {
    const { error, hint } = JSON.parse(text) as { readonly error?: unknown; readonly hint?: unknown }
    return `${String(error ?? text)}${typeof hint === "string" ? `. ${hint}` : ""}`
  } catch {
    return text.slice(0, 200)
  }
}

const isLocal = (url: string) => URL.canParse(url) && loopback.test(new URL(url).hostname)

/** The service_role key of the first start, which is only sent to this machine. */
const firstKey = Effect.fnUntraced(function* (url: string) {
  if (!isLocal(url)) return yield* failed(`There is no service_role key for ${url}: set SVC_SERVICE_KEY`)
  const file = join(yield* text("SVC_DATA_DIR", ".svc"), "keys.json")
  const keys = yield* Effect.tryPromise({
    try: async () => JSON.parse(await readFile(file, "utf8")) as { readonly service_role?: string },
    catch: () => failed(`There is no service_role key: set SVC_SERVICE_KEY, as there is no ${file}`)
  })
  return keys.service_role ?? (yield* failed(`There is no service_role key in ${file}: set SVC_SERVICE_KEY`))
})

/** Where a running service is. */
export interface RunningService {
  readonly url: Option.Option<string>
  /** Default: SVC_SERVICE_KEY, or that of the first start. */
  readonly key?: Option.Option<string>
}

/** Calls a running service, and returns the text of its response with its address. */
export const callService = Effect.fnUntraced(function* (
  { key = Option.none(), url: address }: RunningService,
  path: string,
  payload?: object
) {
  const given =
    Option.getOrUndefined(key) ??
    (yield* Effect.map(secret("SVC_SERVICE_KEY"), (key) => key && Redacted.value(key).trim()))
  const url = Option.getOrUndefined(address) ?? `http://127.0.0.1:${yield* integer("PORT", 3000, 0, 65_535)}`
  const apikey = given ?? (yield* firstKey(url))
  const { status, text } = yield* Effect.tryPromise({
    try: async () => {
      const init =
        payload === undefined
          ? { headers: { apikey } }
          : {
              method: "POST",
              headers: { apikey, "content-type": "application/json" },
              body: JSON.stringify(payload)
            }
      const response = await fetch(new URL(`${url.replace(/\/+$/, "")}${path}`), init)
      return { status: response.status, text: await response.text() }
    },
    catch: (cause) =>
      failed(`Failed to fetch from ${url}: ${reasonOfCause(cause)}. Start the service, or give its address with --url`)
  })
  if (status !== 200) return yield* failed(`${url} responded with ${status}: ${errorOf(text)}`)
  return { url, text }
})
