/** Calls of functions, and SQL. */
import { json, list, type Pattern, posts } from "../pattern.ts"

export const functions: ReadonlyArray<Pattern> = [
  {
    name: "rpc-arguments",
    title: "a call with 600,000 argument names",
    attack: posts("/v1/db/rpc/ping", json, () => `{${list(600_000, (n) => `"k${n}":1`)}}`)
  },
  { name: "rpc-sleeping", title: "a function that sleeps for 5 s", attack: posts("/v1/db/rpc/nap", json, () => "{}") },
  {
    name: "rpc-large-text",
    title: "a function that returns 100 MB of text",
    attack: posts("/v1/db/rpc/large_text", json, () => "{}")
  },
  {
    name: "sql",
    title: "`POST /v1/sql`, which needs a service key",
    attack: posts("/v1/sql", json, () => `{"sql":"select 1"}`)
  }
]
