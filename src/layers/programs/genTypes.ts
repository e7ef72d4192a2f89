import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Console, Data, Effect } from "effect"
import { writeFile } from "node:fs/promises"
import { parseArgs } from "node:util"

const usage = `Usage: npm run --silent gen:types -- --key <key> [options]

Writes TypeScript types of the database for PostgrestClient<Database>, from a running service.

  --key <key>         a service_role key (svc_sk_…)
  --url <url>         address of the service; default http://127.0.0.1:<PORT, default 3000>
  --schema <schema>   one of the exposed schemas, repeatable; default all
  --out <file>        output file; default standard output
  --help              print this help
`

const options = {
  key: { type: "string" },
  url: { type: "string", default: `http://127.0.0.1:${process.env["PORT"] || "3000"}` },
  schema: { type: "string", multiple: true },
  out: { type: "string" },
  help: { type: "boolean" }
} as const

/** Ends the program with this message. */
class Failed extends Data.TaggedError("Failed")<{ readonly text: string; readonly code: 1 | 2 }> {}

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
      new Failed({
        text: `Failed to fetch from ${url}: ${because(cause)}. Start the service, or give its address with --url`,
        code: 1
      })
  })

const errorOf = (text: string) => {
  try {
    return String((JSON.parse(text) as { readonly error?: unknown }).error ?? text)
  } catch {
    return text.slice(0, 200)
  }
}

/** `npm run gen:types -- --key …`: TypeScript types of the database, from `GET /v1/database/types.ts`. */
const generate = Effect.gen(function* () {
  const { values } = yield* Effect.try({
    try: () => parseArgs({ options }),
    catch: (cause) => new Failed({ text: `${because(cause)}\n\n${usage}`, code: 2 })
  })
  const { help, key, out, schema = [], url } = values
  if (help === true) return yield* Console.log(usage.trimEnd())
  if (key === undefined) return yield* new Failed({ text: `--key is missing\n\n${usage}`, code: 2 })
  const { status, text } = yield* fetched(url, key, schema)
  if (status !== 200) return yield* new Failed({ text: `${url} responded with ${status}: ${errorOf(text)}`, code: 1 })
  if (!text.includes("export type Database = ")) {
    return yield* new Failed({
      text: `${url} did not respond with types; check that it is the address of the service`,
      code: 1
    })
  }
  if (out === undefined) return yield* Console.log(text.trimEnd())
  yield* Effect.tryPromise({
    try: () => writeFile(out, text),
    catch: (cause) => new Failed({ text: because(cause), code: 1 })
  })
})

generate.pipe(
  Effect.catchTag("Failed", ({ code, text }) =>
    Effect.flatMap(Console.error(text.trimEnd()), () =>
      Effect.sync(() => {
        process.exitCode = code
      })
    )
  ),
  NodeRuntime.runMain()
)
