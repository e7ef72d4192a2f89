import { Effect } from "effect"
import { calledNames, statementKind } from "../../domain/mcp/CalledNames.ts"
import { volatileSql } from "../../domain/mcp/VolatileSql.ts"
import { DatabaseError, Forbidden, InvalidRequest } from "../../domain/errors.ts"
import { arrayLiteral } from "../../domain/sql/Names.ts"
import { type Tree, words } from "../../domain/catalogue/bodies/Tree.ts"
import { asUnavailable } from "../schema/Outlines.ts"
import { type Database, serviceActor } from "../ports/Db.ts"

/** Characters of a statement: parsing takes up to a microsecond for each, in one turn of the event loop. */
const maxText = 20_000

const readers = words("SelectStmt VariableShowStmt")
const explained = words("SelectStmt InsertStmt UpdateStmt DeleteStmt MergeStmt")

const tooLong = new InvalidRequest({
  error: `A statement must not exceed ${maxText} characters here`,
  code: "SQL_TOO_LONG"
})
const notOne = new InvalidRequest({
  error: "Only a single SELECT, VALUES, TABLE, SHOW or EXPLAIN of one is allowed here",
  code: "SQL_NOT_ALLOWED",
  hint: "Try other statements on a branch: create_branch, then run_sql with its id and read_only false"
})

const isVolatile = (names: ReadonlyArray<string>) =>
  new Forbidden({
    error: `Volatile functions are not allowed in a read-only statement: ${names.slice(0, 5).join(", ")}`,
    code: "SQL_NOT_READ_ONLY",
    hint: "A read-only transaction does not stop what they do outside of it; try them on a branch"
  })

const unparsable = (cause: unknown) =>
  new DatabaseError({
    error: cause instanceof Error ? cause.message.slice(0, 500) : "The statement is invalid",
    code: "42601",
    status: 400
  })

/**
 * Refuses statements that do more than read. A read-only transaction of PostgreSQL keeps tables as they are, but not the
 * world around them: functions can write files, open connections, change settings, hold locks and wait. So only
 * statements that read are let through, and of functions only those that are declared to have no effect.
 */
export const makeReadGuard = Effect.gen(function* () {
  const parser = yield* Effect.cached(
    Effect.promise(async () => {
      const { loadModule, parseSync } = await import("libpg-query")
      await loadModule()
      return (text: string) => parseSync(text) as Tree
    })
  )

  const parsed = Effect.fnUntraced(function* (text: string, allowed: ReadonlySet<string>) {
    if (text.length > maxText) return yield* tooLong
    const parse = yield* parser
    const tree = yield* Effect.try({ try: () => parse(text), catch: unparsable })
    if (!allowed.has(statementKind(tree) ?? "")) return yield* notOne
    return tree
  })

  /** Accepts a statement that only reads. */
  const reads = Effect.fn("ReadGuard.reads")(function* (database: Database, text: string) {
    const { attributes, functions } = calledNames(yield* parsed(text, readers))
    if (functions.size + attributes.size === 0) return
    const [found] = yield* Effect.catch(
      database.run(serviceActor, {
        text: volatileSql,
        params: [arrayLiteral([...functions]), arrayLiteral([...attributes])],
        access: "read",
        searchPath: "pg_catalog"
      }),
      asUnavailable
    )
    const names = JSON.parse(String(found)) as ReadonlyArray<string>
    if (names.length > 0) return yield* isVolatile(names)
  })

  /** Accepts a statement that EXPLAIN without ANALYZE can plan: it does not run. */
  const explains = (text: string) => Effect.asVoid(parsed(text, explained))

  return { reads, explains }
})
