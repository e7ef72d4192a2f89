import { Effect, Schema } from "effect"
import { setFlagsFromString } from "node:v8"
import { type BodyParser, type Tree } from "../../domain/catalogue/bodies/Names.ts"
import { InvalidRequest } from "../../domain/errors.ts"

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

const SyntaxFailure = Schema.Struct({
  message: Schema.String,
  sqlDetails: Schema.Struct({ cursorPosition: Schema.Finite })
})
const isSyntaxFailure = Schema.is(SyntaxFailure)

/** The parser's error, as PostgreSQL would report it. */
const notParsed = (error: unknown) =>
  isSyntaxFailure(error)
    ? new InvalidRequest({ error: error.message, code: "42601" })
    : new InvalidRequest({ error: "The statement is too deeply nested", code: "SQL_NOT_ALLOWED" })

/** Parses a text, and reads its tree, which may be too deep as well. */
export const parseSql = <A>(text: string, read: (tree: Tree) => A): Effect.Effect<A, InvalidRequest> =>
  Effect.flatMap(sqlParser, ({ sql }) => Effect.try({ try: () => read(sql(text)), catch: notParsed }))
