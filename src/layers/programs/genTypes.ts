import { Effect, Option } from "effect"
import { writeFile } from "node:fs/promises"
import { CommandFailed, printResult } from "../process/Output.ts"
import { callService, reasonOfCause, type RunningService } from "./RunningService.ts"

const failed = (message: string) => new CommandFailed({ message, code: 1 })

interface Wanted extends RunningService {
  readonly schema: ReadonlyArray<string>
  readonly out: Option.Option<string>
}

/** `svc gen-types`: TypeScript types of the database, from `GET /v1/database/types.ts`. */
export const generateTypes = Effect.fnUntraced(function* (wanted: Wanted) {
  const query = wanted.schema.length === 0 ? "" : `?${new URLSearchParams({ schema: wanted.schema.join(",") })}`
  const { text, url } = yield* callService(wanted, `/v1/database/types.ts${query}`)
  if (!text.includes("export type Database = ")) {
    return yield* failed(`${url} did not respond with types; check that it is the address of the service`)
  }
  if (Option.isNone(wanted.out)) return yield* printResult(text.trimEnd(), { types: text })
  const out = wanted.out.value
  yield* Effect.tryPromise({ try: () => writeFile(out, text), catch: (cause) => failed(reasonOfCause(cause)) })
  return yield* printResult(`${out}: written`, { out })
})
