import { Effect } from "effect"
import { setFlagsFromString } from "node:v8"
import { type BodyParser, type Tree } from "../../domain/catalogue/bodies/Names.ts"

/** A function whose parse runs through both grammars. */
const sample = "create function f() returns int language plpgsql as $$ begin return 1; end $$"

/**
 * V8 would compile the grammar again with its optimizing compiler once it is used much: that takes 500 MB and half a second
 * of a core for a parser that is no faster afterwards. What is compiled while the flags are off, at its first call, stays.
 */
const withoutOptimizer = (compile: () => void) => {
  const flags = ["wasm-tier-up", "wasm-dynamic-tiering"]
  for (const flag of flags) setFlagsFromString(`--no-${flag}`)
  try {
    compile()
  } finally {
    for (const flag of flags) setFlagsFromString(`--${flag}`)
  }
}

const load = async (): Promise<BodyParser> => {
  const { loadModule, parsePlPgSQLSync, parseSync } = await import("libpg-query")
  await loadModule()
  withoutOptimizer(() => {
    parseSync("select a from b where c = $1")
    parsePlPgSQLSync(sample)
  })
  return { sql: (text) => parseSync(text) as Tree, plpgsql: (text) => parsePlPgSQLSync(text) as Tree }
}

let loaded: Promise<BodyParser> | undefined

/** PostgreSQL's parser as WebAssembly, loaded once in a process. It throws for text that is no SQL, or nested too deeply. */
export const sqlParser: Effect.Effect<BodyParser> = Effect.promise(() => (loaded ??= load()))
