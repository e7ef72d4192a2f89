import { Effect, Option, Redacted } from "effect"
import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { integer, secret, text } from "../../domain/Settings.ts"
import { loopback } from "../../services/identity/AccountSettings.ts"
import { CommandFailed, printResult } from "../process/Output.ts"

const failed = (message: string) => new CommandFailed({ message, code: 1 })

const because = (cause: unknown) => {
  const { cause: inner, message } = cause as Error
  return inner instanceof Error && inner.message !== "" ? inner.message : message
}

const fetched = (url: string, key: string, schemas: ReadonlyArray<string>) =>
  Effect.tryPromise({
    try: async () => {
      const address = new URL(`${url.replace(/\/+$/, "")}/v1/database/types.ts`)
      if (schemas.length > 0) address.searchParams.set("schema", schemas.join(","))
      const response = await fetch(address, { headers: { apikey: key } })
      return { status: response.status, text: await response.text() }
    },
    catch: (cause) =>
      failed(`Failed to fetch from ${url}: ${because(cause)}. Start the service, or give its address with --url`)
  })

const errorOf = (text: string) => {
  try {
    return String((JSON.parse(text) as { readonly error?: unknown }).error ?? text)
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

interface Wanted {
  readonly url: Option.Option<string>
  readonly schema: ReadonlyArray<string>
  readonly out: Option.Option<string>
  readonly key: Option.Option<string>
}

/** `svc gen-types`: TypeScript types of the database, from `GET /v1/database/types.ts`. */
export const generateTypes = Effect.fnUntraced(function* (wanted: Wanted) {
  const given =
    Option.getOrUndefined(wanted.key) ??
    (yield* Effect.map(secret("SVC_SERVICE_KEY"), (key) => key && Redacted.value(key).trim()))
  const url = Option.getOrUndefined(wanted.url) ?? `http://127.0.0.1:${yield* integer("PORT", 3000, 0, 65_535)}`
  const { status, text } = yield* fetched(url, given ?? (yield* firstKey(url)), wanted.schema)
  if (status !== 200) return yield* failed(`${url} responded with ${status}: ${errorOf(text)}`)
  if (!text.includes("export type Database = ")) {
    return yield* failed(`${url} did not respond with types; check that it is the address of the service`)
  }
  if (Option.isNone(wanted.out)) return yield* printResult(text.trimEnd(), { types: text })
  const out = wanted.out.value
  return yield* Effect.tryPromise({ try: () => writeFile(out, text), catch: (cause) => failed(because(cause)) })
})
