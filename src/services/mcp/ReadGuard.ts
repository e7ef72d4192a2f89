import { Effect } from "effect"
import { readStatement } from "../../domain/mcp/ReadSyntax.ts"
import { refusedSql } from "../../domain/mcp/ReadLists.ts"
import { Forbidden, InvalidRequest } from "../../domain/errors.ts"
import { checkSingle } from "../../domain/sql/Statements.ts"
import { shorten } from "../../domain/text/Shorten.ts"
import { parseSql } from "../sql/SqlParser.ts"
import { asUnavailable } from "../schema/DatabaseSchemas.ts"
import { type Database, serviceActor } from "../ports/Db.ts"

/** Characters of a statement. */
const maxText = 20_000

const tooLong = new InvalidRequest({
  error: `A statement must not exceed ${maxText} characters here`,
  code: "SQL_TOO_LONG"
})
const notAllowed = (what: string) =>
  new InvalidRequest({
    error: `${shorten(what)} is not allowed here: only SELECT, VALUES, TABLE, WITH and SHOW that read are`,
    code: "SQL_NOT_ALLOWED",
    hint: "Plans of such statements are for explain. Try other statements on a branch: create_branch, then run_sql with read_only false"
  })
const notReadOnly = (names: ReadonlyArray<string>) =>
  new Forbidden({
    error: `A read-only statement may not use: ${names.slice(0, 5).join(", ")}`,
    code: "SQL_NOT_READ_ONLY",
    hint: "Only functions, operators and types of PostgreSQL that read nothing else are allowed; where users have one of the same name, write pg_catalog.name. Try others on a branch"
  })

/**
 * Refuses statements that do more than read tables, by an allow list of syntax and of functions. It is one of three
 * guards: the statement then runs as a role that has no other rights, in a read-only transaction.
 */
export const makeReadGuard = Effect.gen(function* () {
  /** Accepts a statement that only reads, to run it or to explain it. */
  return Effect.fn("mcp.readGuard")(function* (database: Database, text: string) {
    if (text.length > maxText) return yield* tooLong
    const { keyword } = yield* checkSingle(text)
    const read = yield* parseSql(text, readStatement)
    if ("refused" in read) return yield* notAllowed(keyword === "SELECT" || keyword === "WITH" ? read.refused : keyword)
    const [found] = yield* Effect.catch(
      database.run(serviceActor, {
        text: refusedSql,
        params: [JSON.stringify(read.names)],
        access: "read",
        searchPath: "pg_catalog"
      }),
      asUnavailable
    )
    const refused = JSON.parse(String(found)) as ReadonlyArray<string>
    if (refused.length > 0) return yield* notReadOnly(refused)
  })
})
