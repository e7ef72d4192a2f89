import { Effect } from "effect"
import { assistantConnectSql, assistantRightsSql } from "../../domain/mcp/AssistantRights.ts"
import { type DatabaseError, Forbidden, type Unavailable } from "../../domain/errors.ts"
import { type Database, serviceActor } from "../ports/Db.ts"

/** A view may read another view, which has to become readable first. */
const maxPasses = 20

const isOff = (remedy: string) =>
  new Forbidden({
    error: "Read-only SQL is off: the database has no role for assistants, and the service's login may not create it",
    code: "MCP_ROLE_MISSING",
    hint: `As an administrator of the database: ${remedy}; then restart the service`
  })

/** Whether two processes granted at the same time ("tuple concurrently updated"); the grant is then retried. */
const atOnce = (error: DatabaseError | Unavailable) => error._tag === "DatabaseError" && error.code === "XX000"

const lacksRight = (error: DatabaseError | Unavailable) => error._tag === "DatabaseError" && error.code === "42501"

/**
 * A database as assistants see it: its sessions are of a role that owns nothing, is no superuser and reads only what it has
 * been granted, which is every table of the user's schemas. Tables come and go, so the grants are completed first.
 */
export const makeAssistantDatabase = (main: Database) => {
  const grant = Effect.fnUntraced(function* (database: Database, role: string) {
    const first = yield* main.session(serviceActor)
    const { rows: connects } = yield* first.query(assistantConnectSql, [role, database.name], 1)
    for (const [text] of connects) {
      if (typeof text === "string") yield* Effect.catchIf(first.script(text), lacksRight, () => Effect.void)
    }
    const session = database === main ? first : yield* database.session(serviceActor)
    yield* session.query("select pg_catalog.set_config('search_path', 'pg_catalog', false)", [], 1)
    for (let pass = 0; pass < maxPasses; pass++) {
      const { rows } = yield* session.query(assistantRightsSql, [role], 1)
      const texts = JSON.parse(rows[0]?.[0] ?? "[]") as ReadonlyArray<string>
      if (texts.length === 0) return
      for (const text of texts) yield* Effect.catchIf(session.script(text), lacksRight, () => Effect.void)
    }
  }, Effect.scoped)

  return Effect.fn("mcp.assistantDatabase")(function* (database: Database) {
    const { assistant } = database
    if (assistant === undefined || "remedy" in assistant) {
      return yield* isOff(assistant?.remedy ?? "set SVC_MCP")
    }
    yield* Effect.retry(grant(database, assistant.role), { times: 3, while: atOnce })
    const { name, run } = database
    return { name, run, session: assistant.session } satisfies Database
  })
}
