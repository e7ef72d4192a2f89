import { Effect } from "effect"
import { calledNames } from "../../domain/mcp/CalledNames.ts"
import { secretNames, volatileSql } from "../../domain/mcp/VolatileSql.ts"
import { Forbidden, InvalidRequest } from "../../domain/errors.ts"
import { arrayLiteral } from "../../domain/sql/Names.ts"
import { checkSingle } from "../../domain/sql/Statements.ts"
import { shorten } from "../../domain/text/Shorten.ts"
import { asUnavailable } from "../schema/Outlines.ts"
import { type Database, serviceActor } from "../ports/Db.ts"

/** Characters of a statement. */
const maxText = 20_000

const readers = new Set(["SELECT", "VALUES", "TABLE", "WITH", "SHOW"])
const explained = new Set(["SELECT", "VALUES", "TABLE", "WITH", "INSERT", "UPDATE", "DELETE", "MERGE"])

const tooLong = new InvalidRequest({
  error: `A statement must not exceed ${maxText} characters here`,
  code: "SQL_TOO_LONG"
})
const notAllowed = (keyword: string) =>
  new InvalidRequest({
    error: `${shorten(keyword) || "This statement"} is not allowed here: only SELECT, VALUES, TABLE, WITH and SHOW are`,
    code: "SQL_NOT_ALLOWED",
    hint: "Plans are for explain. Try other statements on a branch: create_branch, then run_sql with read_only false"
  })
const hidden = new InvalidRequest({
  error: 'Identifiers with Unicode escapes (U&"…"), and strings that end in a backslash, are not allowed here',
  code: "SQL_NOT_ALLOWED"
})

const isSecret = (name: string) =>
  new Forbidden({ error: `${name} has secrets, which MCP tools do not read`, code: "SQL_SECRET" })

const isVolatile = (names: ReadonlyArray<string>) =>
  new Forbidden({
    error: `Volatile functions are not allowed in a read-only statement: ${names.slice(0, 5).join(", ")}`,
    code: "SQL_NOT_READ_ONLY",
    hint: "A read-only transaction does not stop what they do outside of it; try them on a branch"
  })

/**
 * Refuses statements that do more than read. A read-only transaction of PostgreSQL keeps tables as they are, but not the
 * world around them: functions can write files, open connections, change settings, hold locks and wait. So only
 * statements that read are let through, and of functions only those that are declared to have no effect.
 */
export const makeReadGuard = () => {
  const check = Effect.fnUntraced(function* (text: string, allowed: ReadonlySet<string>) {
    if (text.length > maxText) return yield* tooLong
    const { keyword } = yield* checkSingle(text)
    if (!allowed.has(keyword)) return yield* notAllowed(keyword)
  })

  /** Accepts a statement that only reads, if it runs in a read-only transaction. */
  const reads = Effect.fn("ReadGuard.reads")(function* (database: Database, text: string) {
    yield* check(text, readers)
    const called = calledNames(text)
    if (called === undefined) return yield* hidden
    const secret = [...called.all].find((name) => secretNames.has(name))
    if (secret !== undefined) return yield* isSecret(secret)
    const [found] = yield* Effect.catch(
      database.run(serviceActor, {
        text: volatileSql,
        params: [arrayLiteral([...called.functions]), arrayLiteral([...called.attributes])],
        access: "read",
        searchPath: "pg_catalog"
      }),
      asUnavailable
    )
    const names = JSON.parse(String(found)) as ReadonlyArray<string>
    if (names.length > 0) return yield* isVolatile(names)
  })

  /** Accepts a statement that EXPLAIN without ANALYZE plans: it does not run. */
  const explains = (text: string) => check(text, explained)

  return { reads, explains }
}
