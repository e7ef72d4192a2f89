import { Effect, Option, Redacted, Schema } from "effect"
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
    const { details, error, hint } = JSON.parse(text) as Readonly<Record<string, unknown>>
    return [
      `${String(error ?? text)}${typeof hint === "string" ? `. ${hint}` : ""}`,
      ...(typeof details === "string" ? [details] : [])
    ].join("\n")
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

/** Calls a running service, and returns its response with its address. With a payload it is a POST by default. */
export const openService = Effect.fnUntraced(function* (
  { key = Option.none(), url: address }: RunningService,
  path: string,
  payload?: object,
  method: "DELETE" | "GET" | "PATCH" | "POST" | "PUT" = payload === undefined ? "GET" : "POST"
) {
  const given =
    Option.getOrUndefined(key) ??
    (yield* Effect.map(secret("SVC_SERVICE_KEY"), (key) => key && Redacted.value(key).trim()))
  const url = Option.getOrUndefined(address) ?? `http://127.0.0.1:${yield* integer("PORT", 3000, 0, 65_535)}`
  const apikey = given ?? (yield* firstKey(url))
  const response = yield* Effect.tryPromise({
    try: (signal) => {
      const sent: RequestInit =
        payload === undefined
          ? { headers: { apikey } }
          : { headers: { apikey, "content-type": "application/json" }, body: JSON.stringify(payload) }
      return fetch(new URL(`${url.replace(/\/+$/, "")}${path}`), { ...sent, method, signal })
    },
    catch: (cause) =>
      failed(`Failed to fetch from ${url}: ${reasonOfCause(cause)}. Start the service, or give its address with --url`)
  })
  if (response.ok) return { url, response }
  const text = yield* Effect.promise(() => response.text().catch(() => ""))
  return yield* failed(`${url} responded with ${response.status}: ${errorOf(text)}`)
})

/** The same with the text of the response. */
export const callService = Effect.fnUntraced(function* (...given: Parameters<typeof openService>) {
  const { response, url } = yield* openService(...given)
  const text = yield* Effect.tryPromise({
    try: () => response.text(),
    catch: (cause) => failed(`The response of ${url} is incomplete: ${reasonOfCause(cause)}`)
  })
  return { url, text }
})

/** The same with a response that a schema describes. `what`: the noun of the API. */
export const askService = <S extends Schema.Decoder<unknown>>(
  schema: S,
  what: string,
  ...given: Parameters<typeof openService>
) =>
  Effect.flatMap(callService(...given), ({ text, url }) =>
    Effect.mapError(Schema.decodeEffect(Schema.fromJsonString(schema))(text), () =>
      failed(`${url} did not respond with ${what}; check its version`)
    )
  )
