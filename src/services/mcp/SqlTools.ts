import { Effect, Schema } from "effect"
import { type DatabaseError, Forbidden, type Unavailable } from "../../domain/errors.ts"
import { assistantConnectSql, assistantRightsSql } from "../../domain/mcp/AssistantRights.ts"
import { describeChange } from "../audit/Change.ts"
import { Branches } from "../branches/Branches.ts"
import { Catalogues } from "../catalogue/Catalogues.ts"
import { type Database, Db, serviceActor } from "../ports/Db.ts"
import { SqlRunner } from "../sql/SqlRunner.ts"
import { isOwnBranch } from "./BranchTools.ts"
import { makeReadGuard } from "./ReadGuard.ts"
import { McpSettings } from "./Settings.ts"
import { bounded, branchField, needsServiceRole, placeOf, tool } from "./Tool.ts"

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
const makeAssistantDatabase = (main: Database) => {
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

const [defaultRows, defaultTimeout, maxTimeout] = [100, 10_000, 30_000]

const integer = (minimum: number, maximum: number, description: string) =>
  Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum, maximum })).annotate({ description }))

const timeout = integer(1, maxTimeout, `Time limit in ms; default ${defaultTimeout}`)
const sql = Schema.NonEmptyString.annotate({ description: "One SQL statement" })
const param = Schema.Union([Schema.String, Schema.Finite, Schema.Boolean, Schema.Null])

const Run = Schema.Struct({
  sql,
  params: Schema.optionalKey(Schema.Array(param).annotate({ description: "Values of $1, $2, …" })),
  row_limit: integer(1, 1000, `Rows to read at most; default ${defaultRows}`),
  timeout,
  read_only: Schema.optionalKey(
    Schema.Boolean.annotate({ description: "false: the statement may write; default true" })
  ),
  branch: branchField
})
const Explain = Schema.Struct({ sql, timeout, branch: branchField })

const readOnlyHere = new Forbidden({
  error: "This MCP server is read-only: SVC_MCP does not allow writes",
  code: "MCP_READ_ONLY"
})
const mainReadOnly = new Forbidden({
  error: "The main database is read-only for MCP",
  code: "MCP_READ_ONLY",
  hint: "Create a branch with create_branch, and pass its id as branch"
})
const foreignBranch = new Forbidden({
  error: "Only branches that create_branch has made can be written to",
  code: "MCP_READ_ONLY"
})

/** Commands that change no table or function. */
const keepCatalogue = new Set(["SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "EXPLAIN", "SHOW"])

/** Tools that run SQL, as `/v1/sql` does: so only for callers with all rights. What only reads runs with those of assistants. */
export const makeSqlTools = Effect.gen(function* () {
  const runner = yield* SqlRunner
  const catalogues = yield* Catalogues
  const branches = yield* Branches
  const { mode } = yield* McpSettings
  const db = yield* Db
  const database = placeOf(db, branches)
  const guard = yield* makeReadGuard
  const asAssistant = makeAssistantDatabase(db.main)

  /** The database for a statement that has passed the guard: it has the rights of assistants, not those of the key. */
  const reading = Effect.fnUntraced(function* (place: Database, text: string) {
    yield* guard(place, text)
    return yield* asAssistant(place)
  })

  const mayWrite = Effect.fnUntraced(function* (branch: (typeof Run.Type)["branch"]) {
    if (mode === "write") return
    if (mode === "read") return yield* readOnlyHere
    if (branch === undefined) return yield* mainReadOnly
    if (!isOwnBranch(yield* branches.find(branch))) return yield* foreignBranch
  })

  const run = tool({
    name: "run_sql",
    title: "Run SQL",
    description: `Runs one SQL statement and returns its rows as JSON. Read-only unless read_only is false${
      mode === "write"
        ? ""
        : mode === "branches"
          ? ", which needs a branch of create_branch"
          : ", which this server does not allow"
    }.`,
    input: Run,
    reads: mode === "read",
    serviceRole: true,
    data: true,
    writes: ({ read_only }) => read_only === false,
    run: Effect.fnUntraced(function* (caller, { branch, read_only = true, row_limit, sql, ...rest }) {
      if (caller.actor.role !== "service_role") return yield* needsServiceRole
      yield* describeChange({ subject: branch === undefined ? "database" : `branch:${branch}` })
      const whole = yield* database(caller, branch)
      if (!read_only) yield* mayWrite(branch)
      const place = read_only ? yield* reading(whole, sql) : whole
      const limits = { row_limit: row_limit ?? defaultRows, timeout: rest.timeout ?? defaultTimeout }
      const answer = yield* runner.run(place, caller.actor, { sql, params: rest.params, read_only, ...limits })
      if (answer.commands.some((command) => !keepCatalogue.has(command))) yield* catalogues.changed(place)
      return yield* bounded(answer.json)
    })
  })

  const explain = tool({
    name: "explain",
    title: "Explain a statement",
    description: "Returns PostgreSQL's plan of a statement that run_sql reads with, without running it.",
    input: Explain,
    reads: true,
    serviceRole: true,
    data: true,
    run: Effect.fnUntraced(function* (caller, { branch, sql, timeout }) {
      if (caller.actor.role !== "service_role") return yield* needsServiceRole
      const place = yield* reading(yield* database(caller, branch), sql)
      // Options in parentheses leave no place for ANALYZE, which would run the statement.
      const { json } = yield* runner.run(place, caller.actor, {
        sql: `explain (costs true, verbose false) ${sql}`,
        read_only: true,
        row_limit: 1000,
        timeout: timeout ?? defaultTimeout
      })
      return yield* bounded(json)
    })
  })

  return [run, explain]
})
